"""Denoises the free pieces of texts: `editing` plans the requests, and the model answers them together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from sfumato.engine import editing
from sfumato.engine.excerpt import EditableModel
from sfumato.engine.options import CanvasOptions, ConstraintOptions
from sfumato.engine.request import Request, Result
from sfumato.errors import RequestError
from sfumato.sampling.constraint import backward

Show = Callable[[list[str]], None]
_MAX_LENGTHS = 16


class PieceWriter:
    """One job in one context.

    Args:
        context: tokens before all texts.
        seeds: one per answer.
        constraints: on the text of a gap.
        on_draft: see `EditOptions`.
    """

    def __init__(
        self,
        model: EditableModel,
        context: tuple[int, ...],
        seeds: Sequence[int],
        options: CanvasOptions,
        constraints: ConstraintOptions,
        on_draft: Callable[[str], None] | None = None,
    ) -> None:
        self.model, self.context, self.seeds, self.options = model, context, seeds, options
        self.constraints, self.on_draft = constraints, on_draft
        self.tokenizer = model.tokenizer

    def rewrite(
        self,
        layouts: Sequence[Sequence[editing.Piece]],
        seeds: Sequence[int],
        options: CanvasOptions,
        *,
        noise_level: float = 1.0,
        blanks: bool,
        end: tuple[int, ...] | None = None,
        show: Show | None = None,
    ) -> list[tuple[Result, list[str]]]:
        """Denoise the free pieces of several texts together and return, for each, its cost and the texts of its pieces.
        Shows drafts of the middle one."""
        max_positions = self.model.context_length - len(self.context)
        template = self.model.request(self.context, max_tokens=1, **options)
        planned: list[list[editing.Job]] = []
        requests: list[Request] = []
        for pieces, seed in zip(layouts, seeds, strict=True):
            jobs = editing.plan_jobs(
                pieces,
                end=self.tokenizer.eos_ids[:1] if end is None else end,
                canvas_length=template.canvas_length,
                max_positions=max_positions,
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
                        automaton=job.automaton,
                        auto_length=False,
                        max_tokens=len(job.start.tokens),
                        seed=seed,
                    )
                )
        middle = len(planned) // 2
        first = sum(map(len, planned[:middle]))
        watch = show and editing.follow(self.tokenizer, layouts[middle], planned[middle], first, show)
        answers = iter([results[0] for results in self.model.results(requests, on_event=watch)])
        done: list[tuple[Result, list[str]]] = []
        for pieces, jobs, seed in zip(layouts, planned, seeds, strict=True):
            results = [next(answers) for _ in jobs]
            texts = editing.put_back(self.tokenizer, pieces, jobs, [one.tokens for one in results])
            done.append((editing.merge_results(results, seed, self.model.name), texts))
        return done

    def laid(self, text: str, spans: Sequence[editing.Span], slack: int) -> list[editing.Piece]:
        """The pieces of a text with some spans free and extra slots for them."""
        if len(spans) != 1:
            return editing.cut(self.tokenizer, text, spans, slack=slack)
        [(start, end)] = spans
        return self.gap(text[:start], text[start:end], text[end:], slack)

    def gap(self, prefix: str, text: str, suffix: str, slack: int = 0) -> list[editing.Piece]:
        before, free, after = editing.gap(
            self.tokenizer, prefix, text, suffix, heal=self.tokenizer.has_bytes, slack=slack
        )
        automaton = self.model.languages.asked(self.constraints, frame=free.frame)
        return [before, dataclasses.replace(free, automaton=automaton), after]

    def fitting(
        self, pieces: Sequence[editing.Piece], lengths: Sequence[int], max_tokens: int = 0, *, blanks: bool
    ) -> list[int]:
        """Those lengths of a gap that an allowed text can have; if none, some up to a maximum that one can have.

        Raises:
            RequestError: if there are none of these either.
        """
        automaton, num_shared = pieces[1].automaton, sum(map(bool, pieces[1].frame))
        if automaton is None:
            return list(lengths)
        longest = max(max_tokens, *lengths)
        # From which states a text can end after a number of tokens.
        possible = backward(automaton, [-1] * (longest + num_shared), may_end=blanks)[::-1]
        fits = [length for length in range(1, longest + 1) if possible[length + num_shared, automaton.start]]
        found = [length for length in lengths if length in fits]
        if not found:
            others = [length for length in fits if length <= max_tokens]
            found = others[:: 1 + len(others) // _MAX_LENGTHS]
        if not found:
            names = " and ".join(self.constraints)
            needed = "shorter or longer" if max_tokens == 0 else "longer"
            shortest = max(1, int(automaton.distance_S[automaton.start]) - num_shared)
            raise RequestError(
                f"every text that satisfies {names} is {needed} than {longest} tokens, the shortest about {shortest}; "
                "allowed: one that fits into the gap"
            )
        return found
