"""Other ways to order the edits of a function, or to write it anew, for `benchmarks/humanevalfix.py`.

Models that do not predict edits score the edited text, as if nothing but the edited lexemes changed. A text with fewer
lexemes is always likelier, so each lexeme that an edit adds or removes counts as the text's mean.
"""

# Q lexemes of a text, V lexicon, R rows (texts), T tokens

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

import sfumato
from sfumato.checkpoints.load import load_checkpoint
from sfumato.checkpoints.registry import find_model, open_checkpoint
from sfumato.mend.proposals import Gap, Proposal, gains_of
from sfumato.models.decoder import Decoder
from sfumato.models.model import AttentionSpec, Model
from sfumato.text.lexemes import END, FAMILIES, FIXED, MASK, Lexicon, is_level, kind_of, lex
from sfumato.text.patches import Patch, apply
from sfumato.text.tokenizer import Tokenizer

KEPT = 400
"""Substitutions, insertions and deletions kept, each."""
LONGEST_DELETION = 5
ROWS = 32
"""Texts read together."""
REWRITE = (
    "This Python function has a bug:\n\n```python\n{}\n```\n\nWrite the function without the bug. Reply with code only."
)


class Ranked:
    """A reading with its proposals, none of them gaps."""

    def __init__(self, proposals: Iterable[Proposal]) -> None:
        self.proposals = sorted(proposals, key=lambda proposal: -proposal.score)

    def fill(self, gap: Gap) -> list[Proposal]:
        raise AssertionError("no proposal is a gap")


class Ranker(Protocol):
    """Proposes edits, as `Proposer` does."""

    has_judge: bool = False

    def read(self, lexemes: Sequence[str]) -> Ranked:
        """The edits of a text."""
        ...


class Mutation(Ranker):
    """Every substitution of one lexeme, in random order or with operators and numbers first."""

    def __init__(self, seed: int, *, operators_first: bool = False) -> None:
        self._seed = seed
        self._operators_first = operators_first

    def read(self, lexemes: Sequence[str]) -> Ranked:
        rng, found = random.Random(f"{self._seed} {' '.join(lexemes)}"), []
        for patch in substitutions(lexemes):
            first = self._operators_first and kind_of(lexemes[patch.start]) in ("fixed", "number")
            found.append(Proposal(first - 1.0 - rng.random(), patch))
        return Ranked(found)


def substitutions(lexemes: Sequence[str]) -> Iterator[Patch]:
    """Single lexemes, replaced by one of their family, or of their kind from the text or known everywhere."""
    scope = [text for text in dict.fromkeys(lexemes) if kind_of(text) in ("name", "number", "string")]
    common = [text for text in FIXED if kind_of(text) in ("name", "number")]
    for index, text in enumerate(lexemes):
        kind = kind_of(text)
        others = {other for family in FAMILIES if text in family for other in family}
        if kind in ("name", "number", "string"):
            others |= {other for other in (*scope, *common) if kind_of(other) == kind}
        for other in sorted(others - {text}):
            yield Patch(index, index + 1, (other,))


