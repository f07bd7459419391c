/** What the browser calls what is kept under a name. */
export function keyOf(name: string): string {
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

export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(keyOf(name), JSON.stringify(value));
  } catch {
    // Private windows may have no room; the choice then lasts as long as the page.
  }
}

/** Has `react` get what other tabs remember under a name from now on; returns what ends that. */
export function onRemembered(name: string, react: (value: unknown) => void): () => void {
  const listen = ({ key }: StorageEvent) => {
    if (key === keyOf(name)) react(remembered<unknown>(name, null));
  };
  addEventListener("storage", listen);
  return () => removeEventListener("storage", listen);
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
  for (const [name, value] of Object.entries(change)) remember(name, value);
  Object.assign(document.documentElement.dataset, change);
  window.dispatchEvent(new Event("sf-looks"));
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
