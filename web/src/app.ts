/** The shell: pages, theme, messages, and the key where the server wants one. */
import { css, html, LitElement, nothing, type PropertyValues } from "lit";
import { customElement, query, state } from "lit/decorators.js";
import { controls } from "./components/base";
import { api } from "./core/api";
import { followLooks, looks, setLooks, type Looks } from "./core/preferences";
import { navigate, pageOf, pages, restOf, type Page } from "./core/router";
import { announce, sayError, type Saying } from "./core/say";

const MIN_SHOWN_MS = 6000;
/** How long a character of a message takes to read. */
const CHARACTER_MS = 60;
const MAX_SHOWN = 3;
/** Where there is room for one. */
const NARROW = "(max-width: 48rem)";
/** Over so much of it, what the header has no room for fades. */
const FADE_PX = 40;
const NEXT_THEME: Record<Looks["theme"], Looks["theme"]> = { system: "light", light: "dark", dark: "system" };

interface PageElement extends HTMLElement {
  /** What stands behind the page's own path. */
  place: string;
}

@customElement("sf-app")
export class AppElement extends LitElement {
  @state() private path = location.pathname;
  @state() private loaded = new Set<string>();
  /** Pages that were open, by tag: one that is returned to is as it was left, and goes on meanwhile. */
  private readonly visited = new Map<string, PageElement>();
  /** The page whose script did not come. */
  @state() private failed: Page | null = null;
  @state() private theme = looks().theme;
  @state() private shown: readonly Saying[] = [];
  @state() private spoken = "";
  @query("dialog") private keyDialog!: HTMLDialogElement;