class _Text:
    """A text over its own lexicon, and a model bound to it."""

    def __init__(self, model: Decoder, lexemes: Sequence[str]) -> None:
        assert model.config.lexemes is not None, "a model that reads lexemes"
        self.lexicon = Lexicon(lexemes)
        tables = model.config.lexemes
        features = self.lexicon.features(tables.num_spellings, tables.num_words)
        self.model = model.bind(torch.from_numpy(features))
        self.tokens_Q = torch.tensor(self.lexicon.encode(lexemes))
        self.texts = self.lexicon.lexemes
        self.never_V = torch.tensor([kind_of(text) == "special" for text in self.texts])

    def log_probs(self, tokens_RQ: Tensor, *, causal: bool, at_R: Tensor | None = None) -> Tensor:
        """Log-probabilities at every position, or at one of each row."""
        positions_RQ = torch.arange(tokens_RQ.shape[1]).expand(tokens_RQ.shape)
        canvas_RQ = None if causal else torch.ones_like(tokens_RQ, dtype=torch.bool)
        hidden = self.model(tokens_RQ, positions_RQ, AttentionSpec(causal=causal), canvas_RQ=canvas_RQ)
        if at_R is not None:
            hidden = hidden[torch.arange(len(hidden)), at_R]
        log_probs: Tensor = self.model.logits(hidden).log_softmax(-1)
        return log_probs

    def proposals(self, instead_QV: Tensor, inserted_QV: Tensor, own_Q: Tensor, follows_QQ: Tensor) -> list[Proposal]:
        """Edits from the log-probability of each lexeme instead of the one at a position, and inserted before it.

        Args:
            own_Q: log-probability of each lexeme of the text.
            follows_QQ: gain where the text goes on at another position.
        """
        mean = float(own_Q[1:].mean())
        odds_QV = (instead_QV - own_Q[:, None]).scatter(1, self.tokens_Q[:, None], -torch.inf)
        found = []
        for values_QV, width in ((odds_QV, 1), (inserted_QV - mean, 0)):
            values_QV = values_QV.masked_fill(self.never_V, -torch.inf)
            values_QV[0] = -torch.inf
            best, where = values_QV.flatten().topk(min(KEPT, values_QV.numel()))
            for score, index in zip(best.tolist(), where.tolist(), strict=True):
                position, token = divmod(index, values_QV.shape[1])
                if score > -torch.inf:
                    found.append(Proposal(score, Patch(position, position + width, (self.texts[token],))))
        deletions, count = [], len(own_Q)
        for start in range(1, count):
            for end in range(start + 1, min(count - 1, start + LONGEST_DELETION) + 1):
                gain = float((mean - own_Q[start:end]).sum() + follows_QQ[start, end])
                deletions.append(Proposal(gain, Patch(start, end, ())))
        return found + sorted(deletions, key=lambda proposal: -proposal.score)[:KEPT]


class Twin(Ranker):
    """Edits by an autoregressive model of lexemes, from one pass over the text or from one over each edited text.

    Args:
        rescored: the likeliest edits by one pass are ordered by the likelihood of the whole text that they make.
    """

    def __init__(self, model: str, *, rescored: bool = False) -> None:
        self._model = lexeme_model(model)
        self._rescored = rescored

    @torch.inference_mode()
    def read(self, lexemes: Sequence[str]) -> Ranked:
        text = _Text(self._model, lexemes)
        predicted_QV = text.log_probs(text.tokens_Q[None], causal=True)[0].roll(1, dims=0)
        predicted_QV[0] = 0.0
        each_QQ = predicted_QV[:, text.tokens_Q]
        own_Q = each_QQ.diagonal()
        proposals = text.proposals(predicted_QV, predicted_QV, own_Q, each_QQ - own_Q)
        if self._rescored:
            patches = [proposal.edit for proposal in proposals if isinstance(proposal.edit, Patch)]
            gains = gains_of(text.model, text.lexicon, text.tokens_Q, patches)
            proposals = [Proposal(*pair) for pair in zip(gains, patches, strict=True)]
        return Ranked(proposals)


class Masked(Ranker):
    """Edits by a model that fills masks, from one pass for each lexeme and for each place between two."""

    def __init__(self, model: str) -> None:
        self._model = lexeme_model(model)

    @torch.inference_mode()
    def read(self, lexemes: Sequence[str]) -> Ranked:
        text = _Text(self._model, [*lexemes, END])
        tokens_Q, count = text.tokens_Q, len(text.tokens_Q)
        [mask] = text.lexicon.encode([MASK])
        mask_1 = torch.tensor([mask])
        instead = [torch.cat((tokens_Q[:index], mask_1, tokens_Q[index + 1 :])) for index in range(count)]
        inserted = [torch.cat((tokens_Q[:index], mask_1, tokens_Q[index:])) for index in range(count)]
        instead_QV, inserted_QV = self._at_masks(text, instead), self._at_masks(text, inserted)
        own_Q = instead_QV.gather(1, tokens_Q[:, None])[:, 0]
        return Ranked(text.proposals(instead_QV, inserted_QV, own_Q, torch.zeros(count, count)))

    @staticmethod
    def _at_masks(text: _Text, rows: Sequence[Tensor]) -> Tensor:
        """Log-probabilities at the n-th position of the n-th row."""
        parts = []
        for first in range(0, len(rows), ROWS):
            rows_RQ = torch.stack(list(rows[first : first + ROWS]))
            parts.append(text.log_probs(rows_RQ, causal=False, at_R=torch.arange(first, first + len(rows_RQ))))
        return torch.cat(parts)


