"""Repairs Python with verification by the parser, a function, or a project's tests."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sfumato.checkpoints.load import load_checkpoint
from sfumato.checkpoints.registry import find_model
from sfumato.errors import CheckpointError, RequestError
from sfumato.mend.doubts import Calibration, Doubt, find_doubts
from sfumato.mend.evidence import find_targets, gather, run_failing
from sfumato.mend.files import SourceFile, why_not
from sfumato.mend.parsing import Meaning, error_line, find_error, is_beginning, parse
from sfumato.mend.proposals import Proposer
from sfumato.mend.sandbox import Limits, Sandbox
from sfumato.mend.search import Region, Search, SearchConfig, Target
from sfumato.models.decoder import Decoder, fuse
from sfumato.text.lexemes import Lexeme, is_level, lex
from sfumato.text.patches import line_starts
from sfumato.text.tokenizer import check_characters

MAX_ERRORS = 100
"""Maximum syntax errors repaired in a file, one after the other."""
MARGIN = 150
"""Minimum lines before and after an error that are parsed with each candidate."""
_STATEMENT = re.compile(r"(?!(?:elif|else|except|finally)\b)[^\W\d]|@")
"""The beginning of an unindented statement."""
_ERROR = re.compile(r"(E\s+)?(\w+\.)*\w*(Error|Exception|Warning): |ERROR: |ERROR .* - ")
"""A line of an output that says what went wrong."""
JUDGE = "judge"
"""Directory of a model's judge, within the model's."""
_SHRINK, _MIN_LENGTH = 3, 20
"""Of a window of lexemes whose errors are too many to repair together."""
_FURTHER_RUNS = 3
"""Runs of the original text in which the tests must fail again before a repair counts: flaky ones may pass one of many
edits twice."""
_FLAKY = "the tests are flaky: they fail in one run and pass in the next, so they cannot verify a repair"
_SLOTS = 4
"""Positions needed besides a region: its end, and inserted lexemes."""
_NO_LEXEMES = "this model does not read Python lexemes; allowed: mend, or one trained like it"


@dataclass(frozen=True)
class Mended:
    """The outcome for one text."""

    text: str
    """The edited text, or the original if no edit was verified."""
    verified_by: Literal["parser", "caller", "tests"] | None = None
    """None if the text is unchanged."""
    num_edits: int = 0
    num_runs: int = 0
    """Number of texts that were tried."""
    score: float = 0.0
    """Log-odds of the edits against the original text, in nats; 0 for syntax repairs."""
    reason: str = ""
    """Why the text is unchanged."""
    proposal: str = ""
    """The text with which the most tests pass, if more than before but not all; not verified."""


class Mender:
    """Repairs texts with a lexeme model.

    Args:
        model: a model with `lexemes` and a length head.
        length: lexemes it was trained to read at once.
        judge: loads an autoregressive model of lexemes, which helps to order the edits of a search when there is one.

    Raises:
        CheckpointError: if it is another kind of model.
    """

    def __init__(self, model: Decoder, length: int, judge: Callable[[], Decoder] | None = None) -> None:
        if model.config.lexemes is None or not model.length_buckets:
            raise CheckpointError(_NO_LEXEMES)
        self._model = model
        self._load_judge = judge
        self.proposer = Proposer(model)
        self._length = length - _SLOTS

    def __repr__(self) -> str:
        judged = ", with a judge" if self._load_judge is not None else ""
        return f"Mender({self._model.num_parameters / 1e6:.1f}M parameters{judged})"

    def mend(
        self,
        source: str,
        verify: Callable[[str], bool] | None = None,
        *,
        function: str | None = None,
        config: SearchConfig | None = None,
    ) -> Mended:
        """Repair one text: make it parse, then edit it until it is verified.

        Args:
            source: Python code, or nearly.
            verify: whether a text that parses is correct; None leaves text that parses unchanged. An exception ends the
                search.
            function: name of the only function to edit.
        """
        check_characters(source)
        text, edits = source, 0
        if error_line(source) is not None:
            if reason := why_not(source):
                return Mended(source, reason=reason)
            found = mend_syntax(self.proposer, source, length=self._length)
            if found is None:
                return Mended(source, reason="no repair was found that parses")
            text, edits = found
            if verify is None:
                return Mended(text, "parser", edits)
            if verify(text):
                return Mended(text, "caller", edits, 1)
        if verify is None:
            return Mended(source, reason="it parses, and there is nothing else to check it with")
        targets = find_targets({Path(): text}, function=function, length=self._length)
        search = self.search(targets, lambda _, candidate: verify(candidate), config or SearchConfig())
        repair = search.run(targets)
        if repair is None:
            return Mended(source, num_runs=search.num_runs, reason=_gave_up(targets, search, function))
        return Mended(repair.source, "caller", edits + repair.num_edits, repair.num_runs, repair.score)

    def search(
        self,
        targets: Sequence[Target],
        verify: Callable[[Target, str], bool],
        config: SearchConfig,
        on_run: Callable[[int], None] = lambda _: None,
    ) -> Search:
        """A search through some targets, ready to run.

        Raises:
            CheckpointError: if the judge cannot be loaded, or reads other lexemes.
        """
        proposer = self.proposer if self._load_judge is None else Proposer(self._model, judge=self._judge)
        return Search(proposer, verify, config, on_run=on_run)

    @functools.cached_property
    def _judge(self) -> Decoder:
        assert self._load_judge is not None
        judge = self._load_judge()
        if judge.config.lexemes != self._model.config.lexemes:
            raise CheckpointError("the judge's tables of lexemes differ from the model's; allowed: the same sizes")
        return judge

    def doubts(self, source: str, calibration: Calibration) -> list[Doubt]:
        """Likely mistakes in a text that parses, which nothing has verified: at most one per function."""
        return find_doubts(self.proposer, source, calibration, self._length)

    def mend_project(
        self,
        project: Path,
        files: Sequence[SourceFile],
        command: Sequence[str],
        *,
        function: str | None = None,
        config: SearchConfig | None = None,
        limits: Limits | None = None,
        on_run: Callable[[int], None] = lambda _: None,
    ) -> list[tuple[SourceFile, Mended]]:
        """Repair a project whose tests fail, in a copy of it.

        Args:
            project: its root, where the command runs.
            command: runs the tests, and exits with 0 if they pass.
            function: name of the only function to edit.
            on_run: called with the number of runs so far.

        Returns:
            The outcome for each file considered; the edits of all of them together make the tests pass, or there are
            none. Empty if the tests already pass.

        Raises:
            RequestError: if the tests are flaky, or cannot be run.
        """
        limits, config, root = limits or Limits(), config or SearchConfig(), project.resolve()
        editable = {
            file.path.resolve().relative_to(root): file for file in files if file.path.resolve().is_relative_to(root)
        }
        if not editable:
            raise RequestError(f"none of the files is in {project}, where the tests run; allowed: files below it")
        parsed = {path: self.mend(file.text) for path, file in editable.items() if error_line(file.text) is not None}
        texts = {path: parsed[path].text if path in parsed else file.text for path, file in editable.items()}
        repaired = {path: editable[path].encode(texts[path]) for path, mended in parsed.items() if mended.verified_by}
        with Sandbox(project, limits) as sandbox:
            sandbox.ends_at = time.monotonic() + config.max_s
            evidence = gather(sandbox, command, repaired)
            outcome = evidence.outcome
            if outcome.passed:
                return [(editable[path], parsed[path]) for path in repaired]
            said = _last_line(outcome.output).replace(str(sandbox.root), str(root))
            has_none = outcome.status in (4, 5) and "pytest" in " ".join(command)
            if has_none or outcome.status in (126, 127) or "can't open file" in said:
                raise RequestError(f"the tests cannot be run in {root} (exit {outcome.status}): {said}")
            if missing := _missing(outcome.output, root):
                raise RequestError(f"the tests cannot be run: {missing}")
            if sandbox.run(command, repaired).passed:
                raise RequestError(_FLAKY)
            # An edit that makes the tests hang is wrong, and need not use up the whole time limit.
            allowed_s = min(limits.seconds, 10.0 + 5.0 * outcome.seconds)
            sandbox.limits = dataclasses.replace(limits, seconds=allowed_s)
            targets = find_targets(texts, evidence, function=function, length=self._length)
            best, proposed = outcome.num_passed, dict[str, str]()
            failing, best_failing = evidence.failing, 0
            num_failing = len(set(failing.read_text("utf-8").splitlines())) if failing is not None else 0
            if failing is not None and run_failing(sandbox, command, repaired, failing).status != outcome.status:
                # They fail only after others, or cannot be run alone.
                failing = None

            def passes(target: Target, text: str) -> bool:
                nonlocal best, proposed, best_failing
                path = Path(target.name)
                changes = repaired | {path: editable[path].encode(text)}
                if failing is not None:
                    # First those that failed, which are few: most edits change nothing for them.
                    result = run_failing(sandbox, command, changes, failing)
                    if not result.passed and result.num_passed < min(best_failing + 1, num_failing):
                        return False
                    best_failing = max(best_failing, result.num_passed)
                result = sandbox.run(command, changes)
                if not result.passed and result.num_passed > best:
                    best, proposed = result.num_passed, {target.name: text}
                # Twice, because flaky tests may pass by chance.
                return result.passed and sandbox.run(command, changes).passed

            left_s = sandbox.ends_at - time.monotonic()
            search = self.search(targets, passes, dataclasses.replace(config, max_s=left_s), on_run)
            repair = search.run(targets)
            if repair is not None and any(sandbox.run(command, repaired).passed for _ in range(_FURTHER_RUNS)):
                raise RequestError(_FLAKY)
        results = {path: (editable[path], mended) for path, mended in parsed.items()}
        if repair is None:
            ends = f"the tests end with: {said}"
            more = f"; {ends}" if targets else f"; run in {root}, {ends}"
            if outcome.status is None:
                more = f"; the tests did not end within {outcome.seconds:.0f} s even before the first edit"
            if proposed:
                more = f"; the best one lets {best} instead of {outcome.num_passed} tests pass"
            reason = _gave_up(targets, search, function, more)
            left = [(editable[Path(target.name)], proposed.get(target.name, "")) for target in targets]
            return [
                (file, Mended(file.text, num_runs=search.num_runs, reason=reason, proposal=text))
                for file, text in left or ((file, "") for file in editable.values())
            ]
        path = Path(repair.name)
        edits = repair.num_edits + (parsed[path].num_edits if path in parsed else 0)
        results[path] = (editable[path], Mended(repair.source, "tests", edits, repair.num_runs, repair.score))
        return list(results.values())


def window(source: str, lexemes: Sequence[Lexeme], line: int, length: int) -> Region:
    """Whole lines around a line, more before than after it, up to the model's maximum length."""
    starts = line_starts(source)
    at = starts[min(line, len(starts) - 1) - 1]
    heads = [index for index, lexeme in enumerate(lexemes) if is_level(lexeme.text) or index == 0]
    number = max(0, bisect.bisect_right([lexemes[index].start for index in heads], at) - 1)
    first = last = number
    ends = [*heads[1:], len(lexemes)]
    while True:
        room = length - (ends[last] - heads[first])
        after = ends[last + 1] - ends[last] if last + 1 < len(heads) else length
        before = heads[first] - heads[first - 1] if first else length
        # Two lines before for each line after: the missing part is usually earlier.
        if before <= room and (number - first < 2 * (last - number) + 2 or after > room):
            first -= 1
        elif after <= room:
            last += 1
        else:
            return Region(heads[first], min(ends[last], heads[first] + length))


