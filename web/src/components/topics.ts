/** The start of an app about topics: a field, examples, and the topics kept on this device. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { isFieldKey } from "../core/keys";
import { addressOf, tidyTopic } from "../core/kept";
import { navigate } from "../core/router";
import { controls } from "./base";

declare global {
  interface HTMLElementTagNameMap {
    "sf-topics": TopicsElement;
  }
  interface HTMLElementEventMap {
    "sf-forget": CustomEvent<string>;
  }
}

/** Opens the topic asked for; sends `sf-forget` with a topic to delete. */
@customElement("sf-topics")
export class TopicsElement extends LitElement {
  /** Such as "/encyclopedia". */
  @property() base = "";
  @property() label = "Topic";
  @property() verb = "Open";
  @property({ attribute: false }) examples: readonly string[] = [];
  @property({ attribute: false }) kept: readonly string[] = [];
  /** Only the field, as on the page of a topic. */
  @property({ type: Boolean }) small = false;
  @state() private topic = "";
  @query("input") private field!: HTMLInputElement;

  static override styles = [
    controls,
    css`
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 12rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
        margin-block: 0.9rem 1.5rem;
      }
      .chips a {
        border: 1px solid var(--line);
        border-radius: 999px;
        background: var(--surface-2);
        padding: 0.2rem 0.8rem;
        font-size: 0.875rem;
        color: inherit;
        text-decoration: none;
      }
      .chips a:hover {
        border-color: var(--accent);
      }
      ul {
        list-style: none;
        padding: 0;
        margin: 0;
        columns: 16rem auto;
      }
      li {
        display: flex;
        gap: 0.25rem;
        align-items: baseline;
        break-inside: avoid;
      }
      li a {
        overflow-wrap: anywhere;
      }
      li button {
        padding: 0 0.5rem;
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
  }

  private onKey = (event: KeyboardEvent): void => {
    if (!isFieldKey(event)) return;
    event.preventDefault();
    this.field.focus();
  };

  private ask(event: Event): void {
    event.preventDefault();
    const topic = tidyTopic(this.topic);
    if (topic === "") return;
    this.topic = "";
    navigate(addressOf(this.base, topic));
  }

  override render() {
    const form = html`<form @submit=${(event: Event) => this.ask(event)}>
      <label
        >${this.label}
        <input
          autocomplete="off"
          maxlength="80"
          placeholder=${this.examples[0] ?? ""}
          .value=${this.topic}
          @input=${(event: Event) => (this.topic = (event.target as HTMLInputElement).value)}
      /></label>
      <button class="primary" ?disabled=${this.topic.trim() === ""}>${this.verb}</button>
    </form>`;
    if (this.small) return form;
    return html`${form}
      <div class="chips" role="group" aria-label="Examples">
        ${this.examples.map((topic) => html`<a href=${addressOf(this.base, topic)}>${topic}</a>`)}
      </div>
      ${
        this.kept.length === 0
          ? nothing
          : html`<h2>Kept on this device</h2>
              <ul>
                ${this.kept.map(
                  (topic) =>
                    html`<li>
                      <a href=${addressOf(this.base, topic)}>${topic}</a>
                      <button
                        class="quiet"
                        aria-label="Delete ${topic}"
                        @click=${() => this.dispatchEvent(new CustomEvent("sf-forget", { detail: topic }))}
                      >
                        ×
                      </button>
                    </li>`,
                )}
              </ul>`
      }`;
  }
}
