/** A paragraph: being written, complete with links, or missing and saying why. It can be edited by hand. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import type { CanvasView } from "../core/canvas";
import { addressOf } from "../core/kept";
import type { Piece } from "../core/prose";
import { controls } from "./base";
import "./canvas";

declare global {
  interface HTMLElementTagNameMap {
    "sf-prose": ProseElement;
  }
  interface HTMLElementEventMap {
    "sf-written": CustomEvent<string>;
    "sf-again": CustomEvent<undefined>;
  }
}

/** Sends `sf-written` with what a person wrote, and `sf-again` when a model is to write it. */
@customElement("sf-prose")
export class ProseElement extends LitElement {
  /** What it is, such as "History". */
  @property() name = "";
  @property() text = "";
  /** Who wrote it. */
  @property() by = "";
  @property({ attribute: false }) pieces: readonly Piece[] | null = null;
  /** What links lead to, such as "/encyclopedia". */
  @property() base = "";
  /** What is being written; null before its first word, undefined if nothing is. */
  @property({ attribute: false }) draft: CanvasView | null | undefined = undefined;
  @property() problem = "";
  /** Whether it is code, or figures. */
  @property({ type: Boolean, reflect: true }) code = false;
  /** Whether a model can write it. */
  @property({ type: Boolean }) able = false;
  @state() private isByHand = false;
  /** The text as it was when a person began to edit it; a model's does not replace what is typed. */
  private opened = "";
  @query("textarea") private field!: HTMLTextAreaElement | null;

  static override styles = [
    controls,
    css`
      p {
        margin: 0;
        overflow-wrap: anywhere;
      }
      .text {
        white-space: pre-wrap;
      }
      :host([code]) .text {
        font-family: var(--mono);
        font-size: 0.9rem;
      }
      sf-canvas::part(text) {
        font: inherit;
        line-height: inherit;
      }
      textarea {
        width: 100%;
        resize: vertical;
      }
      .tools {
        margin-top: 0.3rem;
        font-size: 0.8rem;
        gap: 0.25rem;
      }
      .tools button {
        padding: 0.1rem 0.5rem;
      }
      .by {
        color: var(--muted);
        margin-right: auto;
      }
      .waiting {
        color: var(--muted);
      }
    `,
  ];

  private open(): void {
    [this.isByHand, this.opened] = [true, this.text];
    void this.updateComplete.then(() => this.field?.focus());
  }

  private save(): void {
    const text = this.field?.value.trim() ?? "";
    this.close();
    if (text !== this.text) this.dispatchEvent(new CustomEvent("sf-written", { detail: text }));
  }

  private close(): void {
    this.isByHand = false;
    void this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(".hand")?.focus());
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.save();
    else return;
    event.preventDefault();
  }

  override render() {
    if (this.isByHand) return this.form();
    if (this.draft !== undefined) return this.forming(this.draft);
    return html`${this.text === "" ? this.missing() : html`<p class="text">${this.linked()}</p>`}
      <div class="row tools">
        <span class="by">${this.by === "" ? nothing : `Written by ${this.by}`}</span>
        ${
          this.able
            ? html`<button
                class="quiet"
                aria-label="${this.text === "" ? "Write" : "Write again"}: ${this.name}"
                @click=${() => this.dispatchEvent(new CustomEvent("sf-again"))}
              >
                ${this.text === "" ? "Write" : "Write again"}
              </button>`
            : nothing
        }
        <button
          class="quiet hand"
          aria-label="${this.text === "" ? "Write it yourself" : "Edit"}: ${this.name}"
          @click=${() => this.open()}
        >
          ${this.text === "" ? "Write it yourself" : "Edit"}
        </button>
        <slot></slot>
      </div>`;
  }

  private missing() {
    if (this.problem !== "") return html`<p class="error">It was not written: ${this.problem}</p>`;
    // That no model can is said once for the whole page.
    return this.able ? html`<p class="waiting">Not written yet.</p>` : nothing;
  }

  private forming(draft: CanvasView | null) {
    // The old text stays until the first new word.
    if (draft === null || draft.tokens.length === 0) {
      return html`<p class="waiting" aria-busy="true">${this.text === "" ? "Writing …" : this.text}</p>`;
    }
    return html`<sf-canvas
      aria-busy="true"
      label="${this.name}, being written"
      .tokens=${draft.tokens}
      .clock=${draft.clock}
    ></sf-canvas>`;
  }

  private form() {
    return html`<textarea
        rows="5"
        aria-label=${this.name}
        .value=${this.opened}
        @keydown=${(event: KeyboardEvent) => this.onKey(event)}
      ></textarea>
      <div class="row tools">
        <button class="primary" title="Ctrl+Enter" @click=${() => this.save()}>Save</button>
        <button title="Escape" @click=${() => this.close()}>Cancel</button>
      </div>`;
  }

  private linked() {
    const pieces = this.pieces ?? [{ text: this.text }];
    return pieces.map(({ text, topic }) =>
      topic === undefined ? text : html`<a href=${addressOf(this.base, topic)}>${text}</a>`,
    );
  }
}
