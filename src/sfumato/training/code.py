"""Batches of noisy code: canvases of lexemes over their own lexicon, without preceding text."""

# B rows, T positions of a row, V lexemes of the batch's lexicon, F features of each

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from sfumato.data.code import Corpus
from sfumato.data.edits import Cell, EditNoiseConfig, corrupt
from sfumato.data.packing import IGNORED
from sfumato.data.sources import check_weights
from sfumato.errors import ConfigError
from sfumato.models.layers import LexemeConfig
from sfumato.models.model import AttentionSpec
from sfumato.text.lexemes import PAD, Lexicon
from sfumato.training.objective import TrainingBatch

_BUCKET = 8
"""Maximum length difference, in lexemes, between canvases of a batch."""
_WHOLE_SHARE = 0.9
"""Share of canvases that are kept whole: noise makes some longer, and padding all to the longest would cost a fifth of
a step."""


@dataclass(frozen=True, kw_only=True)
class CodeConfig:
    """How code becomes canvases."""

    corpora: dict[str, float]
    """Weight of each corpus directory, see `sfumato.data.code`."""
    edits: EditNoiseConfig = EditNoiseConfig()
    """Noise settings."""
    max_length: int = 256
    """Maximum lexemes per canvas; longer functions are cut to a window."""
    batch_lexemes: int = 8192
    """Positions per batch."""
    window_share: float = 0.2
    """Share of batches with arbitrary lines of files instead of functions."""
    changed_weight: float = 4.0
    """Loss weight of positions with an error."""
    kept_weight: float = 0.15
    """Loss weight of correct positions."""

    def __post_init__(self) -> None:
        check_weights("the weights of code.corpora", list(self.corpora.values()))
        if self.max_length < 2 * _BUCKET or self.batch_lexemes < self.max_length:
            raise ConfigError(
                f"code.max_length is {self.max_length} and code.batch_lexemes {self.batch_lexemes}; allowed: "
                f"{2 * _BUCKET} or more, and no more than batch_lexemes"
            )


class CodeBatches:
    """Batches by number; the number determines everything about a batch.

    Args:
        lexemes: sizes of the model's tables, which its features index.
        causal: batches for an autoregressive model: clean text, each lexeme predicted from those before it.
    """

    def __init__(self, config: CodeConfig, lexemes: LexemeConfig, *, causal: bool = False, seed: int = 0) -> None:
        self._config = config
        self._lexemes = lexemes
        self._causal = causal
        self._seed = seed
        self._corpora = [Corpus(Path(directory)) for directory in config.corpora]
        self._weights = list(config.corpora.values())
        self._buckets = [_bucketed(corpus, config.max_length) for corpus in self._corpora]
        for directory, (_, sizes) in zip(config.corpora, self._buckets, strict=True):
            if not sum(sizes):
                raise ConfigError(f"code.corpora has {directory}, which holds no functions; allowed: one with some")

    def draw(self, index: int) -> list[list[str]]:
        """The clean texts of a batch, of similar length."""
        config, rng = self._config, random.Random(f"code {self._seed} {index}")
        [chosen] = rng.choices(range(len(self._corpora)), self._weights)
        corpus, (buckets, sizes) = self._corpora[chosen], self._buckets[chosen]
        if rng.random() < config.window_share:
            length = rng.randrange(config.max_length // 2, config.max_length + 1, _BUCKET)
            count = max(1, config.batch_lexemes // length)
            windows = (corpus.lines_from(rng.randrange(len(corpus)), length) for _ in range(4 * count))
            texts = [window for window in windows if len(window) > length // 2][:count]
            if texts:
                return texts
        [bucket] = rng.choices(range(len(buckets)), sizes)
        count = max(1, config.batch_lexemes // ((bucket + 1) * _BUCKET))
        texts = []
        for number in rng.choices(buckets[bucket], k=count):
            start, end = corpus.functions_M2[number].tolist()
            texts.append(_cut(corpus.window(start, end), config.max_length, rng))
        return texts

    def make(self, index: int) -> tuple[TrainingBatch, int]:
        """A batch, and its number of positions without padding."""
        rng = random.Random(f"noise {self._seed} {index}")
        clean = self.draw(index)
        if self._causal:
            rows = [[Cell(text, after, 0) for text, after in zip(row, [*row[1:], PAD], strict=True)] for row in clean]
        else:
            rows = [corrupt(text, self._config.edits, rng) for text in clean]
        lengths_R = sorted(map(len, rows))
        longest = -(-lengths_R[int(_WHOLE_SHARE * (len(rows) - 1))] // _BUCKET) * _BUCKET
        rows = [cells[:longest] for cells in rows]
        lexicon = Lexicon()
        shape = (len(rows), longest)
        tokens, targets = np.zeros(shape, np.int64), np.full(shape, IGNORED, np.int64)
        lengths, weights = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
        length_weights = np.zeros(shape, np.float32)
        heavy, light = self._config.changed_weight, self._config.kept_weight
        for row, cells in enumerate(rows):
            count = len(cells)
            tokens[row, :count] = lexicon.encode([cell.seen for cell in cells])
            targets[row, :count] = lexicon.encode([cell.target for cell in cells])
            if self._causal:
                targets[row, count - 1] = IGNORED
                weights[row, : count - 1] = 1.0
                continue
            missing = np.array([cell.missing for cell in cells])
            lengths[row, :count] = missing + 1
            changed = tokens[row, :count] != targets[row, :count]
            weights[row, :count] = np.where(changed, heavy, light)
            length_weights[row, :count] = np.where(missing > 0, heavy, light) * (missing >= 0)
        features = lexicon.features(self._lexemes.num_spellings, self._lexemes.num_words)
        tokens_BT, targets_BT = torch.from_numpy(tokens), torch.from_numpy(targets)
        supervised_BT = targets_BT != IGNORED
        nowhere_BT = torch.zeros_like(supervised_BT)
        batch = TrainingBatch(
            tokens_BT=tokens_BT,
            positions_BT=torch.arange(longest).expand(shape),
            attention=AttentionSpec(causal=self._causal),
            targets_BT=targets_BT,
            canvas_BT=torch.full(shape, not self._causal),
            on_canvas_BT=nowhere_BT if self._causal else supervised_BT,
            on_clean_BT=supervised_BT if self._causal else nowhere_BT,
            given_BT=nowhere_BT,
            lengths_BT=torch.from_numpy(lengths),
            shift=0,
            known_BT=nowhere_BT,
            known_tokens_BT=tokens_BT,
            self_conditioned=False,
            features_VF=torch.from_numpy(features),
            weights_BT=torch.from_numpy(weights),
            length_weights_BT=torch.from_numpy(length_weights),
        )
        return batch, sum(map(len, rows))


def _bucketed(corpus: Corpus, max_length: int) -> tuple[list[np.ndarray], list[int]]:
    """Functions by length, in buckets, and the number of lexemes in each bucket."""
    lengths = np.diff(corpus.functions_M2, axis=1)[:, 0].clip(max=max_length)
    bucket = (lengths - 1) // _BUCKET
    buckets = [np.flatnonzero(bucket == number) for number in range((max_length - 1) // _BUCKET + 1)]
    return buckets, [int(lengths[members].sum()) for members in buckets]


def _cut(text: list[str], max_length: int, rng: random.Random) -> list[str]:
    """A random window of a text, if it is too long."""
    if len(text) <= max_length:
        return text
    start = rng.choice((0, rng.randrange(len(text) - max_length + 1)))
    return text[start : start + max_length]
