/** Whether a prompt is one that a model was trained on, as `sfumato.data.kinds` tells. */
import type { ModelCard, PromptKind } from "./protocol";

/** What the canvas page begins with, where a model takes it: its answer is revised while it forms. */
export const FIRST = "answer, then derive: 7*6+3^2";

/** What tells of a model's kinds: its card. */
interface Kinds {
  readonly sfumato: { readonly kinds: readonly PromptKind[] };
}

/** Whether a prompt is of a kind; undefined where only the server can tell. */
export function isOfKind({ pattern }: PromptKind, prompt: string): boolean | undefined {
  if (typeof pattern !== "string") return undefined;
  try {
    return new RegExp(`^(?:${pattern})$`, "s").test(prompt);
  } catch {
    // It is Python's, most of which JavaScript knows.
    return undefined;
  }
}

/** Whether a model takes a prompt, as far as its kinds tell. */
export function takes({ sfumato: { kinds } }: Kinds, prompt: string): boolean {
  return kinds.length === 0 || kinds.some((kind) => isOfKind(kind, prompt) ?? true);
}

/** The kinds to choose from instead, for a model that does not take a prompt. */
export function kindsInstead(card: Kinds | undefined, prompt: string): readonly PromptKind[] {
  return card === undefined || takes(card, prompt) ? [] : card.sfumato.kinds;
}

/** A prompt, and models that take it, for a start: the given prompt, or else an example of the models. The first model
 * revises its text where one does; the one to compare it with is its twin, if it has one. */
export function lineUp(cards: readonly ModelCard[], prompt: string): { prompt: string; ids: string[] } {
  const examples = cards.flatMap(({ sfumato }) => sfumato.kinds.map(({ example }) => example));
  const fitting = (text: string) => cards.filter((card) => takes(card, text));
  const asked = [prompt, ...examples].find((text) => fitting(text).length > 1) ?? prompt;
  const able = fitting(asked);
  const among = able.length > 1 ? able : cards;
  const first = among.find(({ capabilities }) => capabilities.includes("canvas")) ?? among[0];
  const twin = among.find(({ id }) => id === `${first?.id ?? ""}-twin`);
  const second = twin ?? among.find(({ id }) => id !== first?.id);
  return { prompt: asked, ids: [first, second].flatMap((card) => (card === undefined ? [] : [card.id])) };
}
