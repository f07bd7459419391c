/** The outline of a page: one line of each of several groups, or lines that a language model writes. */
import { answerOf } from "./answer";
import type { Api } from "./api";
import { textOf } from "./canvas";
import { prose } from "./prose";
import type { ModelCard } from "./protocol";

export interface Outline {
  readonly lines: readonly string[];
  /** The model that chose or wrote them; none where there was no model to do it. */
  readonly by: string;
  /** A canvas that can hold the page's pictures. */
  readonly canvas: string | null;
}

/** A model that chooses an outline's lines on a canvas, or one that is asked for them in words. */
export type Outliner = { readonly card: ModelCard; readonly isWriter: boolean };

/** The pattern leaves little to be decided. */
const STEPS = 2;
/** Tokens that hold an outline; the model itself expects shorter lists, and would need a second canvas. */
const CANVAS_LENGTH = 96;
const MAX_LABEL = 32;
const MAX_LINES = 6;

/** Who outlines, the fastest first: models that write screens, then writers. */
export function outliners(cards: readonly ModelCard[], writers: readonly ModelCard[]): Outliner[] {
  const screens = cards.filter(({ sfumato }) => sfumato.tasks.includes("ui_screen"));
  return [
    ...screens.map((card) => ({ card, isWriter: false })),
    ...writers.map((card) => ({ card, isWriter: true })),
  ];
}

/** The outline without any model: the first line of each group. */
export function ownOutline(groups: readonly (readonly string[])[]): Outline {
  return { lines: groups.map(([first = ""]) => first), by: "", canvas: null };
}

/**
 * The list that a model of screens writes on a topic, of which each entry is one of its group.
 *
 * Throws ApiError.
 */
export async function chosenOutline(
  api: Api,
  model: string,
  topic: string,
  groups: readonly (readonly string[])[],
  options: { seed: number; signal: AbortSignal; onLines: (lines: readonly string[]) => void },
): Promise<Outline> {
  const { seed, signal, onLines } = options;
  const prompt = `screen: a list about ${labelOf(topic)} with ${groups.length} items`;
  const asked = { model, prompt, regex: patternOf(groups), steps: STEPS, canvas_length: CANVAS_LENGTH, seed };
  let canvas: string | null = null;
  const events = async function* () {
    for await (const event of api.stream(asked, signal)) {
      canvas = event.canvas_id;
      yield event;
    }
  };
  const { text } = await answerOf(events(), (view) => onLines(chosenIn(textOf(view), groups)));
  return { lines: chosenIn(text, groups), by: model, canvas };
}

/** The lines that a writer thinks of. Throws ApiError, and Error if they are none. */
export async function writtenOutline(
  api: Api,
  card: ModelCard,
  prompt: string,
  options: { seed: number; signal: AbortSignal },
): Promise<Outline> {
  const lines = readLines(await prose(api, card, prompt, { ...options, onView: () => undefined }));
  if (lines.length < 2) throw new Error(`${card.id} wrote no list; choose another model for the headings`);
  return { lines, by: card.id, canvas: null };
}

/** A topic as components may have it for their text. */
export function labelOf(topic: string): string {
  return topic.replaceAll("|", "/").replace(/\s+/gu, " ").trim().slice(0, MAX_LABEL).trim();
}

/** Lists of which each entry is one of its group: the same for all topics, so that the server reads it once. */
export function patternOf(groups: readonly (readonly string[])[]): string {
  return ["page", " list", ...groups.map((group) => `  item: (?:${group.map(escaped).join("|")})`)].join(
    "\n",
  );
}

function escaped(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
}

/** Of each group that a text has a line of, that line. */
export function chosenIn(text: string, groups: readonly (readonly string[])[]): string[] {
  const items = text.split("\n").map((line) => line.replace(/^ *item: /, ""));
  return groups.flatMap((group) => group.find((line) => items.includes(line)) ?? []);
}

/** Lines out of a list as language models write it, without its signs. */
export function readLines(text: string): string[] {
  const lines = text.split("\n").map((line) =>
    line
      .replace(/^\s*(?:[-*•#]+|\(?\d+[.):]?)\s*/u, "")
      .replaceAll(/[*_"“”`]/g, "")
      .replace(/[\s:.]+$/u, "")
      .trim(),
  );
  return [...new Set(lines.filter((line) => line !== "" && line.length <= 60))].slice(0, MAX_LINES);
}
