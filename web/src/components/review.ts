/** Changes of a text, to be accepted or refused one by one. */
import {
  getChunks,
  getOriginalDoc,
  goToNextChunk,
  originalDocChangeEffect,
  rejectChunk,
  unifiedMergeView,
} from "@codemirror/merge";
import { invertedEffects } from "@codemirror/commands";
import {
  ChangeSet,
  Compartment,
  EditorState,
  StateEffect,
  Text,
  type ChangeSpec,
  type Extension,
  type Transaction,
} from "@codemirror/state";
import { EditorView } from "@codemirror/view";

const LABELS = { accept: "Accept", reject: "Reject" };

/** Accepts the change at a position. The package's own command loses the CR of lines that end in CR LF. */
export function acceptChange(view: EditorView, at = view.state.selection.main.head): boolean {
  const { state } = view;
  const chunk = getChunks(state)?.chunks.find(({ fromB, endB }) => fromB <= at && at <= endB);
  if (chunk === undefined) return false;
  const { fromA, toA, fromB, toB } = chunk;
  const { length } = getOriginalDoc(state);
  const lines = state.doc.slice(fromB, Math.max(fromB, toB - 1));
  // A chunk ends behind the break of its last line, which the last line of a text does not have.
  const insert = fromB < toB && toA <= length ? lines.append(Text.of(["", ""])) : lines;
  const changes = ChangeSet.of({ from: fromA, to: Math.min(length, toA), insert }, length);
  view.dispatch({ effects: originalDocChangeEffect(state, changes), userEvent: "accept" });
  return true;
}

const byHand = StateEffect.define();

/** What is typed beside the changes under review is none of them: the text before the changes gets it too. */
const typedBeside: Extension = [
  EditorState.transactionExtender.of((transaction) => {
    const isByHand = ["input", "delete", "move"].some((event) => transaction.isUserEvent(event));
    const changes = isByHand || isMarked(transaction) ? besideChunks(transaction) : null;
    if (changes === null) return null;
    const effects = [originalDocChangeEffect(transaction.startState, changes)];
    return { effects: isMarked(transaction) ? effects : [...effects, byHand.of(null)] };
  }),
  // An undo of it is told from one of a change that was refused.
  invertedEffects.of((transaction) => (isMarked(transaction) ? [byHand.of(null)] : [])),
];

function isMarked({ effects }: Transaction): boolean {
  return effects.some((each) => each.is(byHand));
}

/** The changes that touch no chunk, as changes of the text before the chunks; null if there are none. */
function besideChunks({ startState, changes }: Transaction): ChangeSet | null {
  const chunks = getChunks(startState)?.chunks ?? [];
  const beside: ChangeSpec[] = [];
  changes.iterChanges((from, to, _from, _to, insert) => {
    if (chunks.some(({ fromB, endB }) => fromB <= to && from <= endB)) return;
    const before = chunks.findLast(({ endB }) => endB < from);
    const moved = before === undefined ? 0 : before.toA - before.toB;
    beside.push({ from: from + moved, to: to + moved, insert });
  });
  return beside.length === 0 ? null : ChangeSet.of(beside, getOriginalDoc(startState).length, "\n");
}

/** Shows changes in an editor for review. */
export class Review {
  private readonly place = new Compartment();

  get extension(): Extension {
    return [this.place.of([]), theme];
  }

  /** Shows how the editor's text differs from another, and returns the number of changes. */
  begin(view: EditorView, before: string): number {
    const merge = unifiedMergeView({
      original: Text.of(before.split("\n")),
      mergeControls: (type, action) => {
        const button = document.createElement("button");
        button.textContent = LABELS[type];
        const accept = () => acceptChange(view, view.posAtDOM(button.closest(".cm-deletedChunk") ?? button));
        button.addEventListener("click", type === "accept" ? accept : action);
        return button;
      },
    });
    view.dispatch({ effects: this.place.reconfigure([merge, typedBeside]) });
    goToNextChunk(view);
    return this.count(view);
  }

  end(view: EditorView): void {
    view.dispatch({ effects: this.place.reconfigure([]) });
  }

  /** The text before the changes, with those that are accepted. */
  base(view: EditorView): string {
    return getOriginalDoc(view.state).toString();
  }

  /** Changes that are neither accepted nor refused. */
  count(view: EditorView): number {
    return getChunks(view.state)?.chunks.length ?? 0;
  }

  decideAll(view: EditorView, isAccepted: boolean): void {
    const decide = isAccepted ? acceptChange : rejectChunk;
    for (const { fromB } of [...(getChunks(view.state)?.chunks ?? [])].reverse()) decide(view, fromB);
  }
}

const tint = (colour: string, percent: number) =>
  `color-mix(in oklab, var(${colour}) ${percent}%, transparent)`;

const theme = EditorView.theme({
  ".cm-changedLine, .cm-inlineChangedLine": { background: `${tint("--good", 12)} !important` },
  ".cm-changedText": { background: `${tint("--good", 28)} !important` },
  ".cm-deletedChunk": { background: `${tint("--error", 12)} !important`, paddingLeft: "6px" },
  ".cm-deletedChunk .cm-deletedText": { background: `${tint("--error", 26)} !important` },
  ".cm-changedLineGutter": { background: "var(--good) !important" },
  ".cm-deletedLineGutter": { background: "var(--error) !important" },
  ".cm-chunkButtons": { insetInlineEnd: "6px", display: "flex", gap: "4px" },
  ".cm-deletedChunk .cm-chunkButtons button": {
    font: "600 0.8rem/1.5 system-ui, sans-serif",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    padding: "0.15rem 0.5rem",
    cursor: "pointer",
    background: "var(--surface)",
    color: "var(--text)",
  },
});
