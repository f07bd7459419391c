"""Selects the lines of an edited text that the model reads, in the form it was trained on. Nothing here knows what is
edited, or how."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Unpack

from sfumato.data.kinds import PromptKind
from sfumato.engine import editing
from sfumato.engine.bundle import ModelBundle
from sfumato.engine.languages import Languages
from sfumato.engine.options import GenerateOptions
from sfumato.engine.prompts import Prompt
from sfumato.engine.request import Event, Request, Result
from sfumato.errors import RequestError
from sfumato.spec import GenerationSpec
from sfumato.text.patches import common_ends
from sfumato.text.tokenizer import Tokenizer

_TAB = "    "
_UNIT = re.compile("\r\n|.", re.DOTALL)


class EditableModel(Protocol):
    """A model that can edit texts; `TextModel` is one."""

    name: str
    tokenizer: Tokenizer
    generation: dict[str, object]
    kinds: tuple[PromptKind, ...]
    bundle: ModelBundle

    @property
    def spec(self) -> GenerationSpec: ...

    @property
    def context_length(self) -> int: ...

    @property
    def languages(self) -> Languages: ...

    def context(self, prompt: Prompt | None, system: str | None = None) -> tuple[int, ...]: ...

    def request(self, prompt: Prompt, *, n: int = 1, **options: Unpack[GenerateOptions]) -> Request: ...

    def results(
        self,
        requests: Sequence[Request],
        on_progress: Callable[[int], None] | None = None,
        on_event: Callable[[int, Event], None] | None = None,
    ) -> list[list[Result]]: ...


@dataclass(frozen=True)
class Excerpt:
    """The part of a text that the model reads: some lines, with LF line ends, four spaces per indenting tab and no byte
    order mark. Replacements are converted back to the text's own form."""

    original: str
    """The whole text as given."""
    whole: str
    """The text, or what surrounds the spans, as the model reads it."""
    starts: tuple[int, ...]
    """For each character of `whole`, and for its end, its offset in the original."""
    window: editing.Span
    """Range of `whole` that the model reads."""

    @classmethod
    def of(cls, original: str, part: editing.Span | None = None) -> Excerpt:
        """The whole text or a part of it, except the ends of its last lines."""
        first, last = part or (0, len(original))
        read: list[str] = []
        starts: list[int] = []
        indents = True
        for match in _UNIT.finditer(original, first, last):
            unit = match[0]
            if unit == "\ufeff" and not match.start():
                continue
            indents = not read or read[-1] == "\n" or (indents and read[-1] in (" ", _TAB))
            read.append("\n" if unit == "\r\n" else _TAB if unit == "\t" and indents else unit)
            starts += [match.start()] * len(read[-1])
        whole = "".join(read)
        return cls(original, whole, (*starts, last), (0, len(whole.rstrip("\n"))))

    @property
    def text(self) -> str:
        """The text that the model reads."""
        return self.whole[slice(*self.window)]

    def cover(self, spans: Sequence[editing.Span]) -> list[editing.Span]:
        """Map spans of the original to the excerpt, dropping those outside it."""
        first = self.window[0]
        found = [tuple(bisect.bisect_left(self.starts, offset) - first for offset in span) for span in spans]
        return [(start, end) for start, end in found if start < end]

    def locate(self, spans: Sequence[editing.Span]) -> list[editing.Span]:
        """Map spans of the excerpt to the original, widened to whole characters and tabs."""
        first = self.window[0]
        ends = (bisect.bisect_right(self.starts, self.starts[first + end - 1]) for _, end in spans)
        found = [(self.starts[first + start], self.starts[end]) for (start, _), end in zip(spans, ends, strict=True)]
        return editing.widen_to_characters(self.original, found)

    def narrow(self, spans: Sequence[editing.Span], fits: Callable[[str], bool]) -> Excerpt | None:
        """As many whole lines around some spans as fit; None if not even their own lines do."""
        ends = sorted({0, *(match.end() for match in re.finditer("\n", self.whole)), len(self.whole)})
        covered = replace(self, window=(0, 0)).cover(spans)
        stop = max(end for _, end in covered)
        first, last = bisect.bisect_right(ends, covered[0][0]) - 1, bisect.bisect_left(ends, stop)

        def lines(first: int, last: int) -> Excerpt:
            end = max(stop, len(self.whole[: ends[last]].rstrip("\n")))
            return replace(self, window=(ends[first], end))

        if not fits(lines(first, last).text):
            return None
        grows = True
        while grows:
            grows = False
            for above, below in ((1, 0), (0, 1)):
                wider = max(0, first - above), min(last + below, len(ends) - 1)
                if wider != (first, last) and fits(lines(*wider).text):
                    (first, last), grows = wider, True
        return lines(first, last)

    def replaced(self, spans: Sequence[editing.Span], texts: Sequence[str]) -> str:
        """The original with replacements for some spans of the excerpt; unchanged parts stay byte-identical."""
        parts, done = [], 0
        for (start, end), new in zip(spans, texts, strict=True):
            start, end = start + self.window[0], end + self.window[0]
            num_before, num_after = common_ends(self.whole[start:end], new)
            start, end, new = start + num_before, end - num_after, new[num_before : len(new) - num_after]
            if start == end and not new:
                continue
            # A tab is replaced as a whole.
            while start and self.starts[start] == self.starts[start - 1]:
                start, new = start - 1, self.whole[start - 1] + new
            while end and self.starts[end] == self.starts[end - 1]:
                end, new = end + 1, new + self.whole[end]
            parts += [self.original[done : self.starts[start]], self._written(start, new)]
            done = self.starts[end]
        return "".join(parts) + self.original[done:]

    def _written(self, offset: int, text: str) -> str:
        """A text with the original's indentation and line ends."""
        line, given = self.whole[:offset].rpartition("\n")[2], self.original[self.starts[0] : self.starts[-1]]
        if len(re.findall("(?m)^\t", given)) > len(re.findall("(?m)^ ", given)):
            indent = "(?m)^ +" if not line.strip(" ") else "(?<=\n) +"
            text = re.sub(indent, lambda spaces: spaces[0].replace(_TAB, "\t"), text)
        return text.replace("\n", "\r\n") if 2 * given.count("\r\n") > given.count("\n") else text


