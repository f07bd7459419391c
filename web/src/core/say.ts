import { sentenceOf } from "./files";

/** Short messages: shown for a while, and read out by screen readers. */
export interface Saying {
  text: string;
  kind: "note" | "error";
  /** Only for screen readers: what others see anyway. */
  quiet: boolean;
  action?: Action | undefined;
}

/** What a message offers, such as to undo what it tells of. */
export interface Action {
  readonly label: string;
  readonly run: () => void;
}

declare global {
  interface WindowEventMap {
    "sf-say": CustomEvent<Saying>;
    "sf-retract": CustomEvent<Saying>;
  }
}

function dispatch(saying: Saying): void {
  window.dispatchEvent(new CustomEvent("sf-say", { detail: saying }));
}

/** Tells everybody; gives what hides the message again. */
export function say(text: string, action?: Action): () => void {
  const saying: Saying = { text, kind: "note", quiet: false, action };
  dispatch(saying);
  return () => window.dispatchEvent(new CustomEvent("sf-retract", { detail: saying }));
}

/** Tells what came of an undo (-1) or a redo (1). */
export function tellMove(by: number, isDone: boolean): void {
  if (isDone) announce(by < 0 ? "Undone." : "Done again.");
  else say(`There is nothing to ${by < 0 ? "undo" : "redo"}.`);
}

/** Tells those who do not see the page: that a text is there, not every step to it. */
export function announce(text: string): void {
  dispatch({ text, kind: "note", quiet: true });
}

/** Whether something ended because a person stopped it. */
export function isStop(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** What went wrong, in the words of the error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Says what went wrong. */
export function sayError(error: unknown): void {
  if (!isStop(error)) dispatch({ text: sentenceOf(error), kind: "error", quiet: false });
}
