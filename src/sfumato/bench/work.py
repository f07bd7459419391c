"""Models without text, for measuring: any checkpoint, random ones too, asked for a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from sfumato.data.tokenizer import Tokenizer
from sfumato.engine.model import TextModel
from sfumato.engine.request import Result
from sfumato.errors import ConfigError
from sfumato.models.checkpoint import load_checkpoint


@dataclass
class _NoText:
    """Stands in for a tokenizer: no token ends a text, and none has any."""

    vocab_size: int
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
        self._vocab_size = checkpoint.model.config.vocab_size
        self._model = TextModel(str(directory), checkpoint, cast(Tokenizer, _NoText(self._vocab_size)))

    def random_prompt(self, num_tokens: int) -> list[int]:
        """The same tokens every time."""
        generator = torch.Generator().manual_seed(0)
        return torch.randint(self._vocab_size, (num_tokens,), generator=generator).tolist()

    def run(self, prompt: list[int], *, new_tokens: int, steps: int) -> Result:
        """One answer.

        Args:
            prompt: token ids.
            new_tokens: length of the answer.
            steps: of each canvas, all of them taken.
        """
        result = self._model.generate(prompt, max_tokens=new_tokens, steps=steps, adaptive=False)
        assert len(result.tokens) == new_tokens
        return result


def require_transformers() -> Any:
    """The module.

    Raises:
        ConfigError: if it is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise ConfigError("transformers is not installed: pip install 'transformers>=5.13'") from None
    return transformers
