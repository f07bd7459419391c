/** A canvas as a reader sees it: what its events add up to. Values, never changed in place. */
import { Offsets } from "./offsets";
import type { Asset, CanvasEvent, CanvasStatus, Ending, PositionState, Span, TokenLogprob } from "./protocol";

/** The token at one position, and its history. */
export interface Token {
  readonly text: string;
  readonly state: PositionState | "committed";
  /** From 0 to 1; null where the server did not say. */
  readonly confidence: number | null;
  /** In nats. */
  readonly entropy: number | null;
  /** The step at which its text last changed. */
  readonly since: number;
  /** How often its text changed after it had been accepted. */
  readonly revisions: number;
  /** Its texts so far, the oldest first, each with the step at which it came. */
  readonly history: readonly { step: number; text: string }[];
  readonly alternatives?: TokenLogprob;
}

export interface CanvasView {
  readonly id: string;
  readonly status: CanvasStatus;
  readonly rev: number;
  readonly seq: number;
  /** Tokens of the whole text: those committed, then the draft. */
  readonly tokens: readonly Token[];
  readonly committed: number;
  readonly block: number;
  readonly step: number;
  readonly steps: number | null;
  /** Steps over all blocks: the clock of `Token.since`. */
  readonly clock: number;
  readonly elapsedMs: number | null;
  readonly ending: Ending;
  /** Its pictures, by slot. */
  readonly assets: ReadonlyMap<string, Asset>;
}

export function emptyView(id: string): CanvasView {
  return {
    id,
    status: "running",
    rev: 0,
    seq: -1,
    tokens: [],
    committed: 0,
    block: 0,
    step: 0,
    steps: null,
    clock: 0,
    elapsedMs: null,
    ending: {},
    assets: new Map(),
  };
}

/** The whole text, draft included. */
export function textOf(view: CanvasView): string {
  return view.tokens.map((token) => token.text).join("");
}

/** "60 → 49 → 39": what some tokens said together, from when each of them said something. */
export function historyOf(tokens: readonly Token[]): string {
  const begun = Math.max(...tokens.map(({ history }) => history[0]?.step ?? 0));
  const steps = [...new Set([begun, ...tokens.flatMap(({ history }) => history.map(({ step }) => step))])];
  const said = steps
    .filter((step) => step >= begun)
    .sort((a, b) => a - b)
    .map((step) =>
      tokens.map(({ history }) => history.findLast((each) => each.step <= step)?.text ?? "").join(""),
    );
  return said
    .filter((text, i) => text !== said[i - 1])
    .map((text) => JSON.stringify(text).slice(1, -1))
    .join(" → ");
}

/** The token at a position with its neighbours in the same word or number. */
export function wordAt(tokens: readonly Token[], index: number): readonly Token[] {
  const isInside = (at: number) => /^[\p{L}\p{N}]+$/u.test(tokens[at]?.text ?? "");
  let [from, to] = [index, index + 1];
  if (!isInside(index)) return tokens.slice(from, to);
  while (isInside(from - 1)) from--;
  while (isInside(to)) to++;
  return tokens.slice(from, to);
}

/** The canvas after an event; the same one if the event was seen before. */
export function applyEvent(view: CanvasView, event: CanvasEvent): CanvasView {
  if (event.seq < view.seq || (event.seq === view.seq && event.type !== "canvas.snapshot")) return view;
  const next = { ...view, seq: event.seq, rev: event.rev, elapsedMs: event.elapsed_ms ?? view.elapsedMs };
  switch (event.type) {
    case "canvas.started":
      return { ...next, status: "running", ending: {}, block: 0, step: 0 };
    case "canvas.snapshot": {
      const same = event.block === view.block && event.step === view.step;
      const clock = view.clock + (same ? 0 : 1);
      const head = event.text.slice(0, new Offsets(event.text).toUnits(event.committed));
      const committed = keepTokens(view.tokens.slice(0, view.committed), head, clock);
      const known = view.tokens.slice(view.committed);
      const draft = event.pieces.map((text, i) =>
        changed(known[i], text, clock, event.state?.[i], event.confidence?.[i], event.entropy?.[i]),
      );
      return {
        ...next,
        status: event.status,
        tokens: [...committed, ...draft],
        committed: committed.length,
        block: event.block,
        step: event.step,
        steps: event.steps ?? view.steps,
        clock,
        assets: assetsOf(event.assets ?? []),
      };
    }
    case "canvas.patch": {
      const clock = view.clock + 1;
      let tokens = [...view.tokens];
      for (const change of event.changes) {
        if (change.tokens === undefined) {
          tokens = replaceText(tokens, unitsOf(tokens, change.chars), change.text, clock);
          continue;
        }
        const [start, end] = change.tokens;
        const texts = change.pieces ?? [change.text, ...Array<string>(Math.max(0, end - start - 1)).fill("")];
        // A canvas may get longer or shorter; what has a place before and after keeps its history.
        const from = view.committed + start;
        const made = texts.map((text, i) =>
          changed(i < end - start ? tokens[from + i] : undefined, text, clock),
        );
        tokens.splice(from, end - start, ...made);
      }
      event.state.forEach((state, i) => {
        const token = tokens[view.committed + i];
        if (token !== undefined) {
          const revisions = token.revisions + (state === "revised" && token.since === clock ? 1 : 0);
          const [confidence, entropy] = [event.confidence[i] ?? null, event.entropy?.[i] ?? null];
          // Before the first step there is only noise.
          const history = event.step === 0 ? [] : token.history;
          tokens[view.committed + i] = { ...token, state, confidence, entropy, revisions, history };
        }
      });
      const committed = event.state.length === 0 ? Math.min(view.committed, tokens.length) : view.committed;
      return { ...next, tokens, committed, block: event.block, step: event.step, steps: event.steps, clock };
    }
    case "canvas.commit": {
      const draft = keepTokens(view.tokens.slice(view.committed), event.text, view.clock);
      const tokens = withAlternatives(
        [...view.tokens.slice(0, view.committed), ...draft],
        view.committed,
        event.logprobs,
      );
      return { ...next, tokens, committed: tokens.length };
    }
    case "asset.ready":
      return withAsset(next, { slot: event.slot, status: "ready", url: event.url });
    case "asset.error":
      return withAsset(next, { slot: event.slot, status: "error", error: event.error });
    case "canvas.done":
    case "canvas.error": {
      const tokens = withAlternatives(keepTokens(view.tokens, event.text, view.clock), 0, event.logprobs);
      return { ...next, status: event.status, tokens, committed: tokens.length, ending: endingOf(event) };
    }
  }
}

