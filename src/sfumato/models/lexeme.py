"""Embeddings that are computed from how a lexeme is spelt, so that a vocabulary can be made for each text."""

# V lexemes, F features of each: a spelling, then words; E their size, D model

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from sfumato.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class LexemeConfig:
    """Tables that lexemes are hashed into."""

    num_spellings: int = 16384
    """Rows for whole lexemes."""
    num_words: int = 16384
    """Rows for the words in them, and for their kinds; row 0 stands for none."""
    size: int = 128
    """Width E of a row."""

    def __post_init__(self) -> None:
        for name in ("num_spellings", "num_words", "size"):
            if getattr(self, name) < 2:
                raise ConfigError(f"lexemes.{name} is {getattr(self, name)}; allowed: 2 or more")


class LexemeEmbedding(nn.Module):
    """A lexeme is its spelling and the mean of its words; one matrix takes that to what the model reads, another one to
    what it writes."""

    def __init__(self, config: LexemeConfig, hidden_size: int) -> None:
        super().__init__()
        self.config = config
        self.spellings = nn.Embedding(config.num_spellings, config.size)
        self.words = nn.Embedding(config.num_words, config.size)
        self.in_proj = nn.Linear(config.size, hidden_size, bias=False)
        self.out_proj = nn.Linear(config.size, hidden_size, bias=False)

    def forward(self, features_VF: Tensor) -> tuple[Tensor, Tensor]:
        """Embeddings of a lexicon's lexemes.

        Args:
            features_VF: int64, `sfumato.text.lexicon.Lexicon.features`.

        Returns:
            embedding_VD: what the model reads of each.
            head_VD: what a hidden state is multiplied by for the logit of each.
        """
        words_VF = features_VF[:, 1:]
        mean_VE = functional.embedding_bag(
            words_VF, self.words.weight, mode="sum", per_sample_weights=(words_VF > 0).to(self.words.weight.dtype)
        )
        count_V1 = (words_VF > 0).sum(1, keepdim=True).clamp_min(1)
        lexeme_VE = self.spellings(features_VF[:, 0]) + mean_VE / count_V1
        return self.in_proj(lexeme_VE), self.out_proj(lexeme_VE)
