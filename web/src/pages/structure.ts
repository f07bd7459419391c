/** A schema on the left, the form of it on the right, which fills itself: what is pinned stays, the rest is denoised. */
import { json } from "@codemirror/lang-json";
import { EditorView } from "@codemirror/view";
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { controls } from "../components/base";
import { codeEditor } from "../components/code";
import "../components/form";
import { Models } from "../components/models";
import { startStop } from "../components/start-stop";
import { api } from "../core/api";
import { textOf } from "../core/canvas";
import { certainties, spansOf, writeJson } from "../core/form-text";
import { sentenceOf } from "../core/files";
import { undoKey } from "../core/keys";
import { parsePartial } from "../core/partial-json";
import { remember, remembered } from "../core/preferences";
import type { CanvasRequest } from "../core/protocol";
import { announce, say, tellMove } from "../core/say";
import { fieldsOf, isObject, pinnable, pointerOf, withValue, type Path, type Schema } from "../core/schema";
import { current, go, noSteps, push, type Steps } from "../core/steps";
import { again, goOn, latest, newTake, stepsText } from "../core/take";
import { problemsOf } from "../core/validate";
import { examples, type Example } from "./structure-examples";

interface Step {
  readonly value: unknown;
  readonly pins: readonly Path[];
  /** What it took to fill; empty for what was done by hand. */
  readonly figures: string;
}

const EMPTY: Step = { value: undefined, pins: [], figures: "" };
/** How long nothing is typed until a schema is read. */
const READ_AFTER_MS = 300;

/** Whether a pointer leads to a place or into it. */
function isWithin(pointer: string, place: string): boolean {
  return pointer === place || pointer.startsWith(`${place}/`);
}

@customElement("sf-structure-page")
export class StructurePage extends LitElement {
  @property() place = "";
  @state() private model = "";
  @state() private text = examples[0]?.text ?? "";
  @state() private schema: Schema | null = null;
  @state() private schemaError = "";
  @state() private steps: Steps<Step> = noSteps();
  @state() private draft: { value: unknown; certainty: ReadonlyMap<string, number> } | null = null;
  @state() private problem = "";
  @query(".schema") private mount!: HTMLElement;
  private editor!: EditorView;
  private stopping = new AbortController();
  private asked = 0;
  private reading = 0;
  private readonly models = new Models(
    this,
    ({ capabilities, sfumato: { kinds, tasks } }) =>
      capabilities.includes("canvas") &&
      capabilities.includes("structured_output") &&
      (kinds.length === 0 || tasks.includes("json")),
    (cards) => (this.model = cards[0]?.id ?? ""),
  );

  static override styles = [
    controls,
    css`
      .page {
        display: grid;
        gap: 0.9rem;
        grid-template-columns: minmax(0, 1fr);
      }
      .sides {
        display: grid;
        gap: 1rem;
        grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr));
        align-items: start;
      }
      .side {
        display: grid;
        gap: 0.75rem;
        min-width: 0;
      }
      .row {
        align-items: end;
      }
      .row > label {
        flex: 1 1 8rem;
      }
      textarea {
        width: 100%;
        resize: vertical;
      }
      .schema .cm-editor {
        max-height: 28rem;
      }
      p {
        margin: 0;
      }
      /* Level with the selects of the other side. */
      .bar {
        min-height: 3.75rem;
      }
      .bar .figures {
        line-height: 2.425rem;
      }
      .outdated {
        opacity: 0.55;
        border-style: dashed;
      }
    `,
  ];

  override firstUpdated(): void {
    this.editor = codeEditor({
      parent: this.mount,
      root: this.renderRoot as ShadowRoot,
      label: "JSON Schema",
      text: "",
      extensions: [
        json(),
        EditorView.updateListener.of(({ docChanged }) => {
          if (!docChanged) return;
          clearTimeout(this.reading);
          this.reading = window.setTimeout(() => this.readSchema(), READ_AFTER_MS);
        }),
      ],
    });
    const kept = remembered<Partial<Record<"text" | "schema", string>> | null>("structure.asked", null);
    this.take(examples[0]);
    if (typeof kept?.text === "string" && typeof kept.schema === "string") this.put(kept.text, kept.schema);
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
  }

