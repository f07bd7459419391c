"""Scores by hand: models that answer from a table, traces written out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from settings import sampler_config
from sfumato.checkpoints.load import Checkpoint
from sfumato.data.tasks import TASKS, find_task, items
from sfumato.engine.model import TextModel
from sfumato.engine.request import CanvasChanged, Result, Usage
from sfumato.errors import ConfigError, RequestError
from sfumato.evaluation.tasks import ROWS, TwinScore, evaluate_task, first_accepted_answer
from sfumato.models.decoder import Decoder
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

Answer = Callable[[str, int], Result]


def draft(text: str, accepted: str, canvas: int = 0) -> CanvasChanged:
    """A step over 12 positions, a character each; "|" ends the text. `accepted` marks positions with "x"."""
    shown = text.split("|")[0]
    marks = accepted.ljust(12, ".")
    return CanvasChanged(
        variation=0,
        canvas=canvas,
        step=0,
        steps=9,
        tokens=tuple(map(ord, text.ljust(12, "|"))),
        pieces=(*shown, *[""] * (12 - len(shown))),
        text=shown,
        accepted=tuple(mark == "x" for mark in marks),
        revised=(False,) * 12,
        confidence=(0.5,) * 12,
    )


def result(text: str, *trace: CanvasChanged, steps: int = 4, forwards: int = 6) -> Result:
    usage = Usage(denoising_steps=steps, forward_passes=forwards, positions_computed=12 * steps, unsettled=2)
    return Result(text=text, tokens=(), finish_reason="stop", seed=0, model="table", usage=usage, trace=list(trace))


class Table:
    """Answers by a function of prompt and seed; remembers what it was asked."""

    sampler_defaults = sampler_config(steps=17)

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.calls: list[tuple[list[str], list[int], dict[str, Any]]] = []

    def generate_batch(self, prompts: Sequence[str], *, seeds: Sequence[int], **settings: Any) -> list[Result]:
        tell = settings.pop("on_progress")
        if tell:
            tell(len(prompts))
        self.calls.append((list(prompts), list(seeds), settings))
        return [self.answer(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]


def gold(name: str, n: int, seed: int = 0) -> dict[str, str]:
    """Right responses of a task's first items, in both forms."""
    task = TASKS[name]
    found = {}
    for item in items(task, "test", seed, n):
        for form in (item, task.answer_last(item)):
            if form is not None:
                found[form.prompt] = form.response
    return found


def evaluated(model: Table, name: str, **settings: Any) -> Any:
    return evaluate_task(model, name, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["countdown", "arithmetic", "pi"])
def test_score(name: str):
    """40 items, of which every fifth seed is answered wrongly."""
    answers = gold(name, 40, seed=3)
    model = Table(lambda prompt, seed: result("wrong" if seed % 5 == 3 else answers[prompt]))
    progress = []
    score = evaluated(model, name, n=40, seed=3, on_progress=lambda done, num: progress.append((done, num)))
    assert (score.task, score.n, score.seed, score.score) == (name, 40, 3, 0.8)
    assert (score.mean_steps, score.mean_forward_passes, score.steps, score.twin) == (4.0, 6.0, 17, None)
    assert score.mean_positions == 48.0
    assert score.unsettled == 40
    assert progress == [(ROWS, 40), (40, 40)]
    assert [len(prompts) for prompts, _, _ in model.calls] == [ROWS, 40 - ROWS]
    assert [seed for _, seeds, _ in model.calls for seed in seeds] == list(range(3, 43))
    asked = [prompt for prompts, _, _ in model.calls for prompt in prompts]
    expected = [item.prompt for item in items(TASKS[name], "test", 3, 40)]
    assert asked == (expected * 40)[:40]
    assert {settings["trace"] for *_, settings in model.calls} == {name == "arithmetic"}
    assert (score.revised is None) == (name != "arithmetic")


def test_settings_are_passed_on():
    model = Table(lambda prompt, seed: result(""))
    score = evaluated(model, "countdown", n=1, steps=5, entropy_bound=0.3)
    assert score.steps == 5
    assert model.calls[0][2] == {"trace": False, "steps": 5, "entropy_bound": 0.3, "check_prompt": False}


