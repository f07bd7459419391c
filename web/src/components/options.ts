/** The options of a request, with the limits and samplers of its model. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import type { ModelCard } from "../core/protocol";
import type { Options } from "../core/share";
import { controls } from "./base";

interface Field {
  name: Exclude<keyof Options, "sampler">;
  label: string;
  step: number;
  own: (card: ModelCard) => number | string | null;
}

const FIELDS: readonly Field[] = [
  { name: "steps", label: "Max. steps", step: 1, own: ({ sfumato }) => sfumato.steps },
  { name: "canvas_length", label: "Canvas length", step: 1, own: ({ sfumato }) => sfumato.canvas_length },
  { name: "max_tokens", label: "Max. tokens", step: 1, own: ({ sfumato }) => sfumato.max_tokens },
  {
    name: "temperature",
    label: "Temperature",
    step: 0.1,
    own: ({ sfumato: { temperature } }) => temperature && [...new Set(temperature)].join(" to "),
  },
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
        grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr));
        gap: 0.75rem;
      }
      @media (min-width: 24rem) {
        .wide {
          grid-column: span 2;
        }
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
    const { sampler, samplers, limits } = card.sfumato;
    return html`<div class="fields">
      ${FIELDS.map(({ name, label, step, own }) => {
        const [low, high] = limits[name] ?? [];
        const isOpen = low !== undefined && high !== undefined && low < high;
        return html`<label
          >${label}${isOpen ? html` <small class="muted">${low} to ${high}</small>` : nothing}
          <input
            type="number"
            min=${low ?? nothing}
            max=${high ?? nothing}
            step=${step}
            ?disabled=${low !== undefined && low === high}
            placeholder=${own(card) ?? "model's own"}
            .value=${live(String(this.options[name] ?? ""))}
            @change=${(event: Event) => {
              const { value, valueAsNumber } = event.target as HTMLInputElement;
              const isEmpty = value === "" || Number.isNaN(valueAsNumber);
              const fitting = Math.min(high ?? Infinity, Math.max(low ?? -Infinity, valueAsNumber));
              this.set(name, isEmpty ? undefined : fitting);
              this.requestUpdate();
            }}
        /></label>`;
      })}
      <label class="wide"
        >Sampler
        <select
          @change=${(event: Event) => {
            const { value } = event.target as HTMLSelectElement;
            this.set("sampler", value === "" ? undefined : value);
          }}
        >
          <option value="" .selected=${this.options.sampler === undefined}>
            ${sampler === null ? "default" : `default (${sampler})`}
          </option>
          ${samplers.map(
            (name) => html`<option value=${name} .selected=${name === this.options.sampler}>${name}</option>`,
          )}
        </select></label
      >
    </div>`;
  }
}
