"""Bounds over positions trained, out of a run's log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.__main__ import _bounds

from sfumato.errors import ConfigError


def test_measurements_are_found_among_steps(tmp_path: Path):
    log = tmp_path / "run" / "log.jsonl"
    log.parent.mkdir()
    records = [
        {"step": 1, "num_tokens": 10, "loss": 3.0},
        {"step": 2, "num_tokens": 20, "loss": 2.0, "canvas_nelbo": 5.0, "response_nll": 4.0},
        {
            "step": 3,
            "num_tokens": 30,
            "loss": 2.0,
            "canvas_nelbo": 3.0,
            "sample_judge_nll": 6.0,
            "sample_distinct_2": 0.5,
            "sample_tokens": 4.0,
        },
    ]
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = [(row["what"].split()[0], row["positions"], row["value"], row["unit"]) for row in _bounds(log)]
    assert found == [
        ("canvas", 20, 5.0, "nats"),
        ("canvas", 30, 3.0, "nats"),
        ("read", 20, 4.0, "nats"),
        ("answers,", 30, 6.0, "nats"),
        ("answers,", 30, 0.5, "share"),
        ("answers,", 30, 4.0, "tokens"),
    ]
    log.write_text(json.dumps(records[0]) + "\n")
    with pytest.raises(ConfigError, match=r"has no bounds; allowed: a run with evaluation\.bound_batches"):
        _bounds(log)
    with pytest.raises(ConfigError, match="cannot read"):
        _bounds(tmp_path / "nowhere.jsonl")
