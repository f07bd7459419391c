"""Rewrites parts of texts: gaps, spans, and tokens the model doubts.

Everything here becomes model requests whose answers start from a text (`editing`); alternatives share one batch.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Literal

from sfumato.config import check_number
from sfumato.data.kinds import check_instruction
from sfumato.engine import editing
from sfumato.engine.excerpt import EditableModel, Excerpt, choose_excerpts
from sfumato.engine.options import CanvasOptions, EditOptions, InfillOptions, canvas_options, constraint_options
from sfumato.engine.request import MAX_POSITIONS, MAX_VARIATIONS, Result
from sfumato.engine.stop_strings import check_stop, scan
from sfumato.engine.writing import PieceWriter, Show
from sfumato.errors import RequestError
from sfumato.text.tokenizer import check_characters

_TRIED_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# Slots of a gap that may stay empty, and extra slots of a span.
_TRIED_SLOTS = (8, 16, 32)
_SLACK = 6
# Length change tried for a span, extra slots if some may stay empty, and the maximum span length for both.
_NEAR, _SPARE, _LONGEST_TRIED = 3, (0, 4, 10), 32
# Tokens after a gap that are hidden, and tokens around it that are read again, to judge an attempt.
_HIDDEN, _AROUND = 8, 128
# Probability of another token from which a token is doubted, and neighbours on each side rewritten with it.
_SURE, _BESIDE = 0.5, 2
_DOUBTED_SHARE = 0.25  # Share of a text's tokens that may be doubted; functions with one bug stay below it.
# Models of mask noise: every n-th token is hidden at once to read what stands there.
_HIDDEN_SHARE = 4
# Models of random tokens: noise level at which given text is read.
_LEAST_NOISE = 1e-6


def infill_text(model: EditableModel, prefix: str, suffix: str, n: int, options: InfillOptions) -> list[Result]:
    """See `TextModel.infill`."""
    length, max_tokens = options.get("length", "auto"), options.get("max_tokens", 32)
    if isinstance(length, bool) or (length != "auto" and (not isinstance(length, int) or length < 1)):
        raise RequestError(f"length is {length!r}; allowed: 'auto' or a whole number, 1 or more")
    check_number("max_tokens", max_tokens, 1, MAX_POSITIONS, whole=True)
    stop = check_stop(options.get("stop"))
    context = model.context(options.get("prompt"), options.get("system"))
    seeds = _seeds(options, n)
    shared, constraints = canvas_options(options, InfillOptions.__optional_keys__), constraint_options(options)
    job = Rewriting(model, context, seeds, shared, constraints)
    first, last = editing.surroundings(prefix + suffix, len(prefix), len(prefix), model.context_length)
    prefix, suffix = prefix[first:], suffix[: last - len(prefix)]
    return job.infill(prefix, suffix, length=length, max_tokens=max_tokens, stop=stop)


def edit_text(model: EditableModel, text: str, n: int, options: EditOptions) -> list[Result]:
    """See `TextModel.edit`."""
    spans, instruction, system = options.get("spans"), options.get("instruction"), options.get("system")
    strength, budget, judge = options.get("strength"), options.get("budget", 64), options.get("judge")
    noise_level = 1.0 if strength is None else strength
    check_number("strength", noise_level, 0, 1, above=True)
    check_number("budget", budget, 1, whole=True)
    if judge is not None and not isinstance(judge, bool):
        raise RequestError(f"judge is {judge!r}; allowed: True, False or None")
    constraints = constraint_options(options)
    usual = -math.inf if constraints else model.generation.get("min_certainty", -math.inf)
    needed: object = options.get("min_certainty", usual)
    if isinstance(needed, bool) or not isinstance(needed, int | float) or not needed <= 0:
        raise RequestError(f"min_certainty is {needed!r}; allowed: nats up to 0, or -inf for any edit")
    shared, seeds = canvas_options(options, EditOptions.__optional_keys__), _seeds(options, n)
    check_characters(text)
    chosen = None if spans is None else editing.check_spans(text, spans)
    for name in constraints if chosen is None or len(chosen) != 1 or noise_level != 1.0 else ():
        given = "no spans" if chosen is None else f"{len(chosen)} span(s) and strength {noise_level:g}"
        raise RequestError(f"{name} is given with {given}; allowed: with one span and strength 1")
    prompt = options.get("prompt")
    if instruction is not None:
        if prompt is not None:
            raise RequestError("prompt and instruction are given; allowed: one of them")
        if not model.tokenizer.has_chat_template:
            raise RequestError(f"{model.name} has no chat template and takes no instructions; leave it out")
        instruction = check_instruction(instruction, model.kinds, model.name)
    results: list[Result] = []
    for context, excerpt in choose_excerpts(model, text, chosen, prompt, instruction, system, spare=_SPARE[-1]):
        job = Rewriting(model, context, seeds, shared, constraints, options.get("on_draft"))
        covered = None if chosen is None else excerpt.cover(chosen)
        if covered is None or (covered and math.isfinite(needed)):
            found = job.read_and_edit(excerpt, covered, noise_level=noise_level, budget=budget, judge=judge)
        else:
            found = job.edit(excerpt, covered, noise_level=noise_level, judge=judge)
        before = [results[0].usage] if results else []
        results = [dataclasses.replace(one, usage=one.usage.plus_work(before)) for one in found]
        if sure := [one for one in results if one.failed or one.certainty >= needed]:
            return sure
    error = f"not sure enough: nothing changed (certainty {results[0].certainty:.2f}, needed {needed:g})"
    return [dataclasses.replace(editing.expand_result(results[0], text), finish_reason="unsure", error=error)]


def _seeds(options: CanvasOptions, n: int) -> range:
    """The seeds of n answers."""
    seed = options.get("seed", 0)
    check_number("n", n, 1, MAX_VARIATIONS, whole=True)
    check_number("seed", seed, 0, whole=True)
    return range(seed, seed + n)


class Rewriting(PieceWriter):
    """One job in one context."""

    def infill(
        self, prefix: str, suffix: str, *, length: int | Literal["auto"], max_tokens: int, stop: Sequence[str]
    ) -> list[Result]:
        """See `TextModel.infill`."""
        pieces, judge = self.gap(prefix, "", suffix), length == "auto"
        blanks = judge and self.model.spec.blanks
        tried: dict[tuple[int, int], Result] = {}

        def fill(lengths: Sequence[int]) -> None:
            tried.update(self._fill(pieces, lengths, judge=judge, blanks=blanks))

        if length != "auto":
            fill(self.fitting(pieces, [length], blanks=False))
        elif blanks:
            slots = sorted({min(slots, max_tokens) for slots in _TRIED_SLOTS})
            fill(self.fitting(pieces, slots, max_tokens, blanks=True))
        else:
            coarse = self.fitting(
                pieces, [one for one in _TRIED_LENGTHS if one <= max_tokens], max_tokens, blanks=False
            )
            fill(coarse)
            near: set[int] = set()
            for given_seed in self.seeds:
                for best in sorted(coarse, key=lambda one: -tried[one, given_seed].certainty)[:2]:
                    index = coarse.index(best)
                    low = coarse[index - 1] if index else 0
                    high = coarse[index + 1] if index + 1 < len(coarse) else max_tokens + 1
                    near |= set(range(low + 1, high)) - set(coarse)
            near &= set(self.fitting(pieces, range(1, max_tokens + 1), blanks=False))
            if near:
                fill(sorted(near))
        if stop:
            tried = {
                key: editing.expand_result(one, scan(one.text, 0, stop, last=True)[0]) for key, one in tried.items()
            }
        return [self._of_text_alone(one) for one in editing.rank(tried.values())]

    def _of_text_alone(self, filled: Result) -> Result:
        """A filling with the tokens of its text, without those it shares with its surroundings."""
        tokens = tuple(self.tokenizer.encode(filled.text))
        usage = dataclasses.replace(filled.usage, completion_tokens=len(tokens))
        return dataclasses.replace(filled, tokens=tokens, confidence=(), usage=usage)

    def edit(
        self, excerpt: Excerpt, spans: Sequence[editing.Span], *, noise_level: float, judge: bool | None
    ) -> list[Result]:
        """See `TextModel.edit`.

        Args:
            excerpt: the part of the text that is read.
            spans: within the excerpt, in order.
            noise_level: where they start.
            judge: try several lengths and judge them; None does so for a single span.
        """
        blanks, text = self.model.spec.blanks, excerpt.text
        reads_again = blanks and judge is not False
        judge = len(spans) == 1 if judge is None else judge
        start, end = spans[0] if len(spans) == 1 else (0, 0)
        size = len(self.tokenizer.encode(text[start:end]))
        if self.constraints or (judge and noise_level == 1.0 and 0 < size <= _LONGEST_TRIED):
            # Nothing of the old text is kept, so its length is not either.
            lengths = list(range(max(1, size - _NEAR), size + _NEAR + 1))
            if blanks:
                lengths = [size + spare for spare in _SPARE]
            pieces = self.gap(text[:start], "", text[end:])
            lengths = self.fitting(pieces, lengths, max(lengths[-1], _LONGEST_TRIED), blanks=blanks)
            show = self._shown(excerpt, spans, [1])
            tried = self._fill(pieces, lengths, judge=True, blanks=blanks, show=show)
            return editing.rank(
                editing.expand_result(result, excerpt.replaced(spans, [result.text])) for result in tried.values()
            )
        slack = _SLACK if blanks else 0
        laid = [self.laid(text, spans, spare) for spare in sorted({0 if judge else slack, slack})]
        free = [i for i, piece in enumerate(laid[0]) if piece.free]
        rewritten = self.rewrite(
            [pieces for _ in self.seeds for pieces in laid],
            [seed for seed in self.seeds for _ in laid],
            self.options,
            noise_level=noise_level,
            blanks=blanks,
            show=self._shown(excerpt, spans, free),
        )
        whole = [
            editing.expand_result(one, excerpt.replaced(spans, [texts[i] for i in free])) for one, texts in rewritten
        ]
        if reads_again:
            whole = self._read_again(whole, [texts for _, texts in rewritten], free)
        return editing.rank(whole)

    def _shown(self, excerpt: Excerpt, spans: Sequence[editing.Span], free: Sequence[int]) -> Show | None:
        """A callback that shows a draft, given the texts of all pieces."""
        tell = self.on_draft
        if tell is None:
            return None
        return lambda texts: tell(excerpt.replaced(spans, [texts[i] for i in free]))

    def read_and_edit(
        self,
        excerpt: Excerpt,
        spans: Sequence[editing.Span] | None,
        *,
        noise_level: float,
        budget: int,
        judge: bool | None,
    ) -> list[Result]:
        """See `TextModel.edit`. A text that the model mostly doubts is unlike its training data: each doubted token
        beyond a share makes an edit one nat less certain.

        Args:
            excerpt: the part of the text that is read.
            spans: within the excerpt, in order; None for the tokens that the model doubts.
            budget: maximum tokens that the model may choose.
        """
        tokens, offsets = self.tokenizer.encode_with_offsets(excerpt.text)
        near = range(len(tokens) + 1)
        if spans:
            first, last = (bisect.bisect_left(offsets, (offset, 0)) for offset in (spans[0][0], spans[-1][1]))
            near = range(max(0, first - _AROUND), min(last + _AROUND, len(tokens)) + 1)
        [(doubts, read)] = self._read([(tokens, near)])
        unknown = max(0.0, len(doubts) - _DOUBTED_SHARE * (len(near) - 1))
        if len(tokens) in doubts and tokens:
            # More is to follow: the last token is where it can.
            doubts[len(tokens) - 1] = max(doubts.pop(len(tokens)), doubts.get(len(tokens) - 1, 0.0))
        if spans is None:
            stretches = editing.find_doubted_spans(doubts, around=_BESIDE, length=len(tokens), budget=budget)
            spans = excerpt.cover(
                excerpt.locate([(offsets[start][0], offsets[end - 1][1]) for start, end in stretches])
            )
            judge = judge is not False
        results = [editing.expand_result(read, excerpt.original)]
        if spans:
            edited = self.edit(excerpt, spans, noise_level=noise_level, judge=judge)
            results = [dataclasses.replace(one, usage=one.usage.plus_work([read.usage])) for one in edited]
        return [dataclasses.replace(one, certainty=one.certainty - unknown) for one in results]

    def _read(self, asked: Sequence[tuple[Sequence[int], range]]) -> list[tuple[dict[int, float], Result]]:
        """Find the tokens of some texts that the model doubts.

        A model of random tokens reads a text as it is, in one step, and says what looks like noise. A model of masks is
        sure of every token it sees, so it predicts every fourth token from the others, four times.

        Args:
            asked: tokens of a text, and the indices to look at; the index after the last is its end.

        Returns:
            For each, by index, the probability of another token if that is more than half; and the cost.
        """
        sees_noise = self.model.bundle.process.has_uniform
        phases = 1 if sees_noise else _HIDDEN_SHARE
        window = max(phases, self.model.request(self.context, max_tokens=1, **self.options).canvas_length // 2)
        texts = [(*tokens, *self.tokenizer.eos_ids[:1]) for tokens, _ in asked]
        parts = [
            (i, range(first + phase, min(first + window, indices.stop), phases))
            for i, (_, indices) in enumerate(asked)
            for first in range(indices.start, indices.stop, window)
            for phase in range(min(phases, indices.stop - first))
        ]
        # A part is read with as much context as fits, because a text may be far longer than the context.
        around = self.model.context_length
        read = self.rewrite(
            [editing.laid_out(texts[i], part, around) for i, part in parts],
            [self.seeds[0]] * len(parts),
            {**self.options, "steps": 1, "temperature": 0.0, "trace": False, "adaptive": False},
            noise_level=_LEAST_NOISE if sees_noise else 1.0,
            blanks=True,
            end=(),
        )
        found: list[tuple[dict[int, float], list[Result]]] = [({}, []) for _ in asked]
        for (i, part), (result, _) in zip(parts, read, strict=True):
            doubts, results = found[i]
            results.append(result)
            for index in part:
                offset = index - part.start
                if (
                    offset < len(result.tokens)
                    and result.tokens[offset] != texts[i][index]
                    and result.confidence[offset] > _SURE
                ):
                    doubts[index] = result.confidence[offset]
        return [(doubts, editing.merge_results(results, self.seeds[0], self.model.name)) for doubts, results in found]

    def _fill(
        self,
        pieces: Sequence[editing.Piece],
        lengths: Sequence[int],
        *,
        judge: bool,
        blanks: bool = False,
        show: Show | None = None,
    ) -> dict[tuple[int, int], Result]:
        """Fill a gap for each (length, seed); judge the results by what follows, if they are to be compared."""
        keys = [(one, seed) for seed in self.seeds for one in lengths]
        laid = {one: editing.with_slots(pieces, one) for one in lengths}
        layouts = [laid[one] for one, _ in keys]
        rewritten = self.rewrite(layouts, [seed for _, seed in keys], self.options, blanks=blanks, show=show)
        results = [
            dataclasses.replace(
                result,
                text=texts[1],
                tokens=result.tokens[: len(pieces[1].tokens)],
                confidence=result.confidence[: len(pieces[1].tokens)],
            )
            for pieces, (result, texts) in zip(layouts, rewritten, strict=True)
        ]
        if judge:
            results = self._judged(pieces[0], results, pieces[2])
        return dict(zip(keys, results, strict=True))

    def _judged(self, before: editing.Piece, results: Sequence[Result], after: editing.Piece) -> list[Result]:
        """Compare fillings of several lengths by their context: models that see noise read them again.

        For other models, the first tokens after a filling are hidden and predicted in one step; each wrong one makes
        the filling one nat less certain.
        """
        if self.model.bundle.process.has_uniform:
            return self._read_again(results, [[before.text, one.text, after.text] for one in results], [1])
        tokens = (*after.tokens, *self.tokenizer.eos_ids[:1])
        hidden, rest = tokens[:_HIDDEN], tokens[_HIDDEN:]
        fillings = [tuple(one for one in result.tokens if one not in self.tokenizer.eos_ids) for result in results]
        layouts = [
            [
                before,
                editing.Piece(result.text, filling, False),
                editing.Piece("", hidden, True),
                editing.Piece("", rest, False),
            ]
            for result, filling in zip(results, fillings, strict=True)
        ]
        once: CanvasOptions = {**self.options, "steps": 1, "temperature": 0.0}
        found = self.rewrite(layouts, [0] * len(layouts), once, blanks=True, end=())
        missed = [sum(map(operator.ne, result.tokens, hidden)) for result, _ in found]
        costs = [result.usage for result, _ in found]
        return [
            dataclasses.replace(result, certainty=result.certainty - num, usage=result.usage.plus_work([cost]))
            for result, num, cost in zip(results, missed, costs, strict=True)
        ]

    def _read_again(
        self, results: Sequence[Result], texts: Sequence[Sequence[str]], free: Sequence[int]
    ) -> list[Result]:
        """Have a model of random tokens read the results again; each token in and around the new text that looks like
        noise makes a result one nat less certain.

        Args:
            texts: the pieces of each result.
            free: which of them were written.
        """
        if not self.model.bundle.process.has_uniform:
            return list(results)
        asked: list[tuple[Sequence[int], range]] = []
        owners: list[int] = []
        for i, parts in enumerate(texts):
            tokens, token_spans = self.tokenizer.encode_with_offsets("".join(parts))
            ends = [end for _, end in token_spans]
            offsets = [0, *itertools.accumulate(map(len, parts))]
            read = -1
            for piece in free:
                first = bisect.bisect_right(ends, offsets[piece]) - _AROUND
                last = bisect.bisect_left(ends, offsets[piece + 1]) + 1 + _AROUND
                window = range(max(read, first, 0), min(last, len(tokens) + 1))
                if window:
                    asked.append((tokens, window))
                    owners.append(i)
                    read = window.stop
        found = self._read(asked)
        judged = list(results)
        for i, (doubts, cost) in zip(owners, found, strict=True):
            one = judged[i]
            usage = one.usage.plus_work([cost.usage])
            judged[i] = dataclasses.replace(one, certainty=one.certainty - len(doubts), usage=usage)
        return judged
