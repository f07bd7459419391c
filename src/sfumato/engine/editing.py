"""Texts with gaps: spans are rewritten, and every byte outside them stays the same.

A text is cut at the ends of its spans, and each piece is tokenized separately, so text outside comes back exactly as
given, whatever a tokenizer would have merged across a cut. The pieces become the start of an answer: frozen outside,
free inside. Distant spans are separate jobs, each with as much surrounding text as the model holds, so the cost depends
on what is edited and not on the length of the text.

If the model was trained for it (`GenerationSpec.blanks`), a free piece has more slots than tokens and may leave some of
them empty; otherwise it keeps its number of tokens.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import regex  # type: ignore[import-untyped]

from sfumato.constraints.automaton import Automaton
from sfumato.constraints.patterns import escape
from sfumato.engine.request import CanvasChanged, Committed, Event, Result, Start, Usage
from sfumato.errors import RequestError, as_list
from sfumato.text.tokenizer import Tokenizer

Span = tuple[int, int]
"""Characters from start to end, end exclusive."""
# Per position of a model: more than tokens have.
_MAX_CHARACTERS = 16


@dataclass(frozen=True)
class Piece:
    text: str
    tokens: tuple[int, ...]
    """Its tokens; for a free piece, as many as it may need."""
    free: bool
    frame: tuple[str, str] = ("", "")
    """For a free piece: the end of the text before it and the start of the text after it, which its tokens cover
    too."""
    automaton: Automaton | None = None
    """Constraint on the tokens of a free piece."""


@dataclass(frozen=True)
class Job:
    """Free pieces that are denoised together, and the pieces around them."""

    pieces: range
    """Indices of the free pieces and those between them."""
    before: tuple[int, ...]
    start: Start
    """Their own tokens, and those after them that they attend to."""
    automaton: Automaton | None = None
    """Constraint on its first free piece."""


def check_spans(text: str, spans: Iterable[Span], name: str = "spans") -> list[Span]:
    """The spans in order.

    Raises:
        RequestError: if they are not a list of pairs, or a span is empty, reversed, outside the text, overlaps another
            or cuts a character in two.
    """
    ordered = sorted(as_list(name, spans, "span"))
    for start, end in ordered:
        if not 0 <= start < end <= len(text):
            raise RequestError(f"{name} has ({start}, {end}); allowed: 0 <= start < end <= {len(text)}")
        for offset in (start, end):
            if _cuts_a_character(text, offset):
                before, after = text[offset - 1], text[offset]
                raise RequestError(
                    f"{name} has ({start}, {end}), which cuts a character at {offset}, between U+{ord(before):04X} and "
                    f"U+{ord(after):04X}"
                )
    for (start, end), (other_start, other_end) in itertools.pairwise(ordered):
        if other_start < end:
            raise RequestError(f"{name} has ({start}, {end}) and ({other_start}, {other_end}), which overlap")
    return ordered


def _cuts_a_character(text: str, offset: int) -> bool:
    # Characters end with their line.
    line = text.rfind("\n", 0, offset) + 1
    ends = (line + match.end() for match in regex.finditer(r"\X", text[line : offset + 1]))
    return line < offset < len(text) and offset not in ends


def surroundings(text: str, start: int, end: int, num_positions: int) -> Span:
    """The lines around a part of a text that a model with some positions can see, and more; of long lines only the
    nearer part."""
    reach = _MAX_CHARACTERS * num_positions
    first = text.rfind("\n", 0, max(0, start - reach)) + 1
    last = text.find("\n", end + reach) + 1 or len(text)
    return max(first, start - 2 * reach), min(last, end + 2 * reach)


def between(text: str, spans: Sequence[Span]) -> list[Span]:
    """The parts of a text outside some spans, in order."""
    bounds = [0, *itertools.chain.from_iterable(spans), len(text)]
    return [(start, end) for start, end in zip(bounds[::2], bounds[1::2], strict=True) if start < end]


def cut(tokenizer: Tokenizer, text: str, spans: Sequence[Span], *, slack: int = 0) -> list[Piece]:
    """Cut a text into pieces, whose texts joined give the text.

    Args:
        spans: from `check_spans`.
        slack: extra slots for each free piece.
    """
    pieces: list[Piece] = []
    offset = 0
    for start, end in [*spans, (len(text), len(text))]:
        for first, last, free in ((offset, start, False), (start, end, True)):
            if last > first:
                part = text[first:last]
                spare = tokenizer.eos_ids[:1] * (slack * free)
                pieces.append(Piece(part, (*tokenizer.encode(part), *spare), free))
        offset = end
    return pieces


def pin_tokens(tokenizer: Tokenizer, text: str, pins: Sequence[Span]) -> tuple[list[int], list[bool], str | None]:
    """The tokens of a draft, which of them are pinned, and a regex for what the draft may become.

    Args:
        text: the draft, tokenized as a whole, because a model does not know words cut at the ends of pins.
        pins: spans that stay, from `check_spans`. Of a token that crosses the end of a pin, only the text inside stays.

    Returns:
        Tokens, whether each is inside a pin, and the regex; None if no token crosses the end of a pin.
    """
    tokens, pinned = tokenizer.encode(text), list[int]()
    for start, end in pins:
        pinned += range(len(text[:start].encode()), len(text[:end].encode()))
    inside, offset, frozen, across = set(pinned), 0, list[bool](), False
    for token in tokens:
        size = len(tokenizer.token_bytes[token] or b"")
        held = [byte in inside for byte in range(offset, offset + size)]
        # If one token ends a pin and begins the next, there is text between them, or they are one pin.
        frozen.append(all(held))
        across |= any(held) and not all(held)
        offset += size
    ends = "(?s:.*)" if not pins or pins[0][0] else "", "(?s:.*)" if not pins or pins[-1][1] < len(text) else ""
    kept = "(?s:.*)".join(escape(text[start:end]) for start, end in pins)
    return tokens, frozen, f"{ends[0]}{kept}{ends[1]}" if across else None


def laid_out(tokens: Sequence[int], free: range, around: int) -> list[Piece]:
    """The pieces of a text with some tokens free, separately or joined if adjacent; long texts are cut to a number of
    surrounding tokens."""
    offset = max(0, free.start - around)
    pieces: list[Piece] = []
    for start, end in [(free.start, free.stop)] if free.step == 1 else [(one, one + 1) for one in free]:
        pieces += [Piece("", tuple(tokens[offset:start]), False), Piece("", tuple(tokens[start:end]), True)]
        offset = end
    return [*pieces, Piece("", tuple(tokens[offset : offset + around]), False)]


def find_doubted_spans(doubts: Mapping[int, float], *, around: int, length: int, budget: int) -> list[tuple[int, int]]:
    """Ranges of tokens to rewrite: doubted tokens with their neighbours.

    Args:
        doubts: by index, how sure the model is of another token.
        around: number of neighbours on each side.
        length: number of tokens in the text.
        budget: maximum tokens in total; ranges with the surest doubts come first.

    Returns:
        Start and end of each range, in order.
    """
    spans = _merged((max(0, index - around), min(length, index + 1 + around)) for index in doubts)
    chosen: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: -max(doubts.get(index, 0.0) for index in range(*span))):
        if end - start <= budget:
            chosen.append((start, end))
            budget -= end - start
    return sorted(chosen)


def widen_to_characters(text: str, spans: Sequence[Span]) -> list[Span]:
    """Widen spans to whole characters as `check_spans` requires, sort them and merge those that touch."""
    ends = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    widened = ((ends[bisect.bisect_right(ends, a) - 1], ends[bisect.bisect_left(ends, b)]) for a, b in spans)
    return _merged((start, end) for start, end in widened if start < end)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, with those that touch as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def gap(tokenizer: Tokenizer, prefix: str, text: str, suffix: str, *, heal: bool, slack: int = 0) -> list[Piece]:
    """Three pieces: the text before a gap, the free gap, and the text after it.

    Args:
        heal: let the free piece include the last token of the prefix and the first of the suffix, with the constraint
            that it begins and ends with their text, so words at the edges are tokenized normally.
        slack: extra slots for the free piece.
    """
    before, after = tokenizer.encode(prefix), tokenizer.encode(suffix)
    left = _whole(tokenizer, before[-1:]) if heal else ""
    right = _whole(tokenizer, after[:1]) if heal else ""
    taken = bool(left), bool(right)
    tokens = [*tokenizer.encode(left + text + right), *tokenizer.eos_ids[:1] * slack]
    return [
        Piece(prefix, tuple(before[: len(before) - taken[0]]), False),
        Piece(text, tuple(tokens), True, (left, right)),
        Piece(suffix, tuple(after[taken[1] :]), False),
    ]


def with_slots(pieces: Sequence[Piece], slots: int) -> list[Piece]:
    """The pieces of a gap with a given number of tokens, besides those taken from its neighbours."""
    before, free, after = pieces
    return [before, replace(free, tokens=(0,) * (slots + sum(map(bool, free.frame)))), after]


def _whole(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    """A token's text, if its bytes are whole characters."""
    try:
        return b"".join(tokenizer.token_bytes[token] or b"" for token in tokens).decode()
    except UnicodeDecodeError:
        return ""


