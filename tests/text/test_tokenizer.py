"""The tokenizer: lossless round trips, no injected special tokens, and no emitted text that changes later."""

import json
import random
from itertools import chain
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders, models, processors

from sfumato.data.tasks import TASKS
from sfumato.errors import CheckpointError, ConfigError, RequestError
from sfumato.text.tokenizer import Detokenizer, Tokenizer
from sfumato.text.training import SPECIAL_TOKENS, train_tokenizer

PAD, END, USER, ASSISTANT, MASK = range(5)
TEMPLATE_CONFIG = {"eos_token": "<|end|>", "bos_token": {"content": "<|user|>"}, "add_bos_token": True}


def task_texts() -> list[str]:
    names = ("arithmetic", "sudoku4", "countdown", "bugfix")
    found = [TASKS[name].generate(seed) for name in names for seed in range(300)]
    return [text for item in found for text in (item.prompt, item.response)]


TOKENIZER = train_tokenizer(task_texts(), 512)

# Plain text, and pieces of special tokens, of multi-byte characters and of private-use characters.
PIECES = st.sampled_from(
    [
        *SPECIAL_TOKENS,
        "<|",
        "|>",
        "<|en",
        "d|>",
        "end",
        "\n",
        "\r\n",
        "    ",
        "12",
        "٣²",
        "é",
        "👍🏽",
        "\U000f0000",
        "\0",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=8).map("".join)


def with_template(template: object) -> Tokenizer:
    inner = tokenizers.Tokenizer.from_str(TOKENIZER._tokenizer.to_str())
    return Tokenizer(inner, {**TEMPLATE_CONFIG, "chat_template": template})


@given(TEXTS)
def test_round_trip_is_lossless_for_any_text(text: str):
    ids = TOKENIZER.encode(text)
    assert TOKENIZER.decode(ids) == text
    assert TOKENIZER.decode(ids, skip_special=False) == text
    assert not TOKENIZER.special_ids & set(ids)


@pytest.mark.parametrize("block", range(0, 0x110000, 0x10000))
def test_round_trip_of_every_character(block: int):
    text = "".join(chr(code) for code in range(block, block + 0x10000) if not 0xD800 <= code < 0xE000)
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text


def test_digits_are_single_tokens():
    assert len(TOKENIZER.encode("81*2034")) == 7
    tokens = [TOKENIZER.decode([id_]) for id_ in range(TOKENIZER.vocab_size)]
    assert not [token for token in tokens if len(token) > 1 and any(map(str.isdigit, token))]


@pytest.mark.parametrize(
    "piece", ["sqrt(", ")^", " = ", "answer: ", "answer, then derive: ", "    return ", "fix the bug:", "\n"]
)
def test_frequent_pieces_are_single_tokens(piece: str):
    assert len(TOKENIZER.encode(piece)) == 1


def test_special_token_ids():
    assert TOKENIZER.vocab_size == 512
    assert TOKENIZER.special_ids == {PAD, END, USER, ASSISTANT, MASK}
    assert TOKENIZER.eos_ids == (END,)
    assert TOKENIZER.decode([USER, MASK]) == ""
    assert TOKENIZER.decode([USER, MASK], skip_special=False) == "<|user|><|mask|>"


def test_what_is_no_text_is_refused():
    with pytest.raises(RequestError, match="the text is 5; allowed: a string"):
        TOKENIZER.encode(5)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match=r"\\ud83d at 2"):
        TOKENIZER.encode("ab\ud83d")


def test_training_is_reproducible_and_bounds_the_vocabulary():
    texts = task_texts()
    assert train_tokenizer(iter(texts), 512)._tokenizer.to_str() == TOKENIZER._tokenizer.to_str()
    small = train_tokenizer(["abab"], 300)
    assert small.decode(small.encode("abab")) == "abab"
    assert 261 < small.vocab_size < 300
    assert train_tokenizer([], 261).vocab_size == 261
    with pytest.raises(ConfigError, match="vocab_size is 260; allowed: 261 or more"):
        train_tokenizer(texts, 260)


CHAT = [
    {"role": "user", "content": "2+2"},
    {"role": "assistant", "content": "answer: 4"},
    {"role": "user", "content": "sure?"},
]


