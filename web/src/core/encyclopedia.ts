/** Pages of the encyclopedia: values, never changed in place. */
import { linked, stemOf, topicOf, type Piece } from "./prose";

export interface Section {
  readonly id: number;
  readonly heading: string;
  /** Empty until written. */
  readonly text: string;
  /** A model, or "you". */
  readonly by: string;
}

export interface Article {
  readonly topic: string;
  /** Who chose the headings; none where no model could. */
  readonly outlinedBy: string;
  readonly sections: readonly Section[];
}

export const YOU = "you";
/** The heading of an answer by a model that was trained on such questions. */
export const ANSWER = "Answer";

/** Headings to choose from: one of each group. */
export const HEADINGS: readonly (readonly string[])[] = [
  ["In short", "What it is", "In a few words"],
  ["Origins", "History", "Beginnings", "Where it comes from"],
  ["How it works", "Kinds", "Parts", "What it is made of"],
  ["Examples", "Places", "Uses", "Who deals with it"],
  ["Today", "Dangers", "Open questions", "What to remember"],
];

export const EXAMPLES: readonly string[] = [
  "Volcanoes",
  "The piano",
  "Moving house",
  "Honey bees",
  "fizzbuzz in python",
];

export const REVISIONS: readonly string[] = ["Shorter", "For children", "In other words"];

export function newArticle(topic: string, headings: readonly string[], outlinedBy: string): Article {
  return { topic, outlinedBy, sections: headings.map((heading, id) => ({ id, heading, text: "", by: "" })) };
}

/** A stored page; null if it cannot be read. */
export function readArticle(kept: unknown): Article | null {
  const { topic, outlinedBy, sections } = (kept ?? {}) as Record<string, unknown>;
  if (typeof topic !== "string" || typeof outlinedBy !== "string" || !Array.isArray(sections)) return null;
  return sections.length > 0 && sections.every(isSection) ? { topic, outlinedBy, sections } : null;
}

function isSection(given: unknown): given is Section {
  const { id, heading, text, by } = (given ?? {}) as Record<string, unknown>;
  return typeof id === "number" && [heading, text, by].every((each) => typeof each === "string");
}

export function withText(article: Article, id: number, text: string, by: string): Article {
  return {
    ...article,
    sections: article.sections.map((each) => (each.id === id ? { ...each, text, by } : each)),
  };
}

/** With a section brought back to its place, unless it is there. */
export function withSection(article: Article, section: Section, at: number): Article {
  if (article.sections.some(({ id }) => id === section.id)) return article;
  return { ...article, sections: article.sections.toSpliced(at, 0, section) };
}

export function withoutSection(article: Article, id: number): Article {
  return { ...article, sections: article.sections.filter((each) => each.id !== id) };
}

/** The models that wrote a page, and you, in the order in which they come. */
export function authorsOf({ sections }: Article): string[] {
  return [...new Set(sections.map(({ by }) => by).filter((by) => by !== ""))];
}

export function sectionPrompt(topic: string, heading: string): string {
  return `Tell me about ${topic}: ${heading.toLowerCase()}. Answer in two or three sentences.`;
}

export function headingsPrompt(topic: string): string {
  return `List four section headings for an encyclopedia article about ${topic}, one on each line, nothing else.`;
}

/** What a model is asked to make of a text. */
export function revisionPrompt(text: string, wish: string): string {
  const asked: Partial<Record<string, string>> = {
    shorter: "Shorten this text to one sentence",
    "for children": "Explain this to a child, in simple words",
    "in other words": "Write this text again in other words",
  };
  const said = wish.trim().replace(/[.:]+$/, "");
  return `${asked[said.toLowerCase()] ?? `Write this text again. ${topicOf(said)}`}: ${text}`;
}

/** Each section's text as pieces. A word is a link only where it comes first, and never if it is the topic. */
export function linksOf({ topic, sections }: Article): ReadonlyMap<number, readonly Piece[]> {
  const seen = new Set([topic, ...topic.split(/[^\p{L}\d]+/u)].map(stemOf));
  return new Map(
    sections.map(({ id, text }) => {
      const pieces = linked(text, seen);
      for (const piece of pieces) if (piece.topic !== undefined) seen.add(stemOf(piece.topic));
      return [id, pieces];
    }),
  );
}

/** Pages that a page always leads to: the one it is part of, and each of its parts; an answer has none, so examples. */
export function furtherTopics({ topic, sections }: Article): string[] {
  const [whole = "", part] = topic.split(/: (.+)$/su);
  const parts = sections
    .filter(({ heading }) => heading !== ANSWER)
    .map(({ heading }) => `${whole}: ${heading.toLowerCase()}`)
    .filter((each) => each.toLowerCase() !== topic.toLowerCase());
  const further = [...new Set([...(part === undefined ? [] : [whole]), ...parts])];
  return further.length > 0 ? further : EXAMPLES.filter((each) => each !== topic);
}
