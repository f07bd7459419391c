"""From a file of chats to answers: a memorized text is generated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sfumato
from sfumato.config import load_recipe
from sfumato.training.recipe import Recipe
from sfumato.training.run import Run

RECIPE = """
[model]
vocab_size = 261
hidden_size = 24
intermediate_size = 48
num_hidden_layers = 1
num_attention_heads = 2
num_key_value_heads = 1
head_dim = 12
canvas_embedding = true

[packing]
rows = 2
row_length = 96
canvas_lengths = [8]

[train]
warmup = 2
lr = 2e-2
average = 0.9
threads = 1
save_every_s = 1e9
steps = 200
"""
AR = ("packing.canvas_lengths=[]", "generation_spec={canvas_length = 1, logit_shift = true, commit = 'in_place'}")
MASKS, NO_AR = "noise = 'mask', mask_id = 4, canvas_length = 8", "packing.ar_share=0"
CASES = {
    "diffusion": ("generation_spec={canvas_length = 8}",),
    "two canvases": ("generation_spec={canvas_length = 4}", "packing.canvas_lengths=[4]"),
    "in full": (f"generation_spec={{{MASKS}, prefix_attention = 'full'}}", NO_AR),
    "in full, shifted": (f"generation_spec={{{MASKS}, prefix_attention = 'full', logit_shift = true}}", NO_AR),
    "in full, by the bound": (
        f"generation_spec={{{MASKS}, prefix_attention = 'full'}}",
        NO_AR,
        "objective.canvas_loss=bound",
        "train.lr=1e-2",
    ),
    "in blocks": (f"generation_spec={{{MASKS}, prefix_attention = 'block'}}", NO_AR),
    "twin": (*AR, "train.steps=80"),
}


@pytest.mark.parametrize("overrides", CASES.values(), ids=CASES)
def test_memorized_text_is_generated(tmp_path: Path, overrides: tuple[str, ...]):
    pairs = {"a": "yes", "b": "no", "c": ""}
    chats = [{"prompt": prompt, "response": response} for prompt, response in pairs.items()]
    (tmp_path / "some.jsonl").write_text("".join(f"{json.dumps(chat)}\n" for chat in chats))
    (tmp_path / "recipe.toml").write_text(RECIPE)
    files = f"data.files={{'{tmp_path / 'some.jsonl'}' = 1.0}}"
    run = Run(load_recipe(Recipe, tmp_path / "recipe.toml", [files, *overrides]), tmp_path / "run")
    run.trainer.run()
    run.save_checkpoint()
    model = sfumato.load(run.checkpoint_directory)
    results = model.generate_batch([*pairs], steps=16, temperature=0.0, max_tokens=16)
    assert {prompt: result.text for prompt, result in zip(pairs, results, strict=True)} == pairs
    assert {result.finish_reason for result in results} == {"stop"}
