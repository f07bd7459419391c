"""Conversations: drawn from the model behind its own template, each by its index alone, and judged."""

from __future__ import annotations

import pytest
import torch

from sfumato.checkpoints.load import Checkpoint
from sfumato.data.sources import chat_document
from sfumato.engine.model import TextModel
from sfumato.errors import CapacityError, ConfigError, RequestError
from sfumato.models.model import AttentionSpec
from sfumato.spec import GenerationSpec
from sfumato.synthesis.conversations import Conversations, SynthesisConfig
from sfumato.text.tokenizer import Tokenizer

CHATML = (
    "{% for message in messages %}{{ '<|pad|>' if message.role == 'system' else '<|' + message.role + '|>' }}"
    "{{ message.content + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


@pytest.fixture
def chatml(model: TextModel, byte_tokenizer: Tokenizer) -> TextModel:
    """The same weights behind a template with system messages, in which a user's turn ends with the end token."""
    config = {"eos_token": "<|end|>", "chat_template": CHATML}
    tokenizer = Tokenizer(byte_tokenizer._tokenizer, config)
    return TextModel("chatml", Checkpoint(model.decoder, model.spec, {}), tokenizer)


def test_opening_ends_at_the_users_text(model: TextModel, chatml: TextModel):
    for tokenizer, before in ((model.tokenizer, []), (chatml.tokenizer, [{"role": "system", "content": "<|end|> x"}])):
        opening, end_id = tokenizer.encode_opening(before)
        whole = tokenizer.encode_chat([*before, {"role": "user", "content": "Why?"}])
        said = tokenizer.encode("Why?")
        assert whole[: len(opening)] == opening
        assert whole[len(opening) : len(opening) + len(said)] == said
        assert whole[len(opening) + len(said)] == end_id


def test_changing_template_has_no_opening(byte_tokenizer: Tokenizer):
    for template, times in (("{{ 'nothing' }}", 0), ("{{ messages[0].content * 2 }}", 2)):
        tokenizer = Tokenizer(byte_tokenizer._tokenizer, {"eos_token": "<|end|>", "chat_template": template})
        with pytest.raises(RequestError, match=f"writes a user's turn {times} times; allowed: once"):
            tokenizer.encode_opening()


def test_independent_of_batch_and_range(model: TextModel, make_config):
    together = Conversations(model, make_config(), 16).write(range(12))
    assert together == [
        one
        for part in (range(3), range(3, 4), range(4, 12))
        for one in Conversations(model, make_config(), 2).write(part)
    ]
    other = Conversations(model, make_config(seed=1), 16).write(range(12))
    assert not {one.seed for one in together} & {one.seed for one in other}
    assert {one.messages for one in map(_hashable, together)}.isdisjoint(one.messages for one in map(_hashable, other))


def _hashable(conversation):
    return type("Seen", (), {"messages": str(conversation.messages)})


def test_turn_and_answer_are_the_models(model: TextModel, chatml: TextModel, make_config):
    """Where the end token ends a turn, `generate` gives the same texts."""
    config = make_config(turn_temperature=0.9, answer_temperature=0.5, top_p=0.9)
    found = Conversations(chatml, config, 8).write(range(24))
    opening = chatml.tokenizer.encode_opening()[0]
    assert any(one.dropped is None for one in found)
    for one in found:
        turn = chatml.generate(opening, max_tokens=25, seed=2 * one.seed, temperature=0.9, top_p=0.9)
        assert one.messages[0] == {"role": "user", "content": turn.text.strip()}
        if one.dropped is None:
            answer = chatml.generate(
                turn.text.strip(), max_tokens=41, seed=2 * one.seed + 1, temperature=0.5, top_p=0.9
            )
            assert one.messages[1] == {"role": "assistant", "content": answer.text.strip()}
            assert one.document == chat_document(one.messages[:1], answer.text.strip(), chatml.tokenizer)
            assert one.turn_tokens == len(turn.tokens)


def test_first_tokens_follow_the_models_distribution(model: TextModel, make_config):
    """The token that ends a turn here is one that no answer may hold."""
    asking = Conversations(model, make_config(), 64)
    turns = asking._turns([3 * i for i in range(1000)], [0] * 1000)
    opening, end_id = model.tokenizer.encode_opening()
    tokens_1Q = torch.tensor([opening])
    with torch.inference_mode():
        hidden_1QD = model.decoder(tokens_1Q, torch.arange(len(opening))[None], AttentionSpec(causal=True))
        logits_V = model.decoder.logits(hidden_1QD)[0, -1]
    banned = [id_ for id_ in model.tokenizer.special_ids if id_ not in (end_id, *model.tokenizer.eos_ids)]
    kept_V = torch.ones(len(logits_V), dtype=torch.bool)
    kept_V[banned] = False
    probs_V = torch.where(kept_V, logits_V, -torch.inf).softmax(-1)
    ends = probs_V[[end_id, *model.tokenizer.eos_ids]].sum().item()
    drawn = [turn.tokens[0] if turn.tokens else None for turn in turns]
    assert not {*drawn} & model.tokenizer.special_ids
    # Five standard deviations of a share over 1,000.
    for token, share in [(None, ends), *((int(i), float(probs_V[i])) for i in probs_V.topk(5).indices)]:
        if token not in (end_id, *model.tokenizer.eos_ids):
            assert drawn.count(token) / 1000 == pytest.approx(share, abs=5 * (share * (1 - share) / 1000) ** 0.5)


def test_system_messages_and_topics(chatml: TextModel, make_config):
    config = make_config(system="Be brief.", topics=("tea", "the sea"), topic_prompt="On {topic}, {topic}.")
    writing = Conversations(chatml, config, 8)
    told = [chatml.tokenizer.decode(opening) for opening in writing._openings]
    assert ["On tea, tea." in one and "Be brief." in one for one in told] == [True, False]
    found = writing.write(range(6))
    assert [one.topic for one in found] == ["tea", "the sea"] * 3
    for one in found:
        assert one.messages[0] == {"role": "system", "content": "Be brief."}
        assert one.to_dict()["topic"] == one.topic
        assert one.document is None or "On " not in chatml.tokenizer.decode(one.document.prompt)
    plain = Conversations(chatml, make_config(), 8).write(range(6))
    assert [one.seed for one in plain] == [one.seed for one in found]
    assert "topic" not in plain[0].to_dict()


def test_reasons_for_dropping(model: TextModel, make_config):
    """Each filter alone, against the texts that all of them let pass."""
    everything = Conversations(model, make_config(), 16).write(range(32))
    assert {one.dropped for one in everything} <= {None, "turn_long", "turn_short", "answer_long", "answer_short"}
    for filters, reason in (
        ({"min_turn_tokens": 24}, "turn_short"),
        ({"max_turn_tokens": 1}, "turn_long"),
        ({"min_answer_tokens": 40}, "answer_short"),
        ({"max_answer_tokens": 2}, "answer_long"),
        ({"min_printable": 1.0}, "turn_unprintable"),
        ({"scripts": ("cyrillic",), "min_letters": 0.9}, "turn_language"),
        ({"ngram": 1, "min_distinct": 1.0}, "answer_repetitive"),
    ):
        found = Conversations(model, make_config(filters=filters), 16).write(range(32))
        assert reason in {one.dropped for one in found}
        assert all((one.document is None) == (one.dropped is not None) for one in found)


def test_failed_conversations_are_dropped(model: TextModel, make_config, monkeypatch):
    writing = Conversations(model, make_config(), 4)
    monkeypatch.setattr(writing._asking.runner, "forward", lambda *args: 1 / 0)
    assert [one.dropped for one in writing.write(range(3))] == ["turn_failed"] * 3


def test_unsuitable_models(model: TextModel, chatml: TextModel, byte_tokenizer: Tokenizer, make_config):
    denoiser = TextModel("some", Checkpoint(model.decoder, GenerationSpec(canvas_length=8), {}), byte_tokenizer)
    with pytest.raises(RequestError, match="some denoises canvases of 8; allowed: an autoregressive model"):
        Conversations(denoiser, make_config())
    silent = Tokenizer(byte_tokenizer._tokenizer, {"eos_token": "<|end|>"})
    with pytest.raises(RequestError, match="some has no chat template"):
        Conversations(TextModel("some", Checkpoint(model.decoder, model.spec, {}), silent), make_config())
    refusal = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    plain = Tokenizer(byte_tokenizer._tokenizer, {"eos_token": "<|end|>", "chat_template": refusal})
    with pytest.raises(RequestError, match="no system"):
        Conversations(
            TextModel("some", Checkpoint(model.decoder, model.spec, {}), plain), make_config(system="Be brief.")
        )
    with pytest.raises(
        CapacityError, match="may have 1089 tokens: 1 of the template, 24 of the turn, 1000 of the answer"
    ):
        Conversations(model, make_config(filters={"max_answer_tokens": 1000}))
    with pytest.raises(ConfigError, match="rows is 0; allowed: 1 or more"):
        Conversations(model, make_config(), 0)
    with pytest.raises(RequestError, match="top_p is 2"):
        Conversations(model, make_config(top_p=2.0)).write(range(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed is -1; allowed: 0 or more"),
        ({"shard_size": 0}, "shard_size is 0; allowed: 1 or more"),
        ({"top_k": -1}, "top_k is -1; allowed: 0 or more"),
        ({"topic_prompt": "On tea."}, r"topic_prompt is 'On tea\.'; allowed: a text that contains \{topic\}"),
    ],
)
def test_invalid_settings(settings: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        SynthesisConfig(**settings)