  private take(example: Example | undefined): void {
    if (example === undefined) return;
    this.put(example.text, JSON.stringify(example.schema, null, 2));
  }

  private put(text: string, schema: string): void {
    this.stopping.abort();
    this.text = text;
    this.editor.dispatch({ changes: { from: 0, to: this.editor.state.doc.length, insert: schema } });
    this.steps = noSteps();
    this.readSchema();
  }

  private keep(): void {
    remember("structure.asked", { text: this.text, schema: this.editor.state.doc.toString() });
  }

  private readSchema(): boolean {
    clearTimeout(this.reading);
    this.problem = "";
    this.keep();
    try {
      const found: unknown = JSON.parse(this.editor.state.doc.toString());
      if (!isObject(found)) throw new Error('a schema is an object, such as {"type": "object"}');
      [this.schema, this.schemaError] = [found, ""];
      return true;
    } catch (error) {
      this.schemaError = error instanceof Error ? error.message : String(error);
      return false;
    }
  }

  private get step(): Step {
    return current(this.steps) ?? EMPTY;
  }

  /** What the model is asked: its own way of saying it, if it has one. */
  private get prompt(): string {
    const card = this.models.find(this.model);
    return card?.sfumato.tasks.includes("json") ? `json: ${this.text}` : `${this.text}\n\nThe same as JSON:`;
  }

  private async fill(): Promise<void> {
    if (!this.readSchema() || this.schema === null || this.draft !== null) return;
    const { value, pins } = this.step;
    this.stopping = new AbortController();
    [this.draft, this.problem] = [{ value, certainty: new Map() }, ""];
    const seed = this.asked++;
    let request: CanvasRequest = { model: this.model, prompt: this.prompt, schema: this.schema, seed };
    if (value !== undefined && pins.length > 0) {
      const text = writeJson(value);
      request = again(request, text, spansOf(text, pins), seed);
    }
    try {
      for await (const take of goOn(api, newTake(seed), request, this.stopping.signal)) {
        const view = latest(take);
        const written = textOf(view);
        if (take.status === "stopped") announce("Stopped.");
        if (take.status === "failed") throw new Error(take.error ?? "");
        this.draft = { value: parsePartial(written)?.value, certainty: certainties(view, written) };
        if (take.status !== "done") continue;
        const made: unknown = JSON.parse(written);
        const { usage, finish_reason: reason } = view.ending;
        const took =
          usage === undefined
            ? []
            : [stepsText(usage.denoising_steps), `${(1000 * usage.total_s).toFixed(0)} ms`];
        if (reason === "steps") took.push("not settled, check the values");
        this.steps = push(this.steps, { value: made, pins, figures: took.join(" · ") });
        announce(reason === "steps" ? "Filled, but not settled: check the values." : "Filled.");
      }
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.problem = sentenceOf(error);
      announce(this.problem);
    } finally {
      this.draft = null;
    }
  }

  private write({ path, value }: { path: Path; value: unknown }): void {
    const { pins } = this.step;
    const next = withValue(this.step.value, path, value);
    const place = pinnable(path, next);
    const isKnown = pins.some((pin) => pointerOf(pin) === pointerOf(place));
    this.steps = push(this.steps, { value: next, pins: isKnown ? pins : [...pins, place], figures: "" });
    announce("Pinned. Fill again to update the rest.");
  }

  private pin(path: Path): void {
    const { value, pins } = this.step;
    const place = pinnable(path, value);
    const others = pins.filter((pin) => pointerOf(pin) !== pointerOf(place));
    const kept = others.length === pins.length ? [...pins, place] : others;
    this.steps = push(this.steps, { ...this.step, pins: kept });
  }

