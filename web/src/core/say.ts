/** Short messages: shown for a while, and read out by screen readers. */
export interface Saying {
  text: string;
  kind: "note" | "error";
  /** Only for screen readers: what others see anyway. */
  quiet: boolean;
}

declare global {
  interface WindowEventMap {
    "sf-say": CustomEvent<Saying>;
  }
}

function dispatch(saying: Saying): void {
  window.dispatchEvent(new CustomEvent("sf-say", { detail: saying }));
}

/** Tells everybody. */
export function say(text: string): void {
  dispatch({ text, kind: "note", quiet: false });
}

/** Tells those who do not see the page: that a text is there, not every step to it. */
export function announce(text: string): void {
  dispatch({ text, kind: "note", quiet: true });
}

/** Says what went wrong, in the words of the error. */
export function sayError(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  dispatch({ text: error instanceof Error ? error.message : String(error), kind: "error", quiet: false });
}