def test_twin_answers_greedily_in_both_forms():
    answers = gold("arithmetic", 40)
    model = Table(lambda prompt, seed: result(""))
    twin = Table(lambda prompt, seed: result(answers[prompt] if prompt.startswith("derive") or seed < 10 else ""))
    score = evaluated(model, "arithmetic", n=40, twin=twin, steps=3)
    assert score.twin == TwinScore(answer_first=0.25, answer_last=1.0)
    assert score.score == 0.0
    asked = [prompt for prompts, _, _ in twin.calls for prompt in prompts]
    assert asked[:40] == [prompt for prompts, _, _ in model.calls for prompt in prompts]
    assert [prompt.split(": ")[1] for prompt in asked[40:]] == [prompt.split(": ")[1] for prompt in asked[:40]]
    assert {prompt.split(":")[0] for prompt in asked[40:]} == {"derive, then answer"}
    assert all(settings == {"temperature": 0.0, "check_prompt": False} for *_, settings in twin.calls)
    assert evaluated(model, "countdown", n=1, twin=Table(lambda prompt, seed: result(""))).twin.answer_last is None


LINE = "answer: 42\n"
CASES = {
    "at once": ([draft(LINE, "x" * 11)], "42"),
    "bit by bit": ([draft("answer: 17\n", "x" * 5), draft(LINE, "....." + "x" * 6)], "42"),
    "what stood then counts": ([draft("answer: 17\n", "x" * 11), draft(LINE, "x" * 12)], "17"),
    "without its last digit": ([draft(LINE, "x" * 9)], None),
    "without the end of its line": ([draft(LINE, "x" * 10)], None),
    "ended by an end token": ([draft("answer: 42|", "x" * 11)], "42"),
    "without its end token": ([draft("answer: 42|", "x" * 10)], None),
    "what follows the end is no matter": ([draft("answer: 4|zz", "x" * 10)], "4"),
    "not a number": ([draft("answer: ??\n", "x" * 12)], None),
    "on a later canvas": ([draft("answer: ??\n", "x" * 12), draft(LINE, "x" * 12, canvas=1)], None),
    "under another line": ([draft("2\nanswer: 4|", "xx" + "." * 10), draft("2\nanswer: 4|", "..xxxxxxxxxx")], "4"),
    "under a line that alone is accepted": ([draft("2\nanswer: 4|", "xx")], None),
    "no trace": ([], None),
}


@pytest.mark.parametrize(("trace", "expected"), CASES.values(), ids=CASES)
def test_first_accepted_answer(trace: list[CanvasChanged], expected: str | None):
    assert first_accepted_answer(find_task("arithmetic"), result("", *trace)) == expected


def test_effect_of_revisions():
    """Of five items: right to wrong, wrong to right, wrong to wrong, unchanged, never accepted before the end."""
    asked = items(TASKS["arithmetic"], "test", 0, 5)
    numbers = [int(item.answer or "") for item in asked]
    fates = [(0, 1), (1, 0), (1, 2), (0, 0), (None, 0)]
    answers = {}
    for item, number, (first, last) in zip(asked, numbers, fates, strict=True):
        line = f"answer: {number + last}\n"
        trace = [] if first is None else [draft(f"answer: {number + first}\n", "x" * 12)]
        answers[item.prompt] = result(line, *trace, draft(line, ""))
    score = evaluated(Table(lambda prompt, seed: answers[prompt]), "arithmetic", n=5)
    assert score.score == 3 / 5
    assert (score.revised, score.wrong_to_right, score.right_to_wrong) == (3, 1, 1)


def test_refusals():
    model = Table(lambda prompt, seed: result(""))
    with pytest.raises(RequestError, match="n is 0; allowed: 1 or more"):
        evaluated(model, "countdown", n=0)
    with pytest.raises(ConfigError, match="unknown task 'countdwn'; did you mean 'countdown'"):
        evaluated(model, "countdwn")


@pytest.mark.parametrize("spec", [GenerationSpec(canvas_length=16), GenerationSpec(canvas_length=1, logit_shift=True)])
def test_items_do_not_influence_each_other(
    make_decoder: Callable[..., Decoder],
    byte_tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    spec: GenerationSpec,
):
    """The same with any number of rows at once; a random model is seldom right, but its steps are counted."""
    decoder = make_decoder(vocab_size=261, max_position_embeddings=160)
    model = TextModel("small", Checkpoint(decoder, spec, {"max_tokens": 16}), byte_tokenizer)
    scores = []
    for rows in (ROWS, 2):
        monkeypatch.setattr("sfumato.evaluation.tasks.ROWS", rows)
        scores.append(evaluate_task(model, "arithmetic", n=3, steps=3, entropy_bound=3.0))
    # What a prompt costs depends on which of them begin alike and are in work together.
    assert dataclasses.replace(scores[0], mean_positions=0.0) == dataclasses.replace(scores[1], mean_positions=0.0)
    # What has to be written shares a forward with the step that reads it.
    assert scores[0].mean_forward_passes == scores[0].mean_steps > 0