def choose_excerpts(
    model: EditableModel,
    text: str,
    spans: Sequence[editing.Span] | None,
    prompt: Prompt | None,
    instruction: str | None,
    system: str | None,
    *,
    spare: int,
) -> list[tuple[tuple[int, ...], Excerpt]]:
    """Choose what the model reads of a text, each choice with the tokens before it: first as much as fits; then, in
    case the model is not sure of that, the lines between two blank ones. After an instruction, the excerpt is part of
    the prompt too.

    Args:
        spans: must be included; None for the whole text.
        prompt: what the whole text answers.
        spare: tokens that an edit may add.

    Raises:
        RequestError: if the whole text, or the lines of the spans, do not fit.
    """
    max_positions = model.context_length
    part = editing.surroundings(text, spans[0][0], spans[-1][1], max_positions) if spans else None
    whole = Excerpt.of(text, part)
    if instruction is None or spans == []:
        excerpt = whole if spans is None else replace(whole, window=(0, len(whole.whole)))
        return [(model.context(prompt, system), excerpt)]

    def context(part: str) -> tuple[int, ...]:
        return model.context(f"{instruction}\n{part}", system)

    def positions(part: str) -> int:
        return len(context(part)) + len(model.tokenizer.encode(part)) + spare

    def fits(part: str) -> bool:
        return positions(part) <= max_positions

    found: list[Excerpt | None] = [whole if fits(whole.text) else None]
    if spans is not None:
        block = whole.narrow(spans, lambda part: fits(part) and not re.search(r"(?m)^[ \t]*$", part))
        found = [whole.narrow(spans, fits), block]
    excerpts = [excerpt for excerpt in dict.fromkeys(found) if excerpt is not None]
    if not excerpts:
        lines = len(whole.text.splitlines())
        held = max(1, lines * max_positions // positions(whole.text))
        what, read, allowed = "spans are", f"{held} lines", "fewer lines"
        if spans is None:
            what, read, allowed = "text is", f"{held} of {lines} lines", "a span with --span (spans=)"
        raise RequestError(f"the {what} too long for {model.name}, which reads about {read} at once; name {allowed}")
    return [(context(excerpt.text), excerpt) for excerpt in excerpts]
