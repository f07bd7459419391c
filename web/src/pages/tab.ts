/** A model that runs in this tab: nothing is asked of a server once it is there. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { controls } from "../components/base";
import type { Colouring } from "../components/canvas";
import "../components/colouring";
import type { ScrubberElement } from "../components/scrubber";
import "../components/scrubber";
import "../components/take";
import { textOf } from "../core/canvas";
import { isMotionReduced, remember, remembered } from "../core/preferences";
import { announce, sayError } from "../core/say";
import { latest, newTake, type Take } from "../core/take";
import { getJson } from "../tab/download";
import { refusalOf } from "../tab/kinds";
import { Session, type Loaded } from "../tab/session";
import { pageStyles } from "./canvas-styles";

/** What takes less cannot be watched. */
const SEEN_MS = 1500;

interface Offered {
  name: string;
  bytes: number;
}

@customElement("sf-tab-page")
export class TabPage extends LitElement {
  @property() place = "";
  @state() private offered: readonly Offered[] = [];
  @state() private model = remembered("tab.model", "");
  @state() private loaded: Loaded | null = null;
  /** How far the download is; null while there is none. */
  @state() private progress: { loaded: number; total: number } | null = null;
  @state() private error: string | null = null;
  /** What is wrong with the prompt. */
  @state() private refusal: string | null = null;
  @state() private prompt = "";
  @state() private seed = 1;
  @state() private colouring = remembered<Colouring>("tab.colouring", "confidence");
  @state() private take: Take | null = null;
  /** The frame that is shown; null follows the last. */
  @state() private at: number | null = null;
  private session: Session | null = null;

  static override styles = [
    controls,
    pageStyles,
    css`
      p {
        margin: 0;
      }
      .refusal {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      progress {
        width: 100%;
        accent-color: var(--accent);
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    this.begin().catch((error: unknown) => this.fail(error));
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.session?.close();
  }

  private async begin(): Promise<void> {
    this.offered = (await getJson("/tab/models/index.json")) as Offered[];
    if (!this.offered.some(({ name }) => name === this.model)) this.model = this.offered[0]?.name ?? "";
    await this.load();
  }

  private async load(): Promise<void> {
    [this.loaded, this.error, this.progress] = [null, null, { loaded: 0, total: 0 }];
    this.session?.close();
    const session = new Session();
    this.session = session;
    try {
      const loaded = await session.load(this.model, (done, total) => {
        if (session === this.session) this.progress = { loaded: done, total };
      });
      if (session !== this.session) return;
      this.loaded = loaded;
      this.prompt = loaded.kinds[0]?.example ?? this.prompt;
      announce(`${this.model} is here.`);
    } finally {
      if (session === this.session) this.progress = null;
    }
  }

  private fail(error: unknown): void {
    this.error = error instanceof Error ? error.message : String(error);
  }

  private choose(event: Event): void {
    this.model = (event.target as HTMLSelectElement).value;
    remember("tab.model", this.model);
    [this.take, this.refusal] = [null, null];
    this.load().catch((error: unknown) => this.fail(error));
  }

  private get isRunning(): boolean {
    return this.take?.status === "running";
  }

  private async run(): Promise<void> {
    if (this.session === null || this.loaded === null || this.isRunning || this.prompt.trim() === "") return;
    this.at = null;
    this.refusal = refusalOf(this.prompt, this.loaded.kinds, this.model);
    if (this.refusal !== null) return;
    // From here on it is running, although the first step comes later.
    let last = newTake(this.seed);
    this.take = last;
    for await (const take of this.session.run(this.model, this.prompt, this.seed)) this.take = last = take;
    if (last.status === "failed") sayError(new Error(last.error ?? ""));
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
      <h1>In this tab</h1>
      <p class="muted">
        The model runs in the browser. It is downloaded once; after that the page needs neither the server nor
        a network.
      </p>
      ${this.status()} ${this.loaded === null ? nothing : this.form()}
      ${this.refusal === null ? nothing : html`<p class="card refusal error" role="alert">${this.refusal}</p>`}
      ${this.take === null ? nothing : this.result(this.take)}
    </div>`;
  }

  private status() {
    if (this.error !== null) {
      return html`<div class="card" role="alert">
        <p class="error">${this.error}</p>
        <button @click=${() => this.begin().catch((error: unknown) => this.fail(error))}>Try again</button>
      </div>`;
    }
    if (this.progress === null) return nothing;
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
          <select ?disabled=${this.isRunning} @change=${(event: Event) => this.choose(event)}>
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
            <option value="">What it was trained on …</option>
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
        ${
          this.isRunning
            ? html`<button type="button" @click=${() => this.session?.stop()}>Stop</button>`
            : html`<button class="primary" title="Ctrl+Enter" ?disabled=${this.prompt.trim() === ""}>
                Denoise
              </button>`
        }
      </div>
    </form>`;
  }

  private result(take: Take) {
    const { usage } = latest(take).ending;
    const perStep = usage === undefined ? null : (1000 * usage.total_s) / Math.max(1, usage.forward_passes);
    return html`<sf-take .take=${take} .at=${this.at} .colouring=${this.colouring} active></sf-take>
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
