import { sayError } from "./say";

/** What the browser calls what is kept under a name. */
function keyOf(name: string): string {
  return `sfumato.${name}`;
}

/** What a person chose, kept by the browser where it can be. */
export function remembered<T>(name: string, otherwise: T): T {
  try {
    const text = localStorage.getItem(keyOf(name));
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

let isFull = false;

/** Keeps something in the browser. Where that has no room, as in some private windows, says so once. */
export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(value));
    isFull = false;
  } catch {
    if (!isFull)
      sayError("This browser has no room left: what you change now is lost when you close the page.");
    isFull = true;
  }
}

/** Has `react` get what other tabs remember under a name from now on. */
export function onRemembered(name: string, react: (value: unknown) => void): void {
  addEventListener("storage", ({ key }) => {
    if (key === keyOf(name)) react(remembered<unknown>(name, null));
  });
}

/** What each choice of a look may be; the first is the default. */
export const LOOKS = {
  theme: ["system", "light", "dark"],
  text: ["medium", "small", "large"],
  motion: ["system", "reduced"],
} as const;
export type Looks = { readonly [K in keyof typeof LOOKS]: (typeof LOOKS)[K][number] };

const names = Object.keys(LOOKS) as (keyof Looks)[];

/** How every page looks: light or dark, the size of its text, and whether it moves. */
export function looks(): Looks {
  return Object.fromEntries(names.map((name) => [name, remembered(name, LOOKS[name][0])])) as Looks;
}

/** Changes the look of all pages, by attributes that the style sheet reads, and tells them by `sf-looks`. */
export function setLooks(change: Partial<Looks>): void {
  for (const [name, value] of Object.entries(change)) {
    if (remembered<unknown>(name, null) !== value) remember(name, value);
  }
  Object.assign(document.documentElement.dataset, change);
  window.dispatchEvent(new Event("sf-looks"));
}

/** Follows what other tabs choose. */
export function followLooks(): void {
  for (const name of names) onRemembered(name, () => setLooks({ [name]: looks()[name] }));
}

/** Whether pages are dark. */
export function isDark(): boolean {
  const { theme } = looks();
  return theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
}

/** Whether the person, or the system, wants nothing to move. */
export function isMotionReduced(): boolean {
  return getComputedStyle(document.documentElement).getPropertyValue("--motion").trim() === "0";
}
