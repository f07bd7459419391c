/** An encyclopedia whose pages are written when they are opened: headings first, then each section where it stands. */
import { css, html, nothing, type PropertyValues } from "lit";
import { customElement, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "../components/base";
import { TopicPage, topicStyles } from "../components/topic-page";
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
  withSection,
  withText,
  YOU,
  type Article,
  type Section,
} from "../core/encyclopedia";
import { addressOf, Kept } from "../core/kept";
import { knowing } from "../core/prose";
import { announce, say } from "../core/say";

const BASE = "/encyclopedia";
const INTRODUCTION =
  "Open any topic and its page is written, as is every page it links to. Models write them, so check what matters.";
const WHOLE_PAGE = "the whole page";

@customElement("sf-encyclopedia-page")
export class EncyclopediaPage extends TopicPage<Article> {
  @state() private wish = "";
  @state() private where = WHOLE_PAGE;
  protected readonly kept = new Kept("encyclopedia", readArticle);
  protected readonly writing = new Writing(this, "encyclopedia");
  protected readonly wording = {
    base: BASE,
    title: "Encyclopedia",
    introduction: INTRODUCTION,
    verb: "Write",
    examples: EXAMPLES,
    allPages: "All pages",
    lines: "Headings",
  };

  static override styles = [
    controls,
    topicStyles,
    css`
      h2 {
        margin: 0 0 0.3rem;
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
    `,
  ];

  override willUpdate(changes: PropertyValues): void {
    super.willUpdate(changes);
    if (changes.has("place")) this.where = WHOLE_PAGE;
  }

  protected async openTopic(topic: string, isHere: () => boolean): Promise<void> {
    const article = this.kept.find(topic) ?? (await this.outline(topic));
    if (!isHere()) return;
    this.show(article);
    await this.fill(article);
  }

  private async outline(topic: string): Promise<Article> {
    // What a model was trained to answer needs no article around it.
    const known = knowing(this.writing.cards ?? [], topic);
    if (known !== undefined) return newArticle(topic, [ANSWER], known.id);
    const { lines, by } = await this.writing.outline(topic, HEADINGS, headingsPrompt(topic));
    announce(`${topic}: the headings are written.`);
    return newArticle(topic, lines, by);
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
    const topic = this.page?.topic;
    const take = (text: string, by: string) =>
      this.change(topic, (article) => withText(article, id, text, by));
    return { id: this.placeOf(id), name: heading, prompt, card, take };
  }

  private placeOf(id: number): string {
    return `${this.page?.topic ?? ""}/${id}`;
  }

  private revise(wish: string): void {
    const { page: article } = this;
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

  private removeSection(article: Article, section: Section): void {
    const at = article.sections.indexOf(section);
    this.showWithout(withoutSection(article, section.id), {
      said: `“${section.heading}” is removed.`,
      bringBack: (now) => withSection(now, section, at),
      at,
      selector: ".remove",
      otherwise: "h1",
    });
  }

  protected line(line: string) {
    return html`<section><h2>${line}</h2></section>`;
  }

  protected written(article: Article) {
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
                  class="quiet remove"
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
      ${this.undoButtons()}
      <nav aria-label="Further pages">
        <h2>Further pages</h2>
        <ul class="further">
          ${furtherTopics(article).map((each) => html`<li><a href=${addressOf(BASE, each)}>${each}</a></li>`)}
        </ul>
      </nav>
      <p class="figures">
        ${
          article.outlinedBy === ""
            ? "Headings from a fixed list: no model on this server chooses any."
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
            <option value=${WHOLE_PAGE} .selected=${this.where === WHOLE_PAGE}>${WHOLE_PAGE}</option>
            ${article.sections.map(
              ({ id, heading }) =>
                html`<option value=${id} .selected=${this.where === String(id)}>${heading}</option>`,
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