def test_chat_template_is_rendered_and_encoded():
    text = "<|user|>2+2<|assistant|>answer: 4<|end|><|user|>sure?"
    assert TOKENIZER.render(CHAT) == text + "<|assistant|>"
    assert TOKENIZER.render(CHAT, add_generation_prompt=False) == text
    expected = [
        USER, *TOKENIZER.encode("2+2"),
        ASSISTANT, *TOKENIZER.encode("answer: 4"), END,
        USER, *TOKENIZER.encode("sure?"),
    ]  # fmt: skip
    assert TOKENIZER.encode_chat(CHAT) == [*expected, ASSISTANT]
    assert TOKENIZER.encode_chat(CHAT, add_generation_prompt=False) == expected


@given(TEXTS, TEXTS)
def test_messages_cannot_hold_special_tokens(user: str, assistant: str):
    messages = [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
    before = json.dumps(messages)
    ids = TOKENIZER.encode_chat(messages)
    assert ids == [USER, *TOKENIZER.encode(user), ASSISTANT, *TOKENIZER.encode(assistant), END, ASSISTANT]
    assert json.dumps(messages) == before
    assert TOKENIZER.decode(ids, skip_special=False) == TOKENIZER.render(messages)


def test_special_tokens_are_escaped_at_any_depth():
    tokenizer = with_template("{{ messages[0].tools[0] | tojson }}{{ messages[0].content | trim }}<|end|>")
    tools = [{"<|mask|>": ["<|end|>"]}]
    ids = tokenizer.encode_chat([{"role": "user", "content": " <|user|>x ", "tools": tools}])
    assert ids == [*tokenizer.encode('{"<|mask|>": ["<|end|>"]}<|user|>x'), END]


def test_special_tokens_may_absorb_surrounding_spaces():
    inner = tokenizers.Tokenizer.from_str(TOKENIZER._tokenizer.to_str())
    inner.add_special_tokens([tokenizers.AddedToken("<sep>", lstrip=True, rstrip=False)])
    template = "{{ messages[0].content }} <sep> {{ messages[0].content }}"
    tokenizer = Tokenizer(inner, {"eos_token": "<sep>", "chat_template": template})
    reference = tokenizers.Tokenizer.from_str(inner.to_str()).encode("a <sep> a").ids
    assert tokenizer.encode_chat([{"role": "user", "content": "a"}]) == reference
    assert reference == [*tokenizer.encode("a"), 512, *tokenizer.encode(" a")]


def test_a_system_message_begins_the_first_user_message():
    system, said = {"role": "system", "content": "s"}, [{"role": "user", "content": "a"}]
    assert TOKENIZER.encode_chat([system, *said]) == TOKENIZER.encode_chat([{"role": "user", "content": "s\n\na"}])
    later = [*said, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
    assert TOKENIZER.encode_chat([system, *later])[-3:] == TOKENIZER.encode_chat(later)[-3:]
    with pytest.raises(RequestError, match="allowed: assistant, user, system before the first user"):
        TOKENIZER.encode_chat([*said, system])


def test_template_receives_tokens_and_options():
    template = "{{ bos_token }}{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}x{% endfor %}"
    assert with_template(template).render(CHAT) == "<|user|>x"
    named = [{"name": "tools", "template": "no"}, {"name": "default", "template": "{{ tools is none }}"}]
    assert with_template(named).render(CHAT) == "True"


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "messages is empty"),
        (
            [{"role": "system", "content": "x"}],
            "unknown role 'system'; allowed: assistant, user, system before the first user",
        ),
        ([{"content": "x"}], "unknown role ''"),
        ([{"role": "user"}], "content of a message must be a string"),
        ([{"role": "user", "content": ["x"]}], "content of a message must be a string"),
        ([{"role": "user", "content": "\udc00"}], r"\\udc00 at 0"),
    ],
)
def test_invalid_messages_are_refused(messages: list, message: str):
    with pytest.raises(RequestError, match=message):
        TOKENIZER.encode_chat(messages)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (None, "no chat template"),
        ("{{ raise_exception('roles must alternate') }}", "refuses these messages: roles must alternate"),
        ("{{ messages[0].content + 1 }}", "cannot read these messages"),
        ("{{ 1 // 0 }}", "cannot read these messages"),
        ("{{ ''.__class__.__mro__ }}", "refuses"),
        ("{{ messages.append(1) }}", "refuses"),
        ("{{ messages[7].content.strip() }}", "refuses"),
        (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            "more than 1,000,000 loop iterations",
        ),
        ("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}", "cannot read"),
        ("{% for i in range(10 ** 9) %}{% endfor %}", "cannot read"),
        ("{{ 'x' * 10 ** 10 }}", "repeats a text to more than"),
        ("{{ 7 ** 777777 }}", "takes a power of"),
        ("{{ '%0900000000d' % 1 }}", "it formats '%0900000000d'; allowed"),
        (
            "{% set ns = namespace(x='x' * 9) %}{% for _ in range(30) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
            "it sets x to more than 10,000,000",
        ),
        ("{% set n = namespace() %}{% set n.__class__ = 1 %}", "refuses"),
        *(
            (template, "refuses these messages: access to attribute .* is unsafe")
            for template in (
                "{{ '{:900000000}'.format(1) }}",
                "{{ '{a:900000000}'.format_map({'a': 1}) }}",
                "{{ ('{:900000000}' | attr('format'))(1) }}",
                "{{ '{:900000000}'['format'](1) }}",
                "{{ 'a'.ljust(900000000) }}",
                "{{ 'a'.rjust(900000000) }}",
                "{{ 'a'.zfill(900000000) }}",
                "{{ 'a'.center(900000000) }}",
                "{{ 'a'.encode().ljust(900000000) }}",
                "{{ '\t'.expandtabs(900000000) }}",
            )
        ),
    ],
)
def test_template_refusal_is_a_request_error(template: str | None, message: str):
    with pytest.raises(RequestError, match=message):
        with_template(template).render(CHAT)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{% for %}", "chat template is broken"),
        ("{% for a in [1] %}" * 25 + "{% endfor %}" * 25, "chat template is broken: too many statically nested blocks"),
        ("{{ " + "(" * 9000 + "1" + ")" * 9000 + " }}", "chat template is broken"),
        ("{{ " + "1" * 5000 + " }}", "chat template is broken"),
        ("{{ '%0900000000d' | format(1) }}", "chat template is broken: No filter named 'format'"),
        ("{{ 'a' | indent(900000000, true) }}", "chat template is broken: No filter named 'indent'"),
        ("{% set turns_of_all_loops = dict %}", "chat template names turns_of_all_loops; allowed: other names"),
        # Python reads full-width letters of names as plain ones.
        ("{% set turns_of_\uff41ll_loops = dict %}", "chat template names turns_of_all_loops; allowed: other names"),
        (5, "chat_template is 5; allowed: a text"),
        ({"default": "x"}, "chat_template is {'default': 'x'}; allowed: a text"),
        (["x"], r"chat_template is \['x'\]; allowed: a text, or a list of names and templates"),
        ([{"name": "default"}], r"chat_template is \[{'name': 'default'}\]; allowed: a text"),
        ([{"name": "default", "template": 5}], r"chat_template is .*; allowed: a text"),
    ],
)
def test_broken_template_is_a_checkpoint_error(template: object, message: str):
    with pytest.raises(CheckpointError, match=message):
        with_template(template).render(CHAT)


