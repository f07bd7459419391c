/** Prompts that a model was trained on, to choose from. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import type { PromptKind } from "../core/protocol";
import { controls } from "./base";

declare global {
  interface HTMLElementTagNameMap {
    "sf-examples": ExamplesElement;
  }
  interface HTMLElementEventMap {
    "sf-example": CustomEvent<string>;
  }
}

/** "arithmetic last" out of "arithmetic_last". */
export function kindName({ name }: PromptKind): string {
  return name.replaceAll("_", " ");
}

/** Sends `sf-example` with the prompt that is chosen. */
@customElement("sf-examples")
export class ExamplesElement extends LitElement {
  @property({ attribute: false }) kinds: readonly PromptKind[] = [];

  static override styles = [
    controls,
    css`
      .row {
        gap: 0.3rem;
        font-size: 0.875rem;
      }
      button {
        font-size: inherit;
        padding: 0.15rem 0.6rem;
      }
    `,
  ];

  override render() {
    if (this.kinds.length === 0) return nothing;
    return html`<div class="row" role="group" aria-label="Examples that it knows">
      <span class="muted">It knows, for example:</span>
      ${this.kinds.map(
        (kind) =>
          html`<button
            type="button"
            title=${kind.example}
            @click=${() =>
              this.dispatchEvent(
                new CustomEvent("sf-example", { detail: kind.example, bubbles: true, composed: true }),
              )}
          >
            ${kindName(kind)}
          </button>`,
      )}
    </div>`;
  }
}
