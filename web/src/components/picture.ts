/** A picture, or its placeholder. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { noteOf } from "../core/forum";
import type { Asset } from "../core/protocol";
import { controls } from "./base";

declare global {
  interface HTMLElementTagNameMap {
    "sf-picture": PictureElement;
  }
}

/** Sends `sf-again` to request it again. */
@customElement("sf-picture")
export class PictureElement extends LitElement {
  /** What it is of. */
  @property() prompt = "";
  /** Whether what is said of a drawn picture stands below it. */
  @property({ type: Boolean }) captioned = false;
  @property({ attribute: false }) asset: Asset | undefined = undefined;

  static override styles = [
    controls,
    css`
      figure {
        margin: 0;
      }
      .frame {
        aspect-ratio: 16 / 9;
        border-radius: 10px;
        overflow: hidden;
        display: grid;
        place-content: center;
        justify-items: center;
        gap: 0.4rem;
        text-align: center;
        padding: 0;
        font-size: 0.85rem;
        color: var(--muted);
        background: var(--surface-2);
        border: 1px dashed var(--line-strong);
      }
      .ready {
        border-style: solid;
        border-color: var(--line);
      }
      img {
        width: 100%;
        height: 100%;
        object-fit: cover;
        display: block;
        animation: come calc(var(--motion) * 400ms) ease-out;
      }
      @keyframes come {
        from {
          opacity: 0;
        }
      }
      figcaption {
        font-size: 0.75rem;
        color: var(--muted);
        margin-top: 0.2rem;
      }
      p {
        margin: 0;
        padding-inline: 0.75rem;
        overflow-wrap: anywhere;
      }
    `,
  ];

  override render() {
    const { asset } = this;
    if (asset?.status === "ready" && asset.url !== undefined) {
      const note = noteOf(asset.url);
      return html`<figure>
        <div class="frame ready">
          <img src=${asset.url} alt=${note === "" ? this.prompt : ""} title=${note} />
        </div>
        ${note === "" || !this.captioned ? nothing : html`<figcaption>${note}</figcaption>`}
      </figure>`;
    }
    if (asset?.status === "error") {
      return html`<div class="frame">
        <p>No picture: ${asset.error?.message ?? "it was not made"}</p>
        <button
          aria-label="Make the picture again: ${this.prompt}"
          @click=${() => this.dispatchEvent(new CustomEvent("sf-again"))}
        >
          Try again
        </button>
      </div>`;
    }
    return html`<div class="frame" role="img" aria-label="A picture is being made: ${this.prompt}">
      <span aria-hidden="true">A picture is being made …</span>
    </div>`;
  }
}
