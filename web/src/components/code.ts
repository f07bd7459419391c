/** CodeMirror as our pages use it. Importing this adds about 150 KB, so pages that need it are loaded lazily. */
import { defaultKeymap, history, historyKeymap, insertNewlineAndIndent } from "@codemirror/commands";
import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import {
  EditorState,
  RangeSetBuilder,
  StateEffect,
  StateField,
  type Extension,
  type Range,
} from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  ViewPlugin,
  type DecorationSet,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { Span } from "../core/protocol";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], color: "var(--accent-text)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: tags.number, color: "color-mix(in oklab, var(--warm) 65%, var(--text))" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.propertyName, tags.function(tags.definition(tags.variableName))], fontWeight: "600" },
]);

const theme = EditorView.theme({
  "&": {
    background: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "10px",
    fontSize: "0.9rem",
    overflow: "hidden",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--accent)", padding: "0.6rem 0" },
  ".cm-gutters": {
    background: "var(--surface)",
    color: "var(--muted)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in oklab, var(--accent) 28%, transparent)",
  },
  ".cm-noise": {
    color: "color-mix(in oklab, var(--text) 72%, var(--surface))",
    background: "color-mix(in oklab, var(--warm) 22%, transparent)",
    borderRadius: "3px",
  },
  ".cm-panels": { background: "var(--surface-2)", color: "var(--text)" },
  ".cm-panels .cm-textfield, .cm-panels .cm-button": {
    font: "inherit",
    color: "inherit",
    background: "var(--surface)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
  },
  ".cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-search.cm-panel": { padding: "0.4rem 2rem 0.4rem 0.5rem", fontFamily: "inherit" },
  ".cm-search.cm-panel .cm-textfield": { minHeight: "0", padding: "0.2rem 0.5rem" },
  ".cm-search.cm-panel label": { display: "inline-flex", alignItems: "center", gap: "0.25rem" },
  ".cm-search.cm-panel input[type=checkbox]": { margin: "0" },
  ".cm-search.cm-panel button[name=close]": { fontSize: "1.1rem", padding: "0.2rem 0.6rem" },
  ".cm-searchMatch": { background: "color-mix(in oklab, var(--warm) 30%, transparent)" },
  ".cm-searchMatch-selected": { background: "color-mix(in oklab, var(--accent) 40%, transparent)" },
  ".cm-specialChar": { color: "var(--error)" },
  "&.cm-focused .cm-matchingBracket": {
    background: "var(--surface-2)",
    outline: "1px solid var(--line-strong)",
  },
});

// As CodeMirror shows them, without the CR that a line's end begins with.
const SPECIAL =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202d\u202e\u2066\u2067\u2069\ufeff\ufff9-\ufffc]|\r(?!$)/g;

/** An editor whose text is exactly what it was given, whatever ends its lines. */
export function codeEditor(options: {
  parent: HTMLElement;
  root: Document | ShadowRoot;
  label: string;
  extensions: Extension;
  text?: string;
}): EditorView {
  const editor = new EditorView({
    state: codeState(options.text ?? "", options.label, options.extensions),
    parent: options.parent,
    root: options.root,
  });
  // Scrollable with keys.
  editor.scrollDOM.tabIndex = 0;
  return editor;
}

const PHRASES = {
  ...{ next: "Next", previous: "Previous", all: "All", replace: "Replace", "replace all": "Replace all" },
  ...{ "match case": "Match case", regexp: "Regular expression", "by word": "Whole words" },
};

/** Indents as a text does; one that is not indented yet, by so many spaces. */
export function indenting(text: string, spaces: number): Extension {
  const [, found = " ".repeat(spaces)] = /^(\t| {2,8})\S/m.exec(text) ?? [];
  return indentUnit.of(found);
}

/** The state of such an editor, with an empty history. */
export function codeState(text: string, label: string, extensions: Extension): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
      extensions,
      EditorState.lineSeparator.of("\n"),
      exactLineEnds,
      lineNumbers(),
      highlightSpecialChars({ specialChars: SPECIAL }),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      search({ top: true }),
      EditorState.phrases.of(PHRASES),
      syntaxHighlighting(colours),
      keymap.of([
        { key: "Enter", run: insertNewlineAndIndent },
        ...closeBracketsKeymap,
        ...searchKeymap,
        ...defaultKeymap,
        ...historyKeymap,
      ]),
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.lineWrapping,
      theme,
    ],
  });
}

const hidden = Decoration.replace({});
const asOne = Decoration.mark({});

/** Lines that end in CR LF: the CR is not seen, the cursor takes both as one, and new lines end as the first does. */
const exactLineEnds: Extension = [
  ViewPlugin.fromClass(
    class {
      hidden: DecorationSet = Decoration.none;
      pairs: DecorationSet = Decoration.none;

      constructor(view: EditorView) {
        this.find(view);
      }

      update(update: ViewUpdate) {
        if (update.docChanged || update.viewportChanged) this.find(update.view);
      }

      private find(view: EditorView) {
        const [hides, pairs] = [new RangeSetBuilder<Decoration>(), new RangeSetBuilder<Decoration>()];
        for (const range of view.visibleRanges) {
          for (let at = range.from; at <= range.to;) {
            const line = view.state.doc.lineAt(at);
            if (line.text.endsWith("\r") && line.to < view.state.doc.length) {
              hides.add(line.to - 1, line.to, hidden);
              pairs.add(line.to - 1, line.to + 1, asOne);
            }
            at = line.to + 1;
          }
        }
        [this.hidden, this.pairs] = [hides.finish(), pairs.finish()];
      }
    },
    {
      decorations: (plugin) => plugin.hidden,
      provide: (plugin) =>
        EditorView.atomicRanges.of((view) => view.plugin(plugin)?.pairs ?? Decoration.none),
    },
  ),
  EditorState.transactionFilter.of((transaction) => {
    const { startState } = transaction;
    const isWritten = transaction.docChanged && transaction.isUserEvent("input");
    if (!isWritten || startState.doc.lines < 2 || !startState.doc.line(1).text.endsWith("\r"))
      return transaction;
    const missing: { from: number; insert: string }[] = [];
    transaction.changes.iterChanges((_fromA, _toA, fromB, _toB, inserted) => {
      const text = inserted.toString();
      for (const { index } of text.matchAll(/(?<!\r)\n/g))
        missing.push({ from: fromB + index, insert: "\r" });
    });
    return missing.length === 0 ? transaction : [transaction, { changes: missing, sequential: true }];
  }),
];

/** Marks ranges of the text with a class, until the next call. */
export function marker(className: string): {
  set: (view: EditorView, spans: readonly Span[]) => void;
  extension: Extension;
} {
  const effect = StateEffect.define<readonly Span[]>();
  const mark = Decoration.mark({ class: className, inclusive: true });
  const field = StateField.define<DecorationSet>({
    create: () => Decoration.none,
    update(marks, transaction) {
      marks = marks.map(transaction.changes);
      for (const each of transaction.effects) {
        if (!each.is(effect)) continue;
        const ranges: Range<Decoration>[] = each.value
          .filter(([from, to]) => from < to)
          .map(([from, to]) => mark.range(from, to));
        marks = Decoration.set(ranges, true);
      }
      return marks;
    },
    provide: (self) => EditorView.decorations.from(self),
  });
  return { set: (view, spans) => view.dispatch({ effects: effect.of(spans) }), extension: field };
}
