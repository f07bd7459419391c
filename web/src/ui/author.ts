/** A model that writes screens and changes them: what it is asked, and what comes of it. */
import { answerOf } from "../core/answer";
import type { Api } from "../core/api";
import { textOf, type CanvasView } from "../core/canvas";
import { isDark } from "../core/preferences";
import type { CanvasRequest, ModelCard, Usage } from "../core/protocol";
import { again, outside } from "../core/take";
import { execute, isRefusal } from "./edits";
import { abridged, get, PageError, parse, parseDraft, toText, walk, type Component } from "./tree";

/** Between a page and a sentence about it. */
const MARK = "\n> ";
/** Answers that cannot be used are mended, or asked for again with other seeds. */
const ATTEMPTS = 5;
/** Of programs that are asked for again, so that they differ from those that cannot be used. */
const TEMPERATURE_AGAIN = 0.9;
/** What says where something stands, which is counted among what is visible. */
const POSITION =
  /\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d+(?:st|nd|rd|th)|(?:number|item|task|entry) \d+)\b/i;
/** What the embedded model cannot copy; it would write other words. */
const UNREAD =
  /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]|\p{Extended_Pictographic}(?<![\d#*©®™])/u;
/** What says that more than one thing is meant, or a thing that was not named. */
const MEANS_MORE =
  /\b(?:all|both|every\w*|whole|entire|them|these|those|it|this|that|lists?|tables?|rows?|tabs?|cards?|sections?|columns?|groups?|windows?|forms?|panels?|box(?:es)?)\b/i;
/** What begins a sentence that only adds something. */
const ADDS = /^(?:please |also )*(?:add|insert|append|new)\b(?!.*\b(?:and|then|instead)\b)/i;
const NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(
  " ",
);
/** How many things a screen shall list. */
const ASKED = new RegExp(
  `\\b(\\d{1,2}|${NUMBERS.join("|")}) (?:[a-z-]+ )?(?:items|tasks|entries|things|chores|rows|points|steps|lines|jobs)\\b`,
  "gi",
);
/** Lines that may be left out of a screen where they cannot be mended. */
const MAX_LOST = 2;

export interface Written {
  readonly page: Component;
  /** What changed the page; null for one that is new. */
  readonly program: string | null;
  readonly usage: Usage | null;
  readonly ms: number;
}

/** What is said of a program that changes nothing. */
export const UNCHANGED = "The model changed nothing: it is so already, or say it in other words.";

/** Nothing that was said can be done; the message is for the person. */
export class NotUnderstood extends Error {
  override name = "NotUnderstood";
}

/** Whether a program for a sentence that counts names something hidden, other than to show it. */
export function miscounts(page: Component, program: string, sentence: string): boolean {
  if (!POSITION.test(sentence) || /\bhidden\b/i.test(sentence)) return false;
  const hidden = new Set(
    [...walk(page)].filter((each) => get(each, "hidden") !== undefined).map(({ id }) => id),
  );
  return program.split("\n").some((line) => {
    const [, ids = ""] = line.split(" ");
    return !line.endsWith(" hidden") && ids.split(",").some((id) => hidden.has(id));
  });
}

/** What a program deletes together with all that it holds, although a sentence does not name it; null if nothing. */
export function unnamed(page: Component, program: string, sentence: string): Component | null {
  if (MEANS_MORE.test(sentence)) return null;
  const deleted = new Set(
    program.split("\n").flatMap((line) => /^del ([a-z,]+)$/.exec(line)?.[1]?.split(",") ?? []),
  );
  const said = sentence.toLowerCase();
  const names = (each: Component) => [each.kind, ...each.text.toLowerCase().split(" ")];
  const holders = [...walk(page)].filter(({ id, children }) => deleted.has(id) && children.length > 0);
  return holders.find((each) => !names(each).some((name) => name !== "" && said.includes(name))) ?? null;
}

/** Whether a sentence that only adds has renamed something on a page, or taken it away. */
export function replaces(page: Component, made: Component, sentence: string): boolean {
  if (!ADDS.test(sentence)) return false;
  const now = new Map([...walk(made)].map((each) => [each.id, each]));
  const saying = ({ kind, text, cells }: Component) => (kind === "record" ? cells[0] : text);
  return [...walk(page)].some((each) => {
    const after = now.get(each.id);
    return after === undefined || (each.kind !== "page" && saying(after) !== saying(each));
  });
}

/** The lists and tables of a page. */
function listings(page: Component): Component[] {
  return [...walk(page)].filter(({ kind }) => kind === "list" || kind === "table");
}

/** How many more things a new page lists than a sentence asks for; null if it does not say, or there are several lists. */
export function surplus(page: Component, sentence: string): number | null {
  const [asked, ...others] = [...sentence.matchAll(ASKED)].map(([, number = ""]) => number.toLowerCase());
  const [holder, ...more] = listings(page);
  if (asked === undefined || others.length > 0 || holder === undefined || more.length > 0) return null;
  return holder.children.length - (NUMBERS.includes(asked) ? NUMBERS.indexOf(asked) + 2 : Number(asked));
}

/** A new page with the last things that are too many left out. */
function counted(page: Component, sentence: string): Component {
  const number = surplus(page, sentence) ?? 0;
  if (number <= 0) return page;
  const ids = listings(page).flatMap(({ children }) => children.slice(-number).map(({ id }) => id));
  return execute(page, `del ${ids.join(",")}`);
}

/** What was written, as it is on a page that has changed since the page it was written for. Throws PageError. */
export function onto(now: Component | null, before: Component | null, { page, program }: Written): Component {
  return program === null || now === null || now === before ? page : execute(now, program);
}

/** A new page, dark where the studio is, so that it can be told to be light. */
function begun(page: Component): Component {
  return isDark() && get(page, "theme") === undefined ? execute(page, `set ${page.id} dark`) : page;
}

/** Whether a model writes screens. */
export function isAuthor({ sfumato }: ModelCard): boolean {
  return sfumato.tasks.includes("ui_screen");
}

/**
 * The page that a sentence asks for, or that a sentence about a page makes of it.
 *
 * Throws NotUnderstood if no answer can be used, and ApiError.
 */
export async function write(
  api: Api,
  model: string,
  sentence: string,
  options: {
    page?: Component | null;
    seed?: number;
    /** Denoising steps at most; the model's own number without it. */
    steps?: number | undefined;
    signal?: AbortSignal;
    onDraft?: (page: Component, view: CanvasView) => void;
  } = {},
): Promise<Written> {
  const { page = null, seed = 0, steps, signal, onDraft } = options;
  const said = sentence.replace(/\s+/gu, " ").trim();
  if (UNREAD.test(said)) {
    throw new NotUnderstood("The model reads Latin letters and no emoji, so nothing changed.");
  }
  const prompt = page === null ? `screen: ${said}` : toText(abridged(page)) + MARK + said;
  const start = performance.now();
  const base: CanvasRequest = { model, prompt, ...(steps === undefined ? {} : { steps }) };
  let request: CanvasRequest = { ...base, seed };
  const redraw = (attempt: number) => ({ ...base, seed: seed + attempt, temperature: TEMPERATURE_AGAIN });
  let [reason, idle] = ["", ""];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const {
      text,
      usage,
      reason: ending,
    } = await answerOf(api.stream({ ...request, every_step: false }, signal), (view) => {
      if (page !== null || onDraft === undefined) return;
      const draft = parseDraft(textOf(view));
      if (draft !== null) onDraft(begun(draft), view);
    });
    // A program on an unsettled canvas is wrong nine times in ten, and would change other things.
    if (page !== null && ending === "steps") {
      throw new NotUnderstood("The model is not sure what that means, so nothing changed. Try other words.");
    }
    if (isRefusal(text)) throw new NotUnderstood(`The model declines: ${text.replace("refuse: ", "")}.`);
    try {
      if (page === null && ending === "length") throw new PageError("it does not end");
      const made = page === null ? begun(counted(parse(text), said)) : execute(page, text);
      if (page === null && attempt === 1 && (surplus(made, said) ?? 0) < 0) {
        request = { ...base, seed: seed + attempt };
        continue;
      }
      const lost = page === null ? null : unnamed(page, text, said);
      if (lost !== null) {
        const what = `the ${lost.kind}${lost.text === "" ? "" : ` “${lost.text}”`}`;
        throw new NotUnderstood(
          `The model would delete ${what}, which you did not name, so nothing changed.`,
        );
      }
      if (page !== null && replaces(page, made, said)) throw new PageError("it changes what is there");
      if (page !== null && miscounts(page, text, said)) throw new PageError("it means what is hidden");
      // A program that changes nothing is hardly what was asked for, unless the model says it twice.
      if (page !== null && attempt < ATTEMPTS && text !== idle && toText(made) === toText(page)) {
        [idle, request] = [text, redraw(attempt)];
        continue;
      }
      return { page: made, program: page === null ? null : text, usage, ms: performance.now() - start };
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      reason = error.message;
      const kept = page === null && attempt > 1 && ending !== "length" ? parseDraft(text) : null;
      if (kept !== null && toText(kept).split("\n").length >= text.split("\n").length - MAX_LOST) {
        return { page: begun(kept), program: null, usage, ms: performance.now() - start };
      }
      request = page === null ? repair(base, request, text, reason, seed + attempt) : redraw(attempt);
    }
  }
  const what = page === null ? "no screen that can be shown" : "no change that fits this screen";
  throw new NotUnderstood(`The model wrote ${what}; say it in other words.`, { cause: reason });
}

/** The line that cannot be read is written again where it stands; without one, or the second time, all of it is. */
function repair(
  base: CanvasRequest,
  request: CanvasRequest,
  text: string,
  reason: string,
  seed: number,
): CanvasRequest {
  const number = Number(/^line (\d+)/.exec(reason)?.[1] ?? 0);
  const lines = text.split("\n");
  if (!lines[number - 1] || request.text !== undefined) return { ...base, seed };
  const from = lines.slice(0, number - 1).reduce((length, line) => length + line.length + 1, 0);
  const to = from + (lines[number - 1]?.length ?? 0);
  return again(request, text, outside([[from, to]], text.length), seed);
}
