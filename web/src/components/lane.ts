/** A lane of a race: the text, the clocks, and whether the answer is right. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { shorten, type Judge } from "../core/judge";
import { frameAt, tokensPerSecond, type Lane } from "../core/lane";
import { sentenceOf } from "../core/files";
import { controls } from "./base";
import type { PromptKind } from "../core/protocol";
import "./canvas";
import "./examples";

declare global {
  interface HTMLElementTagNameMap {
    "sf-lane": LaneElement;
  }
}

const MEANINGS: Record<Lane["status"], string> = {
  ready: "ready",
  running: "running",
  done: "finished",
  stopped: "stopped",
  failed: "failed",
};

/** "41 ms" or "2.35 s". */
export function duration(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

@customElement("sf-lane")
export class LaneElement extends LitElement {
  @property({ attribute: false }) lane!: Lane;
  @property({ attribute: false }) judge: Judge | null = null;
  /** What to choose from instead of a prompt that was refused. */
  @property({ attribute: false }) kinds: readonly PromptKind[] = [];
  /** Milliseconds of its clock. */
  @property({ type: Number }) clock = 0;
  /** Whether it shows the state at `at`; otherwise the current state. */
  @property({ type: Boolean }) replayed = false;
  /** Milliseconds of the whole track. */
  @property({ type: Number }) scale = 1;

  static override styles = [
    controls,
    css`
      :host {
        display: grid;
        align-content: start;
        gap: 0.6rem;
        min-width: 0;
      }
      header {
        display: flex;
        flex-wrap: wrap;
        justify-content: space-between;
        align-items: baseline;
        gap: 0.25rem 1rem;
      }
      h2 {
        margin: 0;
        overflow-wrap: anywhere;
      }
      .clock {
        font: 650 1.5rem/1 var(--mono);
        font-variant-numeric: tabular-nums;
        /* Also where it has a line of its own. */
        margin-left: auto;
      }
      .track {
        position: relative;
        height: 6px;
        border-radius: 3px;
        background: var(--surface-2);
        overflow: hidden;
      }
      .run {
        position: absolute;
        inset: 0 auto 0 0;
        background: var(--accent);
        border-radius: 3px;
      }
      .first {
        position: absolute;
        inset-block: 0;
        width: 2px;
        background: var(--warm);
      }
      .failed p {
        margin: 0;
      }
      .failed {
        display: grid;
        gap: 0.5rem;
      }
      sf-canvas {
        min-height: 8.5em;
      }
      dl {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(7.2rem, 1fr));
        gap: 0.4rem 0.75rem;
        margin: 0;
      }
      dl > div {
        display: grid;
      }
      dd {
        margin: 0;
        color: var(--text);
      }
      .verdict {
        margin: 0;
        font-weight: 600;
        min-height: 1.5em;
      }
      .right {
        color: var(--good);
      }
    `,
  ];

  override render() {
    const { lane, clock } = this;
    const atEnd = lane.endMs !== null && (!this.replayed || clock >= lane.endMs);
    const frame = frameAt(lane, this.replayed ? clock : null);
    const shown = lane.status === "ready" || lane.error !== null ? null : atEnd ? lane.endMs : clock;
    const share = (ms: number) => `${Math.min(100, (100 * ms) / this.scale).toFixed(2)}%`;
    const { firstMs } = lane;
    return html`
      <header>
        <h2>
          ${lane.model}
          <span class="muted figures"
            >${lane.isCanvas ? "revises in place" : "writes token after token"}</span
          >
        </h2>
        <span class="clock" aria-label=${`Clock: ${duration(shown)}, ${MEANINGS[lane.status]}`} role="img"
          >${duration(shown)}</span
        >
      </header>
      <div class="track" aria-hidden="true">
        <div class="run" style=${`width: ${share(shown ?? 0)}`}></div>
        ${
          firstMs !== null && shown !== null && shown >= firstMs
            ? html`<div class="first" style=${`left: min(${share(firstMs)}, 100% - 2px)`}></div>`
            : nothing
        }
      </div>
      ${
        lane.error === null
          ? nothing
          : html`<div class="failed">
              <p class="error">${sentenceOf(lane.error)}</p>
              <sf-examples .kinds=${this.kinds}></sf-examples>
            </div>`
      }
      <sf-canvas
        ?hidden=${lane.error !== null && (frame?.view.tokens ?? []).length === 0}
        label=${`Text of ${lane.model}`}
        .tokens=${frame?.view.tokens ?? []}
        .clock=${frame?.view.clock ?? 0}
      ></sf-canvas>
      <div>
        ${this.verdict(atEnd)}
        <dl class="figures">
          ${this.figures(frame?.view.clock ?? 0, atEnd).map(
            ([name, value]) =>
              html`<div>
                <dt>${name}</dt>
                <dd>${value}</dd>
              </div>`,
          )}
        </dl>
      </div>
    `;
  }

  private figures(steps: number, atEnd: boolean): [string, string][] {
    const { lane } = this;
    const { usage } = lane;
    const number = (value: number | undefined) =>
      value === undefined || !atEnd ? "–" : value.toLocaleString("en");
    const speed = atEnd ? tokensPerSecond(lane) : null;
    const isCommitted = !this.replayed || this.clock >= (lane.firstMs ?? Infinity);
    return [
      ["first committed", duration(isCommitted ? lane.firstMs : null)],
      ["total", duration(atEnd && lane.status === "done" ? lane.endMs : null)],
      ["steps", atEnd || !lane.isCanvas ? number(usage.denoising_steps) : String(steps)],
      ["forward passes", number(usage.forward_passes)],
      ["positions", number(usage.positions_computed)],
      ["revisions", number(usage.revisions)],
      ["tokens", number(usage.completion_tokens)],
      ["tokens/s", speed === null ? "–" : Math.round(speed).toLocaleString("en")],
    ];
  }

  private verdict(atEnd: boolean) {
    const { lane, judge } = this;
    if (lane.error !== null) return nothing;
    if (!atEnd) return html`<p class="verdict"></p>`;
    if (lane.status === "stopped") return html`<p class="verdict muted">Stopped.</p>`;
    if (judge === null || lane.isRight === null) return html`<p class="verdict muted">Not checked.</p>`;
    const said = lane.claims.map((claim) => (claim === null ? "no answer" : shorten(claim)));
    const drafts = said.length < 2 ? "" : ` (in drafts: ${said.slice(0, -1).join(", ")})`;
    const answer = `${said.at(-1) ?? "no answer"}${drafts}`;
    const truth = judge.truth === null ? "" : ` It is ${judge.truth}.`;
    return lane.isRight
      ? html`<p class="verdict right">✓ Right: ${answer}</p>`
      : html`<p class="verdict error">✗ Wrong: ${answer}.${truth}</p>`;
  }
}
