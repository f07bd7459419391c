/** The models of the server that a page works with, and what it says while there are none. All pages ask for them here. */
import { html, nothing, type ReactiveController, type ReactiveControllerHost } from "lit";
import { api } from "../core/api";
import { sentenceOf } from "../core/files";
import type { ModelCard } from "../core/protocol";

/** What went wrong, and a button to try it again. */
export function trouble(problem: string, again: () => void) {
  return html`<div class="row">
    <p class="error" role="alert" style="margin: 0">${problem}</p>
    <button class="primary" @click=${again}>Try again</button>
  </div>`;
}

export class Models implements ReactiveController {
  /** Null until the server has told them. */
  cards: readonly ModelCard[] | null = null;
  private problem = "";
  private asked: Promise<void> | null = null;

  constructor(
    private readonly host: ReactiveControllerHost,
    private readonly isAble: (card: ModelCard) => boolean = () => true,
    private readonly onCards: (cards: readonly ModelCard[]) => void = () => undefined,
  ) {
    host.addController(this);
  }

  hostConnected(): void {
    // A page that is returned to may find other models. What goes wrong is said by `failure`.
    if (this.cards !== null) this.asked = null;
    this.load().catch(() => undefined);
  }

  find(id: string | undefined): ModelCard | undefined {
    return this.cards?.find((card) => card.id === id);
  }

  /** Asks for them once, and again only after that failed. Throws ApiError. */
  load(): Promise<void> {
    return (this.asked ??= this.ask());
  }

  private async ask(): Promise<void> {
    const isFirst = this.cards === null;
    this.problem = "";
    this.host.requestUpdate();
    try {
      this.cards = (await api.models()).filter(this.isAble);
    } catch (error) {
      this.asked = null;
      this.problem = sentenceOf(error);
      throw error;
    } finally {
      this.host.requestUpdate();
    }
    if (isFirst) this.onCards(this.cards);
  }

  /** What went wrong, if something did. */
  failure() {
    return this.problem === "" ? nothing : trouble(this.problem, () => this.hostConnected());
  }

  /** What stands in for a page without models; `none` tells what to do where the server has none. */
  notice(none: string) {
    if (this.problem !== "") return this.failure();
    if (this.cards === null)
      return html`<p class="muted" role="status">Asking the server for its models …</p>`;
    return this.cards.length === 0 ? html`<p class="muted">${none}</p>` : nothing;
  }
}
