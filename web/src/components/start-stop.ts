/** The button that starts some work, and stops it while it goes on. */
import { html, nothing } from "lit";

export interface StartStop {
  readonly label: unknown;
  readonly isRunning: boolean;
  readonly canStart: boolean;
  /** Without it, the button submits its form. */
  readonly start?: () => void;
  readonly stop: () => void;
  readonly title?: string;
}

/** One node in both states, so that it keeps the focus; the second click of a double click does nothing. */
export function startStop({ label, isRunning, canStart, start, stop, title }: StartStop) {
  const onClick = (event: MouseEvent) => {
    const isSecond = event.detail > 1;
    // Enter in a field clicks the form's button.
    const isByField = event.detail === 0 && !(event.currentTarget as Element).matches(":focus");
    if (isSecond || isRunning) event.preventDefault();
    if (isSecond || (isRunning && isByField)) return;
    if (isRunning) stop();
    else start?.();
  };
  return html`<button
    class=${isRunning ? "" : "primary"}
    type=${start === undefined ? "submit" : "button"}
    title=${title ?? nothing}
    ?disabled=${!isRunning && !canStart}
    @click=${onClick}
  >
    ${isRunning ? "Stop" : label}
  </button>`;
}
