/** A forum on any topic: posts and comments by a model and by you, votes, and pictures that come when they are there. */
import { html, LitElement, nothing, type PropertyValues } from "lit";
import { customElement, property, query, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "../components/base";
import "../components/picture";
import { canvasForPictures, Pictures } from "../components/pictures";
import "../components/prose";
import "../components/topics";
import { Writing, type Job } from "../components/writing";
import {
  authorsOf,
  changedPost,
  EXAMPLES,
  newForum,
  openTitles,
  postPrompt,
  readForum,
  replyPrompt,
  sorted,
  titlesPrompt,
  TITLES,
  voted,
  withComment,
  withoutComment,
  withoutPost,
  withPost,
  YOU,
  type Forum,
  type Order,
  type Post,
} from "../core/forum";
import { sentenceOf } from "../core/files";
import { undoKey } from "../core/keys";
import { Kept, tidyTopic } from "../core/kept";
import { announce, isStop, say, sayError } from "../core/say";
import { current, go, noSteps, push, type Steps } from "../core/steps";
import { forumStyles } from "./forum-styles";

const BASE = "/forum";
const ORDERS: readonly Order[] = ["votes", "newest", "comments"];

@customElement("sf-forum-page")
export class ForumPage extends LitElement {
  /** The topic; empty for the list of forums. */
  @property() place = "";
  @state() private steps: Steps<Forum> = noSteps();
  @state() private isComposing = false;
  @state() private problem = "";
  @query("h1") private mainHeading!: HTMLElement;
  private readonly kept = new Kept("forum", readForum);
  private readonly writing = new Writing(this, "forum");
  private readonly pictures = new Pictures(this);
  private ready: Promise<void> | null = null;

  static override styles = [controls, forumStyles];

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
    this.isComposing = false;
    void this.open(tidyTopic(this.place));
    // Who came by a link reads on from the title.
    if (this.hasUpdated) void this.updateComplete.then(() => this.mainHeading.focus());
  }

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    if (by === 0 || this.forum === undefined) return;
    event.preventDefault();
    this.move(by);
  };

  private get forum(): Forum | undefined {
    return current(this.steps);
  }

  /** The forum of a topic: as it was kept, else its first posts are written now. */
  private async open(topic: string): Promise<void> {
    const isHere = () => topic === tidyTopic(this.place);
    this.problem = "";
    try {
      await (this.ready ??= this.writing.begin());
      if (topic === "" || !isHere()) return;
      const kept = this.kept.find(topic);
      const forum = kept ?? (await this.addPosts(newForum(topic), TITLES));
      if (!isHere()) return;
      this.show(forum);
      const pictures = forum.posts.flatMap(({ picture }) => picture ?? []);
      if (kept === null) for (const each of pictures) void this.pictures.ask(each);
      else void this.pictures.open(pictures);
      await this.fill(forum, kept === null);
    } catch (error) {
      this.ready = null;
      if (isHere()) this.problem = isStop(error) ? "It was stopped." : sentenceOf(error);
    }
  }

  /** With posts that have titles only, and a place for a picture each. */
  private async addPosts(forum: Forum, groups: readonly (readonly string[])[]): Promise<Forum> {
    const { lines, by, canvas } = await this.writing.outline(forum.topic, groups, titlesPrompt(forum.topic));
    const titles = lines.filter((line) => !forum.posts.some(({ title }) => title === line));
    const place = canvas ?? forum.canvas ?? (await canvasForPictures(this.writing.cards ?? [], forum.topic));
    let next: Forum = { ...forum, canvas: place };
    for (const title of titles) next = withPicture(withPost(next, { title, titleBy: by, text: "", by: "" }));
    announce(`${titles.length} posts are there.`);
    return next;
  }

  private async more(): Promise<void> {
    const { forum } = this;
    if (forum === undefined) return;
    const groups = this.writing.outliner?.isWriter === true ? TITLES : openTitles(forum);
    if (groups.length === 0) {
      say("Every title that the server's models choose from has its post; write one of your own.");
      this.isComposing = true;
      return;
    }
    try {
      const next = await this.addPosts(forum, groups);
      if (this.forum !== forum) {
        say("The forum has changed meanwhile; ask again.");
        return;
      }
      this.show(next);
      const made = next.posts.filter(({ id }) => id >= forum.next);
      for (const { picture } of made) if (picture !== null) void this.pictures.ask(picture);
      await this.fill(next, true);
    } catch (error) {
      sayError(error);
    }
  }

  /** Has the posts written that are empty, and with it a reply to each of them. */
  private async fill(forum: Forum, withReplies: boolean): Promise<void> {
    if (this.writing.writer === undefined) return;
    const empty = forum.posts.filter(({ text }) => text === "");
    await this.writing.write(empty.map((post) => this.postJob(forum, post)));
    const now = this.forum;
    if (!withReplies || now === undefined || now.topic !== forum.topic || this.writing.isStopped) return;
    const written = now.posts.filter(
      ({ id, text, comments }) =>
        empty.some((each) => each.id === id) && text !== "" && comments.length === 0,
    );
    await this.writing.write(written.map((post) => this.replyJob(now, post)));
  }

  private postJob({ topic }: Forum, { id, title }: Post): Job {
    const take = (text: string, by: string) =>
      this.change(topic, (forum) => changedPost(forum, id, () => ({ text, by })));
    return { id: `${topic}/${id}`, name: title, prompt: postPrompt(topic, title), take };
  }

  private replyJob({ topic }: Forum, post: Post): Job {
    const take = (text: string, by: string) =>
      this.change(topic, (forum) => withComment(forum, post.id, text, by));
    return {
      id: `${topic}/${post.id}/reply`,
      name: `Reply to ${post.title}`,
      prompt: replyPrompt(post),
      take,
    };
  }

  /** Changes the forum of a topic, if it is still the one that is shown. */
  private change(topic: string, change: (forum: Forum) => Forum): void {
    if (this.forum?.topic === topic) this.show(change(this.forum));
  }

  private show(forum: Forum): void {
    this.steps = push(this.steps, forum);
    this.kept.keep(forum.topic, forum);
  }

  private move(by: number): void {
    const before = this.steps.at;
    this.steps = go(this.steps, by);
    if (this.forum === undefined || this.steps.at === before) return;
    this.kept.keep(this.forum.topic, this.forum);
    announce(by < 0 ? "Undone." : "Done again.");
  }

  private async addOwn(forum: Forum, event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    const [title, text] = ["title", "text"].map((name) => ((given.get(name) as string | null) ?? "").trim());
    if (title === undefined || title === "") return;
    this.isComposing = false;
    const own = { title, titleBy: YOU, text: text ?? "", by: text === "" ? "" : YOU };
    let next = withPost(forum, own, "first");
    if (given.get("picture") !== null) {
      try {
        const canvas = forum.canvas ?? (await canvasForPictures(this.writing.cards ?? [], forum.topic));
        next = withPicture({ ...next, canvas });
      } catch (error) {
        sayError(error);
      }
    }
    this.show(next);
    announce("Your post is published.");
    const picture = next.posts[0]?.picture ?? null;
    if (picture !== null) await this.pictures.ask(picture);
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
    return html`<h1 tabindex="-1">Forum</h1>
      <p class="muted">
        A forum on any topic begins when you open it. Posts say who wrote them; the votes are yours alone.
      </p>
      <sf-topics
        base=${BASE}
        label="Topic"
        verb="Open"
        .examples=${EXAMPLES}
        .kept=${this.kept.topics()}
        @sf-forget=${({ detail }: CustomEvent<string>) => this.forget(detail)}
      ></sf-topics>
      ${this.writing.notice()}`;
  }

  private topicPage(topic: string) {
    const { forum, writing } = this;
    return html`<sf-topics small base=${BASE} label="Another topic" verb="Open"></sf-topics>
      <div class="row bar">
        <a href=${BASE}>All forums</a>
        <span class="row">${writing.controls("Titles by")}</span>
      </div>
      <h1 tabindex="-1">${topic}</h1>
      ${writing.notice()} ${forum === undefined ? this.forming() : this.posts(forum)}`;
  }

  private forming() {
    if (this.problem !== "") {
      return html`<p class="error">${this.problem}</p>
        <div>
          <button class="primary" @click=${() => void this.open(tidyTopic(this.place))}>Try again</button>
        </div>`;
    }
    return html`<div class="posts" aria-busy="true">
      ${repeat(
        this.writing.outlining ?? [],
        (line) => line,
        (line) =>
          html`<article class="card post">
            <div></div>
            <div><h2>${line}</h2></div>
          </article>`,
      )}
      <p class="muted">Choosing titles …</p>
    </div>`;
  }

  private posts(forum: Forum) {
    return html`<div class="row bar">
        <span class="row">
          <button class="primary" aria-expanded=${String(this.isComposing)} @click=${() => this.compose()}>
            New post
          </button>
          <button ?disabled=${this.writing.isBusy} @click=${() => void this.more()}>More posts</button>
          <span>
            <button class="small" ?disabled=${this.steps.at < 1} title="Ctrl+Z" @click=${() => this.move(-1)}>
              Undo
            </button>
            <button
              class="small"
              ?disabled=${this.steps.at >= this.steps.all.length - 1}
              title="Ctrl+Shift+Z"
              @click=${() => this.move(1)}
            >
              Redo
            </button>
          </span>
        </span>
        <span class="row" role="group" aria-label="Sort by">
          <span class="muted">Sort by</span>
          ${ORDERS.map(
            (order) =>
              html`<button class="small" @click=${() => this.show(sorted(forum, order))}>${order}</button>`,
          )}
        </span>
      </div>
      ${this.isComposing ? this.composer(forum) : nothing}
      <div class="posts">
        ${repeat(
          forum.posts,
          ({ id }) => id,
          (post) => this.post(forum, post),
        )}
        ${
          forum.posts.length === 0
            ? html`<p class="muted">No post yet; write one, or have more of them written.</p>`
            : nothing
        }
      </div>
      ${this.authors(forum)}`;
  }

  private authors(forum: Forum) {
    const { titles, texts } = authorsOf(forum);
    if (titles.length + texts.length === 0) return nothing;
    return html`<p class="figures">
      ${titles.length === 0 ? "" : `Titles by ${titles.join(", ")}.`}
      ${texts.length === 0 ? "" : `Texts by ${texts.join(", ")}.`} Nobody checked them.
    </p>`;
  }

  private compose(): void {
    this.isComposing = !this.isComposing;
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(".composer input")?.focus(),
    );
  }

  private composer(forum: Forum) {
    return html`<form
      class="card composer"
      @submit=${(event: SubmitEvent) => void this.addOwn(forum, event)}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === "Escape") this.isComposing = false;
      }}
    >
      <label>Title <input name="title" required maxlength="80" autocomplete="off" /></label>
      <label>Text <textarea name="text" rows="4"></textarea></label>
      <label class="inline"><input type="checkbox" name="picture" /> With a picture of the title</label>
      <div class="row">
        <button class="primary">Post</button>
        <button type="button" @click=${() => (this.isComposing = false)}>Cancel</button>
      </div>
    </form>`;
  }

  private post(forum: Forum, post: Post) {
    const { topic } = forum;
    const { id, title, picture } = post;
    const vote = (way: -1 | 1, sign: string, name: string) =>
      html`<button
        class="quiet"
        aria-label="${name}: ${title}"
        aria-pressed=${String(post.yourVote === way)}
        @click=${() => this.show(voted(forum, id, way))}
      >
        ${sign}
      </button>`;
    return html`<article class="card post" aria-label=${title}>
      <div class="votes">
        ${vote(1, "▲", "Vote up")}<output aria-label="Votes">${post.votes}</output
        >${vote(-1, "▼", "Vote down")}
      </div>
      <div class="body">
        <h2>${title}</h2>
        <div class="said ${picture === null ? "" : "pictured"}">
          <sf-prose
            name=${title}
            .text=${post.text}
            .by=${post.by}
            .draft=${this.writing.drafts.get(`${topic}/${id}`)}
            .problem=${this.writing.problems.get(`${topic}/${id}`) ?? ""}
            ?able=${this.writing.writer !== undefined}
            @sf-again=${() => void this.writing.write([this.postJob(forum, post)])}
            @sf-written=${({ detail }: CustomEvent<string>) =>
              this.show(changedPost(forum, id, () => ({ text: detail, by: detail === "" ? "" : YOU })))}
          >
            <button
              class="quiet"
              aria-label="Delete: ${title}"
              @click=${() => {
                this.show(withoutPost(forum, id));
                say(`“${title}” is deleted; Undo brings it back.`);
              }}
            >
              Delete
            </button>
          </sf-prose>
          ${
            picture === null
              ? nothing
              : html`<sf-picture
                  prompt=${picture.prompt}
                  .asset=${this.pictures.find(picture)}
                  @sf-again=${() => void this.pictures.ask(picture)}
                ></sf-picture>`
          }
        </div>
        ${this.comments(forum, post)}
      </div>
    </article>`;
  }

  private comments(forum: Forum, post: Post) {
    const job = this.replyJob(forum, post);
    const draft = this.writing.drafts.get(job.id);
    const problem = this.writing.problems.get(job.id);
    return html`<ul class="comments" aria-label="Comments">
        ${repeat(
          post.comments,
          ({ id }) => id,
          ({ id, text, by }) =>
            html`<li>
              <p>${text}</p>
              <span class="by">${by}</span>
              <button
                class="quiet"
                aria-label="Delete the comment: ${text.slice(0, 40)}"
                @click=${() => this.show(withoutComment(forum, post.id, id))}
              >
                ×
              </button>
            </li>`,
        )}
        ${
          draft === undefined
            ? nothing
            : html`<li><sf-prose name=${job.name} .draft=${draft}></sf-prose></li>`
        }
      </ul>
      ${problem === undefined ? nothing : html`<p class="error">No reply: ${problem}</p>`}
      <form
        class="comment"
        @submit=${(event: SubmitEvent) => {
          event.preventDefault();
          const form = event.target as HTMLFormElement;
          const text = (new FormData(form).get("text") as string).trim();
          form.reset();
          if (text !== "") this.show(withComment(forum, post.id, text, YOU));
        }}
      >
        <input name="text" aria-label="Comment on ${post.title}" placeholder="Comment …" autocomplete="off" />
        <button aria-label="Send the comment on ${post.title}">Send</button>
        ${
          this.writing.writer === undefined
            ? nothing
            : html`<button
                type="button"
                ?disabled=${draft !== undefined}
                aria-label="Have a reply written to ${post.title}"
                @click=${() => void this.writing.write([job])}
              >
                Reply by ${this.writing.writer.id}
              </button>`
        }
      </form>`;
  }
}

/** With a place for a picture at the post that was added last, if there is a canvas for it. */
function withPicture(forum: Forum): Forum {
  const { canvas, topic } = forum;
  if (canvas === null) return forum;
  return changedPost(forum, forum.next - 1, ({ id, title }) => ({
    picture: { canvas, slot: `post-${id}`, prompt: `${topic}: ${title}` },
  }));
}
