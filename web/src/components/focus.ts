/** Where the keyboard goes on when what had the focus is gone. */

/** Focuses what has taken a place among all that fit a selector, else the last one; false if there is none. */
export function focusPlace(root: ParentNode, selector: string, index: number): boolean {
  const all = [...root.querySelectorAll<HTMLElement>(selector)].filter(({ hidden }) => !hidden);
  const found = all[index] ?? all.at(-1);
  found?.focus();
  return found !== undefined;
}
