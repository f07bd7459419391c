"""What a model proposes for a text."""

from __future__ import annotations

import torch

from sfumato.mend.proposals import Gap, ProposalConfig, Proposer
from sfumato.models.decoder import Decoder, DecoderConfig
from sfumato.models.layers import LexemeConfig
from sfumato.text.lexemes import lex
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