def mend_syntax(proposer: Proposer, source: str, *, length: int = 192) -> tuple[str, int] | None:
    """A text that parses, with the number of edits; None if none is found.

    Args:
        proposer: reads windows of the text.
        length: lexemes of a window.
    """
    # For each error; where it holds too many of them, in a smaller window from there on.
    config = SearchConfig(max_runs=1, max_reads=400, max_edits=4, max_s=20.0)
    edits, num_left, whole = 0, MAX_ERRORS, True
    while num_left > 0:
        error = parse(source)
        if not isinstance(error, SyntaxError):
            return source, edits
        at = _error_at(source)
        line = min(error.lineno or 1, source.count("\n", 0, at) + 1)
        start, end = _surroundings(source, line, at)
        part = source[start:end]
        lexemes = lex(part)
        region = window(part, lexemes, line - source.count("\n", 0, start), length)
        rest = part[lexemes[region.end - 1].end :] if region.end else ""
        # Without the line after the window, where an error within it may be found; of several it may have its own.
        after = rest.partition("\n")[2].partition("\n")[2] if whole else rest

        def reaches(text: str, num_after: int = len(after)) -> Meaning | None:
            """The text itself if its first error, if any, is after the window."""
            parses = is_beginning(text[:-num_after]) if num_after else error_line(text) is None
            return Meaning(text) if parses else None

        repair = Search(proposer, lambda target, text: True, config, meaning=reaches).run([Target(part, [region])])
        if repair is None:
            length, whole = length // _SHRINK, False
            if length < _MIN_LENGTH:
                return None
            continue
        num_left -= 1
        source, edits = source[:start] + repair.source + source[end:], edits + repair.num_edits
    return None


