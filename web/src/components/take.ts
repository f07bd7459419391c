/** A take as it stands at a step: its text in place, and what it cost. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { textOf } from "../core/canvas";
import { sentenceOf } from "../core/files";
import type { Span } from "../core/protocol";
import type { PromptKind } from "../core/protocol";
import { countText, latest, pinnedIn, stepsAt, stepsText, type Take } from "../core/take";
import { controls } from "./base";
import type { Colouring } from "./canvas";
import "./canvas";
import "./examples";

const MEANINGS: Record<Take["status"], string> = {
  running: "denoising …",
  done: "",
  stopped: "stopped",
  failed: "failed",
};

declare global {
  interface HTMLElementTagNameMap {
    "sf-take": TakeElement;
  }
}

@customElement("sf-take")
export class TakeElement extends LitElement {
  @property({ attribute: false }) take!: Take;
  /** The frame that is shown; null for the last. */
  @property({ attribute: false }) at: number | null = null;
  @property() colouring: Colouring = "confidence";
  @property({ type: Boolean }) active = false;
  @property({ attribute: false }) chosen: readonly [number, number] | null = null;
  @property({ attribute: false }) pins: readonly Span[] = [];
  /** What to choose from instead of a prompt that was refused. */
  @property({ attribute: false }) kinds: readonly PromptKind[] = [];

  static override styles = [
    controls,
    css`
      article {
        display: grid;
        grid-template-rows: auto 1fr auto;
        gap: 0.5rem;
        min-width: 0;
      }
      article.active {
        border-color: var(--accent);
      }
      article header {
        display: flex;
        flex-wrap: wrap;
        justify-content: space-between;
        gap: 0.5rem;
        align-items: center;
      }
      article h2 {
        margin: 0;
      }
      sf-canvas {
        min-height: 7em;
      }
      p {
        margin: 0;
      }
    `,
  ];

  /** Focuses a token, or the last one. */
  focusToken(index: number): void {
    this.renderRoot.querySelector("sf-canvas")?.focusToken(index);
  }

  override render() {
    const { take, at } = this;
    const last = latest(take);
    const view = at === null ? last : (take.frames[Math.min(at, take.frames.length - 1)] ?? last);
    const { usage } = last.ending;
    const isEmpty = take.status === "done" && textOf(last) === "";
    const figures =
      usage === undefined
        ? [stepsText(stepsAt(take.frames, at ?? undefined))]
        : [
            countText(usage.completion_tokens, "token"),
            stepsText(usage.denoising_steps),
            countText(usage.revisions, "revision"),
            `${(1000 * usage.total_s).toFixed(0)} ms`,
          ];
    const error =
      take.error === null
        ? nothing
        : html`<p class="error">${sentenceOf(take.error)}</p>
            <sf-examples .kinds=${this.kinds}></sf-examples>`;
    if (take.error !== null && view.tokens.length === 0) {
      return html`<article class="card" aria-label=${`Seed ${take.seed}`}>
        <header><h2>Seed ${take.seed}</h2></header>
        ${error}
      </article>`;
    }
    return html`<article class="card ${this.active ? "active" : ""}" aria-label=${`Seed ${take.seed}`}>
      <header>
        <h2>Seed ${take.seed}</h2>
        <span class="figures">${MEANINGS[take.status]}</span>
      </header>
      <sf-canvas
        label=${`Text of seed ${take.seed}`}
        .tokens=${view.tokens}
        .clock=${view.clock}
        .colouring=${this.colouring}
        .interactive=${at === null && take.status !== "running"}
        .chosen=${this.active ? this.chosen : null}
        .pinned=${pinnedIn(view.tokens, this.pins)}
      ></sf-canvas>
      ${
        take.error === null
          ? html`${isEmpty ? html`<p class="muted">The model wrote nothing.</p>` : nothing}
              <p class="figures">${figures.join(" · ")}</p>`
          : error
      }
    </article>`;
  }
}
