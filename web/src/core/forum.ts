/** A forum: posts with votes, comments and pictures. Values, never changed in place. */
import type { Picture } from "./protocol";

export interface Comment {
  readonly id: number;
  readonly text: string;
  /** A model, or "you". */
  readonly by: string;
}

export interface Post {
  readonly id: number;
  readonly title: string;
  /** The author of the title. */
  readonly titleBy: string;
  /** Empty until written. */
  readonly text: string;
  readonly by: string;
  readonly votes: number;
  readonly yourVote: -1 | 0 | 1;
  readonly comments: readonly Comment[];
  readonly picture: Picture | null;
}

export interface Forum {
  readonly topic: string;
  readonly posts: readonly Post[];
  /** Of the next post or comment. */
  readonly next: number;
  /** The canvas that holds its pictures. */
  readonly canvas: string | null;
  /** How its posts were sorted last; null if they never were. */
  readonly order: Order | null;
}

export const YOU = "you";

/** Titles to choose from: one of each group. */
export const TITLES: readonly (readonly string[])[] = [
  ["Where to start?", "A question from a beginner", "What should I know first?"],
  ["What went wrong for me", "My worst mistake", "A warning"],
  ["What I learnt in ten years", "Tips that nobody tells you", "How I do it"],
  ["An unpopular opinion", "Old or new?", "Is it worth the money?"],
];

export const EXAMPLES: readonly string[] = ["Volcanoes", "Growing tomatoes", "Moving house", "Old radios"];

export function newForum(topic: string): Forum {
  return { topic, posts: [], next: 0, canvas: null, order: null };
}

/** A stored forum; null if it cannot be read. */
export function readForum(kept: unknown): Forum | null {
  const { topic, posts, next, canvas, order } = (kept ?? {}) as Record<string, unknown>;
  if (typeof topic !== "string" || typeof next !== "number" || !Array.isArray(posts)) return null;
  if (!posts.every(isPost)) return null;
  return {
    topic,
    posts,
    next,
    canvas: typeof canvas === "string" ? canvas : null,
    order: ORDERS.find((each) => each === order) ?? null,
  };
}

function isPost(given: unknown): given is Post {
  const post = (given ?? {}) as Record<string, unknown>;
  const texts = [post.title, post.titleBy, post.text, post.by].every((each) => typeof each === "string");
  const numbers = [post.id, post.votes, post.yourVote].every((each) => typeof each === "number");
  return texts && numbers && Array.isArray(post.comments) && post.comments.every(isComment);
}

function isComment(given: unknown): given is Comment {
  const { id, text, by } = (given ?? {}) as Record<string, unknown>;
  return typeof id === "number" && typeof text === "string" && typeof by === "string";
}

export type NewPost = Pick<Post, "title" | "titleBy" | "text" | "by">;

/** With a post added at the end, or at the beginning. */
export function withPost(forum: Forum, post: NewPost, where: "first" | "last" = "last"): Forum {
  const made: Post = { ...post, id: forum.next, votes: 0, yourVote: 0, comments: [], picture: null };
  const posts = where === "first" ? [made, ...forum.posts] : [...forum.posts, made];
  return { ...forum, next: forum.next + 1, posts };
}

/** Who thought of titles, and who wrote the texts; you are not named. */
export function authorsOf({ posts }: Forum): { titles: string[]; texts: string[] } {
  const named = (all: string[]) => [...new Set(all.filter((by) => by !== "" && by !== YOU))];
  return {
    titles: named(posts.map(({ titleBy }) => titleBy)),
    texts: named(posts.flatMap(({ by, comments }) => [by, ...comments.map((each) => each.by)])),
  };
}

/** With a post brought back to its place, unless it is there. */
export function withPostAgain(forum: Forum, post: Post, at: number): Forum {
  if (forum.posts.some(({ id }) => id === post.id)) return forum;
  return { ...forum, posts: forum.posts.toSpliced(at, 0, post) };
}

export function withoutPost(forum: Forum, id: number): Forum {
  return { ...forum, posts: forum.posts.filter((each) => each.id !== id) };
}

export function changedPost(forum: Forum, id: number, change: (post: Post) => Partial<Post>): Forum {
  return {
    ...forum,
    posts: forum.posts.map((each) => (each.id === id ? { ...each, ...change(each) } : each)),
  };
}

export function withComment(forum: Forum, id: number, text: string, by: string): Forum {
  const comment = { id: forum.next, text, by };
  const next = changedPost(forum, id, ({ comments }) => ({ comments: [...comments, comment] }));
  return { ...next, next: forum.next + 1 };
}

/** With a comment brought back to its place, unless it is there. */
export function withCommentAgain(forum: Forum, id: number, comment: Comment, at: number): Forum {
  return changedPost(forum, id, ({ comments }) => ({
    comments: comments.some((each) => each.id === comment.id) ? comments : comments.toSpliced(at, 0, comment),
  }));
}

export function withoutComment(forum: Forum, id: number, commentId: number): Forum {
  return changedPost(forum, id, ({ comments }) => ({
    comments: comments.filter((each) => each.id !== commentId),
  }));
}

/** Your vote; the same one again takes it back. */
export function voted(forum: Forum, id: number, vote: -1 | 1): Forum {
  return changedPost(forum, id, ({ votes, yourVote }) => {
    const now = yourVote === vote ? 0 : vote;
    return { votes: votes - yourVote + now, yourVote: now };
  });
}

/** What may be chosen for further posts: titles that no post has. */
export function openTitles({ posts }: Forum): string[][] {
  const used = new Set(posts.map(({ title }) => title));
  return TITLES.map((group) => group.filter((title) => !used.has(title))).filter((group) => group.length > 0);
}

export const ORDERS = ["votes", "newest", "comments"] as const;
export type Order = (typeof ORDERS)[number];

/** How its posts stand; null if they have not been sorted, or no longer are. */
export function orderOf(forum: Forum): Order | null {
  const { order, posts } = forum;
  return order !== null && sorted(forum, order).posts.every((post, i) => post === posts[i]) ? order : null;
}

export function sorted(forum: Forum, order: Order): Forum {
  const value = ({ id, votes, comments }: Post) =>
    order === "votes" ? votes : order === "comments" ? comments.length : id;
  return { ...forum, order, posts: [...forum.posts].sort((one, other) => value(other) - value(one)) };
}

export function titlesPrompt(topic: string): string {
  return `List four titles of posts in a forum about ${topic}, one on each line, nothing else.`;
}

export function postPrompt(topic: string, title: string): string {
  return (
    `You are a member of a forum about ${topic}. ` +
    `What would you tell the others under the title "${title}"? Answer in two or three sentences.`
  );
}

/** What a model is asked for a reply: the last comment, or the post itself. */
export function replyPrompt({ title, text, comments }: Post): string {
  const said = comments.at(-1)?.text ?? [title, text].filter((each) => each !== "").join("\n");
  return `${said}\n\nWhat do you think of that? Answer me in one or two sentences.`;
}

/** What a picture that is drawn as SVG says of itself; empty if it says nothing. */
export function noteOf(url: string): string {
  const [, data] = /^data:image\/svg\+xml;base64,(.+)$/.exec(url) ?? [];
  if (data === undefined) return "";
  const bytes = Uint8Array.from(atob(data), (each) => each.charCodeAt(0));
  const svg = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml");
  return svg.querySelector("desc")?.textContent ?? "";
}
