/** A forum on any topic: posts and comments by a model and by you, votes, and pictures that come when they are there. */
import { html, nothing, type PropertyValues } from "lit";
import { customElement, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "../components/base";
import "../components/picture";
import { canvasForPictures, Pictures } from "../components/pictures";
import { TopicPage, topicStyles } from "../components/topic-page";
import { Writing, type Job } from "../components/writing";
import {
  authorsOf,
  changedPost,
  EXAMPLES,
  newForum,
  openTitles,
  orderOf,
  ORDERS,
  postPrompt,
  readForum,
  replyPrompt,
  sorted,
  titlesPrompt,
  TITLES,
  voted,
  withComment,
  withCommentAgain,
  withoutComment,
  withoutPost,
  withPost,
  withPostAgain,
  YOU,
  type Comment,
  type Forum,
  type Post,
} from "../core/forum";
import { Kept } from "../core/kept";
import { announce, say, sayError } from "../core/say";
import { forumStyles } from "./forum-styles";

const BASE = "/forum";
const INTRODUCTION =
  "Open any topic and a forum begins: models write posts and reply to yours. Every post says who wrote it.";

@customElement("sf-forum-page")
export class ForumPage extends TopicPage<Forum> {
  @state() private isComposing = false;
  protected readonly kept = new Kept("forum", readForum);
  protected readonly writing = new Writing(this, "forum");
  private readonly pictures = new Pictures(this);
  protected readonly wording = {
    base: BASE,
    title: "Forum",
    introduction: INTRODUCTION,
    verb: "Open",
    examples: EXAMPLES,
    allPages: "All forums",
    lines: "Titles",
  };

  static override styles = [controls, topicStyles, forumStyles];

  override willUpdate(changes: PropertyValues): void {
    super.willUpdate(changes);
    if (changes.has("place")) this.isComposing = false;
  }

  protected async openTopic(topic: string, isHere: () => boolean): Promise<void> {
    const kept = this.kept.find(topic);
    const forum = kept ?? (await this.addPosts(newForum(topic), TITLES));
    if (!isHere()) return;
    this.show(forum);
    const pictures = forum.posts.flatMap(({ picture }) => picture ?? []);
    if (kept === null) for (const each of pictures) void this.pictures.ask(each);
    else void this.pictures.open(pictures);
    await this.fill(forum, kept === null);
  }

  /** With posts that have titles only, and a place for a picture each. */
  private async addPosts(forum: Forum, groups: readonly (readonly string[])[]): Promise<Forum> {
    const { lines, by, canvas } = await this.writing.outline(forum.topic, groups, titlesPrompt(forum.topic));
    const titles = lines.filter((line) => !forum.posts.some(({ title }) => title === line));
    const place = canvas ?? forum.canvas ?? (await canvasForPictures(this.writing.cards ?? [], forum.topic));
    let next: Forum = { ...forum, canvas: place };
    for (const title of titles) next = withPicture(withPost(next, { title, titleBy: by, text: "", by: "" }));
    announce(`${titles.length} posts added.`);
    return next;
  }

  private async more(): Promise<void> {
    const { page: forum } = this;
    if (forum === undefined) return;
    const groups = this.writing.outliner?.isWriter === true ? TITLES : openTitles(forum);
    if (groups.length === 0) {
      say("All suggested titles are in use; write a post of your own.");
      this.isComposing = true;
      return;
    }
    try {
      const next = await this.addPosts(forum, groups);
      if (this.page !== forum) {
        say("The forum changed in the meantime; try again.");
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
    const now = this.page;
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

  protected line(line: string) {
    return html`<article class="card post">
      <div></div>
      <div><h2>${line}</h2></div>
    </article>`;
  }

  protected written(forum: Forum) {
    const sortedBy = orderOf(forum);
    const captioned = forum.posts.find(({ picture }) => picture !== null);
    return html`<div class="row bar">
        <span class="row">
          <button class="primary" aria-expanded=${String(this.isComposing)} @click=${() => this.compose()}>
            New post
          </button>
          <button ?disabled=${this.writing.isBusy} @click=${() => void this.more()}>More posts</button>
          ${this.undoButtons()}
        </span>
        <span class="row" role="group" aria-label="Sort by">
          <span class="muted">Sort by</span>
          ${ORDERS.map(
            (order) =>
              html`<button
                class="small"
                aria-pressed=${String(order === sortedBy)}
                @click=${() => this.show(sorted(forum, order))}
              >
                ${order}
              </button>`,
          )}
        </span>
      </div>
      ${this.isComposing ? this.composer(forum) : nothing}
      <div class="posts">
        ${repeat(
          forum.posts,
          ({ id }) => id,
          (post) => this.post(forum, post, post === captioned),
        )}
        ${
          forum.posts.length === 0
            ? html`<p class="muted">No posts yet. Write one, or ask for more.</p>`
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
      <label class="inline"><input type="checkbox" name="picture" /> With a picture</label>
      <div class="row">
        <button class="primary">Post</button>
        <button type="button" @click=${() => (this.isComposing = false)}>Cancel</button>
      </div>
    </form>`;
  }

  private post(forum: Forum, post: Post, isCaptioned: boolean) {
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
              class="quiet remove"
              aria-label="Delete: ${title}"
              @click=${() => this.removePost(forum, post)}
            >
              Delete
            </button>
          </sf-prose>
          ${
            picture === null
              ? nothing
              : html`<sf-picture
                  prompt=${picture.prompt}
                  ?captioned=${isCaptioned}
                  .asset=${this.pictures.find(picture)}
                  @sf-again=${() => void this.pictures.ask(picture)}
                ></sf-picture>`
          }
        </div>
        ${this.comments(forum, post)}
      </div>
    </article>`;
  }

  private removePost(forum: Forum, post: Post): void {
    const at = forum.posts.indexOf(post);
    this.showWithout(withoutPost(forum, post.id), {
      said: `“${post.title}” is deleted.`,
      bringBack: (now) => withPostAgain(now, post, at),
      at,
      selector: ".remove",
      otherwise: "button.primary",
    });
  }

  private removeComment(forum: Forum, { id, comments }: Post, comment: Comment, event: Event): void {
    const at = comments.indexOf(comment);
    const removal = {
      said: "The comment is deleted.",
      bringBack: (now: Forum) => withCommentAgain(now, id, comment, at),
      at,
      selector: ".comments button",
      otherwise: ".comment input",
    };
    const post = (event.currentTarget as HTMLElement).closest("article") ?? undefined;
    this.showWithout(withoutComment(forum, id, comment.id), removal, post);
  }

  private comments(forum: Forum, post: Post) {
    const job = this.replyJob(forum, post);
    const draft = this.writing.drafts.get(job.id);
    const problem = this.writing.problems.get(job.id);
    return html`<ul class="comments" aria-label="Comments">
        ${repeat(
          post.comments,
          ({ id }) => id,
          (comment) =>
            html`<li>
              <p>${comment.text}</p>
              <span class="by">${comment.by}</span>
              <button
                class="quiet"
                aria-label="Delete the comment: ${comment.text.slice(0, 40)}"
                @click=${(event: Event) => this.removeComment(forum, post, comment, event)}
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
