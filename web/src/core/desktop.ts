/** The windows of the desktop, and what is kept of them. Values, never changed in place. */
import { placeBeside, type Place, type Room } from "./place";
import { go, noSteps, push, type Steps } from "./steps";
import { PageError, parse, toText, type Component } from "../ui/tree";

/** Apps of the desktop itself; each other one is written by a model. */
export type OwnKind = "files" | "terminal" | "settings" | "file";

export interface App {
  readonly name: string;
  /** What its first screen is asked for with; empty for an app of the desktop itself. */
  readonly sentence: string;
  readonly own?: OwnKind;
  /** Of the file that it shows. */
  readonly path?: string;
}

export interface Win {
  readonly id: number;
  readonly app: App;
  readonly place: Place;
  readonly isMinimised: boolean;
  readonly pages: Steps<Component>;
  readonly draft: Component | null;
  readonly isWriting: boolean;
  readonly error: string;
}

export interface Desktop {
  /** The last one is in front. */
  readonly windows: readonly Win[];
  readonly next: number;
}

export const OWN_APPS: readonly App[] = [
  { name: "Files", sentence: "", own: "files" },
  { name: "Terminal", sentence: "", own: "terminal" },
  { name: "Settings", sentence: "", own: "settings" },
];

export const APPS: readonly App[] = [
  { name: "Moving", sentence: "a to-do list with eight items about moving house, three done" },
  { name: "Kitchen", sentence: "a table about cooking with 6 rows, columns name, notes and amount" },
  {
    name: "Road trip",
    sentence: "tasks to check off for a road trip with five items, the first 2 ticked off",
  },
  { name: "Savings", sentence: "a to-do list about savings with five items and an input for new ones" },
  { name: "Podcast", sentence: "a table on a podcast with 4 rows, with the columns name, priority, date" },
  { name: "Wedding", sentence: "a page where I can enter guest, phone and comment on a wedding" },
  { name: "Gym", sentence: "a table about the gym with 5 entries, columns name, date and done" },
  { name: "Music", sentence: "a numbered list about music with 5 things in dark mode" },
];

const MAX_NAME = 40;

/** A name that is not too long, by whole words where it can be. */
export function shortened(name: string): string {
  if (name.length <= MAX_NAME) return name;
  const cut = name.slice(0, MAX_NAME);
  return `${cut.replace(/\s+\S*$/u, "")} …`;
}

export function emptyDesktop(): Desktop {
  return { windows: [], next: 1 };
}

export function opened(desktop: Desktop, app: App, room: Room): Desktop {
  const shown = desktop.windows.filter(({ isMinimised }) => !isMinimised);
  const place = placeBeside(
    shown.map((each) => each.place),
    room,
  );
  const win: Win = {
    id: desktop.next,
    app,
    place,
    isMinimised: false,
    pages: noSteps(),
    draft: null,
    isWriting: false,
    error: "",
  };
  return { windows: [...desktop.windows, win], next: desktop.next + 1 };
}

/** The window in front. */
export function front(desktop: Desktop): Win | undefined {
  return desktop.windows.findLast(({ isMinimised }) => !isMinimised);
}

export function changed(desktop: Desktop, id: number, change: Partial<Win>): Desktop {
  return {
    ...desktop,
    windows: desktop.windows.map((each) => (each.id === id ? { ...each, ...change } : each)),
  };
}

export function raised(desktop: Desktop, id: number): Desktop {
  const found = desktop.windows.find((each) => each.id === id);
  if (found === undefined || desktop.windows.at(-1) === found) return desktop;
  return { ...desktop, windows: [...desktop.windows.filter((each) => each !== found), found] };
}

export function closed(desktop: Desktop, id: number): Desktop {
  return { ...desktop, windows: desktop.windows.filter((each) => each.id !== id) };
}

export function withPage(desktop: Desktop, id: number, page: Component): Desktop {
  const win = desktop.windows.find((each) => each.id === id);
  return win === undefined ? desktop : changed(desktop, id, { pages: push(win.pages, page), error: "" });
}

export function moved(desktop: Desktop, id: number, by: number): Desktop {
  const win = desktop.windows.find((each) => each.id === id);
  return win === undefined ? desktop : changed(desktop, id, { pages: go(win.pages, by) });
}

const MAX_KEPT = 20;

/**
 * What is kept of it: windows, what they show now, and what they showed before. An app of the desktop itself shows files
 * and settings, which are kept elsewhere, so that only its last page is.
 */
export function stored(desktop: Desktop): unknown {
  return desktop.windows.map(({ app, place, isMinimised, pages }) => {
    const first = app.own === undefined ? Math.max(0, pages.at + 1 - MAX_KEPT) : pages.at;
    const shown = pages.all.slice(first, app.own === undefined ? undefined : pages.at + 1);
    return { app, place, isMinimised, pages: shown.map((page) => toText(page)), at: pages.at - first };
  });
}

function isTexts(given: unknown): given is string[] {
  return Array.isArray(given) && given.every((each) => typeof each === "string");
}

/** Whether two desktops that were kept show the same, wherever their windows are. */
export function isSameContent(one: unknown, other: unknown): boolean {
  const [here, there] = [one, other].map((kept) =>
    restored(kept)
      .windows.map(({ app, pages }) => JSON.stringify([app, pages.all.map((page) => toText(page)), pages.at]))
      .sort()
      .join("\n"),
  );
  return here === there;
}

/** The desktop that was kept; what cannot be read of it is left out. */
export function restored(kept: unknown): Desktop {
  let desktop = emptyDesktop();
  for (const each of Array.isArray(kept) ? (kept as unknown[]) : []) {
    // Earlier versions kept one page.
    const { app, place, isMinimised, page, pages = [page], at } = (each ?? {}) as Record<string, unknown>;
    const { name, sentence, own, path } = (app ?? {}) as Partial<App>;
    const numbers = Object.values((place ?? {}) as Place);
    if (typeof name !== "string" || typeof sentence !== "string" || !isTexts(pages)) continue;
    if (pages.length === 0 && own !== undefined) continue;
    if (numbers.length !== 4 || !numbers.every(Number.isFinite)) continue;
    try {
      const id = desktop.next;
      const found = { name, sentence, ...(own && { own }), ...(path && { path }) };
      const shown = pages.map((text) => parse(text));
      desktop = opened(desktop, found, { width: 1000, height: 500 });
      for (const page of shown) desktop = withPage(desktop, id, page);
      if (typeof at === "number") desktop = moved(desktop, id, at - (pages.length - 1));
      desktop = changed(desktop, id, { place: place as Place, isMinimised: isMinimised === true });
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
    }
  }
  return desktop;
}
