"""A canvas model's weights as an autoregressive model: its twin without a training of its own.

    python -m benchmarks.left_to_right ui runs/ui-left
    sfumato eval runs/ui-left --task ui_edit --n 200

For models that were also trained to predict the next token (`packing.ar_share` in their recipe).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from sfumato.checkpoints.load import load_checkpoint, save_checkpoint
from sfumato.checkpoints.registry import find_model
from sfumato.errors import ConfigError
from sfumato.models.decoder import Decoder
from sfumato.text.tokenizer import Tokenizer

GREEDY = {"temperature_start": 0.0, "temperature_end": 0.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("directory", type=Path)
    options = parser.parse_args()
    source = find_model(options.model)
    checkpoint = load_checkpoint(source)
    model, spec = checkpoint.model, checkpoint.spec
    if not isinstance(model, Decoder) or not spec.logit_shift or spec.prefix_attention != "causal":
        raise ConfigError(f"{options.model} predicts no next token; allowed: a decoder with causal prefixes")
    shape = replace(
        model.config, canvas_embedding=False, given_embedding=False, self_conditioning=False, length_buckets=()
    )
    twin = Decoder(shape)
    wanted = twin.state_dict()
    twin.load_state_dict({name: tensor for name, tensor in model.state_dict().items() if name in wanted})
    names = ("max_tokens", "tasks", "prompt_kinds", "eos_token_id")
    kept = {name: value for name, value in checkpoint.generation.items() if name in names}
    spec = replace(spec, canvas_length=1, self_conditioning=False, commit="in_place", blanks=False)
    save_checkpoint(options.directory, twin, spec, generation=kept | GREEDY)
    Tokenizer.load(source).save(options.directory)


if __name__ == "__main__":
    main()
