/** What all elements have in common. */
import { css } from "lit";

/** Controls as they look everywhere; shadow roots do not see the page's style sheet. */
export const controls = css`
  *,
  *::before,
  *::after {
    box-sizing: border-box;
  }
  :host {
    display: block;
  }
  [hidden] {
    display: none !important;
  }
  h1,
  h2,
  h3 {
    line-height: 1.2;
    margin: 0 0 0.5em;
    text-wrap: balance;
  }
  h1 {
    font-size: 1.5rem;
    font-weight: 650;
    letter-spacing: -0.01em;
  }
  h2 {
    font-size: 1.05rem;
  }
  a {
    color: var(--accent-text);
  }
  button,
  input,
  select,
  textarea {
    font: inherit;
    color: inherit;
  }
  /* In a label, too, as high as the button beside it. */
  input,
  select {
    font-size: 1rem;
  }
  button {
    background: var(--surface-2);
    border: 1px solid var(--line);
    border-radius: 8px;
    padding: 0.4rem 0.8rem;
    cursor: pointer;
  }
  button:hover:not(:disabled) {
    border-color: var(--accent);
  }
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
    font-weight: 600;
  }
  button.quiet {
    background: none;
    border-color: transparent;
  }
  button:disabled {
    opacity: 0.55;
    cursor: default;
  }
  input:not([type="checkbox"], [type="radio"], [type="range"]),
  select,
  textarea {
    background: var(--surface);
    border: 1px solid var(--line-strong);
    border-radius: 8px;
    padding: 0.4rem 0.6rem;
    min-width: 0;
    /* In the direction of the script. */
    unicode-bidi: plaintext;
    /* A select takes no line height. */
    min-height: 2.425rem;
  }
  input[type="range"],
  input[type="checkbox"],
  input[type="radio"] {
    accent-color: var(--accent);
  }
  :is(button, input, select, textarea, a, summary, [tabindex]):focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
  }
  label {
    display: grid;
    gap: 0.25rem;
    font-size: 0.875rem;
  }
  label.inline {
    display: inline-flex;
    align-items: center;
    gap: 0.4rem;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
    align-items: center;
  }
  .intro {
    margin: -0.5rem 0 0;
  }
  .muted {
    color: var(--muted);
  }
  .card {
    background: var(--surface);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 1rem;
  }
  .figures {
    font-variant-numeric: tabular-nums;
    font-size: 0.875rem;
    color: var(--muted);
  }
  .error {
    color: var(--error);
    white-space: pre-line;
  }
  .visually-hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;

/** Tables of figures; one that is too wide scrolls in its `.scroll`. */
export const tables = css`
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    font-size: 0.9rem;
    font-variant-numeric: tabular-nums;
  }
  th,
  td {
    text-align: right;
    padding: 0.3rem 1rem 0.3rem 0;
    border-bottom: 1px solid var(--line);
    white-space: nowrap;
  }
  :is(th, td):first-child {
    text-align: left;
  }
  th {
    font-weight: 500;
    color: var(--muted);
  }
`;