@pytest.mark.parametrize(
    "parts",
    [
        ["2+2<|en", "d|><|assist", "ant|>ok"],
        ["<", "|", "e", "n", "d", "|", ">"],
        ["<|en \n", "\t d|>"],
        ["<|end|><|en", "d|><|end|>"],
        ["<", "<|end", "|"],
    ],
)
@pytest.mark.parametrize("form", ["text", "object"])
def test_parts_of_messages_cannot_form_special_tokens(parts: list[str], form: str):
    content = "{% for p in m.content %}{{ (p if p is string else p.text) | trim }}{% endfor %}"
    tokenizer = with_template("{% for m in messages %}<|user|>" + content + "{% endfor %}<|assistant|>")
    given_parts = parts if form == "text" else [{"type": "text", "text": part} for part in parts]
    ids = tokenizer.encode_chat([{"role": "user", "content": given_parts}])
    assert (ids[0], ids[-1]) == (USER, ASSISTANT)
    assert not tokenizer.special_ids & set(ids[1:-1])
    assert tokenizer.decode(ids) == "".join(part.strip() for part in parts)


def test_saved_tokenizer_is_restored(tmp_path: Path):
    directory = tmp_path / "new" / "tokenizer"
    TOKENIZER.save(directory)
    loaded = Tokenizer.load(directory)
    for text in task_texts()[:50]:
        assert loaded.encode(text) == TOKENIZER.encode(text)
    assert loaded.encode_chat(CHAT) == TOKENIZER.encode_chat(CHAT)
    assert loaded.eos_ids == (END,)
    assert loaded.encode("<|end|>") == TOKENIZER.encode("<|end|>") != [END]


