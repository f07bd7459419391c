"""What a model proposes for a text."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from sfumato.mend.proposals import Gap, ProposalConfig, Proposer
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.layers import LexemeConfig
from sfumato.models.model import AttentionSpec
from sfumato.text.lexemes import Lexicon, lex
from sfumato.text.patches import Patch

CONFIG = DecoderConfig(
    vocab_size=227,
    hidden_size=16,
    intermediate_size=32,
    num_hidden_layers=1,
    num_attention_heads=1,
    num_key_value_heads=1,
    head_dim=16,
    lexemes=LexemeConfig(num_spellings=64, num_words=64, size=8),
    length_buckets=(1, 2),
)


def test_a_model_proposes_edits_of_a_text() -> None:
    torch.manual_seed(0)
    reading = Proposer(Decoder(CONFIG), ProposalConfig(substitutions=10_000)).read(
        [lexeme.text for lexeme in lex("a = b + 1\n")]
    )
    scores = [one.score for one in reading.proposals]
    assert scores == sorted(scores, reverse=True)
    edits = [one.edit for one in reading.proposals]
    assert Patch(4, 5, ("-",)) in edits
    gap = next(edit for edit in edits if isinstance(edit, Gap) and edit.size == 2)
    fillings = reading.fill(gap)
    assert len(fillings) > 1
    assert all(score < 0.0 for score, _ in fillings)
    assert {(edit.start, edit.end, len(edit.texts)) for _, edit in fillings if isinstance(edit, Patch)} == {
        (gap.position, gap.position, 2)
    }


def test_a_judge_adds_what_it_thinks_of_the_edited_text() -> None:
    torch.manual_seed(0)
    text = [lexeme.text for lexeme in lex("a = b + 1\n")]
    model, judge = Decoder(CONFIG), Decoder(dataclasses.replace(CONFIG, length_buckets=()))
    config = ProposalConfig(substitutions=10_000)

    def likelihood(lexemes: list[str]) -> float:
        lexicon = Lexicon(lexemes)
        tokens = torch.tensor([lexicon.encode(lexemes)])
        bound = judge.bind(torch.from_numpy(lexicon.features(64, 64)))
        with torch.inference_mode():
            hidden = bound(tokens, torch.arange(len(lexemes))[None], AttentionSpec(causal=True))
            # The judge chooses among the lexemes of one lexicon, which has numbers near those of the text as well.
            log_probs = bound.logits(hidden)[0].log_softmax(-1)
        return sum(float(log_probs[at, token]) for at, token in enumerate(tokens[0, 1:].tolist()))

    reading = Proposer(model, config, judge).read(text)
    patches = [one.edit for one in reading.proposals[:40] if isinstance(one.edit, Patch)]
    before = likelihood(text)
    mean = before / (len(text) - 1)
    assert len(patches) > 10
    for edit, gain in zip(patches, reading.gains(patches), strict=True):
        edited = [*text[: edit.start], *edit.texts, *text[edit.end :]]
        expected = likelihood(edited) - before - mean * (len(edited) - len(text))
        assert gain == pytest.approx(expected, abs=0.05)
