"""Batches of code with noise: canvases of lexemes over a lexicon of their own, without any text before them."""

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
from sfumato.errors import ConfigError
from sfumato.models.attention import AttentionSpec
from sfumato.models.layers import LexemeConfig
from sfumato.text.lexemes import PAD, Lexicon
from sfumato.training.objective import TrainingBatch

_BUCKET = 8
"""Canvases of a batch are about as long as each other: within so many lexemes."""
_WHOLE_SHARE = 0.9
"""Of a batch's rows: noise makes some longer, and padding all to the longest would cost a fifth of a step."""


@dataclass(frozen=True, kw_only=True)
class CodeConfig:
    """How code becomes canvases."""

    corpora: dict[str, float]
    """Weight by directory of a corpus, see `sfumato.data.code`."""
    edits: EditNoiseConfig = EditNoiseConfig()
    """What is done to it."""
    max_length: int = 256
    """Lexemes of the longest canvas; longer functions are cut into windows of whole lines."""
    batch_lexemes: int = 8192
    """Positions of a batch."""
    window_share: float = 0.2
    """Share of batches that hold any lines of files rather than functions."""
    changed_weight: float = 4.0
    """Of a position where something is wrong, in the loss."""
    kept_weight: float = 0.15
    """Of a position where nothing is."""

    def __post_init__(self) -> None:
        if not self.corpora:
            raise ConfigError("code.corpora is empty; allowed: a weight for each of one or more directories")
        if self.max_length < 2 * _BUCKET or self.batch_lexemes < self.max_length:
            raise ConfigError(
                f"code.max_length is {self.max_length} and code.batch_lexemes {self.batch_lexemes}; allowed: "
                f"{2 * _BUCKET} or more, and no more than batch_lexemes"
            )


class CodeBatches:
    """Batches by their number in a run, which decides everything about one.

    Args:
        config: see its class.
        lexemes: tables of the model, which hold what its features index.
        causal: batches for an autoregressive model: clean text, each lexeme predicted from those before it.
        seed: of the run.
    """

    def __init__(self, config: CodeConfig, lexemes: LexemeConfig, *, causal: bool = False, seed: int = 0) -> None:
        self._config = config
        self._lexemes = lexemes
        self._causal = causal
        self._seed = seed
        self._corpora = [Corpus(Path(directory)) for directory in config.corpora]
        self._weights = list(config.corpora.values())
        self._buckets = [_bucketed(corpus, config.max_length) for corpus in self._corpora]

    def draw(self, index: int) -> list[list[str]]:
        """Clean texts of a batch, about as long as each other."""
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
        """A batch, and how many of its positions are no padding."""
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
    """Functions by their length, and how many lexemes those of each length have."""
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
