/** An app that is said: the first sentence makes it, each further one changes it, and what it shows works. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { controls } from "../components/base";
import { Models } from "../components/models";
import { otherTab } from "../components/other-tab";
import { startStop } from "../components/start-stop";
import "../components/talk";
import { api } from "../core/api";
import { isFieldKey, restarts, undoKey, undoWords } from "../core/keys";
import { onRemembered, remember, remembered } from "../core/preferences";
import { announce, say, sayError, tellMove } from "../core/say";
import { current, go, noSteps, push, type Steps } from "../core/steps";
import { MISFIT, type Effect } from "../ui/actions";
import { isAuthor, NotUnderstood, onto, surplus, UNCHANGED, write } from "../ui/author";
import { changesOf, historyOf } from "../ui/changes";
import { execute } from "../ui/edits";
import "../ui/screen";
import { suggestions } from "../ui/suggestions";
import { PageError, parse, toText, walk, type Component } from "../ui/tree";

interface Step {
  readonly page: Component;
  /** What was said, or done by hand. */
  readonly said: string;
  /** How long the model took; null for what was done by hand. */
  readonly ms: number | null;
}

const FIRST = "a to-do list with ten items about moving house, four done";
const STARTS = [
  FIRST,
  "a numbered list about music with five things",
  "a to-do list for football with 7 tasks and an input for new ones with a dark theme",
];
const STORED = "todo.steps";
/** Steps that are there again after a reload. */
const MAX_KEPT = 20;
/** Characters; what hears reads about 200 tokens. */
const MAX_HINT = 600;

/** The steps as they were kept; none if they cannot be read. */
function readSteps(kept: unknown): Steps<Step> {
  try {
    const { all, at } = kept as { all: { page: string; said: string; ms: number | null }[]; at: number };
    const steps = all.map(({ page, said, ms }) => ({ page: parse(page), said, ms }));
    return go({ all: steps, at }, 0);
  } catch {
    return noSteps();
  }
}

function examplesOf(step: Step | undefined): readonly string[] {
  return step === undefined ? STARTS : suggestions(step.page);
}

@customElement("sf-todo-page")
export class TodoPage extends LitElement {
  @property() place = "";
  private readonly models = new Models(this, isAuthor);
  @state() private steps = readSteps(remembered<unknown>(STORED, null));
  @state() private draft: Component | null = null;
  @state() private isWriting = false;
  @state() private sentence = "";
  /** What another tab has made of it, as it was kept; null if nothing. */
  @state() private elsewhere: unknown = null;
  @query("#command") private input!: HTMLInputElement;
  private stopping = new AbortController();
  /** Hides the message that offers to undo the last sentence. */
  private retract = (): void => undefined;
  private asked = 0;

  static override styles = [
    controls,
    css`
      .page {
        display: grid;
        gap: 0.9rem;
        grid-template-columns: minmax(0, 1fr);
        max-width: 52rem;
        margin-inline: auto;
      }
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 16rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
      }
      .chips button {
        border-radius: 999px;
        padding: 0.2rem 0.8rem;
        font-size: 0.875rem;
      }
      .screen {
        display: grid;
        border: 1px solid var(--line);
        border-radius: 14px;
        overflow: hidden;
        min-height: 12rem;
        background: var(--surface);
      }
      .empty {
        display: grid;
        place-items: center;
        min-height: 12rem;
        padding: 1rem;
        text-align: center;
      }
      .bar {
        justify-content: space-between;
      }
      ol {
        margin: 0;
        padding-left: 1.4rem;
        font-size: 0.875rem;
      }
      ol button {
        padding: 0.1rem 0.4rem;
        vertical-align: top;
        text-align: left;
      }
      ol [aria-current] {
        font-weight: 600;
      }
    `,
  ];

  override firstUpdated(): void {
    onRemembered(STORED, (kept) => (this.elsewhere = kept));
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
  }

