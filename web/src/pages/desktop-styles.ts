/** How the desktop looks. */
import { css } from "lit";

export const desktopStyles = css`
  .page {
    display: grid;
    gap: 0.75rem;
    grid-template-columns: minmax(0, 1fr);
  }
  .apps {
    display: flex;
    flex-wrap: wrap;
    gap: 0.5rem;
  }
  .apps button {
    display: grid;
    justify-items: center;
    gap: 0.15rem;
    width: 5.6rem;
    padding: 0.5rem 0.25rem;
  }
  .apps b {
    font-size: 1.1rem;
    display: grid;
    place-items: center;
    width: 2.2rem;
    height: 2.2rem;
    border-radius: 10px;
    background: var(--accent);
    color: var(--on-accent);
  }
  .surface {
    position: relative;
    min-height: max(30rem, 100dvh - 24rem);
    border: 1px solid var(--line);
    border-radius: 14px;
    /* Not hidden: a control that is focused would scroll all windows. */
    overflow: clip;
    background:
      radial-gradient(
        circle at 20% 20%,
        color-mix(in oklab, var(--accent) 18%, transparent),
        transparent 60%
      ),
      radial-gradient(circle at 80% 80%, color-mix(in oklab, var(--warm) 18%, transparent), transparent 60%),
      var(--bg);
  }
  form {
    display: flex;
    gap: 0.4rem;
  }
  form input {
    flex: 1;
  }
  sf-window form {
    padding: 0.5rem;
    border-bottom: 1px solid var(--line);
  }
  .bar {
    display: flex;
    flex-wrap: wrap;
    gap: 0.4rem;
    min-height: 2.4rem;
  }
  .bar .front {
    border-color: var(--accent);
  }
  .bar .hidden {
    color: var(--muted);
    border-style: dashed;
  }
  .note {
    padding: 0.75rem;
    margin: 0;
  }
  @media (max-width: 40rem) {
    .surface {
      min-height: 14rem;
      display: grid;
      gap: 0.5rem;
      padding: 0.5rem;
      align-content: start;
    }
  }
`;
