import { css } from "lit";

export const editorStyles = css`
  .page {
    display: grid;
    gap: 0.75rem;
    grid-template-columns: minmax(0, 1fr);
  }
  .name {
    width: 11rem;
  }
  .work {
    display: grid;
    gap: 0.75rem 1rem;
    grid-template-columns: minmax(0, 1fr) 16rem;
    align-items: start;
  }
  .editor .cm-editor {
    min-height: 16rem;
    /* What is done with the text stays in view. */
    max-height: max(16rem, min(65dvh, 100dvh - 25rem));
  }
  .main {
    display: grid;
    gap: 0.75rem;
    min-width: 0;
  }
  .ask {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    align-items: end;
  }
  .ask label {
    flex: 1 1 12rem;
  }
  .status {
    margin: 0;
    min-height: 1.5em;
  }
  kbd {
    font: 0.8em var(--mono);
    border: 1px solid var(--line-strong);
    border-radius: 4px;
    padding: 0 0.3em;
    white-space: nowrap;
  }
  .keys ul {
    columns: 20rem;
    list-style: none;
    margin: 0.5rem 0;
    padding: 0;
    line-height: 1.9;
    font-size: 0.875rem;
  }
  .keys li {
    break-inside: avoid;
  }
  @media (max-width: 50rem) {
    .work {
      grid-template-columns: minmax(0, 1fr);
    }
  }
`;