  private takeOver(kept: unknown): void {
    this.steps = readSteps(kept);
    this.elsewhere = null;
    announce("This is what the other tab shows.");
  }

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    if (by === 0 && !isFieldKey(event)) return;
    event.preventDefault();
    if (by === 0) (this.input as HTMLElement | null)?.focus();
    else this.move(by);
  };

  private move(by: number): void {
    const before = this.steps.at;
    this.steps = go(this.steps, by);
    if (this.steps.at !== before) {
      this.retract();
      this.keep();
    }
    if (by !== 0) tellMove(by, this.steps.at !== before);
  }

  private keep(): void {
    this.elsewhere = null;
    const { all, at } = this.steps;
    const first = Math.max(0, Math.min(at, all.length - MAX_KEPT));
    const kept = all.slice(first, first + MAX_KEPT).map((step) => ({ ...step, page: toText(step.page) }));
    remember(STORED, { all: kept, at: at - first });
  }

  private show(page: Component, said: string, ms: number | null): void {
    this.steps = push(this.steps, { page, said, ms });
    this.keep();
  }

  /** Shows what a sentence came to, and tells it, so that one that was misunderstood is noticed. */
  private showSaid(page: Component, said: string, ms: number): void {
    const before = current(this.steps)?.page;
    this.show(page, said, ms);
    if (before === undefined) {
      const lacking = -Math.min(0, surplus(page, said) ?? 0);
      if (lacking > 0) say(`The model wrote ${lacking} fewer than you asked for.`);
      else announce("Done.");
      return;
    }
    const words = changesOf(before, page) || "changed";
    const undo = () => {
      const { all, at } = this.steps;
      const made = all.findIndex((step) => step.page === page);
      if (made > 0 && made <= at) this.move(made - 1 - at);
    };
    this.retract = say(`${words.charAt(0).toUpperCase()}${words.slice(1)}.`, { label: "Undo", run: undo });
  }

  private async command(sentence: string): Promise<void> {
    const said = sentence.trim();
    if (said === "" || this.isWriting) return;
    const by = undoWords(said);
    if (by !== 0 && current(this.steps) !== undefined) {
      this.sentence = "";
      this.move(by);
      return;
    }
    if (restarts(said) && current(this.steps) !== undefined) {
      this.startAgain();
      return;
    }
    // Emptied at once, because the next sentence may be typed meanwhile; it comes back if this one fails.
    const isTyped = this.sentence.trim() === said;
    if (isTyped) this.sentence = "";
    let isDone = false;
    this.isWriting = true;
    this.stopping = new AbortController();
    const page = current(this.steps)?.page ?? null;
    try {
      await this.models.load();
      const model = this.models.cards?.[0];
      if (model === undefined) return;
      const written = await write(api, model.id, said, {
        page,
        seed: this.asked++,
        signal: this.stopping.signal,
        onDraft: (draft) => (this.draft = draft),
      });
      isDone = true;
      const next = onto(current(this.steps)?.page ?? null, page, written);
      if (page !== null && toText(written.page) === toText(page)) say(UNCHANGED);
      else this.showSaid(next, said, written.ms);
    } catch (error) {
      if (error instanceof NotUnderstood || error instanceof PageError) say(error.message);
      else if (!this.stopping.signal.aborted) sayError(error);
    } finally {
      this.isWriting = false;
      this.draft = null;
      if (isTyped && !isDone && this.sentence === "") this.sentence = said;
    }
  }

  /** What was done on the screen itself. */
  private onEffect(event: CustomEvent<Effect>): void {
    const { detail } = event;
    const page = current(this.steps)?.page;
    if (page === undefined) return;
    if (detail.say !== undefined) say(detail.say);
    if (detail.ask !== undefined) void this.command(detail.ask);
    if (detail.program === undefined || detail.program === "") return;
    try {
      const next = execute(page, detail.program);
      if (toText(next) !== toText(page)) this.show(next, changesOf(page, next) || "changed", null);
    } catch (error) {
      event.preventDefault();
      sayError(error instanceof PageError ? MISFIT : error);
    }
  }

  private hint(step: Step | undefined): string {
    const names =
      step === undefined ? [] : [...walk(step.page)].flatMap(({ text, cells }) => [text, ...cells]);
    const said = [...examplesOf(step), ...names.filter((name) => name !== "")];
    return said.join(". ").slice(0, MAX_HINT);
  }

  private startAgain(): void {
    this.stopping.abort();
    const before = this.steps;
    this.steps = noSteps();
    this.keep();
    const run = () => {
      this.steps = before;
      this.keep();
    };
    say("Cleared.", { label: "Undo", run });
    this.sentence = "";
    void this.updateComplete.then(() => this.input.focus());
  }

  override render() {
    if (this.models.cards?.length === 0) {
      return html`<div class="page">
        <h1>To-do</h1>
        ${this.models.notice("No model on this server writes screens; start it with one: sfumato serve ui")}
      </div>`;
    }
    const step = current(this.steps);
    const examples = examplesOf(step);
    return html`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${(event: Event) => {
          event.preventDefault();
          void this.command(this.sentence);
        }}
      >
        <label
          >${step === undefined ? "Say what you want" : "Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${examples[0] ?? ""}
            .value=${this.sentence}
            @input=${(event: Event) => (this.sentence = (event.target as HTMLInputElement).value)}
        /></label>
        ${startStop({
          label: "Do it",
          isRunning: this.isWriting,
          canStart: this.sentence.trim() !== "",
          stop: () => this.stopping.abort(),
        })}
        <sf-talk
          .hint=${this.hint(step)}
          @sf-heard=${({ detail }: CustomEvent<string>) => {
            this.sentence = detail;
            void this.command(detail);
          }}
        ></sf-talk>
      </form>
      ${this.models.failure()}
      <div class="chips" aria-label="Examples" role="group">
        ${examples.map(
          (each) =>
            html`<button ?disabled=${this.isWriting} @click=${() => this.command(each)}>${each}</button>`,
        )}
      </div>
      ${this.elsewhere === null ? nothing : this.other(this.elsewhere)}
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${
          step === undefined && this.draft === null
            ? html`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`
            : html`<sf-screen
                .page=${this.draft ?? step?.page ?? null}
                ?draft=${this.draft !== null}
                @sf-effect=${(event: CustomEvent<Effect>) => this.onEffect(event)}
              ></sf-screen>`
        }
      </div>
      ${step === undefined ? nothing : this.history(step)}
    </div>`;
  }

  private other(kept: unknown) {
    return otherTab("Another tab changed this app; what is changed here next replaces that.", [
      { label: "Show the other one", run: () => this.takeOver(kept) },
      { label: "Keep this one", run: () => this.keep() },
    ]);
  }

  private history(step: Step) {
    const { all, at } = this.steps;
    return html`<div class="row bar">
        <span class="row">
          <button ?disabled=${at < 1} title="Ctrl+Z" @click=${() => this.move(-1)}>Undo</button>
          <button ?disabled=${at >= all.length - 1} title="Ctrl+Shift+Z" @click=${() => this.move(1)}>
            Redo
          </button>
          <button class="quiet" @click=${() => this.startAgain()}>Start again</button>
        </span>
        <span class="figures">${step.ms === null ? "" : `${Math.round(step.ms)} ms`}</span>
      </div>
      <details>
        <summary>History of changes</summary>
        <ol>
          ${historyOf(all).map(
            ({ said, first, last }) =>
              html`<li>
                <button
                  class="quiet"
                  aria-current=${first <= at && at <= last ? "step" : nothing}
                  @click=${() => this.move(last - at)}
                >
                  ${said}
                </button>
              </li>`,
          )}
        </ol>
      </details>`;
  }
}
