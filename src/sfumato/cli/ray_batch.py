"""`sfumato run --batch --ray`: answer the prompts of a file on a Ray cluster (Ray Data)."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.cli.batch import Job, Json, answer_jobs
from sfumato.cli.output import progress
from sfumato.errors import ConfigError

_TOGETHER = 64
"""Jobs that a worker takes at once and answers in one run of its engine."""


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
        return {
            "number": [job.number for job, _ in answered],
            "values": [json.dumps(values) for _, values in answered],
        }
