/** Prose of language models, and the words of it that lead on. */
import { answerOf, ask } from "./answer";
import type { Api } from "./api";
import type { CanvasView } from "./canvas";
import { isOfKind } from "./kinds";
import type { Message, ModelCard } from "./protocol";

/** Tokens of a paragraph. */
const MAX_TOKENS = 100;
/** Characters of a sentence that is not said three times. */
const MIN_LOOP = 12;
const MAX_LINKS = 5;

/** The models that write whatever they are asked. Those that were shown kinds of prompts write nothing else. */
export function writers(cards: readonly ModelCard[]): ModelCard[] {
  return cards.filter(
    ({ capabilities, sfumato }) => capabilities.includes("chat") && sfumato.kinds.length === 0,
  );
}

/** The model that was shown prompts such as this one; undefined if none was. */
export function knowing(cards: readonly ModelCard[], prompt: string): ModelCard | undefined {
  return cards.find(({ sfumato }) => sfumato.kinds.some((kind) => isOfKind(kind, prompt) ?? false));
}

/** What a model answers to a prompt, in whole sentences. Throws ApiError. */
export async function prose(
  api: Api,
  card: ModelCard,
  prompt: string,
  options: {
    seed: number;
    signal: AbortSignal;
    onView: (view: CanvasView) => void;
    /** What was said before. */
    turns?: readonly Message[];
  },
): Promise<string> {
  const { seed, signal, onView, turns = [] } = options;
  const isKnown = card.sfumato.kinds.length > 0;
  const question = {
    messages: [...(isKnown ? [] : turns), { role: "user" as const, content: prompt }],
    seed,
    ...(isKnown ? {} : { max_tokens: MAX_TOKENS }),
  };
  const { text, reason } = await answerOf(ask(api, card, question, signal), onView);
  const ended = reason === "length" ? wholeSentences(text) : text.trim();
  const whole = isKnown ? ended : withoutLoop(ended);
  if (whole === "") throw new Error(`${card.id} wrote nothing; try again`);
  return whole;
}

/** A text without the sentence that it breaks off in; all of it if it is in the first. */
export function wholeSentences(text: string): string {
  const [whole = ""] = /^.*[.!?…]["”’)]?(?=\s|$)/su.exec(text) ?? [];
  return (whole === "" ? text : whole).trim();
}

/** A part of a text; with a topic, a link to it. */
export interface Piece {
  readonly text: string;
  readonly topic?: string;
}

/** A text without the rest that says the same sentence again and again, as small models do. */
export function withoutLoop(text: string): string {
  const found = new Map<string, number[]>();
  for (const { 0: sentence, index } of text.matchAll(/[^.!?\n]+[.!?\n"”’]*/g)) {
    const key = sentence.trim().toLowerCase();
    const places = [...(found.get(key) ?? []), index];
    found.set(key, places);
    if (places.length === 3 && key.length >= MIN_LOOP) return text.slice(0, places[1]).trim();
  }
  return text;
}

const WORDS = /\p{Lu}[\p{L}\d'’-]*(?:(?: of| of the)? \p{Lu}[\p{L}\d'’-]*)+|\p{L}[\p{L}'’-]{2,}/gu;
const ENDING = /(?:^|[.!?:\n]["”’)]?\s+|["“(])$/u;
/** Long words that say little by themselves. */
const COMMON = new Set(
  `about above across actually after again against almost along already also although always among another anything
  around because become becomes before behind being below beneath besides between beyond both cannot certain cause
  causes common consider contain contains create creates despite different difficult during either enough especially
  even every everyone everything example examples first following form forms from further general good great greater
  have however important include includes instead into itself known large later least less like little long made main
  make makes many matter mean means might more most much must myself nature near never nothing number often once only
  other others over part parts people perhaps place places possible provide provides quite rather really rise rises same
  second several should simple simply since small some something sometimes somewhere soon start still such surface than that
  their them themselves then there therefore these they thing things this those though through throughout thus time
  times together too toward towards under unique unlike until upon used useful usually variety various very well what
  when where whether which while will with within without world would year years your yourself`.split(/\s+/),
);

/**
 * A text as pieces, of which the words that say most are links.
 *
 * @param seen stems of words that are none: those that are links already, and what the page is about
 */
export function linked(text: string, seen: ReadonlySet<string>): Piece[] {
  const found = new Map<string, { text: string; at: number; weight: number; count: number }>();
  for (const match of text.matchAll(WORDS)) {
    const { words, at, isName } = readWords(match[0], match.index, text);
    const word = words.replace(/['’]\p{L}*$/u, "");
    const key = stemOf(word);
    const before = found.get(key);
    if (before !== undefined) before.count++;
    else if (!seen.has(key) && (isName ? word.length > 2 : isTelling(word.toLowerCase()))) {
      found.set(key, { text: word, at, weight: word.length + (isName ? 20 : 0), count: 1 });
    }
  }
  const chosen = [...found.values()]
    .map((each) => ({ ...each, weight: each.weight + 4 * (each.count - 1) }))
    // A short word is worth a page where it comes again.
    .filter(({ weight }) => weight > 6)
    .sort((one, other) => other.weight - one.weight || one.at - other.at)
    .slice(0, MAX_LINKS)
    .sort((one, other) => one.at - other.at);
  const pieces: Piece[] = [];
  let at = 0;
  for (const link of chosen) {
    if (link.at > at) pieces.push({ text: text.slice(at, link.at) });
    pieces.push({ text: link.text, topic: topicOf(link.text) });
    at = link.at + link.text.length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at) });
  return pieces;
}

/** What a word and its plural have in common. */
export function stemOf(word: string): string {
  return word.toLowerCase().replace(/(?:es|s)$/, "");
}

/** Words as they were found; a first one that has its capital from the sentence is left out. */
function readWords(words: string, at: number, text: string): { words: string; at: number; isName: boolean } {
  if (!ENDING.test(text.slice(0, at))) return { words, at, isName: /^\p{Lu}/u.test(words) };
  const space = words.indexOf(" ");
  return space < 0
    ? { words, at, isName: false }
    : { words: words.slice(space + 1), at: at + space + 1, isName: true };
}

function isTelling(word: string): boolean {
  // Most words that end so say how something is, or is done.
  return word.length > 4 && !COMMON.has(word) && !/(?:ly|ing|ed|al|ive|ous|ful|less|ble|ic|est)$/.test(word);
}

/** Words as the title of a page. */
export function topicOf(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