def lexeme_model(name: str) -> Decoder:
    """A model of lexemes.

    Raises:
        SystemExit: if it is another kind.
    """
    model = load_checkpoint(find_model(name)).model
    if not isinstance(model, Decoder) or model.config.lexemes is None:
        raise SystemExit(f"{name} does not read lexemes; allowed: a checkpoint of recipes/mend-*.toml")
    return model.requires_grad_(False)


class Surprisal(Ranker):
    """Single substitutions by a language model of tokens, from one pass over the source.

    A substitution scores by its first token. Lexemes that begin within a token are left as they are.
    """

    def __init__(self, model: str) -> None:
        source = open_checkpoint(find_model(model))
        self._model: Model = load_checkpoint(source).model
        self._tokenizer = Tokenizer.of(source)

    @torch.inference_mode()
    def read(self, lexemes: Sequence[str]) -> Ranked:
        source = apply("", [], [Patch(0, 0, tuple(lexemes))]).lstrip("\n") + "\n"
        spans = lex(source)
        if [one.text for one in spans] != list(lexemes):
            return Ranked([])
        ids, offsets = self._tokenizer.encode_with_offsets(source)
        tokens_RT = torch.tensor([ids])
        hidden = self._model(tokens_RT, torch.arange(len(ids))[None], AttentionSpec(causal=True))
        log_probs_TV = self._model.logits(hidden)[0].log_softmax(-1)
        # A token may begin with the space before a lexeme.
        starts = {begin + len(source[begin:end]) - len(source[begin:end].lstrip()): index
                  for index, (begin, end) in reversed(list(enumerate(offsets)))}  # fmt: skip
        found = []
        for patch in substitutions(lexemes):
            token = starts.get(spans[patch.start].start)
            if not token or is_level(lexemes[patch.start]):
                continue
            space = source[offsets[token][0] : spans[patch.start].start]
            other = self._tokenizer.encode(space + patch.texts[0])[0]
            before = log_probs_TV[token - 1]
            found.append(Proposal(float(before[other] - before[ids[token]]), patch))
        return Ranked(found)


@runtime_checkable
class Rewriter(Protocol):
    """Writes whole functions instead of proposing edits."""

    def rewrite(self, source: str) -> Iterator[str]:
        """Functions to try, in order."""
        ...


class Rewriting(Rewriter):
    """Functions that a chat model writes anew: the likeliest first, then samples."""

    def __init__(self, model: str, num_samples: int, *, temperature: float = 0.8, max_tokens: int = 320) -> None:
        found = sfumato.load(model, quantize="w8a8")
        assert isinstance(found, sfumato.TextModel)
        self._model = found
        self._num_samples, self._temperature, self._max_tokens = num_samples, temperature, max_tokens

    def rewrite(self, source: str) -> Iterator[str]:
        prompt = REWRITE.format(source.strip())
        limit, count = self._max_tokens, self._num_samples - 1
        answers = self._model.generate_batch([prompt], temperature=0.0, max_tokens=limit)
        if count:
            answers = answers + self._model.generate_batch(
                [prompt] * count, seeds=range(count), temperature=self._temperature, max_tokens=limit
            )
        for answer in answers:
            found = _BLOCK.search(answer.text)
            yield found[1] if found else answer.text


_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL | re.IGNORECASE)


class Ruff(Rewriter):
    """What `ruff check --fix` makes of a source with every rule, unsafe fixes included."""

    @cached_property
    def _command(self) -> list[str]:
        options = ["check", "--isolated", "--select=ALL", "--fix", "--unsafe-fixes", "--exit-zero", "--quiet"]
        return [str(Path(sys.executable).with_name("ruff")), *options, "-"]

    def rewrite(self, source: str) -> Iterator[str]:
        done = subprocess.run(self._command, input=source, capture_output=True, text=True, check=True)
        yield done.stdout