  static override styles = [
    controls,
    css`
      :host {
        min-height: 100dvh;
        display: grid;
        grid-template: auto 1fr / minmax(0, 1fr);
      }
      header {
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0.25rem 1rem;
        padding: 0.6rem 1rem;
        border-bottom: 1px solid var(--line);
        background: var(--surface);
      }
      .name {
        display: flex;
        align-items: center;
        gap: 0.5rem;
        font-weight: 650;
        color: inherit;
        text-decoration: none;
      }
      nav {
        display: flex;
        flex: 1;
        gap: 0.1rem;
        overflow-x: auto;
        scrollbar-width: none;
        /* That there are more pages is to be seen. */
        mask-image: linear-gradient(
          to right,
          transparent,
          black var(--before, 0px),
          black calc(100% - var(--after, 0px)),
          transparent
        );
      }
      @media (max-width: 48rem) {
        header {
          justify-content: space-between;
        }
        nav {
          order: 1;
          flex-basis: 100%;
        }
      }
      /* Its words end where the page does. */
      header > button {
        margin-right: -0.8rem;
      }
      nav a {
        padding: 0.3rem 0.6rem;
        border-radius: 8px;
        color: var(--muted);
        text-decoration: none;
        white-space: nowrap;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        background: var(--surface-2);
        color: var(--accent-text);
      }
      nav .gap {
        border-left: 1px solid var(--line);
        margin: 0.3rem 0.4rem;
      }
      main:focus {
        outline: none;
      }
      main {
        padding: 1.25rem 1rem 3rem;
        max-width: 82rem;
        width: 100%;
        margin-inline: auto;
        min-width: 0;
      }
      /* What a message covers can be scrolled up. */
      @media (max-width: 48rem) {
        main {
          padding-bottom: 8rem;
        }
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      code {
        white-space: nowrap;
      }
      .card p {
        margin: 0 0 0.5rem;
      }
      .pages {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(14rem, 100%), 1fr));
        gap: 0.75rem;
        list-style: none;
        padding: 0;
        margin: 0 0 2rem;
      }
      /* Six stand in two rows of three. */
      @media (min-width: 60rem) {
        .pages:has(> :nth-child(5)) {
          grid-template-columns: repeat(3, 1fr);
        }
      }
      .pages a {
        display: block;
        height: 100%;
        color: inherit;
        text-decoration: none;
      }
      .pages a:hover {
        border-color: var(--accent);
      }
      .pages strong {
        display: block;
      }
      .saying {
        position: fixed;
        inset: auto 1rem 1rem;
        display: grid;
        gap: 0.5rem;
        justify-items: center;
        /* What is beside it can be clicked. */
        pointer-events: none;
        z-index: 1000;
      }
      .saying > div {
        display: flex;
        gap: 0.5rem;
        align-items: center;
        max-width: min(40rem, 100%);
        padding: 0.4rem 0.4rem 0.4rem 1rem;
        border-radius: 10px;
        background: var(--text);
        color: var(--bg);
        pointer-events: auto;
      }
      .saying > .error {
        background: var(--error);
      }
      .saying span {
        max-height: 40vh;
        overflow-y: auto;
        overflow-wrap: anywhere;
        white-space: pre-line;
      }
      .saying button {
        flex: none;
        font-weight: 600;
      }
      .saying button:is(:hover, :focus-visible) {
        border-color: currentcolor;
        outline-color: currentcolor;
      }
      dialog {
        border: 1px solid var(--line);
        border-radius: 12px;
        background: var(--surface);
        color: inherit;
        width: min(26rem, 100% - 2rem);
      }
      dialog form {
        display: grid;
        gap: 0.75rem;
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("sf-looks", () => (this.theme = looks().theme));
    followLooks();
    addEventListener("popstate", () => {
      this.path = location.pathname;
      this.openPage();
    });
    addEventListener("sf-say", ({ detail }) => {
      // What is said twice is read twice only if it differs.
      this.spoken = this.spoken === detail.text ? `${detail.text}\u00a0` : detail.text;
      if (detail.quiet) return;
      // What is said again is not shown twice, and only the last change can be undone.
      const others = this.shown.filter(
        ({ text, action }) => text !== detail.text && (action === undefined || detail.action === undefined),
      );
      this.shown = [...others, detail].slice(matchMedia(NARROW).matches ? -1 : -MAX_SHOWN);
      const leave = () => {
        const isHeld = this.renderRoot.querySelector(".saying:hover, .saying:focus-within") !== null;
        if (isHeld) setTimeout(leave, MIN_SHOWN_MS);
        else this.hide(detail);
      };
      setTimeout(leave, Math.max(MIN_SHOWN_MS, CHARACTER_MS * detail.text.length));
    });
    addEventListener("sf-retract", ({ detail }) => this.hide(detail));
    addEventListener("unhandledrejection", (event) => sayError(event.reason));
    api.askForKey = () => this.askForKey();
    this.openPage();
  }

  override firstUpdated(): void {
    const nav = this.renderRoot.querySelector("nav");
    if (nav === null) return;
    const fade = () => {
      const { scrollLeft, scrollWidth, clientWidth } = nav;
      nav.style.setProperty("--before", `${Math.min(FADE_PX, scrollLeft)}px`);
      nav.style.setProperty("--after", `${Math.min(FADE_PX, scrollWidth - clientWidth - scrollLeft)}px`);
    };
    nav.addEventListener("scroll", fade, { passive: true });
    new ResizeObserver(() => {
      this.showLink();
      fade();
    }).observe(nav);
  }

  override updated(changes: PropertyValues): void {
    const before = changes.get("path") as string | undefined;
    if (before === undefined) return;
    this.showLink();
    const page = pageOf(this.path);
    if (pageOf(before) === page) return;
    // Screen readers and the keyboard go on from the new page.
    this.renderRoot.querySelector("main")?.focus({ preventScroll: true });
    announce(page?.title ?? "All pages");
  }

  /** Where the pages have no room side by side, the one that is open is to be seen. */
  private showLink(): void {
    const link = this.renderRoot.querySelector("nav [aria-current]");
    link?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  private openPage(): void {
    const page = pageOf(this.path);
    document.title = page === undefined ? "Sfumato" : `${page.title} · Sfumato`;
    if (page === undefined || this.loaded.has(page.tag)) return;
    this.failed = null;
    page.load().then(
      () => (this.loaded = new Set([...this.loaded, page.tag])),
      () => (this.failed = page),
    );
  }

  /** A script that did not come once may never come to this document, so that a new one is opened. */
  private async reopen(): Promise<void> {
    const page = this.failed;
    this.failed = null;
    try {
      await fetch(location.href, { method: "HEAD" });
      location.reload();
    } catch {
      this.failed = page;
      announce("The server still cannot be reached.");
    }
  }

  private async askForKey(): Promise<string | null> {
    await this.updateComplete;
    const dialog = this.keyDialog;
    dialog.returnValue = "";
    dialog.showModal();
    await new Promise((resolve) => {
      dialog.addEventListener("close", resolve, { once: true });
    });
    return (dialog.returnValue === "ok" && dialog.querySelector("input")?.value) || null;
  }

  /** Links of ours open without loading the page again. */
  private onClick(event: MouseEvent): void {
    const link = event
      .composedPath()
      .find((node): node is HTMLAnchorElement => node instanceof HTMLAnchorElement);
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (link === undefined || !isPlain || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || (link.pathname !== "/" && pageOf(link.pathname) === undefined))
      return;
    if (pageOf(link.pathname)?.isAlone === true || pageOf(this.path)?.isAlone === true) return;
    event.preventDefault();
    navigate(link.pathname + link.search + link.hash);
  }

  private link(page: Page) {
    return html`<a href=${page.path} aria-current=${pageOf(this.path) === page ? "page" : nothing}
      >${page.title}</a
    >`;
  }

  override render() {
    const page = pageOf(this.path);
    return html`<div style="display: contents" @click=${this.onClick}>
      <header>
        <a
          class="skip"
          href="#main"
          @click=${(event: Event) => {
            event.preventDefault();
            this.renderRoot.querySelector("main")?.focus();
          }}
          >Skip to content</a
        >
        <a class="name" href="/"><img src="/icon.svg" width="26" height="26" alt="" />Sfumato</a>
        <nav aria-label="Pages">
          ${pages.filter(({ group }) => group === "studio").map((each) => this.link(each))}
          <span class="gap"></span>
          ${pages.filter(({ group }) => group === "apps").map((each) => this.link(each))}
        </nav>
        <button class="quiet" @click=${() => setLooks({ theme: NEXT_THEME[this.theme] })}>
          Theme: ${this.theme}
        </button>
      </header>
      <main tabindex="-1">${page === undefined ? this.overview() : this.page(page)}</main>
      ${
        this.shown.length === 0
          ? nothing
          : html`<div class="saying">${this.shown.map((each) => this.saying(each))}</div>`
      }
      <div class="visually-hidden" role="status" aria-live="polite">${this.spoken}</div>
      <dialog aria-labelledby="key-title">
        <form method="dialog">
          <h2 id="key-title">This server needs a key</h2>
          <label>Key <input type="password" autocomplete="off" autofocus /></label>
          <div class="row">
            <button class="primary" value="ok">Use it</button>
            <button value="">Cancel</button>
          </div>
        </form>
      </dialog>
    </div>`;
  }

  private hide(saying: Saying): void {
    this.shown = this.shown.filter((each) => each !== saying);
  }

  private saying(saying: Saying) {
    const { text, kind, action } = saying;
    const run = () => {
      this.hide(saying);
      action?.run();
    };
    return html`<div class=${kind}>
      <span>${text}</span>
      ${action === undefined ? nothing : html`<button class="quiet" @click=${run}>${action.label}</button>`}
      <button class="quiet" aria-label="Close the message" @click=${() => this.hide(saying)}>✕</button>
    </div>`;
  }

  private page(page: Page) {
    if (this.failed === page) {
      return html`<h1>${page.title}</h1>
        <div class="card" role="alert">
          <p class="error">This page could not be loaded. Is the server running?</p>
          <button @click=${() => this.reopen()}>Try again</button>
        </div>`;
    }
    if (!this.loaded.has(page.tag)) return html`<p class="muted" role="status">Opening ${page.title} …</p>`;
    const element = this.visited.get(page.tag) ?? (document.createElement(page.tag) as PageElement);
    this.visited.set(page.tag, element);
    element.place = restOf(this.path);
    return element;
  }

  private overview() {
    const list = (group: Page["group"]) =>
      html`<ul class="pages">
        ${pages
          .filter((page) => page.group === group)
          .map(
            (page) =>
              html`<li>
                <a class="card" href=${page.path}
                  ><strong>${page.title}</strong><span class="muted">${page.summary}</span></a
                >
              </li>`,
          )}
      </ul>`;
    return html`<h1>Watch text take shape, and change it in place</h1>
      <p class="muted">
        Every page talks only to the server that it came from. That server hands nothing on, unless it was
        started with <code>--upstream</code> or <code>--images</code>.
      </p>
      <h2>Studio</h2>
      ${list("studio")}
      <h2>Apps</h2>
      ${list("apps")}`;
  }
}
