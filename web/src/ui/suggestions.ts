/** What can be said of a screen: sentences that fit what is on it. */
import { get, visible, walk, type Component } from "./tree";

export function suggestions(page: Component): string[] {
  const shown = [...walk(page)];
  const [list] = shown.filter(
    ({ kind, children }) => (kind === "list" || kind === "table") && children.length > 0,
  );
  const entries = visible(list?.children ?? []);
  const boxes = entries.filter(({ kind }) => kind === "checkbox");
  const isOpen = (box: Component) => get(box, "on") === undefined;
  const column = list?.kind === "table" ? list.cells[0]?.toLowerCase() : "name";
  const button = shown.find(({ kind }) => kind === "button");
  return [
    ...(entries.length > 1 ? [`sort by ${column ?? "name"}`] : []),
    get(page, "theme") === "dark" ? "light mode" : "dark mode",
    ...(boxes.some(isOpen) && !boxes.every(isOpen) ? ["show only the open ones"] : []),
    ...(entries.length > 1 ? ["delete the second"] : []),
    ...(boxes[0] !== undefined && isOpen(boxes[0]) ? ["tick off the first one"] : []),
    ...(list === undefined && button !== undefined
      ? [`rename ${button.text} to Ready`, `make the ${button.text} button green`]
      : []),
  ];
}
