/** How components look. */
import { css } from "lit";
import { themes } from "./themes";

const parts = css`
  :host {
    display: grid;
  }
  .page {
    /* What controls of ours take their colours from. */
    --surface: var(--page);
    --surface-2: var(--raised);
    --text: var(--ink);
    --muted: var(--soft);
    --line: var(--edge);
    --line-strong: var(--edge-strong);
    --accent: var(--key);
    background: var(--page);
    color: var(--ink);
    padding: clamp(0.9rem, 3vw, 1.75rem);
    display: grid;
    gap: 0.9rem;
    align-content: start;
    container-type: inline-size;
    transition:
      background-color calc(var(--motion) * 160ms),
      color calc(var(--motion) * 160ms);
  }
  .slot {
    min-width: 0;
    --ground: transparent;
  }
  .changed {
    animation: changed calc(var(--motion) * 900ms) ease-out;
  }
  @keyframes changed {
    from {
      background: color-mix(in oklab, var(--key) 28%, transparent);
    }
  }
  h2,
  h3,
  p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 1.4rem;
    letter-spacing: -0.01em;
  }
  h3 {
    font-size: 1rem;
    margin-bottom: 0.4rem;
  }
  .small:is(.header) h2 {
    font-size: 1.1rem;
  }
  .large:is(.header) h2 {
    font-size: 2rem;
  }
  .small:is(.text, .button) > * {
    font-size: 0.85rem;
  }
  .large:is(.text, .button) > * {
    font-size: 1.3rem;
  }
  .center {
    text-align: center;
  }
  .right {
    text-align: right;
  }
  .bold {
    font-weight: 700;
  }
  .coloured:is(.header, .text, .item, .checkbox) {
    color: var(--c);
  }
  .checkbox.coloured input {
    accent-color: var(--c);
  }
  .button.coloured > button,
  .badge.coloured > span {
    background: var(--c);
    border-color: var(--c);
    color: var(--on, var(--on-color));
  }
  .button.c-white > button,
  .badge.c-white > span {
    border-color: var(--line-strong);
  }
  .badge > span {
    display: inline-block;
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 99px;
    padding: 0.05rem 0.7rem;
    font-size: 0.85rem;
  }
  .marked {
    --ground: color-mix(in oklab, var(--yellow) 22%, transparent);
    background: var(--ground);
    border-radius: 6px;
  }
  ul,
  ol {
    margin: 0;
    padding: 0;
    display: grid;
    gap: 0.1rem;
  }
  ul {
    list-style: none;
  }
  ul > .item .says::before {
    content: "•" / "";
    margin-right: 0.6rem;
    color: var(--soft);
  }
  ol {
    counter-reset: entry;
    list-style: none;
  }
  ol > li::before {
    counter-increment: entry;
    content: counter(entry) ".";
    min-width: 1.6rem;
    font-variant-numeric: tabular-nums;
    color: var(--soft);
  }
  li {
    display: flex;
    align-items: center;
    gap: 0.4rem;
    padding: 0.15rem 0.4rem;
    border-radius: 6px;
    overflow-wrap: anywhere;
  }
  .says {
    flex: 1;
    text-align: left;
  }
  button.says {
    padding: 0.1rem 0.3rem;
  }
  button.says:hover {
    text-decoration: underline;
  }
  .check {
    flex: 1;
    font-size: 1rem;
    gap: 0.6rem;
    cursor: pointer;
  }
  .check input {
    width: 1.1rem;
    height: 1.1rem;
    flex: none;
  }
  li .check input:checked + .says {
    text-decoration: line-through;
    text-decoration-color: color-mix(in oklab, currentcolor 60%, transparent);
  }
  .tools {
    display: inline-flex;
    opacity: 0;
  }
  .tools button {
    padding: 0 0.5rem;
    line-height: 1.5;
    color: var(--soft);
  }
  :is(li, tr):is(:hover, :focus-within) .tools {
    opacity: 1;
  }
  @media (hover: none) {
    .tools {
      opacity: 1;
    }
  }
  input.says {
    min-width: 0;
  }
  td input.says {
    width: 100%;
    min-width: 4rem;
  }
  .hidden-note {
    color: var(--soft);
    font-size: 0.875rem;
    padding: 0.2rem 0.4rem;
  }
  .hidden-note button {
    text-decoration: underline;
    padding: 0.1rem 0.3rem;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
    align-items: end;
  }
  .row > .card {
    flex: 1 1 12rem;
    align-self: stretch;
  }
  .row > :is(.input, .column, .slider, .progress, .chart) {
    flex: 1 1 10rem;
  }
  .row > .checkbox {
    align-self: center;
  }
  .column,
  .card {
    display: grid;
    gap: 0.6rem;
    align-content: start;
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 0.9rem 1rem;
  }
  .card h3 {
    margin: 0;
  }
  .card.coloured {
    border-color: var(--c);
    border-left-width: 5px;
  }
  .card.marked {
    outline: 2px solid var(--yellow);
  }
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th,
  td {
    text-align: left;
    padding: 0.4rem 0.6rem;
    border-bottom: 1px solid var(--line);
  }
  th button {
    padding: 0.1rem 0;
    font-weight: 650;
    white-space: nowrap;
  }
  td.number {
    font-variant-numeric: tabular-nums;
  }
  td .tools {
    float: right;
  }
  [role="tablist"] {
    display: flex;
    flex-wrap: wrap;
    gap: 0.2rem;
    border-bottom: 1px solid var(--line);
  }
  [role="tab"] {
    border-radius: 8px 8px 0 0;
    border-bottom: 2px solid transparent;
    color: var(--soft);
  }
  [role="tab"][aria-selected="true"] {
    color: var(--key);
    border-bottom-color: var(--key);
    font-weight: 600;
  }
  [role="tabpanel"] {
    display: grid;
    gap: 0.75rem;
    padding: 0.9rem 0.1rem 0;
    min-height: 2.5rem;
  }
  .input > label > :is(input, textarea),
  .select select {
    width: 100%;
  }
  progress {
    width: 100%;
    height: 0.6rem;
    accent-color: var(--c, var(--key));
  }
  .slider input {
    width: 100%;
  }
  .chart svg {
    width: 100%;
    max-width: 32rem;
    height: auto;
  }
  .axis,
  .line {
    fill: none;
    stroke: var(--edge-strong);
  }
  .line {
    stroke: var(--c, var(--key));
    stroke-width: 2.5;
    stroke-linejoin: round;
  }
  .fill {
    fill: var(--c, var(--key));
  }
  .slice {
    fill: none;
    stroke-width: 62;
    stroke: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  .key {
    fill: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  svg text {
    fill: var(--ink);
    font-size: 11px;
  }
  .picture {
    width: min(100%, 22rem);
    aspect-ratio: 16 / 10;
    border-radius: 10px;
    display: inline-grid;
    place-items: center;
    padding: 0.5rem;
    color: var(--soft);
    background:
      radial-gradient(circle at 30% 25%, color-mix(in oklab, var(--key) 22%, transparent), transparent 55%),
      radial-gradient(
        circle at 75% 70%,
        color-mix(in oklab, var(--orange) 20%, transparent),
        transparent 55%
      ),
      var(--raised);
    border: 1px dashed var(--edge-strong);
  }
  .image.small .picture {
    width: min(100%, 10rem);
  }
  .image.large .picture {
    width: 100%;
  }
  /* A log takes what room there is, however long it is. */
  .page:has(> .text > pre) {
    grid-template-rows: minmax(10rem, 1fr);
    align-content: stretch;
  }
  .text:has(pre) {
    display: grid;
  }
  pre {
    contain: size;
    margin: 0;
    overflow: auto;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font: 0.875rem/1.5 var(--mono);
  }
  textarea {
    resize: vertical;
    font: 0.9rem/1.5 var(--mono);
  }
  hr {
    border: 0;
    border-top: 1px solid var(--line);
    margin: 0.2rem 0;
  }
`;

export const look = [themes, parts];
