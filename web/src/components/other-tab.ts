/** What a page says when another tab changed what it shows. */
import { html } from "lit";

export interface Choice {
  readonly label: string;
  readonly run: () => void;
  readonly disabled?: boolean;
}

/** Takes what the other tab made, or goes on with what is here. */
export function otherTab(said: string, choices: readonly Choice[]) {
  return html`<div class="card row" role="alert">
    <span>${said}</span>
    ${choices.map(
      ({ label, run, disabled = false }) =>
        html`<button ?disabled=${disabled} @click=${run}>${label}</button>`,
    )}
  </div>`;
}
