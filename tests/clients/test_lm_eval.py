"""lm-eval: likelihoods that are known, answers, and its program over tasks, in its process and against a server."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import sfumato
from documented import documented
from serving import Served
from sfumato.checkpoints.load import save_checkpoint
from sfumato.engine.model import TextModel
from sfumato.errors import RequestError
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.spec import GenerationSpec
from sfumato.text.tokenizer import Tokenizer

# What its imports warn of is not ours.
with warnings.catch_warnings(action="ignore"):
    pytest.importorskip("lm_eval", reason="a client: make clients")
    from lm_eval.api.instance import Instance

    from sfumato.integrations.lm_eval_model import SfumatoLM

MASK = 261
VOCAB = 262
ITEMS = [
    {"question": "12+5=", "answer": "17", "choices": ["17", "93"], "gold": 0},
    {"question": "7*6=", "answer": "42", "choices": ["11", "42"], "gold": 1},
]
# Some of them are beyond the model, so that a score says which answers it is of.
MIXED_ITEMS = [
    {"question": f"{a} {sign} {b}", "answer": str(result)}
    for a, sign, b, result in (
        (4, "/", 4, 1), (13, "+", 89, 102), (11, "*", 8, 88), (56, "+", 74, 130), (88, "-", 35, 53), (8, "*", 1, 8),
        (97, "+", 86, 183), (12, "*", 12, 144),
    )
]  # fmt: skip
TASK = {"dataset_path": "json", "test_split": "test", "doc_to_text": "{{question}}", "metadata": {"version": 1}}
SUMS = {
    "task": "sums",
    "output_type": "generate_until",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"until": ["\n"], "max_gen_toks": 16, "do_sample": False},
    "metric_list": [{"metric": "exact_match"}],
}
MIXED = SUMS | {"task": "mixed"}
PICKS = {
    "task": "picks",
    "output_type": "multiple_choice",
    "doc_to_choice": "{{choices}}",
    "doc_to_target": "gold",
    "target_delimiter": "",
    "metric_list": [{"metric": "acc"}],
}


def instances(*arguments: tuple[Any, ...]) -> list[Any]:
    return [Instance(request_type="loglikelihood", doc={}, arguments=each, idx=0) for each in arguments]


@pytest.fixture(scope="module")
def tiny() -> Any:
    return SfumatoLM("tiny", device="cpu")


@pytest.fixture
def flat(make_decoder: Callable[..., Decoder], byte_tokenizer: Tokenizer, tmp_path: Path) -> Callable[..., Any]:
    """Models that find every token but the mask as likely as any other."""

    def made(**spec: Any) -> Any:
        model = make_decoder(vocab_size=VOCAB)
        with torch.no_grad():
            model.get_parameter("model.embed_tokens.weight").zero_()
        save_checkpoint(tmp_path, model, GenerationSpec(noise="mask", mask_id=MASK, **spec))
        byte_tokenizer.save(tmp_path)
        return SfumatoLM(str(tmp_path), device="cpu", samples=256, greedy=False)

    return made


@pytest.mark.parametrize(
    ("spec", "num_read"),
    [
        ({"canvas_length": 8}, 6),
        ({"canvas_length": 4}, 6),
        ({"canvas_length": 8, "logit_shift": True}, 6),
        ({"canvas_length": 8, "prefix_attention": "full", "commit": "in_place"}, 6),
        # Two blocks, of which the prompt takes three positions: what fills the second one counts.
        ({"canvas_length": 4, "prefix_attention": "block"}, 9),
    ],
    ids=str,
)
def test_flat_model_bound_is_its_likelihood(flat: Callable[..., Any], spec: dict[str, Any], num_read: int):
    """Each token has probability 1/261; as many are read as stand free on the canvases."""
    lm = flat(**spec)
    [(found, is_greedy)] = lm._loglikelihood_tokens([(("", ""), [1, 2, 3], [4, 5, 6, 7, 8, 9])], disable_tqdm=True)
    assert found == pytest.approx(-num_read * math.log(VOCAB - 1), rel=0.05)
    assert not is_greedy
    assert lm.estimator.startswith("MDLM NELBO (upper bound)")


def test_long_text_is_read_in_parts(flat: Callable[..., Any]):
    lm = flat(canvas_length=8)
    text = "x" * 200
    assert lm.model.decoder.config.max_position_embeddings < 200
    [found] = lm.loglikelihood_rolling(instances((text,)), disable_tqdm=True)
    assert found == pytest.approx(-200 * math.log(VOCAB - 1), rel=0.05)


@pytest.mark.parametrize("context", ["for i in range(3", "for i in range(3)"], ids=["between tokens", "within one"])
@torch.inference_mode()
def test_autoregressive_likelihood_is_exact(context: str):
    lm = SfumatoLM("tiny-twin", device="cpu")
    model, tokenizer = lm.model.decoder, lm.model.tokenizer
    text = "for i in range(3):"
    tokens, first = tokenizer.encode_raw(text), 2
    assert [tokenizer.decode([token]) for token in tokens] == ["for i in range(", "3", "):"]
    hidden_1QD = model(torch.tensor([tokens]), torch.arange(len(tokens))[None], AttentionSpec(causal=True))
    log_QV = model.logits(hidden_1QD[0]).float().log_softmax(-1)
    expected = sum(float(log_QV[i - 1, tokens[i]]) for i in range(first, len(tokens)))
    [(found, _)] = lm.loglikelihood(instances((context, text.removeprefix(context))), disable_tqdm=True)
    assert found == pytest.approx(expected, rel=1e-4)
    assert lm.estimator == "exact autoregressive NLL"
    [rolled] = lm.loglikelihood_rolling(instances((text,)), disable_tqdm=True)
    assert rolled < found


def test_nothing_is_certain(tiny: Any):
    assert tiny.loglikelihood(instances(("1+1=", ""))) == [(0.0, True)]


def test_likely_text_has_a_higher_likelihood(tiny: Any):
    prompt = tiny.apply_chat_template([{"role": "user", "content": "12+5="}])
    right, wrong = tiny.loglikelihood(instances((prompt, "17"), (prompt, "93")), disable_tqdm=True)
    assert right[0] > wrong[0] + 5
    assert (right[1], wrong[1]) == (True, False)
    assert "UDLM" in tiny.get_model_info()["sfumato_estimator"]


def test_answers_end_at_stop_strings(tiny: Any):
    model: TextModel = sfumato.load("tiny")
    question = "answer, then derive: 81*(2/3)^2+sqrt(9)"
    prompt = tiny.apply_chat_template([{"role": "user", "content": question}])
    whole = model.generate(question, temperature=0.0, max_tokens=64).text
    settings = {"max_gen_toks": 64, "do_sample": False}
    answers = tiny.generate_until(
        instances((prompt, settings | {"until": []}), (prompt, settings | {"until": ["\n", ""]})), disable_tqdm=True
    )
    assert answers == [whole, whole.split("\n")[0]]
    with pytest.raises(RequestError, match="generation_kwargs has num_beams; allowed"):
        tiny.generate_until(instances((prompt, {"num_beams": 4})), disable_tqdm=True)
    with pytest.raises(RequestError, match="samples is 0; allowed"):
        SfumatoLM("tiny", samples=0)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder of tasks."""
    for task in (SUMS, PICKS, MIXED):
        data = tmp_path / f"{task['task']}.jsonl"
        items = MIXED_ITEMS if task is MIXED else ITEMS
        data.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        whole = TASK | task | {"dataset_kwargs": {"data_files": {"test": str(data)}}}
        # JSON is YAML.
        (tmp_path / f"{task['task']}.yaml").write_text(json.dumps(whole), encoding="utf-8")
    return tmp_path


