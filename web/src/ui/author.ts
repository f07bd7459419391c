/** A model that writes screens and changes them: what it is asked, and what comes of it. */
import type { Api } from "../core/api";
import { ApiError } from "../core/api";
import { applyEvent, emptyView, textOf, type CanvasView } from "../core/canvas";
import type { ModelCard, Usage } from "../core/protocol";
import { execute, isRefusal } from "./edits";
import { PageError, parse, parseDraft, toText, type Component } from "./tree";

/** Between a page and a sentence about it. */
const MARK = "\n> ";
/** Answers that cannot be used are asked for again, with other seeds. */
const ATTEMPTS = 3;

export interface Written {
  readonly page: Component;
  /** What changed the page; null for one that is new. */
  readonly program: string | null;
  readonly usage: Usage | null;
  readonly ms: number;
}

/** Nothing that was said can be done; the message is for the person. */
export class NotUnderstood extends Error {
  override name = "NotUnderstood";
}

/** The models that write screens. */
export function authors(cards: readonly ModelCard[]): ModelCard[] {
  return cards.filter(({ sfumato }) => sfumato.tasks.includes("ui_screen"));
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
    signal?: AbortSignal;
    onDraft?: (page: Component, view: CanvasView) => void;
  } = {},
): Promise<Written> {
  const { page = null, seed = 0, signal, onDraft } = options;
  const said = sentence.replace(/\s+/gu, " ").trim();
  const prompt = page === null ? `screen: ${said}` : toText(page) + MARK + said;
  const start = performance.now();
  let reason = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { text, usage } = await answer(api, { model, prompt, seed: seed + attempt }, signal, (view) => {
      if (page !== null || onDraft === undefined) return;
      const draft = parseDraft(textOf(view));
      if (draft !== null) onDraft(draft, view);
    });
    if (page !== null && isRefusal(text)) throw new NotUnderstood(`The model declines: ${text}.`);
    try {
      const made = page === null ? parse(text) : execute(page, text);
      return { page: made, program: page === null ? null : text, usage, ms: performance.now() - start };
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      reason = error.message;
    }
  }
  throw new NotUnderstood(`The model wrote nothing that can be shown (${reason}); say it in other words.`);
}

async function answer(
  api: Api,
  request: { model: string; prompt: string; seed: number },
  signal: AbortSignal | undefined,
  onView: (view: CanvasView) => void,
): Promise<{ text: string; usage: Usage | null }> {
  let view = emptyView("");
  for await (const event of api.stream({ ...request, every_step: false }, signal)) {
    view = applyEvent(view, event);
    onView(view);
  }
  if (view.status !== "done") {
    throw new ApiError(0, view.ending.error ?? { message: "the answer was broken off" });
  }
  return { text: textOf(view), usage: view.ending.usage ?? null };
}
