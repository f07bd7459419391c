/** A slider over steps that can play. */
import { css, html, LitElement } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import type { CanvasView } from "../core/canvas";
import { remember, remembered } from "../core/preferences";
import { stepsAt } from "../core/take";
import { controls } from "./base";

const SPEEDS = [1, 3, 10, 30];

declare global {
  interface HTMLElementTagNameMap {
    "sf-scrubber": ScrubberElement;
  }
  interface HTMLElementEventMap {
    "sf-at": CustomEvent<number>;
  }
}

@customElement("sf-scrubber")
export class ScrubberElement extends LitElement {
  /** What there is to see; sends `sf-at` with the number of the frame that is wanted. */
  @property({ attribute: false }) frames: readonly CanvasView[] = [];
  /** The number of the one that is shown. */
  @property({ type: Number }) at = 0;
  @state() private speed = remembered("scrubber.speed", 3);
  @state() private playing = 0;

  static override styles = [
    controls,
    css`
      .row {
        flex-wrap: nowrap;
      }
      input[type="range"] {
        flex: 1;
        min-width: 4rem;
      }
      button {
        min-width: 2.4rem;
        padding-inline: 0.5rem;
      }
      .figures {
        min-width: 5.5rem;
        text-align: right;
      }
      @media (max-width: 40rem) {
        .row {
          flex-wrap: wrap;
          gap: 0.25rem;
        }
        button {
          min-width: 2rem;
          padding-inline: 0.25rem;
        }
        .figures {
          flex: 1;
          min-width: 0;
        }
        input[type="range"] {
          order: -1;
          flex-basis: 100%;
        }
      }
    `,
  ];

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.pause();
  }

  private get count(): number {
    return this.frames.length;
  }

  private go(at: number): void {
    const detail = Math.max(0, Math.min(this.count - 1, at));
    this.dispatchEvent(new CustomEvent("sf-at", { detail, bubbles: true, composed: true }));
  }

  private pause(): void {
    clearInterval(this.playing);
    this.playing = 0;
  }

  /** Plays from here, or from the start if this is the end; within some seconds, or at the chosen speed. */
  play(seconds = Infinity): void {
    this.pause();
    if (this.at >= this.count - 1) this.go(0);
    this.playing = window.setInterval(
      () => {
        if (this.at >= this.count - 1) this.pause();
        else this.go(this.at + 1);
      },
      1000 / Math.max(this.speed, this.count / seconds),
    );
  }

  private changeSpeed(event: Event): void {
    this.speed = Number((event.target as HTMLSelectElement).value);
    remember("scrubber.speed", this.speed);
    if (this.playing !== 0) this.play();
  }

  override render() {
    const isEmpty = this.count < 2;
    const step = (by: number, sign: string, label: string) =>
      html`<button
        aria-label=${label}
        title=${label}
        ?disabled=${isEmpty}
        @click=${() => {
          this.pause();
          this.go(this.at + by);
        }}
      >
        ${sign}
      </button>`;
    return html`<div class="row">
      ${step(-this.count, "|◀", "First step")} ${step(-1, "◂", "Previous step")}
      <button
        aria-label=${this.playing === 0 ? "Play" : "Pause"}
        title=${this.playing === 0 ? "Play" : "Pause"}
        ?disabled=${isEmpty}
        @click=${() => (this.playing === 0 ? this.play() : this.pause())}
      >
        ${this.playing === 0 ? "▶" : "❚❚"}
      </button>
      ${step(1, "▸", "Next step")} ${step(this.count, "▶|", "Last step")}
      <input
        type="range"
        aria-label="Step"
        min="0"
        max=${Math.max(0, this.count - 1)}
        .value=${String(this.at)}
        ?disabled=${isEmpty}
        @input=${(event: Event) => {
          this.pause();
          this.go(Number((event.target as HTMLInputElement).value));
        }}
      />
      <span class="figures"
        >${this.count === 0 ? "no steps" : `step ${stepsAt(this.frames, this.at)} of ${stepsAt(this.frames)}`}</span
      >
      <select aria-label="Steps per second" @change=${this.changeSpeed}>
        ${SPEEDS.map((speed) => html`<option value=${speed} .selected=${speed === this.speed}>${speed}/s</option>`)}
      </select>
    </div>`;
  }
}
