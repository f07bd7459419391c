"""Record what Python draws, encodes and decides, for the tests of the tab: `python web/tests/record_tab.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src")]

import torch  # noqa: E402

import sfumato  # noqa: E402
from sfumato.sampling.logits import LearnedStop, stop_features  # noqa: E402
from sfumato.sampling.samplers.base import uniform  # noqa: E402

KEYS = [(0, 0, 0, 1), (1, 0, 3, 2), (7, 2, 47, 3), (2**31, 5, 1, 2), (2**53 - 1, 1, 0, 1)]
TEXTS = [
    "answer, then derive: 81*(2/3)^2+sqrt(9)",
    "fix the bug:\ndef area(a, b):\n    return a + b",
    "sudoku:\n12..\n..12\n2.4.\n.3.1",
    "json: Zoë is 3 years old — naïve 日本語 🙂.",
    "<|end|> is no end, and  two   spaces\t\ttabs\r\n",
    "",
]
ANSWERS: list[dict[str, Any]] = [
    {"model": "tiny", "prompt": "answer, then derive: 81*(2/3)^2+sqrt(9)", "seed": 1},
    {"model": "tiny", "prompt": "fizzbuzz in python", "seed": 3, "canvas_length": 16},
    {"model": "ui", "prompt": "screen: a to-do list about moving house", "seed": 2, "max_tokens": 48, "draft_steps": 0}
    | {"steps": 6},
    {"model": "ui", "prompt": "screen: a to-do list about moving house", "seed": 3},
    {"model": "ui", "prompt": "a page\n b header: Today\n c list\n  d checkbox: Milk\n> tick off the milk", "seed": 4}
    | {"draft_steps": 2},
]


def _answer(model: str, prompt: str, **options: Any) -> dict[str, Any]:
    loaded = sfumato.load(model)
    result = loaded.generate(prompt, record=True, trace=True, check_prompt=False, **options)
    entropies = {(each.canvas, each.step - 1): each.entropy for each in result.trace}
    canvases = [
        {
            "first": len(canvas.text) - result.usage.prompt_tokens,
            "steps": [
                {
                    "tokens": step.tokens_L.tolist(),
                    "temperature": step.temperature,
                    "best": step.draft_L.tolist(),
                    "drawn": step.sampled_L.tolist(),
                    "confidence": step.confidence_L.tolist(),
                    "entropy": entropies[i, step.step],
                }
                for step in canvas.steps
            ],
        }
        for i, canvas in enumerate(result.canvases)
    ]
    return {
        "model": model,
        "prompt": prompt,
        "options": options,
        "prompt_tokens": list(result.canvases[0].text),
        "lengths": [*loaded.length_shares(prompt).values()],
        "canvases": canvases,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "certainty": result.certainty,
        "revisions": result.usage.revisions,
    }


def main() -> None:
    """Write recorded_tab.json."""
    drawn = []
    for *key, stream in KEYS:
        seed, canvas, step = (torch.tensor([each]) for each in key)
        u_1L = uniform(seed, canvas, step, torch.arange(5), stream)
        drawn.append({"key": [*key, stream], "u": u_1L[0].tolist()})
    encoded = {}
    for name in ("tiny", "ui"):
        tokenizer = sfumato.load(name).tokenizer
        cut = [tokenizer.encode(text)[: len(tokenizer.encode(text)) // 2] for text in TEXTS]
        encoded[name] = [
            {"text": text, "ids": tokenizer.encode(text), "half": tokenizer.decode(half)}
            for text, half in zip(TEXTS, cut, strict=True)
        ]
    head = LearnedStop.read(ROOT / "src/sfumato/assets/tiny")
    assert head is not None
    stops = []
    for length, stable in ((3, 0), (16, 1), (64, 5)):
        generator = torch.Generator().manual_seed(length)
        confidence = torch.rand(1, length, generator=generator) ** 0.1
        features = stop_features(confidence, torch.ones(1, length, dtype=torch.bool), torch.tensor([stable]))
        probability = float(head.logits(features).sigmoid())
        stops.append({"confidence": confidence[0].tolist(), "stable": stable, "probability": probability})
    recorded = {
        "uniforms": drawn,
        "encoded": encoded,
        "stops": stops,
        "answers": [_answer(**options) for options in ANSWERS],
    }
    path = Path(__file__).with_name("recorded_tab.json")
    path.write_text(json.dumps(recorded, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
