/** Whether a prompt is one that a model was trained on, as `sfumato.data.kinds` tells. */
import { isOfKind } from "../core/kinds";
import type { PromptKind } from "../core/protocol";

const SHOWN = 60;

/** What is wrong with a prompt; null if it is of one of a model's kinds, or the model lists none. */
export function refusalOf(prompt: string, kinds: readonly PromptKind[], model: string): string | null {
  if (kinds.length === 0 || kinds.some((kind) => isOfKind(kind, prompt) ?? true)) return null;
  const shown = prompt.length <= SHOWN ? prompt : `${prompt.slice(0, SHOWN)}...`;
  const examples = kinds.map(({ name, example }) => `${name}: ${JSON.stringify(example)}`);
  return `${model} was not trained on prompts like ${JSON.stringify(shown)}. It knows, for example:\n${examples.join("\n")}`;
}
