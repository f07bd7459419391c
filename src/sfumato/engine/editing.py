"""Texts with gaps: spans of a text are written anew, and every byte outside them stays.

A text is cut at the ends of its spans, and each piece is tokens of its own; so what is outside comes back as it was
given, whatever a tokenizer would have merged across a cut. Pieces become the start of an answer: frozen outside, free
inside. Far spans are separate jobs, each with as much of the text around it as the model holds, so that what a job
costs depends on what is edited and not on how long the text is.

Where a model was trained for it (`GenerationSpec.blanks`), a free piece has more slots than tokens, and may resolve
some of them to nothing; elsewhere it keeps its number of tokens.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import regex  # type: ignore[import-untyped]

from sfumato.constraints.patterns import escape
from sfumato.engine.request import CanvasChanged, Event, Result, Start, Usage
from sfumato.errors import RequestError, as_list
from sfumato.text.tokenizer import Tokenizer

Span = tuple[int, int]
"""Characters from the first to the one behind the last."""


@dataclass(frozen=True)
class Piece:
    """A part of a text."""

    text: str
    """As it was given."""
    tokens: tuple[int, ...]
    """What stands for it; of a free piece, as many as it may come to."""
    free: bool
    """Whether it is written anew."""
    frame: tuple[str, str] = ("", "")
    """Of a free piece: the end of the text before it and the beginning of that behind it, which its tokens stand for
    too."""


@dataclass(frozen=True)
class Job:
    """Free pieces that are denoised together, and the pieces around them."""

    pieces: range
    """Indices of the free pieces, and of those between them."""
    before: tuple[int, ...]
    """Tokens ahead of them."""
    start: Start
    """Theirs, and those behind them that they see."""
    frame: tuple[str, str] = ("", "")
    """Of a single free piece: what it must begin and end with."""


def check_spans(text: str, spans: Iterable[Span], name: str = "spans") -> list[Span]:
    """The spans in order.

    Raises:
        RequestError: if they are no list of pairs; if one is empty, reversed or outside the text, if two overlap, or if
            one cuts a character in two.
    """
    ordered = sorted(as_list(name, spans, "span"))
    whole = {0, len(text)} | {match.end() for match in regex.finditer(r"\X", text)} if ordered else set()
    for start, end in ordered:
        if not 0 <= start < end <= len(text):
            raise RequestError(f"{name} has ({start}, {end}); allowed: 0 <= start < end <= {len(text)}")
        for place in (start, end):
            if place not in whole:
                before, behind = text[place - 1], text[place]
                raise RequestError(
                    f"{name} has ({start}, {end}), which cuts a character at {place}, between U+{ord(before):04X} and "
                    f"U+{ord(behind):04X}"
                )
    for (start, end), (other_start, other_end) in itertools.pairwise(ordered):
        if other_start < end:
            raise RequestError(f"{name} has ({start}, {end}) and ({other_start}, {other_end}), which overlap")
    return ordered


def between(text: str, spans: Sequence[Span]) -> list[Span]:
    """What is outside of some spans of a text, in order."""
    places = [0, *itertools.chain.from_iterable(spans), len(text)]
    return [(start, end) for start, end in zip(places[::2], places[1::2], strict=True) if start < end]


def cut(tokenizer: Tokenizer, text: str, spans: Sequence[Span], *, slack: int = 0) -> list[Piece]:
    """The pieces of a text, whose texts joined are the text.

    Args:
        tokenizer: gives their tokens.
        text: any.
        spans: as `check_spans` gives them.
        slack: slots of a free piece besides its tokens.
    """
    pieces: list[Piece] = []
    place = 0
    for start, end in [*spans, (len(text), len(text))]:
        for first, last, free in ((place, start, False), (start, end, True)):
            if last > first:
                part = text[first:last]
                spare = tokenizer.eos_ids[:1] * (slack * free)
                pieces.append(Piece(part, (*tokenizer.encode(part), *spare), free))
        place = end
    return pieces


def pin_tokens(tokenizer: Tokenizer, text: str, pins: Sequence[Span]) -> tuple[list[int], list[bool], str | None]:
    """The tokens of a draft, which of them stay, and a regex of what the draft may become.

    Args:
        tokenizer: gives the tokens.
        text: the draft, cut into tokens as it ever is: a model does not know words that are cut where a pin ends.
        pins: what stays, as `check_spans` gives it. Of a token that lies across an end of one, the text inside stays.

    Returns:
        Tokens, whether each is inside a pin, and the regex; None where no token lies across an end.
    """
    tokens, pinned = tokenizer.encode(text), list[int]()
    for start, end in pins:
        pinned += range(len(text[:start].encode()), len(text[:end].encode()))
    inside, place, frozen, across = set(pinned), 0, list[bool](), False
    for token in tokens:
        size = len(tokenizer.token_bytes[token] or b"")
        held = [byte in inside for byte in range(place, place + size)]
        # A token that ends one pin and begins the next has text between them, or they are one.
        frozen.append(all(held))
        across |= any(held) and not all(held)
        place += size
    ends = "(?s:.*)" if not pins or pins[0][0] else "", "(?s:.*)" if not pins or pins[-1][1] < len(text) else ""
    kept = "(?s:.*)".join(escape(text[start:end]) for start, end in pins)
    return tokens, frozen, f"{ends[0]}{kept}{ends[1]}" if across else None


def laid_out(tokens: Sequence[int], free: range, around: int) -> list[Piece]:
    """The pieces of a text of which some tokens are free, each of them or all that are next to each other; with so many
    tokens around them, where it has more."""
    place = max(0, free.start - around)
    pieces: list[Piece] = []
    for start, end in [(free.start, free.stop)] if free.step == 1 else [(one, one + 1) for one in free]:
        pieces += [Piece("", tuple(tokens[place:start]), False), Piece("", tuple(tokens[start:end]), True)]
        place = end
    return [*pieces, Piece("", tuple(tokens[place : place + around]), False)]


def doubted_spans(doubts: Mapping[int, float], *, around: int, length: int, budget: int) -> list[tuple[int, int]]:
    """Stretches of tokens: those that are doubted, with their neighbours.

    Args:
        doubts: how sure a model is of another token, by place.
        around: tokens to each side that belong to a stretch.
        length: tokens of the text.
        budget: most tokens of all; the stretches with the surest doubts come first.

    Returns:
        The first token, and the one behind the last, of each, in order.
    """
    spans: list[tuple[int, int]] = []
    for place in sorted(doubts):
        start, end = max(0, place - around), min(length, place + 1 + around)
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    chosen: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: -max(doubts.get(place, 0.0) for place in range(*span))):
        if end - start <= budget:
            chosen.append((start, end))
            budget -= end - start
    return sorted(chosen)


def whole_characters(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans widened to characters as `check_spans` wants them, in order; those that meet become one."""
    ends = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    widened: list[Span] = []
    for start, end in sorted(spans):
        start, end = ends[bisect.bisect_right(ends, start) - 1], ends[bisect.bisect_left(ends, end)]
        if widened and start <= widened[-1][1]:
            widened[-1] = (widened[-1][0], max(end, widened[-1][1]))
        elif start < end:
            widened.append((start, end))
    return widened


