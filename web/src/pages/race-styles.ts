/** How the race page looks. */
import { css } from "lit";

export const raceStyles = css`
  form {
    display: grid;
    gap: 0.75rem;
    margin-bottom: 1rem;
  }
  textarea {
    font-family: var(--mono);
    resize: vertical;
    width: 100%;
  }
  .lanes {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr));
    gap: 0.75rem;
    margin-bottom: 0.75rem;
  }
  .row {
    align-items: end;
  }
  .row.level {
    align-items: center;
  }
  .row > label,
  .lane label {
    min-width: 8rem;
  }
  .lane {
    display: flex;
    align-items: end;
  }
  .lane button {
    padding-inline: 0.5rem;
  }
  .row > label.inline {
    min-width: 0;
  }
  input[type="number"] {
    width: 5rem;
  }
  input[type="range"] {
    flex: 1;
    min-width: 8rem;
  }
`;
