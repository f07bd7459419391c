/** A page about a topic, which is written when it is opened, kept on this device, and changed step by step. */
import { css, html, LitElement, type PropertyValues } from "lit";
import { property, query, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { undoKey } from "../core/keys";
import { Kept, tidyTopic } from "../core/kept";
import { sentenceOf } from "../core/files";
import { announce, isStop, say } from "../core/say";
import { current, go, noSteps, push, type Steps } from "../core/steps";
import { focusPlace } from "./focus";
import { trouble } from "./models";
import "./prose";
import "./topics";
import { Writing } from "./writing";

export const topicStyles = css`
  .page {
    display: grid;
    gap: 1rem;
    grid-template-columns: minmax(0, 1fr);
    max-width: 48rem;
    margin-inline: auto;
  }
  h1 {
    margin: 0;
    overflow-wrap: anywhere;
  }
  h1[tabindex]:focus-visible {
    outline: none;
  }
  p {
    margin: 0;
  }
  .notice {
    font-size: 0.9rem;
  }
  .row {
    align-items: end;
  }
  .bar {
    justify-content: space-between;
    align-items: center;
    /* Room for Stop, which comes and goes. */
    min-height: 2.425rem;
  }
  .forming {
    display: grid;
    gap: 0.9rem;
  }
`;

/** What visitors read around the pages. */
export interface Wording {
  readonly base: string;
  readonly title: string;
  readonly introduction: string;
  readonly verb: string;
  readonly examples: readonly string[];
  readonly allPages: string;
  /** What a model is asked for first: "Headings". */
  readonly lines: string;
}

/** What is taken off a page. */
export interface Removal<T> {
  readonly said: string;
  readonly bringBack: (page: T) => T;
  /** Its place among what `selector` finds. */
  readonly at: number;
  readonly selector: string;
  readonly otherwise: string;
}

export abstract class TopicPage<T extends { readonly topic: string }> extends LitElement {
  /** The topic; empty for the list of topics. */
  @property() place = "";
  @state() protected steps: Steps<T> = noSteps();
  @state() private problem = "";
  @query("h1") private mainHeading!: HTMLElement;
  protected abstract readonly wording: Wording;
  protected abstract readonly kept: Kept<T>;
  protected abstract readonly writing: Writing;

  /** Shows the page of a topic: as it was kept, or a new one. `isHere` tells whether it is still the topic. */
  protected abstract openTopic(topic: string, isHere: () => boolean): Promise<void>;
  /** A line of a page that is still being planned. */
  protected abstract line(line: string): unknown;
  protected abstract written(page: T): unknown;

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
    this.nameDocument();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
  }

  override willUpdate(changes: PropertyValues): void {
    if (!changes.has("place")) return;
    this.writing.stop();
    this.steps = noSteps();
    this.nameDocument();
    void this.open(tidyTopic(this.place));
    // Screen readers go on from the title.
    if (this.hasUpdated) void this.updateComplete.then(() => this.mainHeading.focus());
  }

  /** The shell names the page; for the list of topics that is enough. */
  private nameDocument(): void {
    const topic = tidyTopic(this.place);
    if (topic !== "") document.title = `${topic} · ${this.wording.title} · Sfumato`;
  }

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    if (by === 0 || this.page === undefined) return;
    event.preventDefault();
    this.move(by);
  };

  protected get page(): T | undefined {
    return current(this.steps);
  }

  private async open(topic: string): Promise<void> {
    const isHere = () => topic === tidyTopic(this.place);
    this.problem = "";
    try {
      await this.writing.models.load();
      if (topic !== "" && isHere()) await this.openTopic(topic, isHere);
    } catch (error) {
      if (isHere()) this.problem = isStop(error) ? "Stopped before anything was written." : sentenceOf(error);
    }
  }

  protected show(page: T): void {
    this.steps = push(this.steps, page);
    this.kept.keep(page.topic, page);
  }

  /** Changes the page of a topic, if it is still the one that is shown. */
  protected change(topic: string | undefined, change: (page: T) => T): void {
    if (this.page !== undefined && this.page.topic === topic) this.show(change(this.page));
  }

  /**
   * Shows a page without something, and offers to bring it back; the keyboard goes on at the next `selector`, else at
   * `otherwise`.
   */
  protected showWithout(
    page: T,
    { said, bringBack, at, selector, otherwise }: Removal<T>,
    root: ParentNode = this.renderRoot,
  ): void {
    this.show(page);
    const run = () => this.change(page.topic, bringBack);
    say(said, { label: "Undo", run });
    void this.updateComplete.then(() => {
      if (!focusPlace(root, selector, at)) focusPlace(root, otherwise, 0);
    });
  }

  private move(by: number): void {
    const before = this.steps.at;
    this.steps = go(this.steps, by);
    if (this.page === undefined || this.steps.at === before) return;
    this.kept.keep(this.page.topic, this.page);
    announce(by < 0 ? "Undone." : "Redone.");
  }

  private forget(topic: string): void {
    const bringBack = this.kept.forget(topic);
    this.requestUpdate();
    const run = () => {
      bringBack();
      this.requestUpdate();
    };
    say(`“${topic}” is deleted.`, { label: "Undo", run });
  }

  override render() {
    const topic = tidyTopic(this.place);
    return html`<div class="page">${topic === "" ? this.home() : this.topicPage(topic)}</div>`;
  }

  private home() {
    const { base, title, introduction, verb, examples } = this.wording;
    return html`<h1 tabindex="-1">${title}</h1>
      <p class="muted">${introduction}</p>
      <sf-topics
        base=${base}
        label="Topic"
        verb=${verb}
        .examples=${examples}
        .kept=${this.kept.topics()}
        @sf-forget=${({ detail }: CustomEvent<string>) => this.forget(detail)}
      ></sf-topics>
      ${this.writing.models.failure()} ${this.writing.notice()}`;
  }

  private topicPage(topic: string) {
    const { base, verb, allPages, lines } = this.wording;
    return html`<sf-topics small base=${base} label="Another topic" verb=${verb}></sf-topics>
      <div class="row bar">
        <a href=${base}>${allPages}</a>
        <span class="row">${this.writing.controls(`${lines} by`)}</span>
      </div>
      <h1 tabindex="-1">${topic}</h1>
      ${this.writing.notice()} ${this.page === undefined ? this.forming(topic) : this.written(this.page)}`;
  }

  private forming(topic: string) {
    if (this.problem !== "") {
      return trouble(this.problem, () => void this.open(topic));
    }
    return html`<div class="forming" aria-busy="true">
      ${repeat(
        this.writing.outlining ?? [],
        (line) => line,
        (line) => this.line(line),
      )}
      <p class="muted">Choosing ${this.wording.lines.toLowerCase()} …</p>
    </div>`;
  }

  protected undoButtons() {
    const { at, all } = this.steps;
    return html`<span>
      <button ?disabled=${at < 1} title="Ctrl+Z" @click=${() => this.move(-1)}>Undo</button>
      <button ?disabled=${at >= all.length - 1} title="Ctrl+Shift+Z" @click=${() => this.move(1)}>
        Redo
      </button>
    </span>`;
  }
}