def gap(tokenizer: Tokenizer, prefix: str, text: str, suffix: str, *, heal: bool, slack: int = 0) -> list[Piece]:
    """The pieces of a text in which one is free: what is before it, itself, and what is behind it.

    Args:
        tokenizer: gives tokens.
        prefix, text, suffix: the three.
        heal: let the free piece take the last token of the prefix and the first of the suffix with it, whose text it
            must then begin and end with; so that words may be cut into tokens across the seams as they ever are.
        slack: slots of the free piece besides its tokens.
    """
    before, behind = tokenizer.encode(prefix), tokenizer.encode(suffix)
    left = _whole(tokenizer, before[-1:]) if heal else ""
    right = _whole(tokenizer, behind[:1]) if heal else ""
    taken = bool(left), bool(right)
    tokens = [*tokenizer.encode(left + text + right), *tokenizer.eos_ids[:1] * slack]
    return [
        Piece(prefix, tuple(before[: len(before) - taken[0]]), False),
        Piece(text, tuple(tokens), True, (left, right)),
        Piece(suffix, tuple(behind[taken[1] :]), False),
    ]


def with_slots(pieces: Sequence[Piece], slots: int) -> list[Piece]:
    """The pieces of a gap that has so many tokens, besides those that it takes from its neighbours."""
    before, free, behind = pieces
    return [before, replace(free, tokens=(0,) * (slots + sum(map(bool, free.frame)))), behind]


