/** Ghost text: Tab accepts it, Escape dismisses it, and typing replaces it. */
import { Prec, StateEffect, StateField, type Extension } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  keymap,
  ViewPlugin,
  WidgetType,
  type DecorationSet,
  type PluginValue,
  type ViewUpdate,
} from "@codemirror/view";

const PAUSE_MS = 350;

interface Ghost {
  readonly at: number;
  readonly text: string;
}

class GhostWidget extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }

  override eq(other: GhostWidget): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const span = document.createElement("span");
    span.className = "cm-ghost";
    span.textContent = this.text;
    return span;
  }
}

const setGhost = StateEffect.define<Ghost | null>();

const ghostField = StateField.define<Ghost | null>({
  create: () => null,
  update(ghost, transaction) {
    for (const effect of transaction.effects) if (effect.is(setGhost)) return effect.value;
    return transaction.docChanged || transaction.selection !== undefined ? null : ghost;
  },
  provide: (self) =>
    EditorView.decorations.from(self, (ghost): DecorationSet => {
      if (ghost === null) return Decoration.none;
      return Decoration.set(
        Decoration.widget({ widget: new GhostWidget(ghost.text), side: 1 }).range(ghost.at),
      );
    }),
});

function accept(view: EditorView): boolean {
  const ghost = view.state.field(ghostField, false);
  if (ghost === null || ghost === undefined) return false;
  view.dispatch({
    changes: { from: ghost.at, insert: ghost.text },
    selection: { anchor: ghost.at + ghost.text.length },
    userEvent: "input.complete",
    scrollIntoView: true,
  });
  return true;
}

function refuse(view: EditorView): boolean {
  if (view.state.field(ghostField, false) === null) return false;
  view.dispatch({ effects: setGhost.of(null) });
  return true;
}

/**
 * Proposals after each pause in typing.
 *
 * `propose` gets what is before and behind the cursor; an empty text proposes nothing. `onProposal` is told what is shown.
 */
export function ghostText(
  propose: (before: string, after: string, signal: AbortSignal) => Promise<string>,
  onProposal: (text: string) => void,
): Extension {
  const asking = ViewPlugin.fromClass(
    class implements PluginValue {
      private timer = 0;
      private asked = new AbortController();

      constructor(private readonly view: EditorView) {}

      update(update: ViewUpdate): void {
        if (!update.docChanged && !update.selectionSet) return;
        this.destroy();
        const isWritten = update.transactions.some(
          (each) => each.isUserEvent("input.type") || each.isUserEvent("delete"),
        );
        if (!isWritten || !update.state.selection.main.empty || update.state.readOnly) return;
        this.timer = window.setTimeout(() => void this.ask(), PAUSE_MS);
      }

      destroy(): void {
        clearTimeout(this.timer);
        this.asked.abort();
      }

      private async ask(): Promise<void> {
        const { state } = this.view;
        const at = state.selection.main.head;
        this.asked = new AbortController();
        const { signal } = this.asked;
        const text = await propose(state.sliceDoc(0, at), state.sliceDoc(at), signal).catch(() => "");
        if (signal.aborted || text === "") return;
        this.view.dispatch({ effects: setGhost.of({ at, text }) });
        onProposal(text);
      }
    },
  );
  return [
    ghostField,
    asking,
    Prec.highest(
      keymap.of([
        { key: "Tab", run: accept },
        { key: "Escape", run: refuse },
      ]),
    ),
    EditorView.baseTheme({
      ".cm-ghost": { color: "var(--muted)", fontStyle: "italic", whiteSpace: "pre-wrap" },
    }),
  ];
}
