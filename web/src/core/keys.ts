/** Keys and words that mean the same on every page. */

const NOT_TYPED = ["button", "checkbox", "color", "file", "radio", "range", "submit"];

function isTyping(event: KeyboardEvent): boolean {
  return event
    .composedPath()
    .some(
      (node) =>
        node instanceof HTMLTextAreaElement ||
        (node instanceof HTMLInputElement && !NOT_TYPED.includes(node.type)),
    );
}

/** -1 for undo, 1 for redo, 0 for any other key. Text fields have their own undo. */
export function undoKey(event: KeyboardEvent): -1 | 0 | 1 {
  if (!(event.ctrlKey || event.metaKey) || isTyping(event)) return 0;
  const key = event.key.toLowerCase();
  if (key === "z") return event.shiftKey ? 1 : -1;
  return key === "y" && event.ctrlKey ? 1 : 0;
}

const WHAT = "(?: (?:that|it|this|(?:the|my) last (?:change|step|edit|one)))?";
const BACK = new RegExp(`^(?:undo${WHAT}|take (?:that|it|this) back|revert${WHAT})$`);
const FORTH = new RegExp(`^(?:redo${WHAT}|undo the undo)$`);

const RESTART =
  /^(?:start (?:over|again|afresh|from scratch)|clear (?:everything|the screen|the page)|reset(?: everything)?)$/;

/** What a sentence asks for, without politeness. */
function bare(sentence: string): string {
  return sentence
    .toLowerCase()
    .replace(/[.,!?…]/g, " ")
    .replace(/\b(?:please|no|oops|ok|okay|sorry|now|thanks)\b/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}

/** Whether a sentence asks to begin with an empty screen. */
export function restarts(sentence: string): boolean {
  return RESTART.test(bare(sentence));
}

/** -1 for a sentence that asks to undo the last change, 1 for redo, 0 for any other. */
export function undoWords(sentence: string): -1 | 0 | 1 {
  const said = bare(sentence);
  return BACK.test(said) ? -1 : FORTH.test(said) ? 1 : 0;
}

/** Whether it is the key that leads to the page's main field. */
export function isFieldKey(event: KeyboardEvent): boolean {
  return event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event);
}
