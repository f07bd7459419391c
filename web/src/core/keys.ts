/** Keys that mean the same on every page. */

function isTyping(event: KeyboardEvent): boolean {
  return event
    .composedPath()
    .some(
      (node) =>
        node instanceof HTMLTextAreaElement ||
        node instanceof HTMLSelectElement ||
        (node instanceof HTMLInputElement && node.type !== "checkbox"),
    );
}

/** -1 for undo, 1 for redo, 0 for any other key. Text fields have their own undo. */
export function undoKey(event: KeyboardEvent): -1 | 0 | 1 {
  const isUndo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  if (!isUndo || isTyping(event)) return 0;
  return event.shiftKey ? 1 : -1;
}

/** Whether it is the key that leads to the page's main field. */
export function isFieldKey(event: KeyboardEvent): boolean {
  return event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event);
}