def plan_jobs(
    pieces: Sequence[Piece],
    *,
    end: Sequence[int],
    canvas_length: int,
    max_positions: int,
    noise_level: float,
    blanks: bool = False,
) -> list[Job]:
    """Group the free pieces into jobs.

    Args:
        end: tokens that follow the whole text.
        canvas_length: how far a job sees past its last free position, and how close free pieces must be to share a job.
        max_positions: maximum positions of a job, including the text before it.
        noise_level: see `Start`.
        blanks: see `Start`.

    Raises:
        RequestError: if a free piece alone is longer than a job may be.
    """
    all_tokens = (*(token for piece in pieces for token in piece.tokens), *end)
    offsets = [0]
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece.tokens))
    groups: list[list[int]] = []
    for i, piece in enumerate(pieces):
        if not piece.free or not piece.tokens:
            continue
        near = groups and offsets[i] - offsets[groups[-1][-1] + 1] < canvas_length
        if near and offsets[i + 1] - offsets[groups[-1][0]] <= max_positions // 2:
            groups[-1].append(i)
        else:
            groups.append([i])
    jobs = []
    for group in groups:
        first, last = offsets[group[0]], offsets[group[-1] + 1]
        if last - first > max_positions - 2:
            raise RequestError(
                f"a span or gap has {last - first} tokens; allowed: {max_positions - 2}, or several spans"
            )
        seen = min(last + canvas_length, len(all_tokens), first + max_positions - 1)
        context_start = max(0, seen - max_positions)
        frozen = [True] * (seen - first)
        for i in group:
            for offset in range(offsets[i], offsets[i + 1]):
                frozen[offset - first] = False
        start = Start(
            tokens=all_tokens[first:seen],
            frozen=tuple(frozen),
            noise_level=noise_level,
            blanks=blanks,
            bound=offsets[group[0] + 1] - first,
        )
        jobs.append(
            Job(
                pieces=range(group[0], group[-1] + 1),
                before=all_tokens[context_start:first],
                start=start,
                automaton=pieces[group[0]].automaton,
            )
        )
    return jobs


