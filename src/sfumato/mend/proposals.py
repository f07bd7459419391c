"""Edits proposed by a model for a range of lexemes, with their log-odds.

One pass predicts, at every position, which lexeme belongs there and how many are missing before it. Missing lexemes
form a gap, filled by further passes over texts with slots when its turn comes. The pass scores each edit by itself; a
judge, an autoregressive model, reads the whole texts that the likeliest ones make.
"""

# R rows, Q positions, V lexicon, B length buckets, S slots

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sfumato.data.edits import SWAPPED_AROUND
from sfumato.kernels.cpu.running import shared_cores
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec
from sfumato.text.lexemes import BLANK, CLOSING, END, MASK, MISALIGNED, OPENING, PAD, Lexicon, is_level, kind_of
from sfumato.text.patches import Patch

_ROWS = 32
"""Texts that the judge reads together."""
_OPERANDS = frozenset({"name", "number", "string"})
"""Kinds of lexemes with which an expression may begin."""
_AROUND = frozenset({",", ":", "="})
"""What no expression contains outside brackets."""
_NEVER = frozenset({PAD, MASK, END, MISALIGNED})


class Gap(NamedTuple):
    """Number of missing lexemes."""

    position: int
    """Index of the lexeme after them."""
    size: int
    end: int | None = None
    """If given, the lexemes from `position` to here lack a call: the gap is its function, brackets are added."""


class Proposal(NamedTuple):
    """An edit and its log-odds."""

    score: float
    """Log-odds, in nats, of the edited text against the original; for a gap, whatever fills it."""
    edit: Patch | Gap


@dataclass(frozen=True, kw_only=True)
class ProposalConfig:
    """Limits on proposals."""

    substitutions: int = 400
    """Maximum replacements, over all positions."""
    longest_deletion: int = 5
    """Maximum adjacent lexemes deleted together."""
    further_deletion: float = 1.0
    """Nats subtracted for each after the first."""
    gaps: int = 24
    """Maximum insertion points."""
    longest_insertion: int = 3
    """Maximum lexemes inserted together."""
    fillings: int = 6
    """Fillings per gap."""
    lowest: float = -14.0
    """Minimum log-odds of deletions and gaps, in nats."""


class Proposer:
    """Reads texts with a lexeme model.

    Args:
        model: a model with `lexemes` and a length head.
        judge: an autoregressive model with the same tables, which reads the texts that the likeliest edits make.
    """

    def __init__(self, model: Decoder, config: ProposalConfig | None = None, judge: Decoder | None = None) -> None:
        assert model.config.lexemes is not None, "a model that reads lexemes"
        self._model = model
        self._judge = judge
        self._tables = model.config.lexemes
        self.config = config or ProposalConfig()

    @property
    def has_judge(self) -> bool:
        """Whether readings have `gains`."""
        return self._judge is not None

    @shared_cores
    @torch.inference_mode()
    def read(self, lexemes: Sequence[str]) -> Reading:
        """Read a text of up to the model's maximum of lexemes, with line heads counted from level 0."""
        lexicon = Lexicon([*lexemes, END, *_numbers_near(lexemes)])
        features = torch.from_numpy(lexicon.features(self._tables.num_spellings, self._tables.num_words))
        bind = None if self._judge is None else functools.partial(self._judge.bind, features)
        return Reading(self._model.bind(features), lexicon, [*lexemes, END], self.config, bind)


