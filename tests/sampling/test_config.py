from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from settings import SAMPLERS, sampler_config
from sfumato.diffusion.process import HybridProcess, MaskProcess, Process, UniformProcess
from sfumato.errors import RequestError
from sfumato.sampling.canvas import CanvasBatch
from sfumato.sampling.config import RowSettings, SamplerConfig
from sfumato.sampling.samplers.base import Entropy
from sfumato.sampling.samplers.ranking import Margin


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("steps", 0, "1 to 1000"),
        ("steps", 1001, "1 to 1000"),
        ("steps", 2.5, "whole number"),
        ("steps", True, "whole number"),
        ("greedy_tail", -1, "0 to 1000"),
        ("corrector_k", -2, "0 to"),
        ("stable_steps", -1, "0 to 1000"),
        ("temperature_start", -0.1, "0 to 1000"),
        ("temperature_start", float("inf"), "0 to 1000"),
        ("temperature_end", float("nan"), "0 to 1000"),
        ("entropy_bound", -1.0, "0 or more"),
        ("entropy_bound", float("nan"), "0 or more"),
        ("threshold", 1.5, "0 to 1"),
        ("remask", -0.5, "0 to 1"),
        ("stop_entropy", -0.001, "0 or more"),
        ("stop_probability", 2.0, "0 to 1"),
        ("top_p", 0.0, "more than 0, at most 1"),
        ("top_p", 1.1, "more than 0, at most 1"),
        ("top_p", "much", "more than 0, at most 1"),
    ],
)
def test_refusals_name_the_field_value_and_range(field: str, value: Any, allowed: str) -> None:
    names = {"corrector_k": "predictor-corrector", "threshold": "threshold", "remask": "remdm"}
    with pytest.raises(RequestError) as refusal:
        sampler_config(name=names.get(field, "entropy"), **{field: value})
    message = str(refusal.value)
    assert message.startswith(f"{field} is {value!r}; allowed: ")
    assert allowed in message


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(RequestError, match="unknown sampler 'entrpy'; did you mean 'entropy'"):
        sampler_config(name="entrpy")
    with pytest.raises(RequestError, match="unknown remask_schedule 'caps'; did you mean 'cap'"):
        sampler_config(name="remdm", remask_schedule="caps")


@pytest.mark.parametrize(
    ("name", "process", "refused"),
    [
        ("remdm", UniformProcess(4), True),
        ("remdm", HybridProcess(4, 3, p_uniform=0.2), True),
        ("remdm", MaskProcess(4, 3), False),
        ("predictor-corrector", MaskProcess(4, 3), True),
        ("predictor-corrector", HybridProcess(4, 3, p_uniform=0.2), True),
        ("predictor-corrector", UniformProcess(4), False),
        *[(name, UniformProcess(4), False) for name in ("entropy", "threshold", "margin", "ancestral")],
        *[(name, MaskProcess(4, 3), False) for name in ("entropy", "threshold", "margin", "ancestral")],
    ],
)
def test_samplers_are_refused_under_unsupported_noise(name: Any, process: Process, refused: bool) -> None:
    config = sampler_config(name=name)
    if refused:
        with pytest.raises(RequestError, match=f"sampler '{name}' .* allowed: models with .* Under"):
            config.check(process)
    else:
        config.check(process)


def test_row_settings_survive_select_and_concatenate() -> None:
    # The integer 1 is on purpose: its column must stay float beside 0.5.
    configs = [sampler_config(name=name, stop_entropy=1, steps=3 + i) for i, name in enumerate(SAMPLERS)]
    settings = RowSettings.from_configs(configs)
    other = RowSettings.from_configs([sampler_config(name="remdm", stop_entropy=0.5, remask_schedule="rescale")])
    joined = RowSettings.concatenate([settings.select([4, 1], torch.tensor([4, 1])), other])
    assert joined.configs == (configs[4], configs[1], other.configs[0])
    assert joined.max_steps_R.tolist() == [7, 4, 48]
    assert joined.stop_entropy_R.tolist() == [1.0, 1.0, 0.5]
    assert joined.reverse_R.tolist() == [configs[4].sampler.reverse, configs[1].sampler.reverse, True]


def test_rows_are_grouped_by_sampler_and_its_settings() -> None:
    wide, narrow = sampler_config(entropy_bound=0.5), sampler_config(entropy_bound=0.1, steps=3)
    [(sampler, rows)] = RowSettings.from_configs([wide, sampler_config(entropy_bound=0.5, steps=7)]).groups
    assert sampler == wide.sampler
    assert rows is None
    groups = RowSettings.from_configs([wide, narrow, wide, sampler_config(name="margin")]).groups
    found = {sampler: rows.tolist() for sampler, rows in groups if rows is not None}
    assert found == {wide.sampler: [0, 2], narrow.sampler: [1], Margin(): [3]}


def test_settings_of_another_sampler_are_refused_by_name() -> None:
    with pytest.raises(RequestError, match="sampler 'margin' has no entropy_bound; its settings are budget, and those"):
        SamplerConfig.of({"name": "margin", "entropy_bound": 0.2})
    with pytest.raises(RequestError, match="unknown setting 'entropy_bond'; did you mean 'entropy_bound'"):
        sampler_config(entropy_bond=0.2)


def test_overrides_keep_the_base_and_another_sampler_its_defaults() -> None:
    base = SamplerConfig.of({"name": "entropy", "entropy_bound": 0.3, "steps": 9})
    assert SamplerConfig.of({"steps": 5}, base) == SamplerConfig(sampler=Entropy(entropy_bound=0.3), steps=5)
    assert SamplerConfig.of({"name": "margin"}, base) == SamplerConfig(sampler=Margin(), steps=9)


def test_blocks_are_for_samplers_that_decide() -> None:
    base = SamplerConfig.of({"name": "confidence", "block_length": 32})
    process = MaskProcess(8, 7)
    other = SamplerConfig.of({"name": "ancestral"}, base)
    assert other.block_length == 0
    other.check(process)
    with pytest.raises(RequestError, match="block_length is 4 but the sampler 'ancestral' moves every position"):
        SamplerConfig.of({"name": "ancestral", "block_length": 4}, base).check(process)


def test_temperature_falls_linearly_as_in_diffusiongemma() -> None:
    config = sampler_config(steps=4, temperature_start=0.8, temperature_end=0.4)
    batch = CanvasBatch.from_tokens(UniformProcess(4), [[0, 0]], seeds=[0], config=config)
    steps = [dataclasses.replace(batch, step_R=torch.tensor([n])).temperature_R.item() for n in range(4)]
    # t_min + (t_max - t_min) (remaining / N) with 4, 3, 2, 1 steps remaining.
    assert steps == pytest.approx([0.8, 0.7, 0.6, 0.5])
