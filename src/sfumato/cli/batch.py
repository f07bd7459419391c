"""`sfumato run --batch`: answer all prompts of a file together, in this process or on a Ray cluster (Ray Data)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
import pickle
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import typer

from sfumato.cli.output import count, print_figures, progress
from sfumato.errors import ConfigError, RequestError, SfumatoError
from sfumato.interrupts import uninterrupted
from sfumato.storage import write_atomically

if TYPE_CHECKING:
    from sfumato.engine.model import TextModel
    from sfumato.engine.options import GenerateOptions
    from sfumato.engine.prompts import Prompt
    from sfumato.engine.request import Request, Result

Id = str | int
Json = dict[str, Any]
_CHAT = "/v1/chat/completions"
_DEFAULTS = {"seed": 0, "trace": False, "raw": False, "check_prompt": True}
"""Options that the command line always has."""
_OF_ANSWERS = frozenset({"text", "results", "error", "response"})
_TOGETHER = 64
"""Jobs that a worker of a Ray cluster takes at once and answers in one run of its engine, and requests at once."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One line of the file."""

    number: int
    """Line number, from 1."""
    id: Id
    """The line's id, or its number."""
    prompt: Prompt = ""
    n: int = 1
    options: Mapping[str, object] = field(default_factory=dict)
    """Options of `TextModel.generate`, or the request's body."""
    url: str = ""
    """Endpoint of the server that a line of OpenAI's batch format asks; empty for a prompt."""
    error: str = ""
    """Why the line cannot be answered."""

    def asked(self, model: str) -> str:
        """A short hash of what a model is asked, to tell whether an answer is still one to this line."""
        asked = json.dumps([model, self.prompt or self.url, self.n, self.options], sort_keys=True, default=repr)
        return hashlib.sha256(asked.encode()).hexdigest()[:16]


