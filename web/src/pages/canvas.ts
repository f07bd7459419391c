/** One prompt, and the text that forms from noise: step by step, as often as wanted, and changed by hand in between. */
import { html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { controls } from "../components/base";
import type { Colouring } from "../components/canvas";
import "../components/colouring";
import "../components/options";
import type { ScrubberElement } from "../components/scrubber";
import "../components/scrubber";
import "../components/take";
import "../components/token-panel";
import type { TokenAction } from "../components/token-panel";
import { api } from "../core/api";
import { saveFile } from "../core/files";
import { readShared, sharedHash, type Options } from "../core/share";
import { isMotionReduced, remember, remembered } from "../core/preferences";
import type { CanvasRequest, Message, ModelCard, Span } from "../core/protocol";
import { announce, say, sayError } from "../core/say";
import {
  again,
  goOn,
  latest,
  newTake,
  outside,
  overlap,
  spanOf,
  takeOf,
  written,
  type Take,
} from "../core/take";
import { textOf } from "../core/canvas";
import { readTraces } from "../core/trace";
import { pageStyles } from "./canvas-styles";

const MAX_TAKES = 6;
/** What takes less cannot be watched. */
const SEEN_MS = 1500;
/** Seconds that it takes to show it again. */
const REPLAY_S = 3;
@customElement("sf-canvas-page")
export class CanvasPage extends LitElement {
  @property() place = "";
  @state() private cards: readonly ModelCard[] = [];
  @state() private model = remembered("canvas.model", "");
  @state() private prompt = "";
  @state() private turns: readonly Message[] = [];
  @state() private options: Options = {};
  @state() private seed = 1;
  @state() private count = 1;
  @state() private colouring = remembered<Colouring>("canvas.colouring", "confidence");
  @state() private takes: readonly Take[] = [];
  /** The frame that is shown; null follows the last. */
  @state() private at: number | null = null;
  @state() private active = 0;
  @state() private chosen: readonly [number, number] | null = null;
  /** Whether the next token that is clicked joins the chosen ones: what Shift does, for those without a keyboard. */
  @state() private extending = false;
  @state() private pins: readonly Span[] = [];
  private request: CanvasRequest = {};
  private stopping = new AbortController();

  static override styles = [controls, pageStyles];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("hashchange", this.openShared);
    this.begin().catch(sayError);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.openShared);
    this.stopping.abort();
  }

  private async begin(): Promise<void> {
    const cards = await api.models();
    this.cards = cards.filter(({ capabilities }) => capabilities.includes("canvas"));
    if (!this.cards.some(({ id }) => id === this.model)) this.model = this.cards[0]?.id ?? "";
    this.prompt ||= remembered<string>("canvas.prompt", "");
    this.prompt ||= this.card?.sfumato.kinds[0]?.example ?? "";
    this.openShared();
  }

  private get card(): ModelCard | null {
    return this.cards.find(({ id }) => id === this.model) ?? null;
  }

  private get isRunning(): boolean {
    return this.takes.some(({ status }) => status === "running");
  }

  private get numFrames(): number {
    return Math.max(0, ...this.takes.map(({ frames }) => frames.length));
  }

  /** Runs what a link says. */
  private openShared = (): void => {
    const shared = readShared(location.hash);
    if (shared === null) return;
    this.model = shared.model;
    this.prompt = shared.prompt;
    this.turns = shared.turns ?? [];
    this.options = shared.options ?? {};
    this.seed = shared.seed;
    this.count = Math.min(MAX_TAKES, shared.count);
    if (this.card === null) say(`This server has no model named “${shared.model}”; choose another one.`);
    else this.run();
  };

  private run(): void {
    if (this.model === "" || this.prompt.trim() === "") return;
    remember("canvas.prompt", this.prompt);
    const base: CanvasRequest = { model: this.model, seed: this.seed };
    const asked =
      this.turns.length === 0
        ? { prompt: this.prompt }
        : { messages: [...this.turns, { role: "user" as const, content: this.prompt }] };
    this.request = { ...base, ...asked, ...this.options };
    [this.pins, this.chosen, this.at, this.active] = [[], null, null, 0];
    this.takes = Array.from({ length: this.count }, (_, i) => newTake(this.seed + i));
    this.start(this.takes.map((take, i) => [i, { ...this.request, seed: take.seed }]));
  }

  private start(work: readonly (readonly [number, CanvasRequest])[]): void {
    this.stopping.abort();
    this.stopping = new AbortController();
    const { signal } = this.stopping;
    for (const [i, request] of work) void this.follow(i, request, signal);
  }

  private async follow(index: number, request: CanvasRequest, signal: AbortSignal): Promise<void> {
    const begun = this.takes[index];
    if (begun === undefined) return;
    let shown = begun;
    for await (const take of goOn(api, begun, request, signal)) {
      // Another run, or a trace that was opened, may have its place by now.
      if (this.takes[index] !== shown) return;
      this.takes = this.takes.with(index, (shown = take));
      if (take.status === "done" && !this.isRunning) this.replay();
      if (take.status === "done") announce(`Seed ${take.seed}: ${textOf(latest(take))}`);
      else if (take.status === "failed") announce(take.error ?? "");
    }
  }

  /** What was too fast to be seen is shown again, slowly. */
  private replay(): void {
    const ms = latest(this.takes[0] ?? newTake(0)).elapsedMs ?? Infinity;
    if (ms > SEEN_MS || isMotionReduced()) return;
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<ScrubberElement>("sf-scrubber")?.play(REPLAY_S),
    );
  }

  private act({ detail }: CustomEvent<TokenAction>): void {
    const take = this.takes[this.active];
    if (take === undefined || this.chosen === null) return;
    const view = latest(take);
    const [from, to] = this.chosen;
    const span = spanOf(view.tokens, from, to);
    const text = textOf(view);
    switch (detail.kind) {
      case "more":
        this.extending = !this.extending;
        break;
      case "close":
        this.chosen = null;
        break;
      case "pin":
        this.pins = this.isPinned(span)
          ? this.pins.filter((pin) => !overlap(pin, span))
          : [...this.pins, span];
        break;
      case "renoise":
        this.denoise(outside([span], text.length));
        break;
      case "onwards":
        this.denoise([[0, span[0]]]);
        break;
      case "write": {
        const next = written(take, from, to, detail.text);
        const more = detail.text.length - (span[1] - span[0]);
        const moved = this.pins
          .filter((pin) => !overlap(pin, span))
          .map(([a, b]): Span => (a >= span[1] ? [a + more, b + more] : [a, b]));
        this.pins = [...moved, [span[0], span[0] + detail.text.length]];
        this.takes = this.takes.map((each, i) => (i === this.active ? next : each));
        this.chosen = null;
        this.at = null;
        announce("Replaced. Denoise again to update the rest.");
      }
    }
  }

  /** Has the active take go on from its text, of which some stretches stay. */
  private denoise(kept: readonly Span[]): void {
    const take = this.takes[this.active];
    if (take === undefined) return;
    const text = textOf(latest(take));
    [this.chosen, this.at] = [null, null];
    this.start([[this.active, again(this.request, text, kept, take.seed + 1000 * take.traces.length)]]);
  }

  private isPinned([start, end]: Span): boolean {
    return this.pins.some(([a, b]) => a <= start && end <= b);
  }

  private choose(index: number, detail: { index: number; extends: boolean }): void {
    const isMore = (detail.extends || this.extending) && index === this.active;
    const before = isMore ? this.chosen : null;
    const [from, to] = before ?? [detail.index, detail.index + 1];
    this.extending &&= before !== null;
    this.active = index;
    this.chosen = [Math.min(from, detail.index), Math.max(to, detail.index + 1)];
  }

  /** The prompt of what is shown, whatever its field says by now. */
  private get asked(): string {
    return this.request.prompt ?? this.request.messages?.at(-1)?.content ?? this.prompt;
  }

  private reply(): void {
    const take = this.takes[this.active];
    if (take === undefined) return;
    this.turns = [
      ...this.turns,
      { role: "user", content: this.asked },
      { role: "assistant", content: textOf(latest(take)) },
    ];
    [this.prompt, this.takes, this.pins, this.chosen] = ["", [], [], null];
    void this.updateComplete.then(() => this.renderRoot.querySelector("textarea")?.focus());
  }

  private async share(): Promise<void> {
    const { model, prompt, turns, options, seed, count } = this;
    const hash = sharedHash({ model, prompt, turns, options, seed, count });
    history.replaceState(null, "", hash);
    try {
      await navigator.clipboard.writeText(location.href);
      say("Link copied. It reruns exactly this.");
    } catch {
      say("The link is in the address bar. It reruns exactly this.");
    }
  }

  private export(): void {
    const traces = this.takes[this.active]?.traces ?? [];
    saveFile("trace.json", JSON.stringify(traces), "application/json");
  }

  private async open(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    try {
      const traces = readTraces(await file.text());
      const take = takeOf(traces);
      this.start([]);
      this.request = traces[0]?.request ?? {};
      this.prompt = this.asked;
      if (this.cards.some(({ id }) => id === this.request.model)) this.model = this.request.model ?? "";
      [this.takes, this.active, this.at, this.pins, this.chosen] = [[take], 0, null, [], null];
      say(`Opened ${take.frames.length} steps of ${this.request.model ?? "a model"}.`);
    } catch (error) {
      sayError(error);
    }
  }

  override render() {
    if (this.cards.length === 0) {
      return html`<h1>Canvas</h1>
        <p class="muted">
          No model on this server writes on a canvas; start it with one: sfumato serve tiny
        </p>`;
    }
    return html`<div
      class="page"
      @dragover=${(event: DragEvent) => event.preventDefault()}
      @drop=${(event: DragEvent) => {
        event.preventDefault();
        void this.open(event.dataTransfer?.files[0]);
      }}
    >
      <h1>Canvas</h1>
      <p class="muted intro">
        Enter a prompt and watch the answer form from noise; then step through it, pin tokens and change it.
      </p>
      ${this.form()} ${this.takes.length === 0 ? nothing : this.result()}
    </div>`;
  }

  private form() {
    const kinds = this.card?.sfumato.kinds ?? [];
    const submit = (event: Event) => {
      event.preventDefault();
      this.run();
    };
    const number = (event: Event, least: number, most: number) =>
      Math.max(least, Math.min(most, Math.round((event.target as HTMLInputElement).valueAsNumber || least)));
    return html`${this.turns.map(({ role, content }) => html`<p class="turn ${role}">${content}</p>`)}
      ${
        this.turns.length > 0
          ? html`<div class="row">
              <button class="quiet" ?disabled=${this.isRunning} @click=${() => (this.turns = [])}>
                New conversation
              </button>
            </div>`
          : nothing
      }
      <form @submit=${submit}>
        <label
          >Prompt
          <textarea
            rows=${Math.min(10, Math.max(2, this.prompt.split("\n").length))}
            .value=${this.prompt}
            @input=${(event: Event) => (this.prompt = (event.target as HTMLTextAreaElement).value)}
            @keydown=${(event: KeyboardEvent) => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
            }}
          ></textarea>
        </label>
        <div class="row">
          <label class="model"
            >Model
            <select
              @change=${(event: Event) => {
                this.model = (event.target as HTMLSelectElement).value;
                remember("canvas.model", this.model);
                this.prompt = this.card?.sfumato.kinds[0]?.example ?? this.prompt;
                [this.options, this.turns] = [{}, []];
              }}
            >
              ${this.cards.map(({ id }) => html`<option value=${id} .selected=${id === this.model}>${id}</option>`)}
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
                      this.prompt = kinds[Number(select.value)]?.example ?? this.prompt;
                      select.value = "";
                    }}
                  >
                    <option value="">What it was trained on …</option>
                    ${kinds.map(({ name }, i) => html`<option value=${i}>${name.replaceAll("_", " ")}</option>`)}
                  </select></label
                >`
          }
          <label
            >Seed
            <input
              type="number"
              min="0"
              .value=${String(this.seed)}
              @change=${(event: Event) => (this.seed = number(event, 0, 2 ** 31))}
          /></label>
          <label
            >Side by side
            <input
              type="number"
              min="1"
              max=${MAX_TAKES}
              .value=${String(this.count)}
              @change=${(event: Event) => (this.count = number(event, 1, MAX_TAKES))}
          /></label>
          ${
            this.isRunning
              ? html`<button type="button" @click=${() => this.stopping.abort()}>Stop</button>`
              : html`<button class="primary" title="Ctrl+Enter" ?disabled=${this.prompt.trim() === ""}>
                  Denoise
                </button>`
          }
        </div>
        <details>
          <summary>Options</summary>
          <sf-options
            .card=${this.card}
            .options=${this.options}
            @sf-options=${({ detail }: CustomEvent<Options>) => (this.options = detail)}
          ></sf-options>
        </details>
      </form>`;
  }

  private result() {
    const take = this.takes[this.active];
    const tokens = take === undefined ? [] : latest(take).tokens;
    const isEditable = !this.isRunning && this.at === null && this.model === this.request.model;
    const [from, to] = this.chosen ?? [0, 0];
    return html`<div class="takes">
        ${this.takes.map(
          (each, i) =>
            html`<sf-take
              .take=${each}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${i === this.active}
              .chosen=${this.chosen}
              .pins=${this.pins}
              @sf-token=${({ detail }: CustomEvent<{ index: number; extends: boolean }>) => this.choose(i, detail)}
            ></sf-take>`,
        )}
      </div>
      <sf-scrubber
        .count=${this.numFrames}
        .at=${this.at ?? Math.max(0, this.numFrames - 1)}
        @sf-at=${({ detail }: CustomEvent<number>) => {
          this.at = detail >= this.numFrames - 1 ? null : detail;
          if (this.at !== null) this.chosen = null;
        }}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({ detail }: CustomEvent<Colouring>) => {
            this.colouring = detail;
            remember("canvas.colouring", detail);
          }}
        ></sf-colouring>
        <span class="row">
          ${
            this.pins.length > 0 && isEditable
              ? html`<button class="primary" @click=${() => this.denoise(this.pins)}>
                  Denoise all but the pins
                </button>`
              : nothing
          }
          <button ?disabled=${!isEditable} @click=${() => this.reply()}>Reply</button>
          <button @click=${() => this.share()}>Share</button>
          <button ?disabled=${(take?.traces.length ?? 0) === 0} @click=${() => this.export()}>Export</button>
          <button
            @click=${() => this.renderRoot.querySelector<HTMLInputElement>("input[type=file]")?.click()}
          >
            Open
          </button>
          <input
            hidden
            type="file"
            accept=".json,application/json"
            aria-label="Trace to open"
            @change=${(event: Event) => void this.open((event.target as HTMLInputElement).files?.[0])}
          />
        </span>
      </div>
      ${
        this.chosen === null
          ? html`<p class="muted">
              Click a token to see alternatives, pin it or replace it; Shift-click or “Select more” selects
              several.
            </p>`
          : html`<sf-token-panel
              .tokens=${tokens.slice(from, to)}
              .pinned=${this.isPinned(spanOf(tokens, from, to))}
              .editable=${isEditable}
              .extending=${this.extending}
              @sf-token-action=${(event: CustomEvent<TokenAction>) => this.act(event)}
            ></sf-token-panel>`
      }`;
  }
}
