/** What models write into a page: which model is asked, what is in progress, and how to stop it. */
import { html, nothing, type ReactiveControllerHost } from "lit";
import { api } from "../core/api";
import type { CanvasView } from "../core/canvas";
import {
  chosenOutline,
  outliners,
  ownOutline,
  writtenOutline,
  type Outline,
  type Outliner,
} from "../core/outline";
import { remember, remembered } from "../core/preferences";
import { prose, writers } from "../core/prose";
import type { ModelCard } from "../core/protocol";
import { announce, messageOf } from "../core/say";
import { Models } from "./models";

/** Browsers open six connections to a server; pictures and other requests need some of them. */
const AT_ONCE = 3;

export interface Job {
  /** Its place in the page; unique. */
  readonly id: string;
  /** For screen readers, such as "History". */
  readonly name: string;
  readonly prompt: string;
  /** The model to ask, if not the writer. */
  readonly card?: ModelCard | undefined;
  readonly take: (text: string, by: string) => void;
}

export class Writing {
  readonly models: Models;
  /** What is being written, by its place; null before its first word. */
  drafts: ReadonlyMap<string, CanvasView | null> = new Map();
  /** What went wrong, by its place. */
  problems: ReadonlyMap<string, string> = new Map();
  /** Lines of an outline that is still being chosen; null if none is. */
  outlining: readonly string[] | null = null;
  private chosen: { writer: string; outliner: string };
  private stopping = new AbortController();
  private asked = 0;

  constructor(
    private readonly host: ReactiveControllerHost,
    private readonly name: string,
  ) {
    this.models = new Models(host);
    this.chosen = { writer: "", outliner: "", ...remembered<object>(`${name}.models`, {}) };
  }

  get cards(): readonly ModelCard[] | null {
    return this.models.cards;
  }

  get writer(): ModelCard | undefined {
    const able = writers(this.cards ?? []);
    return able.find(({ id }) => id === this.chosen.writer) ?? able[0];
  }

  get outliner(): Outliner | undefined {
    const able = outliners(this.cards ?? [], writers(this.cards ?? []));
    return able.find(({ card }) => card.id === this.chosen.outliner) ?? able[0];
  }

  get isBusy(): boolean {
    return this.outlining !== null || this.drafts.size > 0;
  }

  get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  stop(): void {
    this.stopping.abort();
  }

  /** Of what begins now. */
  private signal(): AbortSignal {
    if (this.stopping.signal.aborted) this.stopping = new AbortController();
    return this.stopping.signal;
  }

  /** What a page will hold. Throws ApiError; what was stopped throws an AbortError. */
  async outline(topic: string, groups: readonly (readonly string[])[], prompt: string): Promise<Outline> {
    const { outliner } = this;
    if (outliner === undefined) return ownOutline(groups);
    const options = { seed: this.asked++, signal: this.signal() };
    this.show({ outlining: [] });
    try {
      return outliner.isWriter
        ? await writtenOutline(api, outliner.card, prompt, options)
        : await chosenOutline(api, outliner.card.id, topic, groups, {
            ...options,
            onLines: (lines) => this.show({ outlining: lines }),
          });
    } finally {
      this.show({ outlining: null });
    }
  }

  /** Runs jobs, a few at a time, until all are done, have failed or were stopped. Throws nothing. */
  async write(jobs: readonly Job[]): Promise<void> {
    const signal = this.signal();
    const left = jobs.filter(({ id }) => !this.drafts.has(id));
    const problems = new Map(this.problems);
    for (const { id } of left) problems.delete(id);
    this.show({ drafts: new Map([...this.drafts, ...left.map(({ id }) => [id, null] as const)]), problems });
    const work = async () => {
      for (let job = left.shift(); job !== undefined; job = left.shift()) await this.do(job, signal);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  private async do({ id, name, prompt, card = this.writer, take }: Job, signal: AbortSignal): Promise<void> {
    try {
      if (signal.aborted || card === undefined) return;
      const onView = (view: CanvasView) => this.show({ drafts: new Map([...this.drafts, [id, view]]) });
      const text = await prose(api, card, prompt, { seed: this.asked++, signal, onView });
      take(text, card.id);
      announce(`${name}: written.`);
    } catch (error) {
      if (signal.aborted) return;
      const said = messageOf(error);
      this.show({ problems: new Map([...this.problems, [id, said]]) });
      announce(`${name}: not written. ${said}`);
    } finally {
      this.show({ drafts: new Map([...this.drafts].filter(([each]) => each !== id)) });
    }
  }

  private show(change: Partial<Pick<Writing, "drafts" | "problems" | "outlining">>): void {
    Object.assign(this, change);
    this.host.requestUpdate();
  }

  private choose(change: Partial<typeof this.chosen>): void {
    this.chosen = { ...this.chosen, ...change };
    remember(`${this.name}.models`, this.chosen);
    this.host.requestUpdate();
  }

  /** Selects of the models, where there is a choice, and a stop button. */
  controls(lines: string) {
    if (this.cards === null) return nothing;
    const able = writers(this.cards);
    const select = (label: string, now: string, ids: readonly string[], choose: (id: string) => void) =>
      ids.length < 2
        ? nothing
        : html`<label
            >${label}
            <select
              ?disabled=${this.isBusy}
              @change=${(event: Event) => choose((event.target as HTMLSelectElement).value)}
            >
              ${ids.map((id) => html`<option .selected=${id === now}>${id}</option>`)}
            </select></label
          >`;
    return html`${select(
      lines,
      this.outliner?.card.id ?? "",
      outliners(this.cards, able).map(({ card }) => card.id),
      (outliner) => this.choose({ outliner }),
    )}
    ${select(
      "Text by",
      this.writer?.id ?? "",
      able.map(({ id }) => id),
      (writer) => this.choose({ writer }),
    )}
    ${
      this.isBusy
        ? html`<span class="figures">${this.drafts.size === 0 ? "" : `${this.drafts.size} to write`}</span>
            <button @click=${() => this.stop()}>Stop</button>`
        : nothing
    }`;
  }

  /** Tells what to do where no model can write. */
  notice() {
    if (this.cards === null || this.writer !== undefined) return nothing;
    const names = this.cards.map(({ id }) => id).join(", ");
    return html`<p class="notice card">
      None of this server's models can write prose (${names}). You can write everything yourself, or restart
      the server with a language model: <code>sfumato serve ui smollm2-135m-instruct</code>
    </p>`;
  }
}
