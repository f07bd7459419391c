/** What a canvas is asked: the prompt, the model and its options; or a saved trace to look at instead. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, query } from "lit/decorators.js";
import { live } from "lit/directives/live.js";
import { FIRST, takes } from "../core/kinds";
import type { ModelCard } from "../core/protocol";
import type { Options, Shared } from "../core/share";
import { pageStyles } from "../pages/canvas-styles";
import { controls } from "./base";
import { kindName } from "./examples";
import "./options";
import { startStop } from "./start-stop";

export const MAX_TAKES = 6;
const MAX_SEED = 2 ** 31;

declare global {
  interface HTMLElementTagNameMap {
    "sf-asking": AskingElement;
  }
  interface HTMLElementEventMap {
    "sf-asked": CustomEvent<Shared>;
    "sf-run": CustomEvent<undefined>;
    "sf-stop": CustomEvent<undefined>;
    "sf-trace": CustomEvent<File>;
  }
}

/** Sends `sf-asked` with all that is asked when some of it changes; `sf-run`, `sf-stop`; `sf-trace` with a file. */
@customElement("sf-asking")
export class AskingElement extends LitElement {
  @property({ attribute: false }) cards: readonly ModelCard[] = [];
  @property({ attribute: false }) asked!: Shared;
  @property({ type: Boolean }) running = false;
  @query("textarea") private textarea!: HTMLTextAreaElement;
  @query("input[type=file]") private file!: HTMLInputElement;

  static override styles = [
    controls,
    pageStyles,
    css`
      .row > label {
        flex: 0 1 8rem;
      }
    `,
  ];

  override focus(): void {
    this.textarea.focus();
  }

  private send(name: string, detail?: unknown): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  private change(change: Partial<Shared>): void {
    this.send("sf-asked", { ...this.asked, ...change });
  }

  /** Another model; a prompt that is only an example gives way to one that the model takes. */
  private choose(model: string): void {
    const { prompt } = this.asked;
    const card = this.cards.find(({ id }) => id === model);
    const examples = this.cards.flatMap(({ sfumato }) => sfumato.kinds.map(({ example }) => example));
    const isOwn = prompt.trim() !== "" && prompt !== FIRST && !examples.includes(prompt);
    const isKept = isOwn || card === undefined || takes(card, prompt);
    const next = isKept ? prompt : (card.sfumato.kinds[0]?.example ?? prompt);
    this.change({ model, prompt: next, options: {}, turns: [] });
  }

  private submit(event: Event): void {
    event.preventDefault();
    if (!this.running && this.asked.prompt.trim() !== "") this.send("sf-run");
  }

  private number(label: string, value: number, [least, most]: [number, number], name: "seed" | "count") {
    return html`<label
      >${label}
      <input
        type="number"
        min=${least}
        max=${most}
        .value=${live(String(value))}
        @change=${(event: Event) => {
          const given = Math.round((event.target as HTMLInputElement).valueAsNumber || least);
          this.change({ [name]: Math.max(least, Math.min(most, given)) });
          this.requestUpdate();
        }}
    /></label>`;
  }

  override render() {
    const { model, prompt, turns, options, seed, count } = this.asked;
    const card = this.cards.find(({ id }) => id === model) ?? null;
    const kinds = card?.sfumato.kinds ?? [];
    return html`${turns.map(({ role, content }) => html`<p class="turn ${role}">${content}</p>`)}
      ${
        turns.length > 0
          ? html`<div class="row">
              <button class="quiet" ?disabled=${this.running} @click=${() => this.change({ turns: [] })}>
                New conversation
              </button>
            </div>`
          : nothing
      }
      <form @submit=${(event: Event) => this.submit(event)}>
        <label
          >Prompt
          <textarea
            rows=${Math.min(10, Math.max(2, prompt.split("\n").length))}
            .value=${live(prompt)}
            @input=${(event: Event) => this.change({ prompt: (event.target as HTMLTextAreaElement).value })}
            @keydown=${(event: KeyboardEvent) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.submit(event);
            }}
          ></textarea>
        </label>
        <div class="row">
          <label class="model"
            >Model
            <select @change=${(event: Event) => this.choose((event.target as HTMLSelectElement).value)}>
              ${this.cards.map(({ id }) => html`<option value=${id} .selected=${id === model}>${id}</option>`)}
            </select></label
          >
          ${
            kinds.length === 0
              ? nothing
              : html`<label class="model"
                  >Examples
                  <select
                    @change=${(event: Event) => {
                      const select = event.target as HTMLSelectElement;
                      this.change({ prompt: kinds[Number(select.value)]?.example ?? prompt });
                      select.value = "";
                    }}
                  >
                    <option value="">Training tasks</option>
                    ${kinds.map((kind, i) => html`<option value=${i}>${kindName(kind)}</option>`)}
                  </select></label
                >`
          }
          ${this.number("Seed", seed, [0, MAX_SEED], "seed")}
          ${this.number("Side by side", count, [1, MAX_TAKES], "count")}
          ${startStop({
            label: "Denoise",
            title: "Ctrl+Enter",
            isRunning: this.running,
            canStart: prompt.trim() !== "",
            stop: () => this.send("sf-stop"),
          })}
          <button
            type="button"
            title="Open a trace.json, as “Export” saves it"
            @click=${() => this.file.click()}
          >
            Open
          </button>
          <input
            hidden
            type="file"
            accept=".json,application/json"
            aria-label="Trace to open"
            @change=${() => {
              const file = this.file.files?.[0];
              if (file !== undefined) this.send("sf-trace", file);
              this.file.value = "";
            }}
          />
        </div>
        <details>
          <summary>Options</summary>
          <sf-options
            .card=${card}
            .options=${options}
            @sf-options=${({ detail }: CustomEvent<Options>) => this.change({ options: detail })}
          ></sf-options>
        </details>
      </form>`;
  }
}
