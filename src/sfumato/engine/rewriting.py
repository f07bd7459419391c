"""Parts of texts written anew: gaps, spans, and what a model doubts.

Everything here is requests to a model, whose answers start from a text (`editing`); what is tried side by side shares
one batch.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sfumato.engine import editing
from sfumato.engine.languages import LANGUAGES
from sfumato.engine.request import Request, Result, Usage
from sfumato.errors import RequestError

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel

_TRIED_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
# Slots of a gap that may stay empty, and how many a span gets besides its own.
_TRIED_SLOTS = (8, 16, 32)
_SLACK = 6
# Tokens more or less that a span may come back with, slots besides its own where some may stay empty, and how many
# tokens it may have for that.
_NEAR, _SPARE, _LONGEST_TRIED = 3, (0, 4, 10), 32
# Tokens behind a gap, and around it, that judge what was written in it.
_HIDDEN, _AROUND = 8, 8
# How sure a model has to be of another token to doubt the one that stands, and how many tokens to each side of it are
# written anew with it.
_SURE, _BESIDE = 0.5, 2
# Every such token is hidden at once where a model has to be asked what is behind a mask.
_HIDDEN_SHARE = 4
# Of what stands, a model of random tokens is told that none of it is noise.
_LEAST_NOISE = 1e-6


class Rewriting:
    """One job, in one context.

    Args:
        model: writes.
        context: tokens ahead of all texts.
        seeds: one for each answer.
        settings: of its requests.
    """

    def __init__(
        self, model: TextModel, context: tuple[int, ...], seeds: Sequence[int], settings: dict[str, Any]
    ) -> None:
        alien = sorted(settings.keys() & {*LANGUAGES, "seed_text", "pin", "revisit"})
        if alien:
            raise RequestError(f"{alien[0]} is not for gaps and edits; allowed: with generate")
        self.model, self.context, self.seeds, self.settings = model, context, seeds, settings
        self.tokenizer = model.tokenizer

    def infill(self, prefix: str, suffix: str, *, length: int | Literal["auto"], max_tokens: int) -> list[Result]:
        """See `TextModel.infill`."""
        pieces, judge = self._gap(prefix, "", suffix), length == "auto"
        blanks = judge and self.model.spec.blanks
        tried: dict[tuple[int, int], Result] = {}

        def fill(lengths: Sequence[int]) -> None:
            tried.update(self._fill(pieces, lengths, judge=judge, blanks=blanks))

        if length != "auto":
            fill([length])
        elif blanks:
            fill(sorted({min(slots, max_tokens) for slots in _TRIED_SLOTS}))
        else:
            coarse = [one for one in _TRIED_LENGTHS if one <= max_tokens]
            fill(coarse)
            near: set[int] = set()
            for own in self.seeds:
                for best in sorted(coarse, key=lambda one: -tried[one, own].certainty)[:2]:
                    place = coarse.index(best)
                    low = coarse[place - 1] if place else 0
                    high = coarse[place + 1] if place + 1 < len(coarse) else max_tokens + 1
                    near |= set(range(low + 1, high)) - set(coarse)
            if near:
                fill(sorted(near))
        ranked = _ranked([[tried[key] for key in tried if key[1] == own] for own in self.seeds])
        # Of the text alone, without what it shares tokens with.
        return [
            dataclasses.replace(one, tokens=tuple(self.tokenizer.encode(one.text)), confidence=()) for one in ranked
        ]

    def edit(self, text: str, spans: Sequence[editing.Span], *, noise_level: float, judge: bool | None) -> list[Result]:
        """See `TextModel.edit`.

        Args:
            text: any.
            spans: as `editing.check_spans` gives them.
            noise_level: that they start from.
            judge: try several lengths and judge them; None does for a single span.
        """
        judge = len(spans) == 1 if judge is None else judge
        blanks = self.model.spec.blanks
        start, end = spans[0] if len(spans) == 1 else (0, 0)
        size = len(self.tokenizer.encode(text[start:end]))
        if judge and noise_level == 1.0 and 0 < size <= _LONGEST_TRIED:
            # Nothing of what stood there is kept, and so neither is its length.
            lengths = list(range(max(1, size - _NEAR), size + _NEAR + 1))
            if blanks:
                lengths = [size + spare for spare in _SPARE]
            tried = self._fill(self._gap(text[:start], "", text[end:]), lengths, judge=True, blanks=blanks)
            whole_texts = {
                key: _of_text(result, f"{text[:start]}{result.text}{text[end:]}") for key, result in tried.items()
            }
            return _ranked([[whole_texts[one, own] for one in lengths] for own in self.seeds])
        slack = _SLACK if blanks else 0
        keys = [(spare, seed) for seed in self.seeds for spare in sorted({0 if judge else slack, slack})]
        laid = {spare: self._laid(text, spans, spare) for spare, _ in keys}
        rewritten = self._rewrite(
            [laid[spare] for spare, _ in keys],
            [seed for _, seed in keys],
            self.settings,
            noise_level=noise_level,
            blanks=blanks,
        )
        whole = [_of_text(result, "".join(texts)) for result, texts in rewritten]
        if judge and blanks:
            free = [i for i, piece in enumerate(laid[slack]) if piece.free]
            whole = self._read_again(whole, [texts for _, texts in rewritten], free)
        return _ranked([[one for one, (_, seed) in zip(whole, keys, strict=True) if seed == own] for own in self.seeds])

    def edit_where_doubted(self, text: str, *, noise_level: float, budget: int, judge: bool | None) -> list[Result]:
        """See `TextModel.edit`, without spans."""
        spans, read = self._doubted(text, budget)
        if not spans:
            return [dataclasses.replace(read, text=text)]
        return [
            dataclasses.replace(result, usage=Usage.together([read.usage, result.usage]))
            for result in self.edit(text, spans, noise_level=noise_level, judge=judge is not False)
        ]

    def _doubted(self, text: str, budget: int) -> tuple[list[editing.Span], Result]:
        """Where the model would rather have written something else, and what it cost to find out."""
        tokens, places = self.tokenizer.encode_with_places(text)
        [(doubts, read)] = self._read([(tokens, range(len(tokens) + 1))])
        if len(tokens) in doubts and tokens:
            # More is to follow: the last token is where it can.
            doubts[len(tokens) - 1] = max(doubts.pop(len(tokens)), doubts.get(len(tokens) - 1, 0.0))
        sure = {place: share for place, share in doubts.items() if share > _SURE}
        spans = editing.doubted_spans(sure, around=_BESIDE, length=len(tokens), budget=budget)
        chosen = [(places[start][0], places[end - 1][1]) for start, end in spans]
        return editing.whole_characters(text, chosen), read

    def _read(self, asked: Sequence[tuple[Sequence[int], range]]) -> list[tuple[dict[int, float], Result]]:
        """What a model would rather have written in some texts.

        A model of random tokens reads a text as it stands, in one step, and says what it takes for noise. One of masks
        is sure of whatever it can see: it is asked for every fourth token from those between, four times.

        Args:
            asked: tokens of a text, and the places among them to look at; behind the last is its end.

        Returns:
            For each, by place, the probability of another token that is the likeliest there; and what it cost.
        """
        sees_noise = self.model.generator.process.has_uniform
        phases = 1 if sees_noise else _HIDDEN_SHARE
        window = max(phases, self.model.request(self.context, max_tokens=1, **self.settings).canvas_length // 2)
        texts = [(*tokens, *self.tokenizer.eos_ids[:1]) for tokens, _ in asked]
        parts = [
            (i, range(first + phase, min(first + window, places.stop), phases))
            for i, (_, places) in enumerate(asked)
            for first in range(places.start, places.stop, window)
            for phase in range(min(phases, places.stop - first))
        ]
        read = self._rewrite(
            [editing.laid_out(texts[i], part) for i, part in parts],
            [self.seeds[0]] * len(parts),
            self.settings | {"steps": 1, "temperature": 0.0, "trace": False},
            noise_level=_LEAST_NOISE if sees_noise else 1.0,
            blanks=True,
            end=(),
        )
        found: list[tuple[dict[int, float], list[Result]]] = [({}, []) for _ in asked]
        for (i, part), (result, _) in zip(parts, read, strict=True):
            doubts, results = found[i]
            results.append(result)
            for place in part:
                own = place - part.start
                if own < len(result.tokens) and result.tokens[own] != texts[i][place]:
                    doubts[place] = result.confidence[own]
        return [(doubts, self._as_one(results, self.seeds[0])) for doubts, results in found]

    def _rewrite(
        self,
        layouts: Sequence[Sequence[editing.Piece]],
        seeds: Sequence[int],
        settings: dict[str, Any],
        *,
        noise_level: float = 1.0,
        blanks: bool,
        end: tuple[int, ...] | None = None,
    ) -> list[tuple[Result, list[str]]]:
        """Denoise the free pieces of several texts together: for each, what it cost and the texts of its pieces."""
        most = self.model.decoder.config.max_position_embeddings - len(self.context)
        template = self.model.request(self.context, max_tokens=1, **settings)
        planned: list[list[editing.Job]] = []
        requests: list[Request] = []
        for pieces, seed in zip(layouts, seeds, strict=True):
            jobs = editing.plan_jobs(
                pieces,
                end=self.tokenizer.eos_ids[:1] if end is None else end,
                canvas_length=template.canvas_length,
                most=most,
                noise_level=noise_level,
                blanks=blanks,
            )
            planned.append(jobs)
            for job in jobs:
                requests.append(
                    dataclasses.replace(
                        template,
                        prompt=(*self.context, *job.before),
                        start=job.start,
                        automaton=self.model.languages.framed(*job.frame),
                        fit=False,
                        max_tokens=len(job.start.tokens),
                        seed=seed,
                    )
                )
        answers = iter([results[0] for results in self.model.results(requests)])
        done: list[tuple[Result, list[str]]] = []
        for pieces, jobs, seed in zip(layouts, planned, seeds, strict=True):
            own = [next(answers) for _ in jobs]
            texts = editing.put_back(self.tokenizer, pieces, jobs, own)
            done.append((self._as_one(own, seed), texts))
        return done

    def _fill(
        self,
        pieces: Sequence[editing.Piece],
        lengths: Sequence[int],
        *,
        judge: bool,
        blanks: bool = False,
    ) -> dict[tuple[int, int], Result]:
        """Fillings of a gap by (length, seed), judged by what follows if they are to be compared."""
        keys = [(one, seed) for seed in self.seeds for one in lengths]
        laid = {one: editing.with_slots(pieces, one) for one in lengths}
        layouts = [laid[one] for one, _ in keys]
        rewritten = self._rewrite(layouts, [seed for _, seed in keys], self.settings, blanks=blanks)
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

    def _laid(self, text: str, spans: Sequence[editing.Span], slack: int) -> list[editing.Piece]:
        """The pieces of a text with some spans free, which may come to have more tokens."""
        if len(spans) != 1:
            return editing.cut(self.tokenizer, text, spans, slack=slack)
        [(start, end)] = spans
        return self._gap(text[:start], text[start:end], text[end:], slack)

    def _gap(self, prefix: str, text: str, suffix: str, slack: int = 0) -> list[editing.Piece]:
        return editing.gap(self.tokenizer, prefix, text, suffix, heal=self.model.languages.can_frame, slack=slack)

    def _judged(
        self,
        before: editing.Piece,
        results: Sequence[Result],
        behind: editing.Piece,
    ) -> list[Result]:
        """Fillings of several lengths, held against what is around them.

        The first tokens behind a filling are hidden and read in one step, and each that the model does not find again
        makes the filling a nat less certain; then they are read once more with what is around them.
        """
        tokens = (*behind.tokens, *self.tokenizer.eos_ids[:1])
        hidden, rest = tokens[:_HIDDEN], tokens[_HIDDEN:]
        own = [tuple(one for one in result.tokens if one not in self.tokenizer.eos_ids) for result in results]
        layouts = [
            [
                before,
                editing.Piece(result.text, filling, False),
                editing.Piece("", hidden, True),
                editing.Piece("", rest, False),
            ]
            for result, filling in zip(results, own, strict=True)
        ]
        once = self.settings | {"steps": 1, "temperature": 0.0}
        found = self._rewrite(layouts, [0] * len(layouts), once, blanks=True, end=())
        missed = [sum(map(operator.ne, result.tokens, hidden)) for result, _ in found]
        costs = [result.usage for result, _ in found]
        judged = [
            dataclasses.replace(result, certainty=result.certainty - num, usage=Usage.together([result.usage, cost]))
            for result, num, cost in zip(results, missed, costs, strict=True)
        ]
        return self._read_again(judged, [[before.text, result.text, behind.text] for result in judged], [1])

    def _read_again(
        self, results: Sequence[Result], texts: Sequence[Sequence[str]], free: Sequence[int]
    ) -> list[Result]:
        """Results for which a model of random tokens reads the whole text: each token in and around what was written
        that it takes for noise makes one a nat less certain.

        Args:
            results: of one job.
            texts: of each, the pieces of its text.
            free: which of them were written.
        """
        if not self.model.generator.process.has_uniform:
            return list(results)
        asked: list[tuple[Sequence[int], range]] = []
        owners: list[int] = []
        for i, parts in enumerate(texts):
            tokens, places = self.tokenizer.encode_with_places("".join(parts))
            ends = [end for _, end in places]
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
            usage = Usage.together([one.usage, cost.usage])
            judged[i] = dataclasses.replace(one, certainty=one.certainty - len(doubts), usage=usage)
        return judged

    def _as_one(self, results: Sequence[Result], seed: int) -> Result:
        """Several jobs of one text as one result, without its text."""
        failed = next((result for result in results if result.finish_reason != "stop"), None)
        return Result(
            text="",
            tokens=results[0].tokens if len(results) == 1 else (),
            confidence=results[0].confidence if len(results) == 1 else (),
            finish_reason="stop" if failed is None else failed.finish_reason,
            seed=seed,
            model=self.model.name,
            usage=Usage.together([result.usage for result in results]),
            trace=[event for result in results for event in result.trace],
            canvases=tuple(canvas for result in results for canvas in result.canvases),
            certainty=sum(result.certainty for result in results) / max(1, len(results)),
            error="" if failed is None else failed.error,
        )


def _of_text(result: Result, text: str) -> Result:
    """A result as one of the whole text, of which its tokens are only a part."""
    return dataclasses.replace(result, text=text, tokens=(), confidence=())


def _ranked(tries: Sequence[Sequence[Result]]) -> list[Result]:
    """Of the tries for each answer the most certain, with what all of them cost; then the answers that differ."""
    answers: dict[str, Result] = {}
    for own in tries:
        best = max(own, key=lambda result: (not result.failed, result.certainty))
        best = dataclasses.replace(best, usage=Usage.together([result.usage for result in own]))
        if best.text not in answers or best.certainty > answers[best.text].certainty:
            answers[best.text] = best
    return sorted(answers.values(), key=lambda result: (result.failed, -result.certainty))