def test_load_reads_other_checkpoint_formats(tmp_path: Path):
    TOKENIZER.save(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}<|end|>")
    config = {"eos_token": {"content": "<|end|>", "lstrip": False}, "pad_token": None}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    for eos_ids, expected in ((ASSISTANT, (END, ASSISTANT)), ([USER, END], (END, USER)), (None, (END,))):
        (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": eos_ids}))
        loaded = Tokenizer.load(tmp_path)
        assert loaded.eos_ids == expected
    assert loaded.encode_chat(CHAT) == [*TOKENIZER.encode("2+2"), END]


@pytest.mark.parametrize("value", ["2", True, 1.5, [0, "a"], [[1]], {"a": 1}, -1, 512])
def test_ends_that_are_no_tokens_are_refused(tmp_path: Path, value: object):
    TOKENIZER.save(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": value}))
    with pytest.raises(CheckpointError, match=r"eos_token_id is .*; allowed: a whole number, 0 to 511"):
        Tokenizer.load(tmp_path)


def test_templates_that_are_not_utf8_are_named(tmp_path: Path):
    TOKENIZER.save(tmp_path)
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff\xfe{{ 1 }}")
    with pytest.raises(CheckpointError, match=r"cannot read .*chat_template\.jinja"):
        Tokenizer.load(tmp_path)


def test_vocabulary_size_bounds_the_ids():
    inner = tokenizers.Tokenizer(models.BPE({"a": 0, "b": 9}, []))
    inner.add_special_tokens(["<eos>"])
    tokenizer = Tokenizer(inner, {"eos_token": "<eos>"})
    assert tokenizer.vocab_size == 1 + max(inner.get_vocab().values()) > len(inner.get_vocab())
    assert tokenizer.decode([9]) == "b"


def test_prefix_is_what_comes_before_a_text():
    inner = tokenizers.Tokenizer.from_str(TOKENIZER._tokenizer.to_str())
    tokens = [("<|user|>", USER), ("<|end|>", END)]
    inner.post_processor = processors.TemplateProcessing("<|user|> $A <|end|>", special_tokens=tokens)
    tokenizer = Tokenizer(inner, {"eos_token": "<|end|>"})
    assert tokenizer.encode_raw("2+2") == [USER, *tokenizer.encode("2+2")]
    assert tokenizer.encode_raw("") == [USER]
    assert tokenizer.turn_pieces() == [USER, "\U00100000"]
    assert TOKENIZER.encode_raw("2+2") == TOKENIZER.encode("2+2")


def test_bytes_of_tokens_with_other_characters():
    """The library decodes a token as it is if one of its characters stands for no byte."""
    inner = tokenizers.Tokenizer(models.BPE({"a": 0, "\u0120a": 1, "\u0120 ": 2, "<eos>": 3}, []))
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(["<eos>"])
    tokenizer = Tokenizer(inner, {"eos_token": "<eos>"})
    assert tokenizer.token_bytes == [b"a", b" a", "\u0120 ".encode(), None]
    assert [tokenizer.decode([id_]) for id_ in range(3)] == ["a", " a", "\u0120 "]


def test_load_ignores_saved_truncation_and_padding(tmp_path: Path):
    TOKENIZER.save(tmp_path)
    inner = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    inner.enable_truncation(2)
    inner.enable_padding(length=9)
    inner.save(str(tmp_path / "tokenizer.json"))
    assert Tokenizer.load(tmp_path).encode("12345") == TOKENIZER.encode("12345")


def test_invalid_directories_are_refused(tmp_path: Path):
    with pytest.raises(CheckpointError, match=r"no tokenizer at .*tokenizer\.json"):
        Tokenizer.load(tmp_path)
    TOKENIZER.save(tmp_path)
    config = tmp_path / "tokenizer_config.json"
    config.write_text('{"eos_token": "</s>"}')
    with pytest.raises(CheckpointError, match="eos_token is '</s>'"):
        Tokenizer.load(tmp_path)
    config.write_text("{}")
    with pytest.raises(CheckpointError, match="no eos_token"):
        Tokenizer.load(tmp_path)
    config.write_text("[]")
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json holds a list"):
        Tokenizer.load(tmp_path)
    config.unlink()
    with pytest.raises(CheckpointError, match=r"cannot read .*tokenizer_config\.json"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match="is not a tokenizer"):
        Tokenizer.load(tmp_path)


def test_unwritable_directories_are_refused(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"cannot write .*tokenizer_config\.json"):
        TOKENIZER.save(tmp_path / "file")


def byte_fallback_tokenizer(strip: bool) -> Tokenizer:
    """The decoders of SentencePiece checkpoints: Gemma's, or Llama's with `strip`."""
    tokens = ["<eos>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "▁a", "b", "é", "\ufffd", "▁▁"]
    inner = tokenizers.Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, [], byte_fallback=True))
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    inner.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if strip else steps)
    inner.add_special_tokens(["<eos>"])
    return Tokenizer(inner, {"eos_token": "<eos>"})


