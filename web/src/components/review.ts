/** Changes of a text, to be accepted or refused one by one. */
import { acceptChunk, getChunks, goToNextChunk, rejectChunk, unifiedMergeView } from "@codemirror/merge";
import { Compartment, Text, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

const LABELS = { accept: "Accept", reject: "Refuse" };

/** The part of an editor in which changes are looked at. */
export class Review {
  private readonly place = new Compartment();

  get extension(): Extension {
    return [this.place.of([]), theme];
  }

  /** Shows what the editor's text changes in another one; how many changes there are. */
  begin(view: EditorView, before: string): number {
    const merge = unifiedMergeView({
      original: Text.of(before.split("\n")),
      mergeControls: (type, action) => {
        const button = document.createElement("button");
        button.textContent = LABELS[type];
        button.addEventListener("click", action);
        return button;
      },
    });
    view.dispatch({ effects: this.place.reconfigure(merge) });
    goToNextChunk(view);
    return this.count(view);
  }

  end(view: EditorView): void {
    view.dispatch({ effects: this.place.reconfigure([]) });
  }

  /** Changes that are not decided on. */
  count(view: EditorView): number {
    return getChunks(view.state)?.chunks.length ?? 0;
  }

  decideAll(view: EditorView, isAccepted: boolean): void {
    const decide = isAccepted ? acceptChunk : rejectChunk;
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
    padding: "0 0.5rem",
    cursor: "pointer",
    background: "var(--surface)",
    color: "var(--text)",
  },
});
