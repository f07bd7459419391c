/** Pages by path. */
export interface Page {
  path: string;
  title: string;
  /** One line for the page of all pages. */
  summary: string;
  group: "studio" | "apps";
  tag: string;
  load: () => Promise<unknown>;
  /** Whether it is a document of its own, with headers of its own. */
  isAlone?: boolean;
}

export const pages: readonly Page[] = [
  {
    path: "/canvas",
    title: "Canvas",
    summary: "Watch a text form step by step, and change it in place.",
    group: "studio",
    tag: "sf-canvas-page",
    load: () => import("../pages/canvas"),
  },
  {
    path: "/editor",
    title: "Editor",
    summary: "Select code and say what to change; nothing else is touched.",
    group: "studio",
    tag: "sf-editor-page",
    load: () => import("../pages/editor"),
  },
  {
    path: "/race",
    title: "Race",
    summary: "Two to four models answer the same prompt, timed side by side.",
    group: "studio",
    tag: "sf-race-page",
    load: () => import("../pages/race"),
  },
  {
    path: "/structure",
    title: "Structure",
    summary: "Turn a text into JSON that fits a schema, field by field.",
    group: "studio",
    tag: "sf-structure-page",
    load: () => import("../pages/structure"),
  },
  {
    path: "/cost",
    title: "Cost",
    summary: "Live charts of this server: steps, positions, queue and speed.",
    group: "studio",
    tag: "sf-cost-page",
    load: () => import("../pages/cost"),
  },
  {
    path: "/tab",
    title: "Tab",
    summary: "Run a model in this browser, without server or network.",
    group: "studio",
    tag: "sf-tab-page",
    load: () => import("../pages/tab"),
    isAlone: true,
  },
  {
    path: "/todo",
    title: "To-do",
    summary: "Describe a list, then say how to change it.",
    group: "apps",
    tag: "sf-todo-page",
    load: () => import("../pages/todo"),
  },
  {
    path: "/encyclopedia",
    title: "Encyclopedia",
    summary: "Open any topic: its page is written while you watch.",
    group: "apps",
    tag: "sf-encyclopedia-page",
    load: () => import("../pages/encyclopedia"),
  },
  {
    path: "/forum",
    title: "Forum",
    summary: "A forum on any topic, where models post and reply to you.",
    group: "apps",
    tag: "sf-forum-page",
    load: () => import("../pages/forum"),
  },
  {
    path: "/desktop",
    title: "Desktop",
    summary: "Files, a terminal, and apps that a model writes when you open them.",
    group: "apps",
    tag: "sf-desktop-page",
    load: () => import("../pages/desktop"),
  },
];

/** The page of a path such as "/todo" or "/editor/canvas_1"; undefined for the page of all pages. */
export function pageOf(path: string): Page | undefined {
  return pages.find((page) => path === page.path || path.startsWith(`${page.path}/`));
}

/** What stands behind the page's own path. */
export function restOf(path: string): string {
  const rest = path.split("/").slice(2).join("/");
  try {
    return decodeURIComponent(rest);
  } catch {
    // A percent sign that was typed by hand.
    return rest;
  }
}

/** Goes to another page, at its top, or with `replace` to another place of this one. */
export function navigate(path: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  if (!replace) window.scrollTo(0, 0);
  window.dispatchEvent(new PopStateEvent("popstate"));
}