DECODING = {
    "byte level": TOKENIZER,
    "byte fallback": byte_fallback_tokenizer(strip=False),
    "byte fallback, first space stripped": byte_fallback_tokenizer(strip=True),
}


@st.composite
def chunks(draw: st.DrawFn, tokenizer: Tokenizer) -> list[list[int]]:
    """Tokens of real text and random tokens, split anywhere."""
    emoji = [list("é👍🏽".encode()), list("€".encode())]
    first_byte = min(tokenizer.unstable_ids, default=None)
    pieces = [[byte + first_byte for byte in text] for text in emoji] if first_byte else [TOKENIZER.encode("👍🏽é")]
    any_id = st.integers(0, tokenizer.vocab_size - 1).map(lambda id_: [id_])
    ids = list(chain.from_iterable(draw(st.lists(any_id | st.sampled_from(pieces), max_size=12))))
    cuts = sorted(draw(st.lists(st.integers(0, len(ids)), max_size=len(ids))))
    return [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]


@pytest.mark.parametrize("kind", DECODING)
@given(data=st.data())
def test_detokenizer_never_retracts_text(kind: str, data: st.DataObject):
    tokenizer = DECODING[kind]
    given_chunks = data.draw(chunks(tokenizer))
    more = list(chain.from_iterable(data.draw(chunks(tokenizer))))
    detokenizer = Detokenizer(tokenizer)
    emitted, ids = "", []
    for chunk in given_chunks:
        emitted += detokenizer.push(chunk)
        ids += chunk
        assert tokenizer.decode(ids + more).startswith(emitted)
        assert tokenizer.decode(ids).startswith(emitted)
    assert emitted + detokenizer.finish() == tokenizer.decode(ids)
    assert detokenizer.finish() == ""


def test_pieces_are_what_each_token_adds():
    """A character of several tokens comes with the last of them; together they are the text, valid or not."""
    ids = TOKENIZER.encode("aß 🙂!")
    pieces = TOKENIZER.pieces(ids)
    assert len(pieces) == len(ids)
    assert {"ß", "🙂"} <= {piece.strip() for piece in pieces}
    assert "".join(pieces) == "aß 🙂!"
    assert TOKENIZER.pieces([]) == []
    rng = random.Random(0)
    for _ in range(300):
        ids = [rng.randrange(TOKENIZER.vocab_size + 40) for _ in range(rng.randint(1, 30))]
        assert "".join(TOKENIZER.pieces(ids)) == TOKENIZER.decode(ids)


@given(TEXTS)
def test_detokenizer_emits_a_character_with_its_last_byte(text: str):
    detokenizer = Detokenizer(TOKENIZER)
    emitted = "".join(detokenizer.push([id_]) for id_ in TOKENIZER.encode(text))
    # A text may end in U+FFFD itself: only what follows distinguishes that from a partial character.
    assert emitted == text.removesuffix("\ufffd")


def test_detokenizer_withholds_partial_characters():
    ids = TOKENIZER.encode("a👍b")
    assert len(ids) == 6
    detokenizer = Detokenizer(TOKENIZER)
    assert [detokenizer.push([id_]) for id_ in ids] == ["a", "", "", "", "👍", "b"]
    assert detokenizer.push(ids[1:3]) == ""
    assert detokenizer.finish() == "\ufffd"
    assert detokenizer.push([END, *ids[:1]]) == "a"


def test_detokenizer_strips_only_the_first_space():
    tokenizer = byte_fallback_tokenizer(strip=True)
    # "▁a" comes after the end token, the bytes and "▁".
    word = 1 + 256 + 1
    assert tokenizer.decode([word, word]) == "a a"
    detokenizer = Detokenizer(tokenizer)
    assert [detokenizer.push([word]) for _ in range(3)] == ["a", " a", " a"]
