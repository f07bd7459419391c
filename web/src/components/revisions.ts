/** The revisions of a canvas, newest first; older ones can be restored. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import type { Revision } from "../core/protocol";
import { controls } from "./base";

const MADE_BY: Record<Revision["made_by"], string> = { model: "the model", hand: "hand", undo: "undo" };

declare global {
  interface HTMLElementTagNameMap {
    "sf-revisions": RevisionsElement;
  }
  interface HTMLElementEventMap {
    "sf-restore": CustomEvent<Revision>;
  }
}

@customElement("sf-revisions")
export class RevisionsElement extends LitElement {
  /** Oldest first. */
  @property({ attribute: false }) revisions: readonly Revision[] = [];
  @property({ type: Boolean }) disabled = false;

  static override styles = [
    controls,
    css`
      ol {
        list-style: none;
        margin: 0;
        padding: 0;
        max-height: 24rem;
        overflow-y: auto;
      }
      li {
        display: flex;
        justify-content: space-between;
        align-items: center;
        gap: 0.5rem;
        min-height: 2.4rem;
        font-size: 0.875rem;
        border-bottom: 1px solid var(--line);
      }
      li:last-child {
        border: none;
      }
      button {
        padding: 0.15rem 0.5rem;
      }
    `,
  ];

  override render() {
    if (this.revisions.length === 0) return html`<p class="muted">No revisions yet.</p>`;
    return html`<ol>
      ${repeat(
        this.revisions.toReversed(),
        ({ rev }) => rev,
        (revision, i) => this.revision(revision, i === 0),
      )}
    </ol>`;
  }

  private revision(revision: Revision, isNewest: boolean) {
    const made = revision.rev === 1 ? "as opened" : `by ${MADE_BY[revision.made_by]}`;
    const time = new Date(revision.created * 1000).toLocaleTimeString();
    return html`<li aria-current=${isNewest ? "true" : nothing}>
      <span title=${time}><strong>${revision.rev}</strong> ${made}</span>
      ${
        isNewest
          ? html`<span class="muted">now</span>`
          : html`<button
              ?disabled=${this.disabled}
              aria-label="Restore revision ${revision.rev}, ${made}, ${time}"
              @click=${() => this.restore(revision)}
            >
              Restore
            </button>`
      }
    </li>`;
  }

  private restore(detail: Revision): void {
    this.dispatchEvent(new CustomEvent("sf-restore", { detail, bubbles: true, composed: true }));
  }
}
