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


def test_edits_of_several_places_are_as_likely_as_the_least_likely_of_them() -> None:
    torch.manual_seed(0)
    text = [lexeme.text for lexeme in lex("x = f(a, g(b) - c)\n")]
    reading = Proposer(Decoder(CONFIG), ProposalConfig(substitutions=10_000)).read(text)
    scores = {one.edit: one.score for one in reading.proposals}
    assert text[4:12] == ["(", "a", ",", "g", "(", "b", ")", "-"]
    # Operands and arguments change sides.
    assert scores[Patch(5, 8, ("g", ",", "a"))] == min(scores[Patch(5, 6, ("g",))], scores[Patch(7, 8, ("a",))])
    # A call goes, or its brackets alone.
    gone = [scores[Patch(at, at + 1, ())] for at in range(len(text))]
    assert scores[Patch(7, 11, ("b",))] == min(gone[7], gone[8], gone[10])
    assert scores[Patch(8, 11, ("b",))] == min(gone[8], gone[10])
    # A call is missing around an operand.
    [call] = [edit for edit in scores if isinstance(edit, Gap) and edit.position == 9 and edit.end is not None]
    assert (call.size, call.end) == (1, 10)
    assert scores[call] == min(scores[Gap(9, 2)], scores[Gap(10, 1)])
    fillings = [edit for _, edit in reading.fill(call)]
    assert len(fillings) > 1
    for edit in fillings:
        assert isinstance(edit, Patch)
        assert edit == Patch(9, 10, (edit.texts[0], "(", "b", ")"))
    ends = {edit.end for edit in scores if isinstance(edit, Gap) and edit.position == 7 and edit.end is not None}
    assert ends <= {8, 11, 13}


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
