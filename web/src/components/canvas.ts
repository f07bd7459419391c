/** The tokens of a canvas, one node for each position, so that only changes are drawn. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { classMap } from "lit/directives/class-map.js";
import { styleMap } from "lit/directives/style-map.js";
import { historyOf, wordAt, type Token } from "../core/canvas";
import { controls } from "./base";

export type Colouring = "confidence" | "entropy" | "age" | "revisions" | "none";
export const COLOURINGS: readonly Colouring[] = ["confidence", "entropy", "age", "revisions", "none"];

/** Entropies of this many nats and more look alike. */
const MAX_ENTROPY = 4;
const MAX_REVISIONS = 4;

declare global {
  interface HTMLElementTagNameMap {
    "sf-canvas": CanvasElement;
  }
  interface HTMLElementEventMap {
    "sf-token": CustomEvent<{ index: number; extends: boolean }>;
  }
}

/** From 0 (no colour) to 1 (full colour); null if unknown. */
export function levelOf(token: Token, colouring: Colouring, clock: number): number | null {
  switch (colouring) {
    case "confidence":
      return token.confidence === null ? null : 1 - token.confidence;
    case "entropy":
      return token.entropy === null ? null : Math.min(1, token.entropy / MAX_ENTROPY);
    case "age":
      return clock === 0 ? null : 1 - Math.min(1, (clock - token.since) / clock);
    case "revisions":
      return Math.min(1, token.revisions / MAX_REVISIONS);
    case "none":
      return null;
  }
}

@customElement("sf-canvas")
export class CanvasElement extends LitElement {
  @property({ attribute: false }) tokens: readonly Token[] = [];
  @property({ type: Number }) clock = 0;
  @property() colouring: Colouring = "confidence";
  /** Whether tokens can be chosen; then the element sends `sf-token`. */
  @property({ type: Boolean }) interactive = false;
  /** The first of the chosen positions, and the one after the last. */
  @property({ attribute: false }) chosen: readonly [number, number] | null = null;
  /** Pinned positions. */
  @property({ attribute: false }) pinned: ReadonlySet<number> = new Set();
  @property() label = "Canvas";
  /** Where the arrow keys are. */
  @state() private focused = 0;

  static override styles = [
    controls,
    css`
      .text {
        font-family: var(--mono);
        font-size: 0.95rem;
        line-height: 1.7;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        /* Each line in the direction of its own script. */
        unicode-bidi: plaintext;
        min-height: 1.7em;
      }
      .token {
        border-radius: 3px;
        background: color-mix(in oklab, var(--warm) calc(var(--level, 0) * var(--tint)), transparent);
        transition: background-color calc(var(--motion) * 120ms) linear;
      }
      .noise {
        /* A contrast of 3 to 1, even on the full tint. */
        color: color-mix(in oklab, var(--text) 68%, transparent);
      }
      .pinned {
        box-shadow: inset 0 -2px var(--accent);
      }
      .chosen {
        outline: 2px solid var(--accent);
      }
      .revised {
        animation: flash calc(var(--motion) * 700ms) ease-out;
        text-decoration: underline
          color-mix(in oklab, currentcolor calc((1 - var(--motion)) * 100%), transparent);
      }
      .interactive .token {
        cursor: pointer;
      }
      /* A line's end has no width to click. */
      .interactive .line::before {
        content: "↵";
        opacity: 0.4;
      }
      .interactive .token:hover {
        outline: 1px solid var(--accent);
      }
      @keyframes flash {
        from {
          background: var(--accent);
          color: var(--on-accent);
        }
      }
    `,
  ];

  override render() {
    // The template must not add spaces to the text.
    // prettier-ignore
    return html`<div
      part="text"
      class=${classMap({ text: true, interactive: this.interactive })}
      role=${this.interactive ? "listbox" : "group"}
      aria-multiselectable=${this.interactive ? "true" : nothing}
      aria-label=${this.label}
      @click=${(event: MouseEvent) => this.choose(event.target, event.shiftKey)}
      @keydown=${this.onKey}
    >${this.tokens.map((token, index) => this.token(token, index))}</div>`;
  }

  private token(token: Token, index: number) {
    const level = levelOf(token, this.colouring, this.clock);
    const word = wordAt(this.tokens, index);
    const classes = {
      token: true,
      noise: token.state === "noise",
      line: token.text.startsWith("\n"),
      revised: token.state === "revised" && token.since === this.clock,
      pinned: this.pinned.has(index),
      chosen: this.isChosen(index),
    };
    return html`<span
      class=${classMap(classes)}
      style=${styleMap({ "--level": level === null ? null : level.toFixed(2) })}
      data-index=${index}
      role=${this.interactive ? "option" : nothing}
      aria-label=${this.interactive && token.text.trim() === "" ? JSON.stringify(token.text) : nothing}
      aria-selected=${this.interactive ? String(this.isChosen(index)) : nothing}
      tabindex=${this.interactive ? (index === Math.min(this.focused, this.tokens.length - 1) ? 0 : -1) : nothing}
      title=${word.some(({ history }) => history.length > 1) ? historyOf(word) : nothing}
      >${token.text}</span
    >`;
  }

  private isChosen(index: number): boolean {
    return this.chosen !== null && index >= this.chosen[0] && index < this.chosen[1];
  }

  private choose(target: EventTarget | null, isMore: boolean): void {
    if (!this.interactive || !(target instanceof HTMLElement) || target.dataset.index === undefined) return;
    const index = Number(target.dataset.index);
    this.focused = index;
    this.dispatchEvent(
      new CustomEvent("sf-token", { detail: { index, extends: isMore }, bubbles: true, composed: true }),
    );
  }

  /** Focuses a token, or the last one. */
  focusToken(index: number): void {
    this.focused = Math.max(0, Math.min(this.tokens.length - 1, index));
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(`[data-index="${this.focused}"]`)?.focus(),
    );
  }

  private onKey(event: KeyboardEvent): void {
    if (!this.interactive) return;
    const moves: Partial<Record<string, number>> = { ArrowRight: 1, ArrowLeft: -1 };
    const move = moves[event.key];
    if (move !== undefined) this.focusToken(this.focused + move);
    else if (event.key === "Enter" || event.key === " ") {
      this.choose(event.target, event.shiftKey);
    } else return;
    event.preventDefault();
  }
}