def _surroundings(source: str, line: int, at: int) -> tuple[int, int]:
    """The characters of whole statements around a line, if they too have their first error at a character; otherwise
    the whole text. Each candidate is parsed, and a long text takes long."""
    starts = line_starts(source)

    def begins(number: int) -> bool:
        above = source[starts[number - 2]] if number > 1 else ""
        return above != "@" and _STATEMENT.match(source, starts[number - 1]) is not None

    first = next(filter(begins, range(line - MARGIN, 0, -1)), 1)
    last = next(filter(begins, range(line + MARGIN, len(starts))), len(starts))
    start, end = starts[first - 1], starts[last - 1]
    return (start, end) if start + _error_at(source[start:end]) == at else (0, len(source))


def _error_at(source: str) -> int:
    """The character at which a text stops being the beginning of a program."""
    lexemes = lex(source)
    index = find_error(source, lexemes)
    return lexemes[index].start if index < len(lexemes) else len(source)


def load_mender(name: str | Path) -> Mender:
    """Load a mender by its model's name or directory.

    Raises:
        CheckpointError: if there is no such model, or it does not read lexemes.
    """
    path = find_model(name)
    model, length = _load(path)
    judge = path / JUDGE
    return Mender(model, length, (lambda: _load(judge)[0]) if judge.is_dir() else None)


