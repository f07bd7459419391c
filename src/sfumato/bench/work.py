"""Models without text, for measuring: any checkpoint, random ones too, asked for a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import torch

from sfumato.data.tokenizer import Tokenizer
from sfumato.diffusion.process import make_process
from sfumato.engine.generate import Generator, generate
from sfumato.engine.request import Finished, Request, Result
from sfumato.models.checkpoint import load_checkpoint
from sfumato.sampling import SamplerConfig


class _NoText:
    """Stands in for a tokenizer: no token ends a text, and none has any."""

    eos_ids: tuple[int, ...] = ()
    special_ids: frozenset[int] = frozenset()
    unstable_ids: frozenset[int] = frozenset()

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        return ""


class Runner:
    """A checkpoint that answers with exactly as many tokens, in exactly as many steps, as it is asked for.

    Args:
        directory: a checkpoint, with or without a tokenizer.

    Raises:
        CheckpointError: if it cannot be loaded.
    """

    def __init__(self, directory: Path) -> None:
        checkpoint = load_checkpoint(directory)
        vocab_size = checkpoint.model.config.vocab_size
        self.spec = checkpoint.spec
        self._defaults = {
            key: value
            for key, value in checkpoint.generation.items()
            if key in SamplerConfig.__dataclass_fields__ and key not in ("steps", "adaptive")
        }
        self._generator = Generator(
            name=str(directory),
            model=checkpoint.model,
            spec=checkpoint.spec,
            process=make_process(checkpoint.spec.noise, vocab_size, checkpoint.spec.mask_id),
            tokenizer=cast(Tokenizer, _NoText()),
        )

    def random_prompt(self, num_tokens: int) -> list[int]:
        """The same tokens every time."""
        vocab_size = self._generator.model.config.vocab_size
        generator = torch.Generator().manual_seed(0)
        return torch.randint(vocab_size, (num_tokens,), generator=generator).tolist()

    def run(self, prompt: list[int], *, new_tokens: int, steps: int) -> Result:
        """One answer.

        Args:
            prompt: token ids.
            new_tokens: length of the answer.
            steps: of each canvas, all of them taken.
        """
        settings: dict[str, Any] = self._defaults | {"steps": steps, "adaptive": False}
        request = Request(
            prompt=tuple(prompt),
            sampler=SamplerConfig(**settings),
            max_tokens=new_tokens,
            canvas_length=self.spec.canvas_length,
        )
        (result,) = [event.result for _, event in generate(self._generator, [request]) if isinstance(event, Finished)]
        assert len(result.tokens) == new_tokens
        return result
