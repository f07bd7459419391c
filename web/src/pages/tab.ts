/** A model that runs in this tab: nothing is asked of a server once it is there. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { controls } from "../components/base";
import type { Colouring } from "../components/canvas";
import "../components/colouring";
import type { ScrubberElement } from "../components/scrubber";
import "../components/scrubber";
import { startStop } from "../components/start-stop";
import "../components/take";
import { textOf } from "../core/canvas";
import { sentenceOf } from "../core/files";
import { kindsInstead } from "../core/kinds";
import { isMotionReduced, remember, remembered } from "../core/preferences";
import type { PromptKind } from "../core/protocol";
import { announce, messageOf, sayError } from "../core/say";
import { latest, newTake, type Take } from "../core/take";
import { getJson, isStored } from "../tab/download";
import { Session, type Loaded } from "../tab/session";
import { pageStyles } from "./canvas-styles";

/** Drawing every step of a fast model would take the processor from the threads that compute the next. */
const MIN_DRAW_MS = 50;

/** What takes less cannot be watched. */
const SEEN_MS = 1500;

/** Characters of a refused prompt. */
const MAX_SHOWN = 60;
const MODELS = "/tab/models";

interface Failure {
  model: string | null;
  why: string;
}

interface Offered {
  name: string;
  bytes: number;
}

@customElement("sf-tab-page")
export class TabPage extends LitElement {
  @property() place = "";
  @state() private offered: readonly Offered[] = [];
  /** What is chosen. */
  @state() private model = remembered("tab.model", "");
  /** What answers: the model that was loaded last. */
  @state() private loaded: Loaded | null = null;
  /** How far the download is; null while there is none. */
  @state() private progress: { loaded: number; total: number } | null = null;
  /** The model that could not be loaded, and why; without a model, it is their list. */
  @state() private failure: Failure | null = null;
  /** What to choose from instead of a prompt that was refused. */
  @state() private instead: readonly PromptKind[] = [];
  @state() private prompt = "";
  @state() private seed = 1;
  @state() private colouring = remembered<Colouring>("tab.colouring", "confidence");
  @state() private take: Take | null = null;
  /** The frame that is shown; null follows the last. */
  @state() private at: number | null = null;
  private session: Session | null = null;
  /** The session that is to take its place. */
  private next: Session | null = null;

