/** Details of the selected tokens, and actions on them. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property } from "lit/decorators.js";
import { historyOf, type Token } from "../core/canvas";
import { countText } from "../core/take";
import { controls } from "./base";

/** An action on the selected tokens. */
export type TokenAction =
  | { kind: "pin" }
  | { kind: "renoise" }
  | { kind: "onwards" }
  | { kind: "write"; text: string }
  | { kind: "more" }
  | { kind: "close" };

declare global {
  interface HTMLElementTagNameMap {
    "sf-token-panel": TokenPanelElement;
  }
  interface HTMLElementEventMap {
    "sf-token-action": CustomEvent<TokenAction>;
  }
}

@customElement("sf-token-panel")
export class TokenPanelElement extends LitElement {
  @property({ attribute: false }) tokens: readonly Token[] = [];
  /** Whether all of them are pinned. */
  @property({ type: Boolean }) pinned = false;
  /** Whether they can be changed. */
  @property({ type: Boolean }) editable = false;
  /** Whether the next token that is clicked joins them, as with Shift. */
  @property({ type: Boolean }) extending = false;

  static override styles = [
    controls,
    css`
      .card {
        display: grid;
        gap: 0.75rem;
      }
      header {
        display: flex;
        justify-content: space-between;
        gap: 1rem;
        align-items: start;
      }
      header .row {
        flex: none;
      }
      [aria-pressed="true"] {
        border-color: var(--accent);
        color: var(--accent-text);
      }
      code {
        font-family: var(--mono);
        overflow-wrap: anywhere;
      }
      .others {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
      }
      .others button {
        font-family: var(--mono);
        padding: 0.2rem 0.5rem;
      }
      .others small {
        color: var(--muted);
        font-family: system-ui, sans-serif;
      }
      p {
        margin: 0;
      }
      form {
        display: flex;
        gap: 0.5rem;
        flex: 1 1 14rem;
      }
      form input {
        flex: 1;
        font-family: var(--mono);
      }
    `,
  ];

  private send(detail: TokenAction): void {
    this.dispatchEvent(new CustomEvent("sf-token-action", { detail, bubbles: true, composed: true }));
  }

  private write(event: SubmitEvent): void {
    event.preventDefault();
    const text = new FormData(event.target as HTMLFormElement).get("text");
    if (typeof text === "string") this.send({ kind: "write", text });
  }

  override render() {
    const [first] = this.tokens;
    if (first === undefined) return nothing;
    const text = this.tokens.map((token) => token.text).join("");
    return html`<section
      class="card"
      aria-label="Selected tokens"
      @keydown=${(event: KeyboardEvent) => event.key === "Escape" && this.send({ kind: "close" })}
    >
      <header>
        <h2>
          <code>${JSON.stringify(text)}</code>
          ${this.tokens.length > 1 ? html`<span class="muted">${this.tokens.length} tokens</span>` : nothing}
        </h2>
        <span class="row">
          <button aria-pressed=${String(this.extending)} @click=${() => this.send({ kind: "more" })}>
            Select more
          </button>
          <button class="quiet" aria-label="Close" @click=${() => this.send({ kind: "close" })}>✕</button>
        </span>
      </header>
      ${
        this.tokens.some(({ history }) => history.length > 1)
          ? html`<p><span class="muted">History:</span> <code>${historyOf(this.tokens)}</code></p>`
          : nothing
      }
      ${this.tokens.length === 1 ? this.about(first) : nothing}
      ${
        this.editable
          ? html`<div class="row">
              <button @click=${() => this.send({ kind: "pin" })}>${this.pinned ? "Unpin" : "Pin"}</button>
              <button @click=${() => this.send({ kind: "renoise" })}>Back to noise</button>
              <button @click=${() => this.send({ kind: "onwards" })}>Denoise again from here</button>
              <form @submit=${this.write}>
                <input
                  name="text"
                  aria-label="Replace with"
                  placeholder="Replace with …"
                  autocomplete="off"
                  required
                />
                <button>Replace</button>
              </form>
              <button @click=${() => this.send({ kind: "write", text: "" })}>Delete</button>
            </div>`
          : nothing
      }
    </section>`;
  }

  private about(token: Token) {
    const others = token.alternatives?.top_logprobs ?? [];
    const figures = [
      token.confidence === null ? null : `confidence ${(100 * token.confidence).toFixed(1)}%`,
      token.entropy === null ? null : `entropy ${token.entropy.toFixed(2)} nats`,
      countText(token.revisions, "revision"),
    ].filter((figure) => figure !== null);
    return html`<p class="figures">${figures.join(" · ")}</p>
      ${
        others.length > 0
          ? html`<div>
              <p class="muted">Alternatives:</p>
              <div class="others">
                ${others.map(
                  ({ token: other, logprob }) =>
                    html`<button
                      ?disabled=${!this.editable || other === token.text}
                      @click=${() => this.send({ kind: "write", text: other })}
                    >
                      ${JSON.stringify(other).slice(1, -1) || "∅"}
                      <small>${(100 * Math.exp(logprob)).toFixed(1)}%</small>
                    </button>`,
                )}
              </div>
            </div>`
          : nothing
      }`;
  }
}
