/** An encyclopedia whose pages are written when they are opened: headings first, then each section where it stands. */
import { css, html, LitElement, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "../components/base";
import "../components/prose";
import "../components/topics";
import { Writing, type Job } from "../components/writing";
import {
  ANSWER,
  authorsOf,
  EXAMPLES,
  furtherTopics,
  HEADINGS,
  headingsPrompt,
  linksOf,
  newArticle,
  readArticle,
  revisionPrompt,
  REVISIONS,
  sectionPrompt,
  withoutSection,
  withText,
  YOU,
  type Article,
  type Section,
} from "../core/encyclopedia";
import { sentenceOf } from "../core/files";
import { undoKey } from "../core/keys";
import { addressOf, Kept, tidyTopic } from "../core/kept";
import { knowing } from "../core/prose";
import { announce, isStop, say } from "../core/say";
import { current, go, noSteps, push, type Steps } from "../core/steps";

const BASE = "/encyclopedia";
const WHOLE_PAGE = "the whole page";

@customElement("sf-encyclopedia-page")
export class EncyclopediaPage extends LitElement {
  /** The topic; empty for the list of pages. */
  @property() place = "";
  @state() private steps: Steps<Article> = noSteps();
  @state() private wish = "";
  @state() private where = WHOLE_PAGE;
  @state() private problem = "";
  @query("h1") private mainHeading!: HTMLElement;
  private readonly kept = new Kept("encyclopedia", readArticle);
  private readonly writing = new Writing(this, "encyclopedia");
  private ready: Promise<void> | null = null;

  static override styles = [
    controls,
    css`
      .page {
        display: grid;
        gap: 1rem;
        grid-template-columns: minmax(0, 1fr);
        max-width: 46rem;
        margin-inline: auto;
      }
      h1 {
        font-size: 1.9rem;
        margin: 0;
        overflow-wrap: anywhere;
      }
      h1[tabindex]:focus-visible {
        outline: none;
      }
      h2 {
        margin: 0 0 0.3rem;
      }
      p {
        margin: 0;
      }
      .notice {
        font-size: 0.9rem;
      }
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 9rem;
      }
      .wide {
        flex-basis: 14rem;
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
      article {
        display: grid;
        gap: 1.1rem;
      }
      section {
        line-height: 1.6;
        min-height: 5.2rem;
      }
      .forming h2 {
        animation: form calc(var(--motion) * 300ms) ease-out;
      }
      @keyframes form {
        from {
          opacity: 0;
          filter: blur(3px);
        }
      }
      .further {
        display: flex;
        flex-wrap: wrap;
        gap: 0.2rem 1rem;
        list-style: none;
        padding: 0;
        margin: 0;
      }
      .row {
        align-items: end;
      }
      .bar {
        justify-content: space-between;
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
  }

  override willUpdate(changes: PropertyValues<this>): void {
    if (!changes.has("place")) return;
    this.writing.stop();
    this.steps = noSteps();
    this.problem = "";
    this.where = WHOLE_PAGE;
    void this.open(tidyTopic(this.place));
    // Who came by a link reads on from the title.
    if (this.hasUpdated) void this.updateComplete.then(() => this.mainHeading.focus());
  }

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    if (by === 0 || this.article === undefined) return;
    event.preventDefault();
    this.move(by);
  };

  private get article(): Article | undefined {
    return current(this.steps);
  }

  /** The page of a topic: as it was kept, else it is written now. */
  private async open(topic: string): Promise<void> {
    const isHere = () => topic === tidyTopic(this.place);
    this.problem = "";
    try {
      await (this.ready ??= this.writing.begin());
      if (topic === "" || !isHere()) return;
      const article = this.kept.find(topic) ?? (await this.outline(topic));
      if (!isHere()) return;
      this.show(article);
      await this.fill(article);
    } catch (error) {
      this.ready = null;
      if (isHere()) this.problem = isStop(error) ? "It was stopped." : sentenceOf(error);
    }
  }

  private async outline(topic: string): Promise<Article> {
    const { lines, by } = await this.writing.outline(topic, HEADINGS, headingsPrompt(topic));
    const knows = knowing(this.writing.cards ?? [], topic) !== undefined;
    announce(`${topic}: the headings are there.`);
    return newArticle(topic, knows ? [ANSWER, ...lines] : lines, by);
  }

  /** Has all written that is missing and can be. */
  private fill(article: Article): Promise<void> {
    const missing = article.sections.filter(({ text }) => text === "");
    return this.writing.write(missing.flatMap((section) => this.jobOf(article, section)));
  }

  private jobOf({ topic }: Article, section: Section): Job[] {
    const known = section.heading === ANSWER ? knowing(this.writing.cards ?? [], topic) : undefined;
    if (known === undefined && this.writing.writer === undefined) return [];
    const prompt = known === undefined ? sectionPrompt(topic, section.heading) : topic;
    return [this.job(section, prompt, known)];
  }

  private job({ id, heading }: Section, prompt: string, card?: Job["card"]): Job {
    const topic = this.article?.topic;
    const take = (text: string, by: string) => {
      const { article } = this;
      if (article !== undefined && article.topic === topic) this.show(withText(article, id, text, by));
    };
    return { id: this.placeOf(id), name: heading, prompt, card, take };
  }

  private placeOf(id: number): string {
    return `${this.article?.topic ?? ""}/${id}`;
  }

  private show(article: Article): void {
    this.steps = push(this.steps, article);
    this.kept.keep(article.topic, article);
  }

  private move(by: number): void {
    const before = this.steps.at;
    this.steps = go(this.steps, by);
    if (this.article === undefined || this.steps.at === before) return;
    this.kept.keep(this.article.topic, this.article);
    announce(by < 0 ? "Undone." : "Done again.");
  }

  private revise(wish: string): void {
    const { article } = this;
    if (article === undefined || wish.trim() === "") return;
    const chosen = article.sections.filter(
      ({ id, text }) => text !== "" && (this.where === WHOLE_PAGE || this.where === String(id)),
    );
    if (chosen.length === 0) {
      say("That page is not written yet.");
      return;
    }
    this.wish = "";
    void this.writing.write(chosen.map((section) => this.job(section, revisionPrompt(section.text, wish))));
  }

  private removeSection(article: Article, { id, heading }: Section): void {
    this.show(withoutSection(article, id));
    say(`“${heading}” is removed; Undo brings it back.`);
  }

  private forget(topic: string): void {
    const bringBack = this.kept.forget(topic);
    this.requestUpdate();
    say(`“${topic}” is deleted.`, {
      label: "Undo",
      run: () => {
        bringBack();
        this.requestUpdate();
      },
    });
  }

  override render() {
    const topic = tidyTopic(this.place);
    return html`<div class="page">${topic === "" ? this.home() : this.topicPage(topic)}</div>`;
  }

  private home() {
    return html`<h1 tabindex="-1">Encyclopedia</h1>
      <p class="muted">
        A page on any topic is written when you open it, and so is each page that it links to. Models wrote
        them: check what matters.
      </p>
      <sf-topics
        base=${BASE}
        label="Topic"
        verb="Write"
        .examples=${EXAMPLES}
        .kept=${this.kept.topics()}
        @sf-forget=${({ detail }: CustomEvent<string>) => this.forget(detail)}
      ></sf-topics>
      ${this.writing.notice()}`;
  }

  private topicPage(topic: string) {
    const { article, writing } = this;
    return html`<sf-topics small base=${BASE} label="Another topic" verb="Write"></sf-topics>
      <div class="row bar">
        <a href=${BASE}>All pages</a>
        <span class="row">${writing.controls("Headings by")}</span>
      </div>
      <h1 tabindex="-1">${topic}</h1>
      ${writing.notice()} ${article === undefined ? this.forming() : this.written(article)}`;
  }

  private forming() {
    if (this.problem !== "") {
      return html`<p class="error">${this.problem}</p>
        <div>
          <button class="primary" @click=${() => void this.open(tidyTopic(this.place))}>Try again</button>
        </div>`;
    }
    return html`<article class="forming" aria-busy="true">
      ${repeat(
        this.writing.outlining ?? [],
        (line) => line,
        (line) => html`<section><h2>${line}</h2></section>`,
      )}
      <p class="muted">Choosing headings …</p>
    </article>`;
  }

  private written(article: Article) {
    const links = linksOf(article);
    const canWrite = this.writing.writer !== undefined;
    const authors = authorsOf(article);
    return html`${canWrite ? this.revision(article) : nothing}
      <article>
        ${repeat(
          article.sections,
          ({ id }) => id,
          (section) =>
            html`<section aria-label=${section.heading}>
              <h2>${section.heading}</h2>
              <sf-prose
                name=${section.heading}
                base=${BASE}
                .text=${section.text}
                .by=${section.by}
                .pieces=${section.heading === ANSWER ? null : (links.get(section.id) ?? null)}
                .draft=${this.writing.drafts.get(this.placeOf(section.id))}
                .problem=${this.writing.problems.get(this.placeOf(section.id)) ?? ""}
                ?code=${section.heading === ANSWER}
                ?able=${this.jobOf(article, section).length > 0}
                @sf-again=${() => void this.writing.write(this.jobOf(article, section))}
                @sf-written=${({ detail }: CustomEvent<string>) =>
                  this.show(withText(article, section.id, detail, detail === "" ? "" : YOU))}
              >
                <button
                  class="quiet"
                  aria-label="Remove: ${section.heading}"
                  ?hidden=${article.sections.length < 2}
                  @click=${() => this.removeSection(article, section)}
                >
                  Remove
                </button>
              </sf-prose>
            </section>`,
        )}
      </article>
      <div class="row">
        <button ?disabled=${this.steps.at < 1} title="Ctrl+Z" @click=${() => this.move(-1)}>Undo</button>
        <button
          ?disabled=${this.steps.at >= this.steps.all.length - 1}
          title="Ctrl+Shift+Z"
          @click=${() => this.move(1)}
        >
          Redo
        </button>
      </div>
      <nav aria-label="Further pages">
        <h2>Further pages</h2>
        <ul class="further">
          ${furtherTopics(article).map((each) => html`<li><a href=${addressOf(BASE, each)}>${each}</a></li>`)}
        </ul>
      </nav>
      <p class="figures">
        ${
          article.outlinedBy === ""
            ? "The headings are the encyclopedia's own: no model of the server chooses any."
            : `Headings chosen by ${article.outlinedBy}.`
        }
        ${authors.length === 0 ? "" : `Text by ${authors.join(", ")}.`} Nobody checked it.
      </p>`;
  }

  private revision(article: Article) {
    return html`<form
        @submit=${(event: Event) => {
          event.preventDefault();
          this.revise(this.wish);
        }}
      >
        <label class="wide"
          >Say what to change
          <input
            autocomplete="off"
            placeholder="for children"
            .value=${this.wish}
            @input=${(event: Event) => (this.wish = (event.target as HTMLInputElement).value)}
        /></label>
        <label
          >In
          <select
            aria-label="Where to change it"
            @change=${(event: Event) => (this.where = (event.target as HTMLSelectElement).value)}
          >
            <option value=${WHOLE_PAGE} ?selected=${this.where === WHOLE_PAGE}>${WHOLE_PAGE}</option>
            ${article.sections.map(
              ({ id, heading }) =>
                html`<option value=${id} ?selected=${this.where === String(id)}>${heading}</option>`,
            )}
          </select></label
        >
        <button class="primary" ?disabled=${this.wish.trim() === ""}>Revise</button>
      </form>
      <div class="chips" role="group" aria-label="Revisions">
        ${REVISIONS.map((each) => html`<button @click=${() => this.revise(each)}>${each}</button>`)}
      </div>`;
  }
}