/** Pictures by their slots. */
export function assetsOf(assets: readonly Asset[]): ReadonlyMap<string, Asset> {
  return new Map(assets.map((asset) => [asset.slot, asset]));
}

function withAsset(view: CanvasView, asset: Asset): CanvasView {
  return { ...view, assets: new Map([...view.assets, [asset.slot, asset]]) };
}

function endingOf({ finish_reason, seed, certainty, usage, error }: Ending): Ending {
  return Object.fromEntries(
    Object.entries({ finish_reason, seed, certainty, usage, error }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

function changed(
  before: Token | undefined,
  text: string,
  clock: number,
  state: PositionState = "noise",
  confidence: number | null = null,
  entropy: number | null = null,
): Token {
  if (before?.text === text) return { ...before, state, confidence, entropy };
  const history = [...(before?.history ?? []), { step: clock, text }];
  return { text, state, confidence, entropy, since: clock, revisions: before?.revisions ?? 0, history };
}

function plain(text: string, clock: number): Token {
  const history = [{ step: clock, text }];
  return { text, state: "committed", confidence: null, entropy: null, since: clock, revisions: 0, history };
}

/** Tokens as committed ones that say exactly a text: those that still fit at both ends stay what they are. */
function keepTokens(tokens: readonly Token[], text: string, clock: number): Token[] {
  let [head, headLength] = [0, 0];
  for (; head < tokens.length; head++) {
    const piece = tokens[head]?.text ?? "";
    if (!text.startsWith(piece, headLength)) break;
    headLength += piece.length;
  }
  let [tail, tailEnd] = [tokens.length, text.length];
  for (; tail > head; tail--) {
    const piece = tokens[tail - 1]?.text ?? "";
    if (tailEnd - piece.length < headLength || !text.endsWith(piece, tailEnd)) break;
    tailEnd -= piece.length;
  }
  const between = text.slice(headLength, tailEnd);
  const kept = [
    ...tokens.slice(0, head),
    ...(between === "" ? [] : [plain(between, clock)]),
    ...tokens.slice(tail),
  ];
  return kept.filter((token) => token.text !== "").map((token) => ({ ...token, state: "committed" }));
}

/** Characters as the server counts them, as places in the tokens' text. */
function unitsOf(tokens: readonly Token[], [start, end]: Span): Span {
  const offsets = new Offsets(tokens.map(({ text }) => text).join(""));
  return [offsets.toUnits(start), offsets.toUnits(end)];
}

/** Tokens with some characters replaced; the tokens beside them stay, cut where the place cuts them. */
function replaceText(
  tokens: readonly Token[],
  [start, end]: readonly [number, number],
  text: string,
  clock: number,
) {
  const result: Token[] = [];
  let at = 0;
  let isPlaced = false;
  const place = () => {
    if (!isPlaced && text !== "") result.push({ ...plain(text, clock), state: "revised" });
    isPlaced = true;
  };
  for (const token of tokens) {
    const from = at;
    at += token.text.length;
    if (from >= end) place();
    if (at <= start || from >= end) {
      result.push(token);
      continue;
    }
    if (from < start) result.push({ ...token, text: token.text.slice(0, start - from) });
    if (at > end) {
      place();
      result.push({ ...token, text: token.text.slice(end - from) });
    }
  }
  place();
  return result;
}

function withAlternatives(
  tokens: readonly Token[],
  from: number,
  logprobs: readonly TokenLogprob[] = [],
): Token[] {
  let i = 0;
  return tokens.map((token, at) => {
    if (at < from || logprobs[i]?.token !== token.text) return token;
    return { ...token, alternatives: logprobs[i++] };
  });
}
