"""The public API: its names, that importing it is cheap, and that type checkers know every option."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from pathlib import Path

import pytest
from mypy import api as mypy

import sfumato
from sfumato import api
from sfumato.sampling.config import setting_names
from sfumato.sampling.samplers.base import samplers

SCRIPT = """
from collections.abc import Iterator
from pathlib import Path

import sfumato

model: sfumato.TextModel = sfumato.load(
    "tiny", dtype="float32", quantize=None, device="cpu", threads=1, check=lambda model: model.request("hi")
)
options: sfumato.GenerateOptions = {"steps": 24, "seed": 0, "schema": {"type": "object"}}
result: sfumato.Result = model.generate("hi", **options)
result = model.generate([{"role": "user", "content": "hi"}], steps=24, seed=0, temperature=0.0, stop=["."])
result = model.generate([1, 2, 3], sampler="entropy", entropy_bound=0.2, canvas_length="auto", max_tokens=8)
several: sfumato.Result | list[sfumato.Result] = model.generate("hi", n=2, choices=["a", "b"], ban=["c"])
batch: list[sfumato.Result] = model.generate_batch(["a", "b"], seeds=[1, 2], on_progress=print, steps=4)
events: Iterator[sfumato.Event] = model.stream("hi", trace=True)
for event in events:
    if isinstance(event, sfumato.CanvasChanged):
        drafts: tuple[bool, ...] = event.accepted
    elif isinstance(event, sfumato.Committed | sfumato.Reopened):
        text: str = event.text
    else:
        usage: sfumato.Usage = event.result.usage
gap: sfumato.InfillOptions = {"prompt": "write", "length": "auto", "max_tokens": 8}
result = model.infill("def area(r):", "return a", **gap)
change: sfumato.EditOptions = {"spans": [(0, 3)], "instruction": None, "strength": 0.5, "budget": 8}
result = model.edit("text", **change)
shares: dict[int | None, float] = model.length_shares("hi")
request: sfumato.Request = model.request("hi", regex="[ab]", priority=1, deadline_ms=10)
engine = sfumato.Engine(model, sfumato.EngineConfig(max_rows=4))
for index, one in engine.run([request]):
    pass
class Even:
    start = 0

    def advance(self, state: int, byte: int) -> int:
        return 1 - state

    def accepts(self, state: int) -> bool:
        return state == 0


result = model.generate("hi", constraint=Even())
settings = sfumato.SamplerConfig(steps=8)
mender: sfumato.Mender = sfumato.load("mend")
mended: sfumato.Mended = mender.mend("def f(:", verify=lambda text: "f" in text)
trained: sfumato.TrainResult = sfumato.train(
    Path("recipe.toml"), overrides={"train.steps": 1}, on_record=lambda record: print(record["loss"])
)
with sfumato.Client("http://127.0.0.1:8000", api_key=None, timeout_s=60.0, max_retries=0) as client:
    text = client.generate("hi", steps=24, n=2, settings={"entropy_bound": 0.2}).others[0].text
    for draft in client.stream([{"role": "user", "content": "hi"}], seed=0):
        done: bool = draft.done
    canvas = client.canvas(text="hi", spans=[(0, 1)])
    text = canvas.edit(replace=[(0, 1, "H")], instruction=None)
    for draft in canvas.events():
        text = draft.text


async def ask(asking: sfumato.AsyncClient) -> str:
    async for draft in asking.stream("hi", schema={"type": "object"}):
        if draft.result is not None:
            return draft.result.text
    return (await asking.infill("a", "b")).text


try:
    sfumato.load("nothing")
except (sfumato.BusyError, sfumato.ServerError) as refused:
    seconds: float | None = refused.retry_after_s
except (sfumato.CheckpointError, sfumato.ConfigError, sfumato.CapacityError, sfumato.RequestError) as error:
    failure: sfumato.SfumatoError = error
"""
WRONG = {
    'model.generate("hi", step=24)': '"generate" of "TextModel"',
    'model.generate("hi", steps="24")': 'argument types "str", "str"',
    'model.stream("hi", reuse="all")': "expected \"Literal['none', 'settled', 'block'] | None\"",
    'model.request("hi", sed=1)': 'Unexpected keyword argument "sed"',
    'model.infill("a", "b", raw=True)': '"infill" of "TextModel"',
    'model.edit("a", spans=[1])': 'expected "tuple[int, int]"',
    'client.generate("hi", step=24)': 'Unexpected keyword argument "step"',
    'client.stream("hi", steps="24")': 'incompatible type "str"; expected "int | None"',
    "canvas.edit(span=[(0, 1)])": 'Unexpected keyword argument "span"',
    'sfumato.load("tiny", thread=1)': 'No overload variant of "load"',
}


@pytest.mark.slow
def test_public_calls_and_options_are_typed(tmp_path: Path):
    script = tmp_path / "script.py"
    right = SCRIPT + "\n"
    script.write_text(right + "\n".join(WRONG), encoding="utf-8")
    said, failed, _ = mypy.run(["--strict", "--no-error-summary", "--hide-error-codes", str(script)])
    assert not failed, failed
    complaints: dict[int, str] = {}
    for path, line, text in re.findall(r"^(.+?):(\d+): error: (.*)$", said, re.MULTILINE):
        # What mypy remembers of an earlier run has the directory of that.
        assert Path(path).name == script.name, said
        complaints[int(line)] = complaints.get(int(line), "") + text
    first = right.count("\n") + 1
    assert set(complaints) == set(range(first, first + len(WRONG))), said
    for line, (call, message) in enumerate(WRONG.items(), first):
        assert message in complaints[line], (call, complaints[line])


def test_sampler_options_match_the_builtin_samplers():
    built_in = {name for name in setting_names()} - {"name"}
    own = {
        field.name
        for kind in samplers().values()
        if not kind.__module__.startswith("sfumato.")
        for field in dataclasses.fields(kind)
    }
    named = sfumato.SamplerOptions.__optional_keys__ | {"budget"}
    assert named - {"sampler", "temperature"} == built_in - own


def test_public_names():
    of_clients = {"AsyncClient", "Client", "ServerError", "StaleRevisionError", "UnreachableError"}
    assert set(sfumato.__all__) == {*api.__all__, *of_clients, "TrainResult", "train", "__version__"}
    assert all(getattr(sfumato, name) is not None and name in dir(sfumato) for name in sfumato.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sfumato.nothing


def functions_of(public: object) -> list[object]:
    if not isinstance(public, type):
        return [public]
    found: list[object] = [public]
    for name, member in vars(public).items():
        if not name.startswith("_") or name == "__init__":
            found.append(getattr(member, "fget", getattr(member, "func", getattr(member, "__func__", member))))
    return found


@pytest.mark.parametrize("name", sorted({*sfumato.__all__} - {"Event", "__version__"}))
def test_public_annotations_avoid_any(name: str):
    for public in functions_of(getattr(sfumato, name)):
        if inspect.isfunction(public) or isinstance(public, type):
            hints = typing.get_type_hints(public)
            shown = {key: str(hint) for key, hint in hints.items() if not key.startswith("_")}
            assert not [key for key, hint in shown.items() if "typing.Any" in hint], public
