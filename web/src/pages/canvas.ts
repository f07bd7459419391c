/** One prompt, and the text that forms from noise: step by step, as often as wanted, and changed by hand in between. */
import { html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import "../components/asking";
import { MAX_TAKES, type AskingElement } from "../components/asking";
import { controls } from "../components/base";
import type { Colouring } from "../components/canvas";
import "../components/colouring";
import "../components/examples";
import { Models } from "../components/models";
import type { ScrubberElement } from "../components/scrubber";
import "../components/scrubber";
import "../components/take";
import "../components/token-panel";
import type { TokenAction } from "../components/token-panel";
import { api } from "../core/api";
import { saveFile } from "../core/files";
import { undoKey } from "../core/keys";
import { knowing } from "../core/prose";
import { isMotionReduced, remember, remembered } from "../core/preferences";
import { current, go, held, noSteps, push, type Steps } from "../core/steps";
import { FIRST, kindsInstead } from "../core/kinds";
import type { CanvasRequest, Span } from "../core/protocol";
import { announce, say, sayError, tellMove } from "../core/say";
import { isShareable, readShared, requestOf, sharedHash, sharedOf, type Shared } from "../core/share";
import {
  again,
  goOn,
  latest,
  newTake,
  outside,
  overlap,
  rewritten,
  shifted,
  spanOf,
  stepsAt,
  stepsText,
  takeOf,
  type Take,
} from "../core/take";
import { textOf, type CanvasView } from "../core/canvas";
import { readTraces } from "../core/trace";
import { pageStyles } from "./canvas-styles";

const NO_PINS: readonly Span[] = [];
/** What takes less cannot be watched. */
const SEEN_MS = 1500;
/** Seconds that it takes to show it again. */
const REPLAY_S = 3;

/** What an undo brings back. */
interface Shown {
  readonly asked: Shared;
  readonly request: CanvasRequest;
  readonly takes: readonly Take[];
  readonly pins: readonly (readonly Span[])[];
}

@customElement("sf-canvas-page")
export class CanvasPage extends LitElement {
  @property() place = "";
  /** What the form says. */
  @state() private asked: Shared = {
    model: remembered("canvas.model", ""),
    prompt: remembered("canvas.prompt", ""),
    turns: [],
    options: {},
    seed: 1,
    count: 1,
  };
  @state() private colouring = remembered<Colouring>("canvas.colouring", "confidence");
  @state() private takes: readonly Take[] = [];
  /** The frame that is shown; null follows the last. */
  @state() private at: number | null = null;
  @state() private active = 0;
  @state() private chosen: readonly [number, number] | null = null;
  /** Whether the next token that is clicked joins the chosen ones: what Shift does, for those without a keyboard. */
  @state() private extending = false;
  /** By take. */
  @state() private pins: readonly (readonly Span[])[] = [];
  /** What the takes came from, whatever the form says by now. */
  private request: CanvasRequest = {};
  private readonly models = new Models(
    this,
    ({ capabilities }) => capabilities.includes("canvas"),
    () => this.begin(),
  );
  private stopping = new AbortController();
  /** What runs the same again, as the hash of the address; empty before anything ran. */
  private address = "";
  /** What was shown before each change; the last one stands for what is shown now. */
  @state() private steps: Steps<Shown> = noSteps();

  static override styles = [controls, pageStyles];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("hashchange", this.openShared);
    addEventListener("keydown", this.onKey);
    if (this.address === "") return;
    // A page that is returned to is as it was, unless a link says something else.
    if (location.hash.length > 1 && location.hash !== this.address) this.openShared();
    else history.replaceState(history.state, "", this.address);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.openShared);
    removeEventListener("keydown", this.onKey);
  }

  private begin(): void {
    const card = this.models.find(this.asked.model) ?? this.models.cards?.[0];
    const first = knowing(this.models.cards ?? [], FIRST) === card ? FIRST : card?.sfumato.kinds[0]?.example;
    const prompt = this.asked.prompt || (first ?? "");
    this.asked = { ...this.asked, model: card?.id ?? "", prompt };
    this.openShared();
  }

  private onKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && this.chosen !== null) this.chosen = null;
    const by = undoKey(event);
    if (by === 0) return;
    event.preventDefault();
    this.move(by);
  };

  private get shown(): Shown {
    const takes = this.takes.map((take) =>
      take.status === "running" ? { ...take, status: "stopped" as const } : take,
    );
    return { asked: this.asked, request: this.request, takes, pins: this.pins };
  }

  /** Call it before a change that can be undone. */
  private keepForUndo(): void {
    if (this.takes.length > 0) this.steps = push(held(this.steps, this.shown), this.shown);
  }

  private move(by: -1 | 1): void {
    const before = held(this.steps, this.shown);
    const steps = go(before, by);
    const next = steps.at === before.at ? undefined : current(steps);
    tellMove(by, next !== undefined);
    if (next === undefined) return;
    this.stopping.abort();
    this.steps = steps;
    ({ asked: this.asked, request: this.request, takes: this.takes, pins: this.pins } = next);
    [this.chosen, this.at] = [null, null];
    this.active = Math.min(this.active, next.takes.length - 1);
  }

  private get isRunning(): boolean {
    return this.takes.some(({ status }) => status === "running");
  }

  /** The frames of the take that has most. */
  private get longest(): readonly CanvasView[] {
    return this.takes.reduce<readonly CanvasView[]>(
      (most, { frames }) => (frames.length > most.length ? frames : most),
      [],
    );
  }

  /** Runs what a link says. */
  private openShared = (): void => {
    const shared = readShared(location.hash);
    if (shared === null && location.hash.length > 1) say("This link cannot be read.");
    if (shared === null || (this.models.cards ?? []).length === 0) return;
    if (this.fill({ ...shared, count: Math.min(MAX_TAKES, shared.count) })) this.run();
  };

  /** Puts something in the form. Where this server lacks its model, says so and keeps the one that is chosen. */
  private fill(asked: Shared): boolean {
    const isHere = this.models.find(asked.model) !== undefined;
    const { model } = this.asked;
    this.asked = isHere ? asked : { ...asked, model, options: {} };
    if (!isHere) say(`This server has no model named “${asked.model}”; ${model} is chosen instead.`);
    return isHere;
  }

  private run(): void {
    const { model, prompt, seed, count } = this.asked;
    if (model === "" || prompt.trim() === "") return;
    remember("canvas.prompt", prompt);
    this.keepForUndo();
    this.request = requestOf(this.asked);
    [this.pins, this.chosen, this.at, this.active] = [[], null, null, 0];
    this.takes = Array.from({ length: count }, (_, i) => newTake(seed + i));
    // A page that is loaded again, or returned to, runs it again.
    this.address = sharedHash(this.asked);
    if (this.isConnected) history.replaceState(history.state, "", this.address);
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
        this.keepForUndo();
        this.setPins(
          this.isPinned(span)
            ? this.activePins.filter((pin) => !overlap(pin, span))
            : [...this.activePins, span],
        );
        break;
      case "renoise":
        this.denoise(outside([span], text.length));
        break;
      case "onwards":
        this.denoise([[0, span[0]]]);
        break;
      case "write": {
        this.keepForUndo();
        const next = rewritten(take, { from, to, text: detail.text });
        this.setPins([
          ...shifted(this.activePins, span, detail.text.length),
          [span[0], span[0] + detail.text.length],
        ]);
        this.takes = this.takes.map((each, i) => (i === this.active ? next : each));
        this.chosen = null;
        this.at = null;
        announce("Replaced. Denoise again to update the rest.");
        void this.updateComplete.then(() => this.focusToken(from));
      }
    }
  }

  private focusToken(index: number): void {
    this.renderRoot.querySelectorAll("sf-take")[this.active]?.focusToken(index);
  }

  /** Has the active take go on from its text, of which some stretches stay. */
  private denoise(kept: readonly Span[]): void {
    const take = this.takes[this.active];
    if (take === undefined) return;
    this.keepForUndo();
    const text = textOf(latest(take));
    [this.chosen, this.at] = [null, null];
    this.start([[this.active, again(this.request, text, kept, take.seed + 1000 * take.traces.length)]]);
  }

  private get activePins(): readonly Span[] {
    return this.pins[this.active] ?? NO_PINS;
  }

  private setPins(pins: readonly Span[]): void {
    this.pins = this.takes.map((_, i) => (i === this.active ? pins : (this.pins[i] ?? NO_PINS)));
  }

  private isPinned([start, end]: Span): boolean {
    return this.activePins.some(([a, b]) => a <= start && end <= b);
  }

  private choose(index: number, detail: { index: number; extends: boolean }): void {
    const isMore = (detail.extends || this.extending) && index === this.active;
    const before = isMore ? this.chosen : null;
    const [from, to] = before ?? [detail.index, detail.index + 1];
    this.extending &&= before !== null;
    this.active = index;
    this.chosen = [Math.min(from, detail.index), Math.max(to, detail.index + 1)];
  }

  private reply(): void {
    const take = this.takes[this.active];
    if (take === undefined) return;
    this.keepForUndo();
    const { turns, prompt } = sharedOf(this.request, 1);
    const said = { role: "user" as const, content: prompt };
    const answered = { role: "assistant" as const, content: textOf(latest(take)) };
    this.asked = { ...this.asked, prompt: "", turns: [...turns, said, answered] };
    [this.takes, this.pins, this.chosen] = [[], [], null];
    say("The answer joined the conversation.", { label: "Undo", run: () => this.move(-1) });
    void this.updateComplete.then(() => this.renderRoot.querySelector<AskingElement>("sf-asking")?.focus());
  }

  private async share(): Promise<void> {
    this.address = sharedHash(sharedOf(this.request, this.takes.length));
    history.replaceState(null, "", this.address);
    const isEdited = this.takes.some((take) => take.isEdited) || this.pins.some(({ length }) => length > 0);
    const runs = isEdited
      ? "It runs this again without your changes; “Export” saves them."
      : isShareable(this.request)
        ? "It runs exactly this again."
        : "It runs this again without some of its settings; “Export” saves them.";
    try {
      await navigator.clipboard.writeText(location.href);
      say(`Link copied. ${runs}`);
    } catch {
      say(`The link is in the address bar. ${runs}`);
    }
  }

  private export(): void {
    const traces = this.takes[this.active]?.traces ?? [];
    const last = traces.at(-1);
    if (last === undefined) return;
    const saved = [...traces.slice(0, -1), { ...last, pins: this.activePins }];
    saveFile("trace.json", JSON.stringify(saved), "application/json");
  }

  private async open(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    try {
      const traces = readTraces(await file.text());
      const take = takeOf(traces);
      this.start([]);
      this.keepForUndo();
      this.request = { model: traces[0]?.model ?? "", ...traces[0]?.request, seed: take.seed };
      [this.takes, this.active, this.at, this.pins, this.chosen] = [
        [take],
        0,
        null,
        [traces.at(-1)?.pins ?? []],
        null,
      ];
      if (this.fill(sharedOf(this.request, 1)))
        say(`Opened ${stepsText(stepsAt(take.frames))} of ${this.asked.model}.`);
    } catch (error) {
      sayError(error);
    }
  }

  override render() {
    const notice = this.models.notice(
      "No model on this server writes on a canvas; start it with one: sfumato serve tiny",
    );
    if (notice !== nothing)
      return html`<h1>Canvas</h1>
        ${notice}`;
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
      <sf-asking
        .cards=${this.models.cards ?? []}
        .asked=${this.asked}
        ?running=${this.isRunning}
        @sf-asked=${({ detail }: CustomEvent<Shared>) => {
          this.asked = detail;
          remember("canvas.model", detail.model);
        }}
        @sf-run=${() => this.run()}
        @sf-stop=${() => this.stopping.abort()}
        @sf-trace=${({ detail }: CustomEvent<File>) => void this.open(detail)}
      ></sf-asking>
      ${this.takes.length === 0 ? nothing : this.result()}
    </div>`;
  }

  private result() {
    const hasFailed = this.takes[this.active]?.status === "failed";
    const { prompt } = sharedOf(this.request, 1);
    return html`<div class="takes">
        ${this.takes.map(
          (each, i) =>
            html`<sf-take
              .take=${each}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${i === this.active}
              .chosen=${this.chosen}
              .pins=${this.pins[i] ?? NO_PINS}
              .kinds=${kindsInstead(this.models.find(this.request.model), prompt)}
              @sf-token=${({ detail }: CustomEvent<{ index: number; extends: boolean }>) => this.choose(i, detail)}
              @sf-example=${({ detail }: CustomEvent<string>) => {
                this.asked = { ...this.asked, prompt: detail, model: this.request.model ?? "" };
                this.run();
              }}
            ></sf-take>`,
        )}
      </div>
      ${hasFailed && this.longest.length === 0 ? nothing : this.tools()}`;
  }

  private tools() {
    const take = this.takes[this.active];
    const tokens = take === undefined ? [] : latest(take).tokens;
    const isEditable =
      !this.isRunning && this.at === null && this.models.find(this.request.model) !== undefined;
    const hasFailed = take?.status === "failed";
    // A model of fixed tasks was trained on single prompts.
    const canReply = this.models.find(this.request.model)?.sfumato.kinds.length === 0;
    const [from, to] = this.chosen ?? [0, 0];
    const { all, at } = this.steps;
    return html`<sf-scrubber
        .frames=${this.longest}
        .at=${this.at ?? Math.max(0, this.longest.length - 1)}
        @sf-at=${({ detail }: CustomEvent<number>) => {
          this.at = detail >= this.longest.length - 1 ? null : detail;
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
            this.activePins.length > 0 && isEditable
              ? html`<button class="primary" @click=${() => this.denoise(this.activePins)}>
                  Denoise all but the pins
                </button>`
              : nothing
          }
          <button ?disabled=${at < 1 || this.isRunning} title="Ctrl+Z" @click=${() => this.move(-1)}>
            Undo
          </button>
          <button
            ?disabled=${at >= all.length - 1 || this.isRunning}
            title="Ctrl+Shift+Z"
            @click=${() => this.move(1)}
          >
            Redo
          </button>
          ${
            canReply
              ? html`<button ?disabled=${!isEditable || hasFailed} @click=${() => this.reply()}>
                  Reply
                </button>`
              : nothing
          }
          <button ?disabled=${hasFailed} @click=${() => this.share()}>Share</button>
          <button
            ?disabled=${this.isRunning || (take?.traces.length ?? 0) === 0}
            @click=${() => this.export()}
          >
            Export
          </button>
        </span>
      </div>
      ${
        this.chosen === null
          ? html`<p class="muted">${this.hint(tokens.length)}</p>`
          : html`<sf-token-panel
              .tokens=${tokens.slice(from, to)}
              .pinned=${this.isPinned(spanOf(tokens, from, to))}
              .editable=${isEditable}
              .extending=${this.extending}
              @sf-token-action=${(event: CustomEvent<TokenAction>) => this.act(event)}
            ></sf-token-panel>`
      }`;
  }

  private hint(numTokens: number): string {
    if (numTokens === 0 || this.isRunning) return "";
    if (this.at !== null) return "Go to the last step to select tokens.";
    return "Click a token to see alternatives, pin it or replace it; Shift-click or “Select more” selects several.";
  }
}
