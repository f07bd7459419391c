/** The options of a request, as far as its model knows them. */
import { css, html, LitElement } from "lit";
import { customElement, property } from "lit/decorators.js";
import type { ModelCard } from "../core/protocol";
import type { Options } from "../core/share";
import { controls } from "./base";

export const SAMPLERS = ["entropy", "confidence", "margin", "threshold", "random", "edit", "ancestral"];

interface Field {
  name: Exclude<keyof Options, "sampler">;
  label: string;
  min: number;
  step: number;
  own: (card: ModelCard) => number | null;
}

const FIELDS: readonly Field[] = [
  { name: "steps", label: "Steps at most", min: 1, step: 1, own: ({ sfumato }) => sfumato.steps },
  { name: "canvas_length", label: "Canvas", min: 1, step: 1, own: ({ sfumato }) => sfumato.canvas_length },
  { name: "max_tokens", label: "Tokens at most", min: 1, step: 1, own: ({ sfumato }) => sfumato.max_tokens },
  { name: "temperature", label: "Temperature", min: 0, step: 0.1, own: () => null },
];

declare global {
  interface HTMLElementTagNameMap {
    "sf-options": OptionsElement;
  }
  interface HTMLElementEventMap {
    "sf-options": CustomEvent<Options>;
  }
}

/** Sends `sf-options` with all of them when one changes. */
@customElement("sf-options")
export class OptionsElement extends LitElement {
  @property({ attribute: false }) card: ModelCard | null = null;
  @property({ attribute: false }) options: Options = {};

  static override styles = [
    controls,
    css`
      .fields {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
        gap: 0.75rem;
      }
      input,
      select {
        width: 100%;
      }
    `,
  ];

  private set(name: keyof Options, value: number | string | undefined): void {
    const kept = Object.entries(this.options).filter(([other]) => other !== name);
    const detail = Object.fromEntries(value === undefined ? kept : [...kept, [name, value]]) as Options;
    this.dispatchEvent(new CustomEvent("sf-options", { detail, bubbles: true, composed: true }));
  }

  override render() {
    const { card } = this;
    if (card === null) return html``;
    return html`<div class="fields">
      ${FIELDS.map(({ name, label, min, step, own }) => {
        return html`<label
          >${label}
          <input
            type="number"
            min=${min}
            step=${step}
            placeholder=${own(card) ?? "its own"}
            .value=${String(this.options[name] ?? "")}
            @change=${(event: Event) => {
              const { value, valueAsNumber } = event.target as HTMLInputElement;
              this.set(name, value === "" || Number.isNaN(valueAsNumber) ? undefined : valueAsNumber);
            }}
        /></label>`;
      })}
      <label
        >Sampler
        <select
          @change=${(event: Event) => {
            const { value } = event.target as HTMLSelectElement;
            this.set("sampler", value === "" ? undefined : value);
          }}
        >
          <option value="" ?selected=${this.options.sampler === undefined}>its own</option>
          ${SAMPLERS.map(
            (name) => html`<option value=${name} ?selected=${name === this.options.sampler}>${name}</option>`,
          )}
        </select></label
      >
    </div>`;
  }
}
