/** A desktop whose apps are made when they are opened: each is a screen in a window, which works and can be changed. */
import { css, html, LitElement, nothing } from "lit";
import { customElement, property, state } from "lit/decorators.js";
import { repeat } from "lit/directives/repeat.js";
import { controls } from "../components/base";
import type { Place } from "../components/window";
import "../components/window";
import { api } from "../core/api";
import {
  APPS,
  changed,
  closed,
  moved,
  opened,
  raised,
  restored,
  stored,
  withPage,
  type App,
  type Desktop,
  type Win,
} from "../core/desktop";
import { undoKey } from "../core/keys";
import { remember, remembered } from "../core/preferences";
import { announce, say, sayError } from "../core/say";
import { current } from "../core/steps";
import type { Effect } from "../ui/actions";
import { authors, NotUnderstood, write } from "../ui/author";
import { execute } from "../ui/edits";
import "../ui/screen";
import { toText, type Component } from "../ui/tree";

const STORED = "desktop";

@customElement("sf-desktop-page")
export class DesktopPage extends LitElement {
  @property() place = "";
  @state() private model: string | null = null;
  @state() private desktop: Desktop = restored(remembered<unknown>(STORED, []));
  private stopping = new Map<number, AbortController>();
  private asked = 0;

  static override styles = [
    controls,
    css`
      .page {
        display: grid;
        gap: 0.75rem;
        grid-template-columns: minmax(0, 1fr);
      }
      .apps {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
      }
      .apps button {
        display: grid;
        justify-items: center;
        gap: 0.15rem;
        width: 5.6rem;
        padding: 0.5rem 0.25rem;
      }
      .apps b {
        display: grid;
        place-items: center;
        width: 2.2rem;
        height: 2.2rem;
        border-radius: 10px;
        background: var(--accent);
        color: var(--on-accent);
      }
      .surface {
        position: relative;
        min-height: 70vh;
        border: 1px solid var(--line);
        border-radius: 14px;
        overflow: hidden;
        background:
          radial-gradient(
            circle at 20% 20%,
            color-mix(in oklab, var(--accent) 18%, transparent),
            transparent 60%
          ),
          radial-gradient(
            circle at 80% 80%,
            color-mix(in oklab, var(--warm) 18%, transparent),
            transparent 60%
          ),
          var(--bg);
      }
      form {
        display: flex;
        gap: 0.4rem;
        padding: 0.5rem;
        border-bottom: 1px solid var(--line);
      }
      form input {
        flex: 1;
      }
      .bar {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
        min-height: 2.4rem;
      }
      .note {
        padding: 0.75rem;
        margin: 0;
      }
      @media (max-width: 40rem) {
        .surface {
          display: grid;
          gap: 0.5rem;
          padding: 0.5rem;
          align-content: start;
        }
      }
    `,
  ];

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("keydown", this.onKey);
    api.models().then((cards) => (this.model = authors(cards)[0]?.id ?? ""), sayError);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("keydown", this.onKey);
    for (const each of this.stopping.values()) each.abort();
  }

  private onKey = (event: KeyboardEvent): void => {
    const by = undoKey(event);
    const front = this.desktop.windows.filter(({ isMinimised }) => !isMinimised).at(-1);
    if (by === 0 || front === undefined) return;
    event.preventDefault();
    this.change(moved(this.desktop, front.id, by));
  };

  private change(desktop: Desktop): void {
    this.desktop = desktop;
    remember(STORED, stored(desktop));
  }

  private open(app: App): void {
    const id = this.desktop.next;
    this.change(opened(this.desktop, app, this.clientWidth));
    void this.ask(id, app.sentence);
  }

  private async ask(id: number, sentence: string): Promise<void> {
    const win = this.desktop.windows.find((each) => each.id === id);
    if (win === undefined || win.isWriting || !this.model || sentence.trim() === "") return;
    const stop = new AbortController();
    this.stopping.set(id, stop);
    const page = current(win.pages) ?? null;
    this.desktop = changed(this.desktop, id, { isWriting: true, error: "" });
    try {
      const made = await write(api, this.model, sentence, {
        page,
        seed: this.asked++,
        signal: stop.signal,
        onDraft: (draft) => (this.desktop = changed(this.desktop, id, { draft })),
      });
      if (page !== null && toText(page) === toText(made.page)) say("It is like that already.");
      else this.change(withPage(this.desktop, id, made.page));
      announce(`${win.app.name}: changed.`);
    } catch (error) {
      if (error instanceof NotUnderstood) {
        if (page === null) this.desktop = changed(this.desktop, id, { error: error.message });
        else say(error.message);
      } else if (!stop.signal.aborted) {
        sayError(error);
        this.desktop = changed(this.desktop, id, { error: page === null ? "It was not written." : "" });
      }
    } finally {
      this.desktop = changed(this.desktop, id, { isWriting: false, draft: null });
    }
  }

  private onEffect(win: Win, page: Component, effect: Effect): void {
    if (effect.say !== undefined) say(effect.say);
    if (effect.ask !== undefined) void this.ask(win.id, effect.ask);
    if (effect.program === undefined || effect.program === "") return;
    try {
      this.change(withPage(this.desktop, win.id, execute(page, effect.program)));
    } catch (error) {
      sayError(error);
    }
  }

  private onWindow(win: Win, what: "close" | "minimise" | "front"): void {
    if (what === "close") {
      this.stopping.get(win.id)?.abort();
      this.change(closed(this.desktop, win.id));
    } else if (what === "minimise") this.change(changed(this.desktop, win.id, { isMinimised: true }));
    else this.change(raised(this.desktop, win.id));
  }

  override render() {
    return html`<div class="page">
      <h1>Desktop</h1>
      ${
        this.model === ""
          ? html`<p class="muted">
              No model of this server writes screens; start it with one: sfumato serve ui
            </p>`
          : nothing
      }
      <div class="apps" role="group" aria-label="Apps">
        ${APPS.map(
          (app) =>
            html`<button ?disabled=${!this.model} @click=${() => this.open(app)}>
              <b aria-hidden="true">${app.name[0]}</b>${app.name}
            </button>`,
        )}
      </div>
      <div class="surface">
        ${
          this.desktop.windows.length === 0
            ? html`<p class="note muted">
                Open an app: it is made then. Say in its window what should be different.
              </p>`
            : nothing
        }
        ${repeat(
          [...this.desktop.windows].sort((a, b) => a.id - b.id),
          ({ id }) => id,
          (win) => this.window(win),
        )}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${this.desktop.windows
          .filter(({ isMinimised }) => isMinimised)
          .map(
            (win) =>
              html`<button
                @click=${() => this.change(raised(changed(this.desktop, win.id, { isMinimised: false }), win.id))}
              >
                ${win.app.name}
              </button>`,
          )}
      </div>
    </div>`;
  }

  private window(win: Win) {
    const page = win.draft ?? current(win.pages) ?? null;
    const order = this.desktop.windows.indexOf(win);
    return html`<sf-window
      name=${win.app.name}
      style=${`z-index: ${order + 1}`}
      ?hidden=${win.isMinimised}
      ?front=${order === this.desktop.windows.length - 1}
      .place=${win.place}
      @sf-place=${({ detail }: CustomEvent<Place>) => this.change(changed(this.desktop, win.id, { place: detail }))}
      @sf-window=${({ detail }: CustomEvent<"close" | "minimise" | "front">) => this.onWindow(win, detail)}
    >
      <form
        @submit=${(event: SubmitEvent) => {
          event.preventDefault();
          const form = event.target as HTMLFormElement;
          const said = new FormData(form).get("said");
          form.reset();
          if (typeof said === "string") void this.ask(win.id, said);
        }}
      >
        <input
          name="said"
          aria-label=${`Say what to change in ${win.app.name}`}
          placeholder="Say what to change …"
          autocomplete="off"
        />
        ${
          win.isWriting
            ? html`<button type="button" @click=${() => this.stopping.get(win.id)?.abort()}>Stop</button>`
            : html`<button
                type="button"
                aria-label=${`Undo in ${win.app.name}`}
                ?disabled=${win.pages.at < 1}
                @click=${() => this.change(moved(this.desktop, win.id, -1))}
              >
                Undo
              </button>`
        }
      </form>
      ${
        page === null
          ? html`<p class="note muted">
              ${
                win.isWriting
                  ? "Writing …"
                  : html`${win.error || "Nothing was written."}
                      <button @click=${() => this.ask(win.id, win.app.sentence)}>Try again</button>`
              }
            </p>`
          : html`<sf-screen
              .page=${page}
              ?draft=${win.draft !== null}
              @sf-effect=${({ detail }: CustomEvent<Effect>) => {
                if (win.draft === null) this.onEffect(win, page, detail);
              }}
            ></sf-screen>`
      }
    </sf-window>`;
  }
}