class Answers:
    """Writes each answer as one line, as soon as it is finished, to a file or to stdout.

    Args:
        path: the output file, whose earlier answers are kept; None is stdout.
        model: the name of what answers.

    Raises:
        RequestError: if the file holds anything else, or cannot be read.
    """

    def __init__(self, path: Path | None, model: str) -> None:
        self._path, self._model = path, model
        self._stream: TextIO | None = None
        self.kept: dict[Id, str] = {}
        """Answered lines of an earlier run, by id."""
        self._lines: dict[int, str] = {}
        self.num_failed = 0
        if path is not None and path.exists():
            if not path.is_file():
                raise RequestError(f"{path} is not a regular file; allowed: a file, or no output option for stdout")
            self._keep(path)

    def _keep(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise RequestError(f"cannot read the answers in {path}: {error}") from None
        for number, line in enumerate(lines, 1):
            values = _parse_object(line)
            if values is not None and isinstance(values.get("id"), Id) and values.keys() & _OF_ANSWERS:
                if not _has_failed(values):
                    self.kept[values["id"]] = line
            elif line and not (number == len(lines) and line.startswith("{")):
                # The last line may have been cut short.
                raise RequestError(
                    f"line {number} of {path} is not an answer; allowed as output: a new file, or one "
                    "from an earlier batch"
                )

    def drop_outdated(self, jobs: list[Job]) -> int:
        """Drop the answers to jobs that have changed since, and return their number."""
        outdated = [
            job.id
            for job in jobs
            if (line := self.kept.get(job.id)) and json.loads(line).get("asked") not in (None, job.asked(self._model))
        ]
        for id_ in outdated:
            del self.kept[id_]
        return len(outdated)

    @contextlib.contextmanager
    def open(self, jobs: list[Job]) -> Iterator[None]:
        """Accept answers within this block, and leave the file sorted in the order of the jobs."""
        number_of = {job.id: job.number for job in jobs if not job.error}
        foreign = [line for id_, line in self.kept.items() if id_ not in number_of]
        self._lines = {number_of[id_]: line for id_, line in self.kept.items() if id_ in number_of}
        if self._path is None:
            yield
            return
        self._rewrite(foreign)
        with self._path.open("a", encoding="utf-8") as self._stream:
            yield
        self._rewrite(foreign)

    def _rewrite(self, foreign: list[str]) -> None:
        assert self._path is not None
        lines = [*foreign, *(self._lines[number] for number in sorted(self._lines))]
        write_atomically(self._path, "".join(f"{line}\n" for line in lines).encode())

    def write(self, job: Job, values: Mapping[str, object]) -> None:
        """Write the result of a job."""
        self.num_failed += _has_failed(values)
        line = self._lines[job.number] = json.dumps({"id": job.id, "asked": job.asked(self._model), **values})
        with uninterrupted():
            typer.echo(line, file=self._stream)


def run_batch(
    file: str,
    text: str,
    output: Path | None,
    *,
    model: str,
    n: int,
    options: GenerateOptions,
    answer: Callable[[list[Job]], Iterable[tuple[Job, Json]]],
) -> None:
    """Answer the prompts of a file; exit with 1 if any of them failed.

    Args:
        output: where answers go; None is stdout.
        model: the name of what answers.
        n, options: for all lines that do not set their own.
        answer: yields each job with its result.

    Raises:
        RequestError: if there is nothing to do, or the output is not a file of answers.
    """
    jobs = read_jobs(text, n, options)
    if not jobs:
        raise RequestError(f'{file} has no lines; allowed: one JSON object per line, such as {{"prompt": "1+1"}}')
    answers = Answers(output, model)
    if outdated := answers.drop_outdated(jobs):
        again = f"{'is' if outdated == 1 else 'are'} answered again"
        typer.echo(f"{count(outdated, 'line')} changed since {output} was written and {again}", err=True)
    left = [job for job in jobs if job.error or job.id not in answers.kept]
    if len(left) < len(jobs):
        typer.echo(f"{len(jobs) - len(left)} of {len(jobs)} lines are already answered in {output}", err=True)
    with answers.open(jobs):
        for job in left:
            if job.error:
                answers.write(job, {"error": job.error})
        asked = [job for job in left if not job.error]
        if asked:
            _write(answer(asked), answers)
    if answers.num_failed:
        typer.echo(
            f"sfumato: {count(answers.num_failed, 'line')} could not be answered; see the errors in the output",
            err=True,
        )
        raise typer.Exit(1)


def read_jobs(text: str, n: int, options: GenerateOptions) -> list[Job]:
    """The jobs in a file: empty lines are skipped, invalid lines carry their error."""
    jobs: list[Job] = []
    known: set[Id] = set()
    # Only newlines end a line: other line separators may occur inside JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            job = _read_job(number, line, n, options)
            if not job.error and job.id in known:
                job = Job(
                    number=number, id=job.id, error=f"id is {job.id!r}, which an earlier line has; allowed: a unique id"
                )
            known.add(job.id)
            jobs.append(job)
    return jobs


def _read_job(number: int, line: str, n: int, options: GenerateOptions) -> Job:
    values = _parse_object(line)
    if values is None:
        return Job(number=number, id=number, error=f"line {number} is not a JSON object: {line:.100}")
    id_ = values.pop("custom_id" if "body" in values else "id", number)
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        return Job(number=number, id=number, error=f"id is {id_!r}; allowed: a text or a whole number")
    if "body" in values:
        body, url = values["body"], values.get("url", "")
        if given := [name for name, value in options.items() if value != _DEFAULTS.get(name)]:
            return Job(number=number, id=id_, error=f"{given[0]} is given; allowed for a request: only in its body")
        if not isinstance(body, dict) or body.get("stream") or values.get("method", "POST") != "POST":
            return Job(number=number, id=id_, error="allowed as a request: POST with a JSON object, without stream")
        if not isinstance(url, str) or not url.startswith("/v1/"):
            return Job(number=number, id=id_, error=f"url is {url!r}; allowed: an endpoint such as {_CHAT}")
        return Job(number=number, id=id_, url=url, options=body)
    if "prompt" not in values:
        return Job(number=number, id=id_, error="prompt is missing; allowed: a text, messages or token ids")
    prompt, n = values.pop("prompt"), values.pop("n", n)
    return Job(number=number, id=id_, prompt=prompt, n=n, options={**options, **values})


def _parse_object(line: str) -> Json | None:
    """The JSON object on a line, or None."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _has_failed(values: Mapping[str, object]) -> bool:
    results = values.get("results")
    return values.get("error") is not None or (
        isinstance(results, list) and any("error" in result for result in results)
    )


def _write(answered: Iterable[tuple[Job, Json]], answers: Answers) -> None:
    """Write results and print a summary."""
    started, num_tokens, num_answers = time.perf_counter(), 0, 0
    for job, values in answered:
        answers.write(job, values)
        if "response" in values:
            body = values["response"]["body"]
            usage = body.get("usage") or {}
            num_answers += len(body.get("choices", ())) or (values["error"] is None)
            num_tokens += usage.get("completion_tokens", usage.get("output_tokens", 0))
            continue
        results = [] if values.keys() == {"error"} else values.get("results", [values])
        num_answers += len(results)
        num_tokens += sum(result["usage"]["completion_tokens"] for result in results)
    seconds = time.perf_counter() - started
    speed = f"{num_tokens / seconds:.0f} tokens/s end to end"
    print_figures(count(num_answers, "answer"), count(num_tokens, "token"), f"{seconds:.1f} s", speed)


def answer_jobs(jobs: list[Job], model: TextModel) -> Iterator[tuple[Job, Json]]:
    """Answer jobs in one run of the engine.

    Yields:
        Each job with its result, as they finish: one result, several, or an error.
    """
    from sfumato.engine.request import Finished

    requests: list[tuple[Job, Request]] = []
    for job in jobs:
        try:
            request = model.request(job.prompt, n=job.n, **cast("GenerateOptions", job.options))
            model.engine.check_request(request)
            requests.append((job, request))
        except Exception as error:
            # A bad line must not stop the others.
            message = str(error) if isinstance(error, SfumatoError) else f"unexpected {type(error).__name__}: {error}"
            yield job, {"error": message}
    found: list[dict[int, Result]] = [{} for _ in requests]
    with progress("answering", len(requests)) as advance:
        num_done = 0
        for index, event in model.engine.run(request for _, request in requests):
            if not isinstance(event, Finished):
                continue
            job, results = requests[index][0], found[index]
            results[event.variation] = event.result
            if len(results) == job.n:
                objects = [results[variation].to_dict() for variation in sorted(results)]
                yield job, objects[0] if job.n == 1 else {"results": objects}
                num_done, found[index] = num_done + 1, {}
                advance(num_done, len(requests))


def answer_requests(jobs: list[Job], model: str, settings: Json) -> Iterator[tuple[Job, Json]]:
    """Answer requests as `sfumato serve` would, without a port.

    Args:
        model: as for `sfumato.load`, or NAME=MODEL.
        settings: further arguments of `load`.

    Yields:
        Each job with its result, as they finish: `custom_id`, `response` and `error`, as OpenAI's batches have them.

    Raises:
        ConfigError: if the server's packages are not installed.
    """
    with asyncio.Runner() as runner, progress("answering", len(jobs)) as advance:
        answered, num_done = _ask(jobs, model, settings), 0
        # To its end, where the server shuts down.
        while (answer := runner.run(anext(answered, None))) is not None:
            yield answer
            num_done += 1
            advance(num_done, len(jobs))


async def _ask(jobs: list[Job], model: str, settings: Json) -> AsyncIterator[tuple[Job, Json]]:
    try:
        from httpx import ASGITransport, AsyncClient

        from sfumato.server.app import create_app
        from sfumato.server.history import History
        from sfumato.server.hosting import Host, parse_names
    except ImportError as error:
        raise ConfigError("requests in a batch need more packages: pip install 'sfumato[server]'") from error
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Host(parse_names([model]), settings=settings), History(Path(folder) / "canvases.db"))
        async with (
            app.router.lifespan_context(app),
            AsyncClient(transport=ASGITransport(app), base_url="http://localhost", timeout=None) as client,
        ):
            room = asyncio.Semaphore(_TOGETHER)

            async def ask(job: Job) -> tuple[Job, Json]:
                async with room:
                    response = await client.post(job.url, json=dict(job.options))
                body = response.json()
                told = {
                    "status_code": response.status_code,
                    "request_id": response.headers["x-request-id"],
                    "body": body,
                }
                return job, {"custom_id": job.id, "response": told, "error": body.get("error")}

            for answer in asyncio.as_completed([ask(job) for job in jobs]):
                yield await answer


def answer_on_ray(jobs: list[Job], model: str, settings: Json, num_workers: int) -> Iterator[tuple[Job, Json]]:
    """Answer jobs on the Ray cluster that the environment names, or on this machine.

    Args:
        model: as for `sfumato.load`, available on every machine of the cluster.
        settings: further arguments of `load`; by default a worker has one thread; if they name an accelerator, a worker
            gets one.
        num_workers: number of workers, each with its own model.

    Yields:
        Each job with its result, as they finish.

    Raises:
        ConfigError: if Ray is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ConfigError("--ray needs more packages: pip install 'sfumato[ray]'") from error
    # Workers' output is talk; stdout is for data.
    ray.init(ignore_reinit_error=True, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    threads = 1 if settings["threads"] == "auto" else settings["threads"]
    source = str(Path(model).absolute()) if Path(model).exists() else model
    blocks = max(num_workers, math.ceil(len(jobs) / _TOGETHER))
    rows = [{"number": job.number, "job": pickle.dumps(job)} for job in jobs]
    answered = ray.data.from_items(rows, override_num_blocks=min(blocks, len(jobs))).map_batches(
        _Worker,
        fn_constructor_args=(source, {**settings, "threads": threads}),
        batch_size=None,
        compute=ray.data.ActorPoolStrategy(size=num_workers),
        num_cpus=threads,
        num_gpus=0 if settings["device"] == "cpu" else 1,
    )
    job_of = {job.number: job for job in jobs}
    with progress("answering", len(jobs)) as advance:
        for num_done, row in enumerate(answered.iter_rows(), 1):
            yield job_of[row["number"]], json.loads(row["values"])
            advance(num_done, len(jobs))


class _Worker:
    """Holds a model and answers blocks of jobs with it."""

    def __init__(self, source: str, settings: Json) -> None:
        from sfumato.api import load

        self._model = load(source, **settings)

    def __call__(self, block: dict[str, Any]) -> dict[str, list[Any]]:
        answered = list(answer_jobs([pickle.loads(job) for job in block["job"]], self._model))
        return {"number": [job.number for job, _ in answered], "values": [json.dumps(values) for _, values in answered]}
