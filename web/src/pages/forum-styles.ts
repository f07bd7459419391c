/** How the forum looks. */
import { css } from "lit";

export const forumStyles = css`
  h2 {
    margin: 0 0 0.4rem;
    overflow-wrap: anywhere;
  }
  .small {
    padding: 0.2rem 0.6rem;
    font-size: 0.875rem;
  }
  .small[aria-pressed="true"] {
    color: var(--accent-text);
    border-color: var(--accent);
    font-weight: 600;
  }
  .posts,
  .composer {
    display: grid;
    gap: 0.9rem;
    grid-template-columns: minmax(0, 1fr);
  }
  .post {
    display: grid;
    grid-template-columns: auto minmax(0, 1fr);
    gap: 0.75rem;
    padding: 0.9rem 1rem 0.9rem 0.6rem;
  }
  .votes {
    display: grid;
    justify-items: center;
    align-content: start;
    min-width: 2.4rem;
    font-variant-numeric: tabular-nums;
  }
  .votes button {
    padding: 0.1rem 0.5rem;
    color: var(--muted);
  }
  .votes button[aria-pressed="true"] {
    color: var(--accent-text);
    background: var(--surface-2);
    border-color: var(--accent);
  }
  .said {
    display: grid;
    gap: 0.75rem;
    line-height: 1.55;
  }
  .pictured {
    grid-template-columns: minmax(0, 1fr) 14rem;
  }
  .comments {
    list-style: none;
    margin: 0.6rem 0 0.5rem;
    padding: 0;
    font-size: 0.95rem;
  }
  .comments li {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.6rem;
    align-items: baseline;
    padding: 0.35rem 0 0.35rem 0.75rem;
    border-left: 2px solid var(--line);
  }
  .comments p {
    overflow-wrap: anywhere;
    flex: 0 1 auto;
  }
  .by {
    color: var(--muted);
    font-size: 0.8rem;
  }
  .comments button {
    padding: 0 0.4rem;
  }
  .comment {
    display: flex;
    flex-wrap: wrap;
    gap: 0.4rem;
  }
  .comment input {
    flex: 1 1 9rem;
  }
  .comment :is(input, button) {
    padding: 0.25rem 0.6rem;
    font-size: 0.9rem;
  }
  textarea {
    resize: vertical;
  }
  @media (max-width: 40rem) {
    .pictured {
      grid-template-columns: minmax(0, 1fr);
    }
    .pictured sf-picture {
      max-width: 20rem;
    }
  }
`;
