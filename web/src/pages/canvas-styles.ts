/** How the canvas page looks. */
import { css } from "lit";

export const pageStyles = css`
  :host,
  .page,
  form {
    display: grid;
    gap: 0.9rem;
    grid-template-columns: minmax(0, 1fr);
  }
  form {
    gap: 0.6rem;
  }
  p {
    margin: 0;
  }
  textarea {
    font-family: var(--mono);
    resize: vertical;
    width: 100%;
  }
  .row {
    align-items: end;
  }
  .row > label {
    flex: 0 1 9rem;
  }
  .row > label.model {
    flex: 1 1 9rem;
  }
  .takes {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
    gap: 0.75rem;
  }
  .turn {
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    margin: 0;
    padding: 0.5rem 0.75rem;
    border-left: 3px solid var(--line);
    font-family: var(--mono);
    font-size: 0.9rem;
  }
  .turn.user {
    border-color: var(--accent);
  }
  .bar {
    justify-content: space-between;
    align-items: center;
  }
  .bar > label {
    flex: none;
  }
`;