class Reading:
    """A model's predictions for a text.

    Args:
        model: bound to the lexicon.
        lexicon: of the text and of possible insertions.
        text: lexemes, ending with `END`.
        bind_judge: binds the judge to the same lexicon.
    """

    def __init__(
        self,
        model: Decoder,
        lexicon: Lexicon,
        text: Sequence[str],
        config: ProposalConfig,
        bind_judge: Callable[[], Decoder] | None = None,
    ) -> None:
        self._model, self._lexicon, self._config, self._bind_judge = model, lexicon, config, bind_judge
        self._texts = text
        self._tokens_Q = torch.tensor(lexicon.encode(text))
        [self._blank, self._mask] = lexicon.encode([BLANK, MASK])

    @cached_property
    def proposals(self) -> list[Proposal]:
        """Edits of the text, likeliest first."""
        with shared_cores, torch.inference_mode():
            log_probs_RQV, lengths_RQB = self._read(self._tokens_Q[None])
            odds_QV = log_probs_RQV[0]
            odds_QV[:, self._never_V] = -torch.inf
            odds_QV = odds_QV - odds_QV.gather(1, self._tokens_Q[:, None]).clamp_min(-30.0)
            odds_QV.scatter_(1, self._tokens_Q[:, None], -torch.inf)
            odds_QV[-1] = -torch.inf
            gone_odds = odds_QV[:, self._blank].tolist()
            odds_QV[:, self._blank] = -torch.inf
            found = self._deletions(gone_odds) + self._substitutions(odds_QV) + self._gaps(lengths_RQB[0])
            # Never likelier than the edits of one position.
            found += self._pairs(odds_QV, gone_odds) + self._calls(lengths_RQB[0])
            found.sort(key=_likeliest)
            return found

    @shared_cores
    @torch.inference_mode()
    def fill(self, gap: Gap) -> list[Proposal]:
        """Patches that fill a gap, most certain slot first; add their scores to the gap's."""
        position, size, end = gap
        before_Q, inside_Q, after_Q = self._tokens_Q.tensor_split((position, position if end is None else end))
        opening, closing = ("", "") if end is None else ("(", ")")
        opening_S = torch.tensor([self._mask] * size + self._lexicon.encode(opening))
        closing_S = torch.tensor(self._lexicon.encode(closing), dtype=torch.int64)
        row_Q = torch.cat((before_Q, opening_S, inside_Q, closing_S, after_Q))
        banned_V = self._never_V.clone()
        banned_V[self._blank] = True
        beams = [(0.0, row_Q)]
        for filled in range(size):
            log_probs_RQV, _ = self._read(torch.stack([row for _, row in beams]))
            grown = []
            for (total, row), log_probs_QV in zip(beams, log_probs_RQV, strict=True):
                slots = [at for at in range(position, position + size) if row[at] == self._mask]
                inside_SV = log_probs_QV[slots].masked_fill(banned_V, -torch.inf)
                surest = int(inside_SV.max(dim=1).values.argmax())
                width = self._config.fillings if filled == 0 else 2
                best, tokens = inside_SV[surest].topk(min(width, inside_SV.shape[1]))
                for value, token in zip(best.tolist(), tokens.tolist(), strict=True):
                    new = row.clone()
                    new[slots[surest]] = token
                    grown.append((total + value, new))
            beams = sorted(grown, key=lambda beam: -beam[0])[: self._config.fillings]
        texts = self._lexicon.lexemes
        found = []
        for total, row in beams:
            written = tuple(texts[token] for token in row[position : len(row) - len(after_Q)].tolist())
            found.append(Proposal(total, Patch(position, position + len(inside_Q), written)))
        return found

    @shared_cores
    @torch.inference_mode()
    def gains(self, patches: Sequence[Patch]) -> list[float]:
        """What the judge thinks of the texts that some patches make, see `gains_of`."""
        assert self._bind_judge is not None, "a proposer with a judge"
        return gains_of(self._bind_judge(), self._lexicon, self._tokens_Q[:-1], patches)

    @cached_property
    def _never_V(self) -> Tensor:
        return torch.tensor([text in _NEVER for text in self._lexicon.lexemes])

    def _read(self, tokens_RQ: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities of the lexeme at each position, and of the number of missing lexemes."""
        positions_RQ = torch.arange(tokens_RQ.shape[1]).expand(tokens_RQ.shape)
        canvas_RQ = torch.ones_like(tokens_RQ, dtype=torch.bool)
        hidden_RQD = self._model(tokens_RQ, positions_RQ, AttentionSpec(), canvas_RQ=canvas_RQ)
        return self._model.logits(hidden_RQD).log_softmax(-1), self._model.length_logits(hidden_RQD).log_softmax(-1)

    def _substitutions(self, odds_QV: Tensor) -> list[Proposal]:
        width, texts = odds_QV.shape[1], self._lexicon.lexemes
        values, where = odds_QV.flatten().topk(min(self._config.substitutions, odds_QV.numel()))
        found = []
        for score, index in zip(values.tolist(), where.tolist(), strict=True):
            if score > -torch.inf:
                position, token = divmod(index, width)
                found.append(Proposal(score, Patch(position, position + 1, (texts[token],))))
        return found

    def _deletions(self, odds: Sequence[float]) -> list[Proposal]:
        """A run of lexemes is deleted with the log-odds of its least likely one, minus a penalty for its length."""
        found = []
        for start in range(len(odds) - 1):
            worst = torch.inf
            for end in range(start + 1, min(len(odds) - 1, start + self._config.longest_deletion) + 1):
                worst = min(worst, odds[end - 1])
                if worst < self._config.lowest:
                    break
                found.append(Proposal(worst - self._config.further_deletion * (end - start - 1), Patch(start, end, ())))
        return found

    def _pairs(self, odds_QV: Tensor, gone_odds: Sequence[float]) -> list[Proposal]:
        """Edits of two positions that are wrong together or not at all, with the log-odds of the less likely one:
        operands and arguments change sides, brackets go, with the name before them."""
        tokens, texts = self._tokens_Q.tolist(), self._texts
        found, opened = list[Proposal](), list[int]()
        for index, text in enumerate(texts):
            if 0 < index < len(texts) - 2 and text in SWAPPED_AROUND:
                score = min(float(odds_QV[index - 1, tokens[index + 1]]), float(odds_QV[index + 1, tokens[index - 1]]))
                swapped = (texts[index + 1], text, texts[index - 1])
                found.append(Proposal(score, Patch(index - 1, index + 2, swapped)))
            elif text in OPENING:
                opened.append(index)
            elif text in CLOSING and opened:
                start = opened.pop()
                score = min(gone_odds[start], gone_odds[index])
                inside = tuple(texts[start + 1 : index])
                found.append(Proposal(score, Patch(start, index + 1, inside)))
                if kind_of(texts[start - 1]) == "name":
                    found.append(Proposal(min(score, gone_odds[start - 1]), Patch(start - 1, index + 1, inside)))
        return [each for each in found if each.score > self._config.lowest]

    def _gaps(self, lengths_QB: Tensor) -> list[Proposal]:
        odds_QB = lengths_QB[:, 1 : 1 + self._config.longest_insertion] - lengths_QB[:, :1]
        odds_QB[0] = -torch.inf
        values, where = odds_QB.flatten().topk(min(self._config.gaps, odds_QB.numel()))
        found = []
        for score, index in zip(values.tolist(), where.tolist(), strict=True):
            position, more = divmod(index, odds_QB.shape[1])
            if score > self._config.lowest:
                found.append(Proposal(score, Gap(position, more + 1)))
        return found

    def _calls(self, lengths_QB: Tensor) -> list[Proposal]:
        """Operands and expressions that lack a call: two lexemes before and one after, or none."""
        if lengths_QB.shape[1] < 3:
            return []
        odds_QB = (lengths_QB[:, 1:3] - lengths_QB[:, :1]).tolist()
        found = []
        for start, text in enumerate(self._texts):
            if start and (text in OPENING or kind_of(text) in _OPERANDS):
                after, end = max(((odds_QB[end][0], end) for end in self._ends(start)), default=(-torch.inf, 0))
                found.append(Proposal(min(after, odds_QB[start][1]), Gap(start, 1, end)))
        found.sort(key=_likeliest)
        return [each for each in found[: self._config.gaps] if each.score > self._config.lowest]

    def _ends(self, start: int) -> Iterator[int]:
        """Where an expression may end that begins at a position."""
        depth = 0
        for end, text in enumerate(self._texts[start:-1], start + 1):
            depth += (text in OPENING) - (text in CLOSING)
            if depth < 0 or is_level(text) or (depth == 0 and text in _AROUND):
                return
            if depth == 0:
                yield end


def _likeliest(proposal: Proposal) -> float:
    return -proposal.score


def gains_of(model: Decoder, lexicon: Lexicon, tokens_Q: Tensor, patches: Sequence[Patch]) -> list[float]:
    """Log-likelihood of each edited text, minus that of the original, under an autoregressive model bound to a lexicon.

    Each lexeme more or fewer counts as the text's mean, because a shorter text is always likelier.
    """
    rows = [tokens_Q]
    for start, end, texts in patches:
        new = torch.tensor(lexicon.encode(texts), dtype=tokens_Q.dtype)
        rows.append(torch.cat((tokens_Q[:start], new, tokens_Q[end:])))
    before, *after = _likelihoods(model, rows)
    mean = before / max(1, len(tokens_Q) - 1)
    return [
        likelihood - before - mean * (len(row) - len(tokens_Q)) for likelihood, row in zip(after, rows[1:], strict=True)
    ]


def _likelihoods(model: Decoder, rows: Sequence[Tensor]) -> list[float]:
    """Log-likelihood of each row of tokens after its first one, under an autoregressive model."""
    found = [0.0] * len(rows)
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    for first in range(0, len(order), _ROWS):
        chosen = order[first : first + _ROWS]
        tokens_RQ = pad_sequence([rows[index] for index in chosen], batch_first=True)
        positions_RQ = torch.arange(tokens_RQ.shape[1]).expand(tokens_RQ.shape)
        hidden_RQD = model(tokens_RQ, positions_RQ, AttentionSpec(causal=True))
        log_probs_RQV = model.logits(hidden_RQD[:, :-1]).log_softmax(-1)
        each_RQ = log_probs_RQV.gather(2, tokens_RQ[:, 1:, None])[:, :, 0]
        for index, each_Q in zip(chosen, each_RQ, strict=True):
            found[index] = float(each_Q[: len(rows[index]) - 1].sum())
    return found


def _numbers_near(texts: Sequence[str]) -> list[str]:
    """Numbers that differ by one from those in the text."""
    values = {int(text) for text in texts if kind_of(text) == "number" and text.isdecimal() and len(text) < 10}
    return sorted({str(near) for value in values for near in (value - 1, value + 1) if near >= 0})