  static override styles = [
    controls,
    pageStyles,
    css`
      progress {
        width: 100%;
        accent-color: var(--accent);
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    void this.begin();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.next?.close();
    this.session?.close();
  }

  private async begin(): Promise<void> {
    this.failure = null;
    try {
      this.offered = (await getJson(`${MODELS}/index.json`)) as Offered[];
    } catch (error) {
      this.failure = { model: null, why: messageOf(error) };
      return;
    }
    const names = this.offered.map(({ name }) => name);
    const first = names.includes(this.model) ? this.model : (names[0] ?? "");
    await this.load(first);
    for (const name of names) {
      if (this.loaded !== null || this.next !== null) return;
      if (name !== first && (await isStored(`${MODELS}/${name}`))) await this.load(name);
    }
  }

  /** Has another model answer, once it is there; until then, and if it cannot be loaded, the one of before does. */
  private async load(name: string): Promise<void> {
    this.next?.close();
    [this.next, this.model, this.progress] = [null, name, null];
    if (name === this.loaded?.model) return;
    this.progress = { loaded: 0, total: 0 };
    const before = this.prompt;
    let session: Session | null = null;
    try {
      this.next = session = new Session();
      const loaded = await session.load(name, (done, total) => {
        if (session === this.next) this.progress = { loaded: done, total };
      });
      if (session !== this.next) return;
      this.session?.close();
      // What was typed meanwhile stays.
      if (this.prompt === before) this.prompt = loaded.kinds[0]?.example ?? before;
      [this.session, this.next, this.loaded] = [session, null, loaded];
      this.take = null;
      remember("tab.model", name);
      announce(`${name} is ready.`);
    } catch (error) {
      if (session !== this.next) return;
      session?.close();
      this.next = null;
      this.failure ??= { model: name, why: messageOf(error) };
      this.model = this.loaded?.model ?? name;
    }
    this.progress = null;
  }

  private choose(name: string): void {
    this.failure = null;
    void this.load(name);
  }

  private get isRunning(): boolean {
    return this.take?.status === "running";
  }

  private get canRun(): boolean {
    return this.loaded !== null && this.progress === null && this.prompt.trim() !== "";
  }

  private async run(): Promise<void> {
    if (this.session === null || this.loaded === null || this.isRunning || !this.canRun) return;
    this.at = null;
    // From here on it is running, although the first step comes later.
    let last = newTake(this.seed);
    this.take = last;
    this.instead = kindsInstead({ sfumato: this.loaded }, this.prompt);
    if (this.instead.length > 0) {
      const shown = this.prompt.length > MAX_SHOWN ? `${this.prompt.slice(0, MAX_SHOWN)}...` : this.prompt;
      const error = `${this.loaded.model} was not trained on prompts like ${JSON.stringify(shown)}.`;
      this.take = { ...last, status: "failed", error };
      announce(error);
      return;
    }
    let drawnAt = 0;
    for await (const take of this.session.run(this.loaded.model, this.prompt, this.seed)) {
      last = take;
      if (take.status === "running" && performance.now() - drawnAt < MIN_DRAW_MS) continue;
      [this.take, drawnAt] = [take, performance.now()];
    }
    if (last.status === "failed") sayError(new Error(last.error ?? ""));
    else if (last.status === "stopped") announce("Stopped.");
    else {
      announce(`Seed ${this.seed}: ${textOf(latest(last))}`);
      this.replay(latest(last).elapsedMs ?? Infinity);
    }
  }

  /** What was too fast to be seen is shown again, slowly. */
  private replay(ms: number): void {
    if (ms > SEEN_MS || isMotionReduced()) return;
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<ScrubberElement>("sf-scrubber")?.play(),
    );
  }

  override render() {
    return html`<div class="page">
      <h1>Tab</h1>
      <p class="muted intro">
        A model runs in this browser tab. It is downloaded once; after that the page needs neither the server
        nor a network.
      </p>
      ${this.status()} ${this.offered.length === 0 ? nothing : this.form()}
      ${this.take === null ? nothing : this.result(this.take)}
    </div>`;
  }

  private status() {
    if (this.progress === null) return this.failure === null ? nothing : this.failed(this.failure);
    const { loaded, total } = this.progress;
    const isWhole = total > 0 && loaded >= total;
    const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
    return html`<label
      >${
        isWhole
          ? `Preparing ${this.model} …`
          : `Downloading ${this.model}: ${megabytes(loaded)} of ${megabytes(total)} MB`
      }
      <progress max=${total || 1} .value=${loaded}></progress>
    </label>`;
  }

  private failed({ model, why }: Failure) {
    const retry = () => (this.loaded === null || model === null ? void this.begin() : this.choose(model));
    const what = model === null ? "The list of models" : `The model ${model}`;
    const rest = this.loaded === null ? "" : ` You can go on with ${this.loaded.model}.`;
    return html`<div class="card" role="alert">
      <p class="error">${sentenceOf(`${what} could not be loaded: ${why}`)}${rest}</p>
      <button @click=${retry}>Try again</button>
    </div>`;
  }

  private form() {
    const kinds = this.loaded?.kinds ?? [];
    const submit = (event: Event) => {
      event.preventDefault();
      void this.run();
    };
    return html`<form @submit=${submit}>
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
          <select ?disabled=${this.isRunning} @change=${this.onModel}>
            ${this.offered.map(
              ({ name, bytes }) =>
                html`<option value=${name} .selected=${name === this.model}>
                  ${name} (${(bytes / 1e6).toFixed(0)} MB)
                </option>`,
            )}
          </select></label
        >
        <label class="model"
          >Examples
          <select
            @change=${(event: Event) => {
              const select = event.target as HTMLSelectElement;
              this.prompt = kinds[Number(select.value)]?.example ?? this.prompt;
              select.value = "";
            }}
          >
            <option value="">Training tasks</option>
            ${kinds.map(({ name }, i) => html`<option value=${i}>${name.replaceAll("_", " ")}</option>`)}
          </select></label
        >
        <label
          >Seed
          <input
            type="number"
            min="0"
            .value=${String(this.seed)}
            @change=${(event: Event) => {
              const value = Math.round((event.target as HTMLInputElement).valueAsNumber || 0);
              this.seed = Math.max(0, Math.min(2 ** 31, value));
            }}
        /></label>
        ${startStop({
          label: "Denoise",
          title: "Ctrl+Enter",
          isRunning: this.isRunning,
          canStart: this.canRun,
          stop: () => this.session?.stop(),
        })}
      </div>
    </form>`;
  }

  private onModel(event: Event): void {
    this.choose((event.target as HTMLSelectElement).value);
  }

  private result(take: Take) {
    const { usage } = latest(take).ending;
    const perStep = usage === undefined ? null : (1000 * usage.total_s) / Math.max(1, usage.forward_passes);
    return html`<sf-take
        .take=${take}
        .at=${this.at}
        .colouring=${this.colouring}
        .kinds=${this.instead}
        active
        @sf-example=${({ detail }: CustomEvent<string>) => {
          this.prompt = detail;
          void this.run();
        }}
      ></sf-take>
      <sf-scrubber
        .frames=${take.frames}
        .at=${this.at ?? Math.max(0, take.frames.length - 1)}
        @sf-at=${({ detail }: CustomEvent<number>) => (this.at = detail >= take.frames.length - 1 ? null : detail)}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({ detail }: CustomEvent<Colouring>) => {
            this.colouring = detail;
            remember("tab.colouring", detail);
          }}
        ></sf-colouring>
        <span class="figures"
          >${perStep === null ? "" : `${perStep.toFixed(1)} ms a pass · `}${this.loaded?.threads === 1 ? "1 thread" : `${this.loaded?.threads ?? 1} threads`}</span
        >
      </div>`;
  }
}
