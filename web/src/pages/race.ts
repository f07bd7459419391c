/** One prompt, several models: what each writes, how long it takes, and who is right. */
import { html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { controls } from "../components/base";
import { duration } from "../components/lane";
import "../components/examples";
import { kindName } from "../components/examples";
import { Models } from "../components/models";
import "../components/score";
import { api } from "../core/api";
import { drawExpression } from "../core/arithmetic";
import { sentenceOf } from "../core/files";
import { judgeOf, shorten } from "../core/judge";
import { kindsInstead, lineUp, takes } from "../core/kinds";
import { count, newLane, NO_TALLY, runLane, warm, type Lane, type Tally } from "../core/lane";
import { remember, remembered } from "../core/preferences";
import type { ModelCard } from "../core/protocol";
import { announce, sayError } from "../core/say";
import { raceStyles } from "./race-styles";

const MAX_LANES = 4;
const MAX_SERIES = 1000;
const MAX_SEED = 2 ** 31;
const ANSWER_FIRST = "answer, then derive: ";
const DRAWN = [ANSWER_FIRST, "derive, then answer: "];
const SPEEDS = [1, 0.25, 0.05, 0.01];

@customElement("sf-race-page")
export class RacePage extends LitElement {
  /** What stands behind the page's path. */
  @property() place = "";
  @state() private chosen: readonly string[] = [remembered<string | string[]>("race.models", [])].flat();
  @state() private prompt = remembered<string>("race.prompt", "") || ANSWER_FIRST + drawExpression();
  @state() private lanes: readonly Lane[] = [];
  @state() private tallies: Readonly<Record<string, Tally>> = {};
  @state() private together = remembered("race.together", false);
  @state() private series = 10;
  @state() private left = 0;
  @state() private note = "";
  @state() private isRacing = false;
  @state() private speed = 0.05;
  @state() private clock = 0;
  @state() private isReplayed = false;
  private readonly models = new Models(
    this,
    () => true,
    (cards) => this.begin(cards),
  );
  private raced = "";
  private starts: number[] = [];
  private stopping = new AbortController();
  private ticking = 0;

  static override styles = [controls, raceStyles];

  private begin(cards: readonly ModelCard[]): void {
    const known = this.chosen.filter((id) => this.models.find(id) !== undefined);
    if (known.length > 1) {
      this.choose(known);
      return;
    }
    const { prompt, ids } = lineUp(cards, this.prompt);
    this.prompt = prompt;
    this.choose(ids);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.stop();
    cancelAnimationFrame(this.ticking);
  }

  private choose(ids: readonly string[]): void {
    this.chosen = ids;
    this.lanes = this.chosenCards().map(newLane);
    this.isReplayed = false;
    this.clock = 0;
    if (ids.length > 0) remember("race.models", ids);
  }

  private get cards(): readonly ModelCard[] {
    return this.models.cards ?? [];
  }

  private chosenCards(): ModelCard[] {
    return this.chosen.flatMap((id) => this.models.find(id) ?? []);
  }

  private stop(): void {
    this.left = 0;
    this.stopping.abort();
  }

  /** The kind of prompt that can be drawn anew; undefined where only the seed changes. */
  private drawn(): string | undefined {
    return DRAWN.find((start) => this.prompt.startsWith(start));
  }

  private next(): void {
    const start = this.drawn();
    if (start !== undefined) this.prompt = start + drawExpression();
  }

  private async race(times: number): Promise<void> {
    if (this.isRacing || this.prompt.trim() === "") return;
    this.isRacing = true;
    this.left = times;
    this.stopping = new AbortController();
    try {
      for (const card of this.chosenCards().filter(({ loaded }) => !loaded)) {
        this.note = `Opening ${card.id} …`;
        await warm(api, card, this.prompt, this.stopping.signal);
      }
      this.models.cards = this.cards.map((card) =>
        this.chosen.includes(card.id) ? { ...card, loaded: true } : card,
      );
      this.note = "";
      while (this.left > 0) {
        await this.raceOnce();
        this.left = Math.max(0, this.left - 1);
        if (this.lanes.some(({ status }) => status === "failed")) this.left = 0;
        if (this.left > 0) this.next();
      }
    } catch (error) {
      sayError(error);
    } finally {
      this.note = "";
      this.left = 0;
      this.isRacing = false;
    }
  }

  private async raceOnce(): Promise<void> {
    const judge = judgeOf(this.prompt);
    const prompt = { text: this.prompt, seed: Math.floor(Math.random() * MAX_SEED), judge };
    this.raced = this.prompt;
    remember("race.prompt", this.prompt);
    this.lanes = this.chosenCards().map(newLane);
    this.starts = this.lanes.map(() => Infinity);
    this.isReplayed = false;
    const run = async (at: number) => {
      this.starts[at] = performance.now();
      const lane = this.lanes[at];
      if (lane === undefined) return;
      for await (const now of runLane(api, lane, prompt, this.stopping.signal)) {
        this.lanes = this.lanes.with(at, now);
      }
    };
    this.tick();
    const places = this.lanes.map((_, at) => at);
    if (this.together) await Promise.all(places.map(run));
    else for (const at of places) if (!this.stopping.signal.aborted) await run(at);
    cancelAnimationFrame(this.ticking);
    this.clock = this.longest();
    const finished = this.lanes.filter(({ status }) => status === "done");
    this.tallies = Object.fromEntries([
      ...Object.entries(this.tallies),
      ...finished.map((lane) => [lane.model, count(this.tallies[lane.model] ?? NO_TALLY, lane, judge)]),
    ]) as Record<string, Tally>;
    announce(this.lanes.map(outcome).join(" "));
  }

  /** Clocks run between events, too. */
  private tick(): void {
    cancelAnimationFrame(this.ticking);
    this.ticking = requestAnimationFrame(() => {
      this.clock = performance.now();
      if (this.isRacing) this.tick();
    });
  }

  private longest(): number {
    return Math.max(1, ...this.lanes.map(({ frames, endMs }) => endMs ?? frames.at(-1)?.atMs ?? 0));
  }

  private replay(from = 0): void {
    cancelAnimationFrame(this.ticking);
    this.isReplayed = true;
    this.clock = from;
    let last = performance.now();
    const step = () => {
      const now = performance.now();
      this.clock = Math.min(this.longest(), this.clock + (now - last) * this.speed);
      last = now;
      if (this.clock < this.longest()) this.ticking = requestAnimationFrame(step);
    };
    this.ticking = requestAnimationFrame(step);
  }

  private clockOf(at: number): number {
    if (this.isReplayed || !this.isRacing) return this.clock;
    return Math.max(0, this.clock - (this.starts[at] ?? Infinity));
  }

  override render() {
    const notice = this.models.notice(
      "This server has no models; start it with two: sfumato serve tiny tiny-twin",
    );
    if (notice !== nothing)
      return html`<h1>Race</h1>
        ${notice}`;
    return html`<h1>Race</h1>
      <p class="muted">
        One prompt, two to four models. Each clock runs from this page's request to the answer it receives.
      </p>
      ${this.form()} ${this.note === "" ? nothing : html`<p class="muted" role="status">${this.note}</p>`}
      <div class="lanes">
        ${this.lanes.map(
          (lane, at) =>
            html`<sf-lane
              class="card"
              .lane=${lane}
              .judge=${judgeOf(this.raced)}
              .kinds=${this.isRacing ? [] : kindsInstead(this.models.find(lane.model), this.raced)}
              @sf-example=${({ detail }: CustomEvent<string>) => (this.prompt = detail)}
              .clock=${this.clockOf(at)}
              .replayed=${this.isReplayed}
              .scale=${Math.max(this.longest(), this.clockOf(at))}
            ></sf-lane>`,
        )}
      </div>
      ${this.player()} ${this.score()}`;
  }

  private form() {
    const kinds = this.chosenCards()[0]?.sfumato.kinds ?? [];
    const judge = judgeOf(this.prompt);
    const unable = this.chosenCards().filter((card) => !takes(card, this.prompt));
    return html`<form
      @submit=${(event: Event) => {
        event.preventDefault();
        void this.race(1);
      }}
    >
      <label
        >Prompt
        <textarea
          name="prompt"
          rows="2"
          .value=${this.prompt}
          ?disabled=${this.isRacing}
          @input=${(event: Event) => (this.prompt = (event.target as HTMLTextAreaElement).value)}
        ></textarea>
      </label>
      <div class="row">
        <label
          >Examples
          <select
            name="kind"
            ?disabled=${this.isRacing}
            @change=${(event: Event) => (this.prompt = (event.target as HTMLSelectElement).value)}
          >
            <option value="" disabled selected>Training tasks</option>
            ${kinds.map((kind) => html`<option value=${kind.example}>${kindName(kind)}</option>`)}
          </select>
        </label>
        ${this.chosen.map((id, at) => this.laneChoice(id, at))}
        ${
          this.chosen.length < Math.min(MAX_LANES, this.cards.length)
            ? html`<button
                type="button"
                ?disabled=${this.isRacing}
                @click=${() => {
                  const free = this.cards.filter(({ id }) => !this.chosen.includes(id));
                  const next = free.find((card) => takes(card, this.prompt)) ?? free[0];
                  if (next !== undefined) this.choose([...this.chosen, next.id]);
                }}
              >
                Add a model
              </button>`
            : nothing
        }
        <label
          >Start
          <select
            name="start"
            ?disabled=${this.isRacing}
            @change=${(event: Event) => {
              this.together = (event.target as HTMLSelectElement).value === "together";
              remember("race.together", this.together);
            }}
          >
            <option value="each" .selected=${!this.together}>one after the other</option>
            <option value="together" .selected=${this.together}>all at once</option>
          </select>
        </label>
      </div>
      <p class="muted figures" style="margin: 0">
        ${
          this.together
            ? "All start at once and share the machine, as simultaneous users would."
            : "Each model has the machine to itself, so times compare fairly."
        }
        ${judge === null ? "Answers to this prompt are not checked." : `Checked against: ${judge.says}.`}
        ${unable.map(({ id }) => `${id} was not trained on such prompts.`).join(" ")}
      </p>
      <div class="row">
        <button class="primary" ?disabled=${this.isRacing || this.chosen.length < 2}>Race</button>
        <button
          type="button"
          ?disabled=${this.isRacing || this.drawn() === undefined}
          @click=${() => {
            this.next();
            void this.race(1);
          }}
        >
          Next expression
        </button>
        <label class="inline"
          >Series of
          <input
            name="series"
            type="number"
            min="1"
            max=${MAX_SERIES}
            .value=${String(this.series)}
            ?disabled=${this.isRacing}
            @change=${(event: Event) => {
              const given = Math.round((event.target as HTMLInputElement).valueAsNumber);
              this.series = Math.max(1, Math.min(MAX_SERIES, given || 1));
              this.requestUpdate();
            }}
        /></label>
        <button
          type="button"
          ?disabled=${this.isRacing || this.chosen.length < 2}
          @click=${() => void this.race(this.series)}
        >
          Start series
        </button>
        <button type="button" ?disabled=${!this.isRacing} @click=${() => this.stop()}>Stop</button>
        ${this.left > 1 ? html`<span class="figures">${this.left - 1} to come</span>` : nothing}
      </div>
    </form>`;
  }

  private laneChoice(id: string, at: number) {
    const onChange = (event: Event) => {
      const value = (event.target as HTMLSelectElement).value;
      this.choose(this.chosen.with(at, value));
    };
    const label = html`<label
      >Lane ${at + 1}
      <select name=${`lane-${at + 1}`} ?disabled=${this.isRacing} @change=${onChange} .value=${id}>
        ${this.cards.map(
          (card) =>
            html`<option
              value=${card.id}
              .selected=${card.id === id}
              ?disabled=${card.id !== id && this.chosen.includes(card.id)}
            >
              ${card.id}
            </option>`,
        )}
      </select>
    </label>`;
    if (this.chosen.length < 3) return label;
    return html`<span class="lane"
      >${label}<button
        type="button"
        class="quiet"
        aria-label=${`Remove ${id}`}
        title="Remove this lane"
        ?disabled=${this.isRacing}
        @click=${() => this.choose(this.chosen.toSpliced(at, 1))}
      >
        ✕
      </button></span
    >`;
  }

  private player() {
    if (this.isRacing || this.lanes.every(({ endMs }) => endMs === null)) return nothing;
    return html`<div class="row card level" role="group" aria-label="Look at it again">
      <button @click=${() => this.replay()}>Watch again</button>
      <label class="inline"
        >Speed
        <select
          name="speed"
          @change=${(event: Event) => (this.speed = Number((event.target as HTMLSelectElement).value))}
        >
          ${SPEEDS.map(
            (speed) =>
              html`<option value=${speed} .selected=${speed === this.speed}>
                ${speed === 1 ? "as it was" : `1/${1 / speed}`}
              </option>`,
          )}
        </select>
      </label>
      <input
        type="range"
        aria-label="Time"
        aria-valuetext=${duration(this.clock)}
        min="0"
        max=${this.longest()}
        step="any"
        .value=${String(this.clock)}
        @input=${(event: Event) => {
          cancelAnimationFrame(this.ticking);
          this.isReplayed = true;
          this.clock = (event.target as HTMLInputElement).valueAsNumber;
        }}
      />
    </div>`;
  }

  private score() {
    if (Object.keys(this.tallies).length === 0) return nothing;
    return html`<section aria-labelledby="score">
      <div class="row level" style="margin-top: 1.25rem">
        <h2 id="score" style="margin: 0">Score so far</h2>
        <button class="quiet" ?disabled=${this.isRacing} @click=${() => (this.tallies = {})}>Clear</button>
      </div>
      <sf-score .tallies=${this.tallies}></sf-score>
    </section>`;
  }
}

function outcome(lane: Lane): string {
  const said = lane.claims.at(-1);
  const verdict = lane.isRight === null ? "no judge" : lane.isRight ? "right" : "wrong";
  const claim = said === null || said === undefined ? "" : `${shorten(said)}, `;
  return lane.error === null
    ? `${lane.model}: ${claim}${verdict}, ${duration(lane.endMs)}.`
    : `${lane.model}: ${sentenceOf(lane.error)}`;
}
