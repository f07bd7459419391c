/** One prompt, several models: what each writes, how long it takes, and who is right. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { controls } from "../components/base";
import { duration } from "../components/lane";
import "../components/score";
import { api } from "../core/api";
import { drawExpression } from "../core/arithmetic";
import { judgeOf, shorten } from "../core/judge";
import { count, newLane, NO_TALLY, runLane, warm, type Lane, type Tally } from "../core/lane";
import { remember, remembered } from "../core/preferences";
import type { ModelCard } from "../core/protocol";
import { announce, sayError } from "../core/say";

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
  @state() private cards: readonly ModelCard[] = [];
  @state() private chosen: readonly string[] = [remembered<string | string[]>("race.models", [])].flat();
  @state() private prompt = "";
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
  private raced = "";
  private starts: number[] = [];
  private stopping = new AbortController();
  private ticking = 0;

  static override styles = [
    controls,
    css`
      form {
        display: grid;
        gap: 0.75rem;
        margin-bottom: 1rem;
      }
      textarea {
        font-family: var(--mono);
        resize: vertical;
        width: 100%;
      }
      .lanes {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr));
        gap: 0.75rem;
        margin-bottom: 0.75rem;
      }
      .row {
        align-items: end;
      }
      .row > label {
        min-width: 8rem;
      }
      .row > label.inline {
        min-width: 0;
      }
      input[type="number"] {
        width: 5rem;
      }
      input[type="range"] {
        flex: 1;
        min-width: 8rem;
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.prompt = remembered<string>("race.prompt", "") || ANSWER_FIRST + drawExpression();
    api.models().then((cards) => {
      this.cards = cards;
      const known = this.chosen.filter((id) => cards.some((card) => card.id === id));
      this.choose(known.length > 1 ? known : defaultLanes(cards));
    }, sayError);
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

  private chosenCards(): ModelCard[] {
    return this.chosen.flatMap((id) => this.cards.filter((card) => card.id === id));
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
      this.cards = this.cards.map((card) =>
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
    this.tallies = Object.fromEntries([
      ...Object.entries(this.tallies),
      ...this.lanes.map((lane) => [lane.model, count(this.tallies[lane.model] ?? NO_TALLY, lane, judge)]),
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
            ${kinds.map((kind) => html`<option value=${kind.example}>${kind.name}</option>`)}
          </select>
        </label>
        ${this.chosen.map((id, at) => this.laneChoice(id, at))}
        ${
          this.chosen.length < Math.min(MAX_LANES, this.cards.length)
            ? html`<button
                type="button"
                ?disabled=${this.isRacing}
                @click=${() => {
                  const free = this.cards.find(({ id }) => !this.chosen.includes(id));
                  if (free !== undefined) this.choose([...this.chosen, free.id]);
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
      this.choose(value === "" ? this.chosen.toSpliced(at, 1) : this.chosen.with(at, value));
    };
    return html`<label
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
        ${this.chosen.length > 2 ? html`<option value="">no model</option>` : nothing}
      </select>
    </label>`;
  }

  private player() {
    if (this.isRacing || this.lanes.every(({ endMs }) => endMs === null)) return nothing;
    return html`<div class="row card" role="group" aria-label="Look at it again">
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
      <div class="row" style="margin-top: 1.25rem">
        <h2 id="score" style="margin: 0">Score so far</h2>
        <button class="quiet" ?disabled=${this.isRacing} @click=${() => (this.tallies = {})}>Clear</button>
      </div>
      <sf-score .tallies=${this.tallies}></sf-score>
    </section>`;
  }
}

/** A model that revises, and the one to compare it with: its twin where there is one. */
function defaultLanes(cards: readonly ModelCard[]): string[] {
  const first = cards.find(({ capabilities }) => capabilities.includes("canvas")) ?? cards[0];
  const twin = cards.find(({ id }) => id === `${first?.id ?? ""}-twin`);
  const second = twin ?? cards.find(({ id }) => id !== first?.id);
  return [first, second].flatMap((card) => (card === undefined ? [] : [card.id]));
}

function outcome(lane: Lane): string {
  const said = lane.claims.at(-1);
  const verdict = lane.isRight === null ? "no judge" : lane.isRight ? "right" : "wrong";
  const claim = said === null || said === undefined ? "" : `${shorten(said)}, `;
  return lane.error === null
    ? `${lane.model}: ${claim}${verdict}, ${duration(lane.endMs)}.`
    : `${lane.model}: ${lane.error}.`;
}
