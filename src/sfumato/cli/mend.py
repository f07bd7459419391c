"""`sfumato mend`: repair Python that does not parse or fails its tests; `sfumato lsp` does so in an editor."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import sfumato
from sfumato.cli.options import DryRun, JsonOnly, Model, Yes
from sfumato.cli.output import count, print_figures, progress, show_difference, take_stdin, write_changes
from sfumato.config import check_number
from sfumato.errors import ConfigError, RequestError
from sfumato.interrupts import Signals
from sfumato.storage import difference

if TYPE_CHECKING:
    from sfumato.mend.files import SourceFile
    from sfumato.mend.mender import Mended
    from sfumato.mend.search import SearchConfig

    Results = list[tuple[SourceFile, Mended]]

_BUDGET = re.compile(r"(\d+)(s?)")
_ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", ".git", ".hg")


def mend(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Python files, directories of them, or - for stdin.")
    ],
    test: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help='Command that runs the tests and exits with 0 if they pass, e.g. "pytest -x".'
        ),
    ] = None,
    function: Annotated[str | None, typer.Option(metavar="NAME", help="Edit only this function.")] = None,
    budget: Annotated[
        str,
        typer.Option(metavar="RUNS|SECONDS", help="Limit on the search: edits to try, e.g. 50, or seconds, e.g. 120s."),
    ] = "50",
    doubts: Annotated[
        bool,
        typer.Option("--doubts", help="List likely mistakes, unverified, with their probabilities; write nothing."),
    ] = False,
    project: Annotated[
        Path | None,
        typer.Option(help="Directory to run the tests in; default: the nearest with a pyproject.toml or similar."),
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Time limit per test run, in seconds.")] = 300.0,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonOnly = False,
    model: Model = "mend",
) -> None:
    """Repair Python: fix syntax errors and, with --test, bugs that the tests find.

    Edits are tried in a copy of the project, without network, likeliest first, until the tests pass. Only verified
    edits are written, and only if you agree; a syntax error counts as verified once the file parses, so look at the
    diff. The exit code is 1 if anything remains broken, which with --dry-run and --json is all that was found.
    With --doubts nothing is verified, and the exit code is 0.
    """
    from sfumato.checkpoints.registry import find_model
    from sfumato.mend.files import find_sources, read_source
    from sfumato.mend.parsing import compile_error

    # Without anything to repair the model is not loaded, but a wrong name is an error all the same.
    find_model(model)
    if function is not None and test is None:
        raise RequestError("--function needs --test: without tests only syntax errors are repaired")
    if doubts and (test is not None or yes):
        raise RequestError("--doubts verifies and writes nothing; allowed: without --test and --yes")
    if as_json and yes:
        raise RequestError("--json is given with --yes; allowed: one of them, because --json writes nothing")
    config = _search_config(budget)
    if Path("-") in paths:
        if len(paths) > 1 or test is not None or doubts or as_json or dry_run or yes:
            raise RequestError("- stands for stdin; allowed: without other paths, and only with --model")
        _mend_stdin(model)
    found = find_sources(paths)
    if not found:
        raise RequestError(f"no Python source below {', '.join(map(str, paths))}")
    named = {path for path in paths if not path.is_dir()}
    files, skipped = [], []
    for path in found:
        try:
            files.append(read_source(path))
        except RequestError as error:
            if found == [path] and path in named:
                raise
            skipped.append(str(error))
    if doubts:
        _show_doubts(files, skipped, model, as_json=as_json)
        return
    if test is None:
        results = _mend_syntax(files, model)
    else:
        root = project or _find_root(paths[0])
        below = [file for file in files if file.path.resolve().is_relative_to(root.resolve())]
        skipped += [f"{file.path} is not below {root}, where the tests run" for file in files if file not in below]
        results = _mend_tests(below or files, root, test, function, config, timeout, model)
    changed = [(file, mended) for file, mended in results if mended.verified_by]
    skipped += [
        f"{file.path}: line {left_over.lineno} parses now, but does not compile: {left_over.msg}"
        for file, mended in changed
        if (left_over := compile_error(mended.text)) is not None
    ]
    left = [(file, mended) for file, mended in results if not mended.verified_by]
    if as_json:
        typer.echo(json.dumps(_to_dict(files, changed, left, skipped)))
    else:
        for file, mended in changed:
            show_difference(file.path, file.text, mended.text)
        for file, mended in left:
            typer.echo(f"{file.path}: {mended.reason}", err=True)
            if mended.proposal:
                show_difference(file.path, file.text, mended.proposal, err=True)
        for line in skipped:
            typer.echo(line, err=True)
    writes = not (as_json or dry_run)
    if writes and changed:
        write_changes([(file.path, file.content, file.encode(mended.text)) for file, mended in changed], yes=yes)
    if not as_json:
        passing = test is not None and not results
        _print_figures(files, changed, ": the tests pass" if passing else "", dry_run=dry_run)
    raise typer.Exit(1 if left or skipped or (changed and not writes) else 0)


def _mend_stdin(model: str) -> NoReturn:
    """Print the source on stdin, repaired."""
    from sfumato.mend.files import decode_source

    file = decode_source(Path("stdin"), take_stdin("Python source").buffer.read())
    results = _mend_syntax([file], model)
    left = [mended for _, mended in results if not mended.verified_by]
    for mended in left:
        typer.echo(f"stdin: {mended.reason}", err=True)
    sys.stdout.buffer.write(file.encode(results[0][1].text if results else file.text))
    raise typer.Exit(1 if left else 0)


def _show_doubts(files: list[SourceFile], skipped: list[str], model: str, *, as_json: bool) -> None:
    """Print what the model doubts, likeliest first, and how often it is wrong."""
    from sfumato.checkpoints.registry import find_model
    from sfumato.mend.doubts import PRIOR, load_calibration
    from sfumato.mend.mender import load_mender
    from sfumato.mend.parsing import error_line

    calibration, mender, found = load_calibration(find_model(model)), load_mender(model), []
    with progress("reading", len(files)) as report:
        for number, file in enumerate(files, 1):
            found += [(file, doubt) for doubt in mender.doubts(file.text, calibration)]
            report(number, len(files))
    found.sort(key=lambda pair: -pair[1].probability)
    skipped = skipped + [f"{file.path} does not parse" for file in files if error_line(file.text) is not None]
    if as_json:
        listed = [
            {
                "path": str(file.path),
                "line": doubt.line,
                "probability": round(doubt.probability, 3),
                "diff": "\n".join(difference(file.path, file.text, doubt.text)),
            }
            for file, doubt in found
        ]
        levels = [level._asdict() for level in calibration.levels]
        typer.echo(
            json.dumps({"files": len(files), "doubts": listed, "prior": PRIOR, "measured": levels, "skipped": skipped})
        )
        return
    for file, doubt in found:
        typer.echo(f"{file.path}:{doubt.line}: {doubt.probability:.0%}")
        show_difference(file.path, file.text, doubt.text, only_changes=True)
    for line in skipped:
        typer.echo(line, err=True)
    print_figures(count(len(files), "file"), count(len(found), "doubt"), "nothing verified, nothing written")
    if found:
        print_figures(f"if one function in {1 / PRIOR:.0f} has a mistake; of {calibration.num_functions:,} measured:")
        for level in calibration.levels:
            alarms, hits = f"{level.false_alarms:.1%} of correct ones doubted", f"{level.found:.0%} of mistakes found"
            print_figures(f"{level.probability:.0%} and more", alarms, hits)


def _mend_syntax(files: list[SourceFile], model: str) -> Results:
    """Repair files that do not parse, and report those that only do not compile. The model is loaded if needed."""
    from sfumato.mend.mender import Mended, load_mender
    from sfumato.mend.parsing import compile_error, error_line

    results: Results = []
    broken = [file for file in files if error_line(file.text) is not None]
    for file in files:
        if file not in broken and (error := compile_error(file.text)) is not None:
            reason = f"line {error.lineno} parses, but does not compile: {error.msg}; only syntax is repaired"
            results.append((file, Mended(file.text, reason=reason)))
    if not broken:
        return results
    mender = load_mender(model)
    with progress("mending", len(broken)) as report:
        for number, file in enumerate(broken, 1):
            results.append((file, mender.mend(file.text)))
            report(number, len(broken))
    return results


def _mend_tests(
    files: list[SourceFile],
    project: Path,
    test: str,
    function: str | None,
    config: SearchConfig,
    timeout: float,
    model: str,
) -> Results:
    from sfumato.mend.evidence import is_test
    from sfumato.mend.mender import load_mender
    from sfumato.mend.sandbox import Limits

    check_number("timeout", timeout, 0, above=True)
    try:
        command = shlex.split(test)
    except ValueError as error:
        raise RequestError(f"test is {test!r}: {error}; allowed: a program and its arguments") from None
    if not command:
        raise RequestError('test is empty; allowed: a command, e.g. "pytest -x"')
    # A test is edited only if nothing else was given.
    relative = [Path(os.path.relpath(file.path.resolve(), project.resolve())) for file in files]
    edited = [file for file, path in zip(files, relative, strict=True) if not is_test(path)] or files
    # A signal unwinds the search, so that what the tests started ends, and the copy goes.
    with Signals() as signals, signals.raised(), progress("running the tests", config.max_runs) as report:
        return load_mender(model).mend_project(
            project,
            edited,
            command,
            function=function,
            config=config,
            limits=Limits(seconds=timeout),
            on_run=lambda done: report(done, config.max_runs),
        )


def _search_config(budget: str) -> SearchConfig:
    from sfumato.mend.search import SearchConfig

    match = _BUDGET.fullmatch(budget)
    if match is None or not int(match[1]):
        raise RequestError(f"budget is {budget!r}; allowed: a number of edits, e.g. 50, or of seconds, e.g. 120s")
    number = int(match[1])
    return SearchConfig(max_runs=100_000, max_s=float(number)) if match[2] else SearchConfig(max_runs=number)


def _find_root(path: Path) -> Path:
    """The nearest parent directory that looks like a project root; otherwise the path's own directory."""
    start = path.resolve() if path.is_dir() else path.resolve().parent
    marked = (folder for folder in (start, *start.parents) if any((folder / mark).exists() for mark in _ROOT_MARKS))
    return next(marked, start)


