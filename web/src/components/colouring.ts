/** What the colours of tokens tell: a choice, and its legend. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { controls } from "./base";
import { COLOURINGS, type Colouring } from "./canvas";

/** What no colour and full colour mean. */
const ENDS: Partial<Record<Colouring, readonly [string, string]>> = {
  confidence: ["sure", "unsure"],
  entropy: ["one option", "many options"],
  age: ["old", "new"],
  revisions: ["never revised", "often revised"],
};

declare global {
  interface HTMLElementTagNameMap {
    "sf-colouring": ColouringElement;
  }
  interface HTMLElementEventMap {
    "sf-colouring": CustomEvent<Colouring>;
  }
}

@customElement("sf-colouring")
export class ColouringElement extends LitElement {
  @property() value: Colouring = "confidence";

  static override styles = [
    controls,
    css`
      :host {
        display: flex;
        flex-wrap: wrap;
        gap: 0.25rem 0.9rem;
      }
      .figures {
        display: inline-flex;
        gap: 0.5rem;
        align-items: center;
      }
      i {
        width: 5rem;
        height: 0.7rem;
        border-radius: 3px;
        border: 1px solid var(--line);
        background: linear-gradient(
          to right,
          transparent,
          color-mix(in oklab, var(--warm) var(--tint), transparent)
        );
      }
    `,
  ];

  private choose(event: Event): void {
    const detail = (event.target as HTMLSelectElement).value;
    this.dispatchEvent(new CustomEvent("sf-colouring", { detail, bubbles: true, composed: true }));
  }

  override render() {
    const ends = ENDS[this.value];
    return html`<label class="inline"
        >Colour by
        <select @change=${this.choose}>
          ${COLOURINGS.map((each) => html`<option .selected=${each === this.value}>${each}</option>`)}
        </select></label
      >
      ${
        ends === undefined
          ? nothing
          : html`<span class="figures"><span>${ends[0]}</span><i></i><span>${ends[1]}</span></span>`
      }`;
  }
}