  private move(by: number): void {
    const before = this.steps.at;
    // Before the first fill, there is nothing to go back to.
    if (this.draft === null && before + by >= 0) this.steps = go(this.steps, by);
    tellMove(by, this.steps.at !== before);
  }

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    if (by === 0) return;
    event.preventDefault();
    this.move(by);
  };

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(JSON.stringify(this.step.value, null, 2));
      say("JSON copied.");
    } catch {
      say("The browser blocks copying; select the text below and copy it yourself.");
    }
  }

  override render() {
    return html`<div class="page">
      <h1>Structure</h1>
      <p class="muted intro">
        A model reads the text and fills in the form that the schema describes. Pin what is right and fill
        again.
      </p>
      ${this.models.notice("No model on this server fills a schema on a canvas; start it with one: sfumato serve tiny")}
      <div class="sides">
        <section class="side" aria-label="What is asked">
          <div class="row">
            <label
              >Examples
              <select
                @change=${(event: Event) => this.take(examples[(event.target as HTMLSelectElement).selectedIndex])}
              >
                ${examples.map(({ name }) => html`<option>${name}</option>`)}
              </select></label
            >
            <label
              >Model
              <select @change=${(event: Event) => (this.model = (event.target as HTMLSelectElement).value)}>
                ${(this.models.cards ?? []).map(
                  ({ id }) => html`<option value=${id} .selected=${id === this.model}>${id}</option>`,
                )}
              </select></label
            >
          </div>
          <label
            >Text
            <textarea
              rows="3"
              .value=${this.text}
              @input=${(event: Event) => {
                this.text = (event.target as HTMLTextAreaElement).value;
                this.keep();
              }}
            ></textarea>
          </label>
          <div class="schema"></div>
          ${this.schemaError === "" ? nothing : html`<p class="error">The schema: ${this.schemaError}.</p>`}
        </section>
        ${this.filled()}
      </div>
    </div>`;
  }

  private filled() {
    const { schema } = this;
    const { value, pins, figures } = this.step;
    const problems =
      schema === null || value === undefined || this.draft !== null ? [] : problemsOf(schema, value);
    const wrongPins = problems.filter(({ pointer }) => pins.some((pin) => isWithin(pointer, pointerOf(pin))));
    const shown = this.draft === null ? value : this.draft.value;
    const { all, at } = this.steps;
    const isEmpty = value === undefined;
    const isOutdated = this.schemaError !== "";
    return html`<section class="side" aria-label="The form">
      <div class="row bar">
        ${startStop({
          label: pins.length > 0 ? "Fill the rest again" : isEmpty ? "Fill" : "Fill again",
          isRunning: this.draft !== null,
          canStart:
            schema !== null &&
            !isOutdated &&
            this.model !== "" &&
            this.text.trim() !== "" &&
            wrongPins.length === 0,
          start: () => void this.fill(),
          stop: () => this.stopping.abort(),
        })}
        <button ?disabled=${at < 1} title="Ctrl+Z" @click=${() => this.move(-1)}>Undo</button>
        <button ?disabled=${at >= all.length - 1} title="Ctrl+Shift+Z" @click=${() => this.move(1)}>
          Redo
        </button>
        <button ?disabled=${isEmpty} @click=${() => this.copy()}>Copy JSON</button>
        <span class="figures">${figures}</span>
      </div>
      ${this.problem === "" ? nothing : html`<p class="error">${this.problem}</p>`}
      ${
        wrongPins.length === 0
          ? nothing
          : html`<p class="muted">Correct or unpin the marked values to fill the rest.</p>`
      }
      ${
        isOutdated && schema !== null
          ? html`<p class="muted">Outdated: this is the form of the schema before its error.</p>`
          : nothing
      }
      ${
        schema === null
          ? nothing
          : html`<sf-form
              class="card ${isOutdated ? "outdated" : ""}"
              .field=${fieldsOf(schema, shown)}
              .value=${shown}
              .pinned=${new Set(pins.map(pointerOf))}
              .certainty=${this.draft?.certainty ?? new Map<string, number>()}
              .problems=${problems}
              ?readonly=${this.draft !== null || isOutdated}
              @sf-value=${({ detail }: CustomEvent<{ path: Path; value: unknown }>) => this.write(detail)}
              @sf-pin=${({ detail }: CustomEvent<Path>) => this.pin(detail)}
            ></sf-form>`
      }
      ${
        isEmpty
          ? nothing
          : html`<details>
              <summary>JSON</summary>
              <pre>${JSON.stringify(value, null, 2)}</pre>
            </details>`
      }
    </section>`;
  }
}