def scores(command: str, tasks: Path, *names: str) -> dict[str, Any]:
    """What a documented command says of some tasks."""
    words = command.replace("NAME", ",".join(names)).split()
    program = {"python": [sys.executable], "lm_eval": [sys.executable, "-m", "lm_eval"]}[words[0]]
    results = tasks / f"results-{len(list(tasks.glob('results-*')))}"
    arguments = [*program, *words[1:], "--include_path", str(tasks), "--output_path", str(results), "--log_samples"]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": str(tasks / "cache"), "OPENAI_API_KEY": "none"}
    done = subprocess.run(arguments, env=os.environ | offline, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    [file] = results.glob("*/results_*.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    for name in names:
        [file] = results.glob(f"*/samples_{name}_*.jsonl")
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        found[name] = [line["filtered_resps"] for line in sorted(lines, key=lambda line: line["doc_id"])]
    return found


@pytest.mark.slow
def test_lm_eval_with_local_model(tasks: Path):
    found = scores(documented("lm-eval")[0].strip(), tasks, "sums", "picks")
    assert found["results"]["sums"]["exact_match,none"] == 1
    assert found["results"]["picks"]["acc,none"] == 1
    assert "UDLM" in found["config"]["sfumato_estimator"]


@pytest.mark.slow
@pytest.mark.parametrize("line", [0, 1], ids=["chat", "completions"])
def test_lm_eval_against_a_server(served: Served, tasks: Path, line: int):
    pytest.importorskip("tenacity", reason="a client: make clients")
    command = documented("lm-eval", served.url)[1].splitlines()[line]
    found = scores(command, tasks, "sums")
    # Without its chat template the model was not trained to answer.
    assert found["results"]["sums"]["exact_match,none"] >= 1 - line
    assert found["n-samples"]["sums"]["effective"] == 2


@pytest.mark.slow
def test_local_and_server_scores_are_equal(served: Served, tasks: Path):
    """Its client asks a server with the seed 1234."""
    pytest.importorskip("tenacity", reason="a client: make clients")
    inside = documented("lm-eval")[0].strip().replace("pretrained=tiny", "pretrained=tiny,seed=1234")
    outside = documented("lm-eval", served.url)[1].splitlines()[0]
    one, other = scores(inside, tasks, "mixed"), scores(outside, tasks, "mixed")
    assert one["mixed"] == other["mixed"]
    score = one["results"]["mixed"]["exact_match,none"]
    assert other["results"]["mixed"]["exact_match,none"] == score
    assert 0 < score < 1