def _whole(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    """The text of a token, if its bytes are whole characters."""
    try:
        return b"".join(tokenizer.token_bytes[token] or b"" for token in tokens).decode()
    except UnicodeDecodeError:
        return ""


def plan_jobs(
    pieces: Sequence[Piece],
    *,
    end: Sequence[int],
    canvas_length: int,
    most: int,
    noise_level: float,
    blanks: bool = False,
) -> list[Job]:
    """What has to be denoised.

    Args:
        pieces: of the text.
        end: tokens that stand behind the whole text.
        canvas_length: how far a job sees behind its last free position, and how near free pieces have to be to share
            one.
        most: positions of a job, with what is ahead of it.
        noise_level: see `Start`.
        blanks: see `Start`.

    Raises:
        RequestError: if a free piece alone is longer than a job may be.
    """
    behind = (*(token for piece in pieces for token in piece.tokens), *end)
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece.tokens))
    groups: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if not piece.free or not piece.tokens:
            continue
        near = groups and offsets[i] - offsets[groups[-1][-1] + 1] < canvas_length
        if near and offsets[i + 1] - offsets[groups[-1][0]] <= most // 2:
            groups[-1].append(i)
        else:
            groups.append([i])
    jobs = []
    for group in groups:
        first, last = offsets[group[0]], offsets[group[-1] + 1]
        if last - first > most - 2:
            raise RequestError(f"a span has {last - first} tokens; allowed: {most - 2}, make several spans of it")
        seen = min(last + canvas_length, len(behind), first + most - 1)
        ahead = max(0, seen - most)
        frozen = [True] * (seen - first)
        for i in group:
            for place in range(offsets[i], offsets[i + 1]):
                frozen[place - first] = False
        start = Start(
            tokens=behind[first:seen],
            frozen=tuple(frozen),
            noise_level=noise_level,
            blanks=blanks,
            bound=offsets[group[0] + 1] - first,
        )
        jobs.append(
            Job(
                pieces=range(group[0], group[-1] + 1),
                before=behind[ahead:first],
                start=start,
                frame=pieces[group[0]].frame,
            )
        )
    return jobs


def put_back(
    tokenizer: Tokenizer, pieces: Sequence[Piece], jobs: Sequence[Job], answers: Sequence[Sequence[int]]
) -> list[str]:
    """The texts of the pieces after the jobs are done; a piece whose job did not come to its end keeps its own.

    Args:
        tokenizer: reads tokens.
        pieces: as they were.
        jobs: theirs.
        answers: tokens of each job.
    """
    texts = [piece.text for piece in pieces]
    for job, tokens in zip(jobs, answers, strict=True):
        place = 0
        for i in job.pieces:
            size = len(pieces[i].tokens)
            if pieces[i].free and place + size <= len(tokens):
                left, right = pieces[i].frame
                found = tokenizer.decode(tokens[place : place + size])
                texts[i] = found.removeprefix(left).removesuffix(right)
            place += size
    return texts


def follow(
    tokenizer: Tokenizer, pieces: Sequence[Piece], jobs: Sequence[Job], first: int, tell: Callable[[list[str]], None]
) -> Callable[[int, Event], None]:
    """What takes the events of requests, and tells the texts of some pieces as their drafts stand.

    Args:
        tokenizer, pieces, jobs: as for `put_back`.
        first: the request of the first job.
        tell: called after each step.
    """
    drafts: list[dict[int, Sequence[int]]] = [{} for _ in jobs]

    def take(index: int, event: Event) -> None:
        if isinstance(event, CanvasChanged) and first <= index < first + len(jobs):
            drafts[index - first][event.canvas] = event.tokens
            tell(put_back(tokenizer, pieces, jobs, [[*itertools.chain(*each.values())] for each in drafts]))

    return take


def as_one(results: Sequence[Result], seed: int, model: str) -> Result:
    """Several jobs of one text as one result, without its text."""
    by_gravity = sorted(results, key=lambda result: result.finish_reason == "steps")
    failed = next((result for result in by_gravity if result.finish_reason != "stop"), None)
    return Result(
        text="",
        tokens=results[0].tokens if len(results) == 1 else (),
        confidence=results[0].confidence if len(results) == 1 else (),
        finish_reason="stop" if failed is None else failed.finish_reason,
        seed=seed,
        model=model,
        usage=Usage.together([result.usage for result in results]),
        trace=[event for result in results for event in result.trace],
        canvases=tuple(canvas for result in results for canvas in result.canvases),
        certainty=min((result.certainty for result in results), default=0.0),
        error="" if failed is None else failed.error,
    )


def of_text(result: Result, text: str) -> Result:
    """A result as one of the whole text, of which its tokens are only a part."""
    return dataclasses.replace(result, text=text, tokens=(), confidence=())


def ranked(tries: Sequence[Sequence[Result]]) -> list[Result]:
    """Of the tries for each answer the most certain, with what all of them cost; then the answers that differ."""
    answers: dict[str, Result] = {}
    for own in tries:
        best = max(own, key=lambda result: (not result.failed, result.certainty))
        best = dataclasses.replace(best, usage=Usage.together([result.usage for result in own]))
        if best.text not in answers or best.certainty > answers[best.text].certainty:
            answers[best.text] = best
    return sorted(answers.values(), key=lambda result: (result.failed, -result.certainty))
