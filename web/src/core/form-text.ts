/** Values as models write them, and where each stands in their text. */
import type { CanvasView } from "./canvas";
import { nodeAt, parsePartial, type JsonNode } from "./partial-json";
import type { Span } from "./protocol";
import { pointerOf, type Path } from "./schema";

/** JSON with a space behind colons and commas, as the models that we know write it. */
export function writeJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeJson).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const parts = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${writeJson(each)}`);
    return `{${parts.join(", ")}}`;
  }
  return JSON.stringify(value ?? null);
}

/** Where values stand in a text, those that are there. */
export function spansOf(text: string, paths: readonly Path[]): Span[] {
  const root = parsePartial(text);
  return paths.flatMap((path) => {
    const node = nodeAt(root, path);
    return node === null ? [] : [[node.start, node.end] as Span];
  });
}

/** How sure a model is of each value without parts, by pointer: of the least sure of its tokens. */
export function certainties(view: CanvasView, text: string): Map<string, number> {
  const found = new Map<string, number>();
  const places: { start: number; end: number; confidence: number }[] = [];
  let at = 0;
  for (const token of view.tokens) {
    places.push({ start: at, end: at + token.text.length, confidence: token.confidence ?? 1 });
    at += token.text.length;
  }
  const visit = (node: JsonNode, path: Path): void => {
    if (node.children.size === 0) {
      const inside = places.filter(({ start, end }) => start < node.end && end > node.start);
      found.set(pointerOf(path), Math.min(1, ...inside.map(({ confidence }) => confidence)));
    }
    for (const [name, child] of node.children) visit(child, [...path, name]);
  };
  const root = parsePartial(text);
  if (root !== null) visit(root, []);
  return found;
}
