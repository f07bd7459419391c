/** A window: moved by its bar, resized by its corner, both also by keys. */
import { css, html, LitElement } from "lit";
import { customElement, property } from "lit/decorators.js";
import { LEAST, placeBeside, within, type Place } from "../core/place";
import { controls } from "./base";

const STEP = 24;

declare global {
  interface HTMLElementTagNameMap {
    "sf-window": WindowElement;
  }
  interface HTMLElementEventMap {
    "sf-place": CustomEvent<Place>;
    "sf-window": CustomEvent<"close" | "minimise" | "front">;
  }
}

@customElement("sf-window")
export class WindowElement extends LitElement {
  @property() name = "";
  @property({ attribute: false }) place: Place = { x: 0, y: 0, width: 420, height: 420 };
  @property({ type: Boolean }) front = false;
  /** Where it was before it was maximised. */
  private smaller: Place | null = null;
  private readonly observer = new ResizeObserver(() => this.requestUpdate());

  static override styles = [
    controls,
    css`
      :host {
        position: absolute;
        display: grid;
        grid-template: auto minmax(0, 1fr) / minmax(0, 1fr);
        background: var(--surface);
        border: 1px solid var(--line);
        border-radius: 12px;
        box-shadow: 0 8px 30px rgb(0 0 0 / 18%);
        overflow: hidden;
      }
      :host([front]) {
        border-color: var(--accent);
      }
      header {
        display: flex;
        align-items: center;
        gap: 0.25rem;
        padding: 0.3rem 0.4rem 0.3rem 0.8rem;
        background: var(--surface-2);
        cursor: move;
        touch-action: none;
        user-select: none;
      }
      h2 {
        flex: 1;
        margin: 0;
        font-size: 0.95rem;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      header button {
        padding: 0.05rem 0.5rem;
      }
      .inside {
        display: flex;
        flex-direction: column;
        overflow: auto;
        min-height: 0;
      }
      ::slotted(sf-screen) {
        flex: 1 0 auto;
      }
      .corner {
        position: absolute;
        inset: auto 0 0 auto;
        width: 18px;
        height: 18px;
        cursor: nwse-resize;
        touch-action: none;
        background: linear-gradient(135deg, transparent 50%, var(--line-strong) 50%);
        border: 0;
        padding: 0;
      }
      @media (max-width: 40rem) {
        /* One below the other, wherever they were. */
        :host {
          position: static;
          scroll-margin-top: 0.5rem;
          width: auto !important;
          height: auto !important;
        }
        .corner,
        .maximise {
          display: none;
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.parentElement !== null) this.observer.observe(this.parentElement);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.observer.disconnect();
  }

  /** Shows it, with the keyboard on its bar. */
  override focus(): void {
    this.renderRoot.querySelector("header")?.focus({ preventScroll: true });
    this.scrollIntoView({ block: this.isStacked ? "start" : "nearest" });
  }

  /** Whether it stands below the others, as on a phone, wherever its place is. */
  private get isStacked(): boolean {
    return getComputedStyle(this).position === "static";
  }

  /** Its place, as far as what it stands on has room. */
  private get shown(): Place {
    const { clientWidth: width = 0, clientHeight: height = 0 } = this.parentElement ?? {};
    return width === 0 || this.isStacked ? this.place : within(this.place, { width, height });
  }

  override updated(): void {
    const { x, y, width, height } = this.shown;
    Object.assign(this.style, {
      left: `${x}px`,
      top: `${y}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
  }

  private get isFull(): boolean {
    const { clientWidth = 0, clientHeight = 0 } = this.parentElement ?? {};
    const { width, height } = this.shown;
    return width === clientWidth && height === clientHeight;
  }

  /** Fills what it stands on, or goes back to where it was. */
  private maximise(): void {
    const { clientWidth: width = 0, clientHeight: height = 0 } = this.parentElement ?? {};
    const full = { x: 0, y: 0, width, height };
    const detail = this.isFull ? (this.smaller ?? placeBeside([], full)) : full;
    this.smaller = this.isFull ? null : this.shown;
    this.dispatchEvent(new CustomEvent("sf-place", { detail, bubbles: true, composed: true }));
  }

  private send(detail: "close" | "minimise" | "front"): void {
    this.dispatchEvent(new CustomEvent("sf-window", { detail, bubbles: true, composed: true }));
  }

  private change(change: Partial<Place>): void {
    if (this.isStacked) return;
    const next = { ...this.shown, ...change };
    const { clientWidth: width = 0, clientHeight: height = 0 } = this.parentElement ?? {};
    const most = change.width === undefined ? width : width - next.x;
    const size = {
      width: Math.max(LEAST.width, Math.min(next.width, most)),
      height: Math.max(LEAST.height, next.height),
    };
    const detail = within({ ...next, ...size }, { width, height });
    this.dispatchEvent(new CustomEvent("sf-place", { detail, bubbles: true, composed: true }));
  }

  private drag(
    event: PointerEvent,
    moves: (by: { x: number; y: number }, from: Place) => Partial<Place>,
  ): void {
    if (event.target instanceof HTMLButtonElement && event.target !== event.currentTarget) return;
    this.send("front");
    const [from, handle] = [this.shown, event.currentTarget as HTMLElement];
    handle.setPointerCapture(event.pointerId);
    const onMove = (next: PointerEvent) =>
      this.change(moves({ x: next.clientX - event.clientX, y: next.clientY - event.clientY }, from));
    handle.addEventListener("pointermove", onMove);
    const end = () => handle.removeEventListener("pointermove", onMove);
    handle.addEventListener("pointerup", end, { once: true });
    handle.addEventListener("pointercancel", end, { once: true });
  }

  /** Arrows move it; with Shift they resize it. */
  private onKey(event: KeyboardEvent): void {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (way === undefined || event.target !== event.currentTarget) return;
    const [dx, dy] = [(way[0] ?? 0) * STEP, (way[1] ?? 0) * STEP];
    const { x, y, width, height } = this.shown;
    this.change(event.shiftKey ? { width: width + dx, height: height + dy } : { x: x + dx, y: y + dy });
    event.preventDefault();
  }

  override render() {
    return html`<header
        tabindex="0"
        role="group"
        aria-label=${`Window ${this.name}: arrows move it, with Shift they resize it`}
        @keydown=${this.onKey}
        @dblclick=${(event: Event) => event.target instanceof HTMLButtonElement || this.maximise()}
        @pointerdown=${(event: PointerEvent) => {
          this.drag(event, (by, from) => ({ x: from.x + by.x, y: from.y + by.y }));
        }}
      >
        <h2>${this.name}</h2>
        <button class="quiet" aria-label=${`Minimise ${this.name}`} @click=${() => this.send("minimise")}>
          –
        </button>
        <button class="quiet maximise" aria-label=${`Maximise ${this.name}`} @click=${() => this.maximise()}>
          □
        </button>
        <button class="quiet" aria-label=${`Close ${this.name}`} @click=${() => this.send("close")}>✕</button>
      </header>
      <div class="inside" @pointerdown=${() => this.send("front")}><slot></slot></div>
      <div
        class="corner"
        aria-hidden="true"
        @pointerdown=${(event: PointerEvent) => {
          this.drag(event, (by, from) => ({ width: from.width + by.x, height: from.height + by.y }));
        }}
      ></div>`;
  }
}
