"""Trains a tokenizer for a new model, with a chat template."""

from __future__ import annotations

from collections.abc import Iterable

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from sfumato.errors import ConfigError
from sfumato.text.tokenizer import Tokenizer

SPECIAL_TOKENS = ("<|pad|>", "<|end|>", "<|user|>", "<|assistant|>", "<|mask|>")
_PAD, _END, _USER, _ASSISTANT, _MASK = SPECIAL_TOKENS
_CHAT_TEMPLATE = """\
{%- set before = namespace(text="") -%}
{%- for message in messages -%}
{%- if message.content is not string -%}
{{- raise_exception("the content of a message must be a string") -}}
{%- elif message.role == "user" -%}
{{- "<|user|>" + before.text + message.content -}}
{%- set before.text = "" -%}
{%- elif message.role == "assistant" -%}
{{- "<|assistant|>" + message.content + "<|end|>" -}}
{%- elif message.role == "system" and loop.first and loop.nextitem is defined and loop.nextitem.role == "user" -%}
{%- set before.text = message.content + "\\n\\n" -%}
{%- else -%}
{{- raise_exception("unknown role '" ~ message.role ~ "'; allowed: assistant, user, system before the first user") -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- "<|assistant|>" -}}
{%- endif -%}"""


def train_tokenizer(texts: Iterable[str], vocab_size: int, *, words: bool = False) -> Tokenizer:
    """Train a byte-level BPE in which every digit is its own token.

    Merges stop only at digits and line ends, not at words: a small vocabulary on terse tasks then has pieces such as
    "sqrt(", ")^", " = " and "    return ", and a canvas has fewer positions to fill.

    Args:
        texts: prompts and responses, without chat markup.
        vocab_size: number of tokens, including special ones and all 256 bytes: 261 or more.
        words: also stop merges before spaces, so that a word has the same tokens in any context, for answers that copy
            words of the prompt.

    Returns:
        A tokenizer with the tokens of `SPECIAL_TOKENS` and a chat template, in which a system message is the beginning
        of the first user's. It has fewer tokens than requested if no
        further pair occurs twice.

    Raises:
        ConfigError: if vocab_size is too small.
    """
    smallest = 256 + len(SPECIAL_TOKENS)
    if vocab_size < smallest:
        raise ConfigError(f"vocab_size is {vocab_size}; allowed: {smallest} or more (bytes, special tokens)")
    tokenizer = tokenizers.Tokenizer(models.BPE())
    spaces = [pre_tokenizers.Split(" ", "merged_with_next")] if words else []
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split("\n", "isolated"),
            *spaces,
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "pad_token": _PAD,
        "eos_token": _END,
        "mask_token": _MASK,
        "additional_special_tokens": [_USER, _ASSISTANT],
        "chat_template": _CHAT_TEMPLATE,
    }
    return Tokenizer(tokenizer, config)