def _load(path: Path) -> tuple[Decoder, int]:
    """A model, ready for inference, and its canvas length."""
    checkpoint = load_checkpoint(path)
    if not isinstance(checkpoint.model, Decoder):
        raise CheckpointError(_NO_LEXEMES)
    fuse(checkpoint.model)
    return checkpoint.model, checkpoint.spec.canvas_length


def _gave_up(targets: Sequence[Target], search: Search, function: str | None, more: str = "") -> str:
    if not targets:
        return f"there is no function {function}" if function else f"the failing tests execute no line of it{more}"
    runs = "1 run" if search.num_runs == 1 else f"{search.num_runs} runs"
    return f"no edit was verified in {runs}{more}; try a larger budget, or one failing test at a time"


def _missing(output: str, project: Path) -> str:
    """What the environment lacks for the tests to run, by the last line of their output; empty if it is not that."""
    last = _last_line(output)
    if found := re.search(r"No module named '?(\w+)", last):
        known = any(path.stem == found[1] for path in project.rglob("*") if path.suffix == ".py" or path.is_dir())
        return "" if known else f"{last}; allowed: modules that the program after --test can import"
    if (found := re.search(r"KeyError: '(\w+)'", last)) and "environ" in output:
        return f"{last}; variables are not passed on: --test 'env {found[1]}=... pytest'"
    return ""


def _last_line(output: str) -> str:
    """What an output ends with: its last error, or else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR.match(line)]
    return (errors or lines or ["no output"])[-1]