def _to_dict(files: list[SourceFile], changed: Results, left: Results, skipped: list[str]) -> dict[str, Any]:
    return {
        "files": len(files),
        "repairs": [
            {
                "path": str(file.path),
                "verified_by": mended.verified_by,
                "edits": mended.num_edits,
                "runs": mended.num_runs,
                "score": round(mended.score, 3),
                "diff": "\n".join(difference(file.path, file.text, mended.text)),
            }
            for file, mended in changed
        ],
        "left": [
            {
                "path": str(file.path),
                "runs": mended.num_runs,
                "reason": mended.reason,
                "proposal": "\n".join(difference(file.path, file.text, mended.proposal)) if mended.proposal else None,
            }
            for file, mended in left
        ],
        "skipped": skipped,
    }


def _print_figures(files: list[SourceFile], changed: Results, why: str, *, dry_run: bool) -> None:
    done = f"{len(changed)} {'would be mended' if dry_run else 'mended'}"
    parts = [count(len(files), "file"), done if changed else f"nothing repaired{why}"]
    if edits := sum(mended.num_edits for _, mended in changed):
        parts.append(count(edits, "edit"))
    if runs := sum(mended.num_runs for _, mended in changed):
        parts.append(f"verified in {count(runs, 'run')} of the tests")
    print_figures(*parts)


def lsp(model: Model = "mend") -> None:
    """Run a language server with quick fixes for Python syntax errors."""
    try:
        from sfumato.mend.language_server import make_server
    except ImportError as error:
        raise ConfigError("the language server needs more packages: pip install 'sfumato[lsp]'") from error
    from sfumato.mend.mender import load_mender

    take_stdin("the messages of an editor")
    make_server(lambda: load_mender(model), sfumato.__version__).start_io()