def put_back(
    tokenizer: Tokenizer, pieces: Sequence[Piece], jobs: Sequence[Job], answers: Sequence[Sequence[int]]
) -> list[str]:
    """The texts of the pieces after the jobs; the piece of an unfinished job keeps its text.

    Args:
        pieces: before the jobs.
        answers: tokens of each job.
    """
    texts = [piece.text for piece in pieces]
    for job, tokens in zip(jobs, answers, strict=True):
        offset = 0
        for i in job.pieces:
            size = len(pieces[i].tokens)
            if pieces[i].free and offset + size <= len(tokens):
                left, right = pieces[i].frame
                found = tokenizer.decode(tokens[offset : offset + size])
                texts[i] = found.removeprefix(left).removesuffix(right)
            offset += size
    return texts


def follow(
    tokenizer: Tokenizer, pieces: Sequence[Piece], jobs: Sequence[Job], first: int, tell: Callable[[list[str]], None]
) -> Callable[[int, Event], None]:
    """A callback for request events that reports the current drafts of some pieces.

    Args:
        first: id of the first job's request.
        tell: called after each step.
    """
    # Tokens between two canvases come with the first one's commit.
    done: list[list[int]] = [[] for _ in jobs]
    drafts: list[list[int]] = [[] for _ in jobs]

    def take(index: int, event: Event) -> None:
        job = index - first
        if not 0 <= job < len(jobs):
            return
        if isinstance(event, Committed):
            done[job] += event.tokens
        elif isinstance(event, CanvasChanged):
            drafts[job] = [*done[job], *event.tokens]
            tell(put_back(tokenizer, pieces, jobs, drafts))

    return take


def merge_results(results: Sequence[Result], seed: int, model: str) -> Result:
    """Merge the results of several jobs of one text, without the text."""
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


def expand_result(result: Result, text: str) -> Result:
    """Turn a result over part of a text into a result over the whole text."""
    return replace(result, text=text, tokens=(), confidence=())


def rank(results: Iterable[Result]) -> list[Result]:
    """Pick the most certain attempt for each seed, with its own tokens and the work of all its attempts, and drop
    duplicates."""
    attempts_of: dict[int, list[Result]] = {}
    for result in results:
        attempts_of.setdefault(result.seed, []).append(result)
    answers: dict[str, Result] = {}
    for attempts in attempts_of.values():
        best = max(attempts, key=lambda result: (not result.failed, result.certainty))
        best = replace(best, usage=best.usage.plus_work([one.usage for one in attempts if one is not best]))
        if best.text not in answers or best.certainty > answers[best.text].certainty:
            answers[best.text] = best
    return sorted(answers.values(), key=lambda result: (result.failed, -result.certainty))
