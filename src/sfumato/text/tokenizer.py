"""Tokenizer: encoding, chat templates, and incremental decoding.

Special tokens are never parsed from text; they come only from the chat template. A user who types "<|end|>" gets its
characters and ends nothing.
"""

from __future__ import annotations

import codecs
import copy
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import Regex, decoders, models, pre_tokenizers, processors

from sfumato.config import check_number, read_json
from sfumato.errors import CheckpointError, RequestError
from sfumato.gguf_file import GGUFFile
from sfumato.storage import write_atomically, write_json
from sfumato.text.chat import ChatTemplate, Message, cover

# Split patterns of the models' own tokenizers; a split keeps its matches as separate pieces.
_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_GGUF_SPLITS: dict[str, list[pre_tokenizers.PreTokenizer]] = {
    "gpt-2": [pre_tokenizers.Split(Regex(_GPT2), "isolated")],
    "smollm": [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.Split(Regex(_GPT2), "isolated")],
    "llama-bpe": [pre_tokenizers.Split(Regex(_LLAMA3), "isolated")],
    "qwen2": [pre_tokenizers.Split(Regex(_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")), "isolated")],
}
_META_SPACE = "\u2581"
"""How sentencepiece tokenizers write a space."""
_REPLACEMENT = "\ufffd"
_TURN = "\U00100000"
"""Placeholder for a turn that is not written yet: a character of private plane 16."""
_HALF_PAIR = re.compile("[\ud800-\udfff]")


def check_characters(text: str) -> None:
    """Refuse invalid text.

    Raises:
        RequestError: if it is not a string, or holds a lone surrogate, which is not a character.
    """
    if not isinstance(text, str):
        raise RequestError(f"the text is {text!r:.80}; allowed: a string")
    half = _HALF_PAIR.search(text)
    if half:
        given = half[0].encode("ascii", "backslashreplace").decode()
        raise RequestError(f"the text has {given} at {half.start()}; allowed: Unicode characters")


class Tokenizer:
    """A Hugging Face tokenizer with its chat template.

    Args:
        tokenizer: the Hugging Face tokenizer; this object takes ownership.
        config: contents of tokenizer_config.json.
        eos_ids: further ids that end a text, besides the config's eos_token.

    Raises:
        CheckpointError: if the config names an unknown token, or no token that ends a text, or if an id is unknown.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, config: Mapping[str, Any], eos_ids: Sequence[int] = ()) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._config = dict(config)
        self._texts: dict[int, str] = {}
        added = tokenizer.get_added_tokens_decoder()
        self._special_ids = {token.content: id_ for id_, token in added.items() if token.special}
        texts = ((key, _token_text(value)) for key, value in config.items() if key.endswith("_token"))
        named = {key: text for key, text in texts if text is not None}
        self._chat = ChatTemplate(config.get("chat_template"), named)
        self.special_ids: frozenset[int] = frozenset(self._special_ids.values())
        """Ids of the special tokens, which no text encodes to."""
        ids = list(eos_ids)
        if (eos := named.get("eos_token")) is not None:
            eos_id = tokenizer.token_to_id(eos)
            if eos_id is None:
                raise CheckpointError(
                    f"eos_token is {eos!r} in the tokenizer's config, but the tokenizer has no such token"
                )
            ids.insert(0, eos_id)
        for id_ in eos_ids:
            check_number("eos_token_id", id_, 0, self.vocab_size - 1, whole=True, error=CheckpointError)
        if not ids:
            raise CheckpointError("the tokenizer's config has no eos_token; name the token that ends a text")
        self.eos_ids: tuple[int, ...] = tuple(dict.fromkeys(ids))
        """Ids that end a text, the tokenizer's own first."""

    @classmethod
    def load(cls, directory: str | Path) -> Tokenizer:
        """Read tokenizer.json and tokenizer_config.json; generation_config.json may add eos tokens.

        Raises:
            CheckpointError: if a file is missing or invalid.
        """
        directory = Path(directory)
        path = directory / "tokenizer.json"
        if not path.is_file():
            raise CheckpointError(f"no tokenizer at {path}; give a directory that holds tokenizer.json")
        try:
            # The library raises a bare Exception for anything it cannot parse.
            tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:
            raise CheckpointError(f"{path} is not a tokenizer: {error}") from error
        config = read_json(directory / "tokenizer_config.json")
        path = directory / "chat_template.jinja"
        if path.is_file():
            try:
                config["chat_template"] = path.read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise CheckpointError(f"cannot read {path}: {error}") from None
        path = directory / "generation_config.json"
        eos_ids = read_json(path).get("eos_token_id", []) if path.is_file() else []
        eos_ids = [] if eos_ids is None else eos_ids if isinstance(eos_ids, list) else [eos_ids]
        try:
            return cls(tokenizer, config, eos_ids)
        except CheckpointError as error:
            raise CheckpointError(f"{directory}: {error}") from None

    @classmethod
    def of(cls, source: Path | GGUFFile) -> Tokenizer:
        """Read the tokenizer of a checkpoint directory or GGUF file.

        Raises:
            CheckpointError: see `load` and `from_gguf`.
        """
        return cls.from_gguf(source) if isinstance(source, GGUFFile) else cls.load(source)

    @classmethod
    def from_gguf(cls, file: GGUFFile) -> Tokenizer:
        """Read the tokenizer of a GGUF file: byte-level BPE, with splits as llama.cpp names them.

        Raises:
            CheckpointError: if the tokenizer is of another kind, or damaged.
        """
        kind, splits = file.get("tokenizer.ggml.model"), str(file.metadata.get("tokenizer.ggml.pre", "gpt-2"))
        if kind != "gpt2" or splits not in _GGUF_SPLITS:
            raise CheckpointError(
                f"{file.path} holds a tokenizer of model {kind!r} with splits {splits!r}; allowed: model 'gpt2' with "
                f"{', '.join(sorted(_GGUF_SPLITS))}"
            )
        tokens, kinds, merges = (file.get(f"tokenizer.ggml.{key}") for key in ("tokens", "token_type", "merges"))
        try:
            # The library raises a bare Exception for a merge of unknown tokens.
            return cls._of_lists(tokens, kinds, merges, splits, file.metadata)
        except Exception as error:
            raise CheckpointError(f"{file.path} holds a damaged tokenizer: {error}") from error

    @classmethod
    def _of_lists(
        cls, tokens: list[str], kinds: list[int], merges: list[str], splits: str, metadata: Mapping[str, Any]
    ) -> Tokenizer:
        is_llama = splits == "llama-bpe"
        pairs = [(first, second) for first, second in (merge.split(" ", 1) for merge in merges)]
        bpe = models.BPE({token: id_ for id_, token in enumerate(tokens)}, pairs, ignore_merges=is_llama)
        tokenizer = tokenizers.Tokenizer(bpe)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [*_GGUF_SPLITS[splits], pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        control, user_defined = 3, 4
        for id_, kind_of_token in enumerate(kinds):
            if kind_of_token in (control, user_defined):
                added = tokenizers.AddedToken(tokens[id_], special=kind_of_token == control, normalized=False)
                (tokenizer.add_special_tokens if kind_of_token == control else tokenizer.add_tokens)([added])
        ids = {}
        for name, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"), ("eot", "eot")):
            if (value := metadata.get(f"tokenizer.ggml.{key}_token_id")) is not None:
                check_number(f"{key}_token_id", value, 0, len(tokens) - 1, whole=True, error=CheckpointError)
                ids[name] = value
        ends = [ids.pop("eot")] if "eot" in ids else []
        if "bos" in ids and metadata.get("tokenizer.ggml.add_bos_token", is_llama):
            bos = tokens[ids["bos"]]
            tokenizer.post_processor = processors.TemplateProcessing([bos, "$A"], special_tokens=[(bos, ids["bos"])])
        named = {f"{name}_token": tokens[id_] for name, id_ in ids.items()}
        return cls(tokenizer, {**named, "chat_template": metadata.get("tokenizer.chat_template")}, ends)

    def save(self, directory: str | Path) -> None:
        """Write tokenizer.json and tokenizer_config.json, which transformers can also read; creates the directory.

        Eos ids from generation_config.json belong to the model and are not written.
        """
        directory = Path(directory)
        write_json(directory / "tokenizer_config.json", self._config)
        # tokenizer.json last: its presence marks the directory as complete.
        write_atomically(directory / "tokenizer.json", self._tokenizer.to_str(pretty=True).encode())

    @cached_property
    def vocab_size(self) -> int:
        """One more than the largest id, which may be more than the number of tokens."""
        return max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1

    @cached_property
    def unstable_ids(self) -> frozenset[int]:
        """Ids of single bytes that a decoder with byte fallback merges with their neighbours."""
        if '"ByteFallback"' not in self._tokenizer.to_str():
            return frozenset()
        tokens = (f"<0x{byte:02X}>" for byte in range(256))
        return frozenset(id_ for token in tokens if (id_ := self._tokenizer.token_to_id(token)) is not None)

    @cached_property
    def token_bytes(self) -> list[bytes | None]:
        """The bytes of each token; None for special tokens.

        Raises:
            RequestError: if single tokens of this tokenizer have no fixed bytes.
        """
        decoder = json.loads(self._tokenizer.to_str())["decoder"] or {}
        steps = [step["type"] for step in decoder.get("decoders", [decoder])] if decoder else []
        added, space_id = self._tokenizer.get_added_tokens_decoder(), self._tokenizer.token_to_id(_META_SPACE) or 0
        if steps == ["ByteLevel"]:
            byte_of = {character: byte for byte, character in enumerate(_byte_level_characters())}
        elif steps and set(steps) <= {"Replace", "ByteFallback", "Fuse"} and self.decode([space_id]) == " ":
            byte_of = None
        else:
            raise RequestError(
                f"this tokenizer decodes by {', '.join(steps) or 'nothing'}; allowed for schemas and the like: "
                "byte-level ones, and those with byte fallback that keep the first space"
            )
        found: list[bytes | None] = []
        for id_ in range(self.vocab_size):
            token = self._tokenizer.id_to_token(id_)
            if token is None or id_ in self.special_ids:
                found.append(None)
            elif byte_of is not None and id_ not in added and byte_of.keys() >= set(token):
                found.append(bytes(byte_of[character] for character in token))
            elif byte_of is not None or id_ in added:
                found.append(token.encode())
            elif id_ in self.unstable_ids:
                found.append(bytes([int(token[3:5], 16)]))
            else:
                found.append(token.replace(_META_SPACE, " ").encode())
        return found

    @cached_property
    def has_bytes(self) -> bool:
        try:
            return bool(self.token_bytes)
        except RequestError:
            return False

    def encode(self, text: str) -> list[int]:
        """Tokenize a text; special tokens are neither added nor parsed.

        Raises:
            RequestError: if the text holds a lone surrogate, which is not a character.
        """
        check_characters(text)
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def encode_with_offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids of a text with the (start, end) characters of each."""
        check_characters(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        return encoding.ids, encoding.offsets

    def encode_raw(self, text: str) -> list[int]:
        """Tokenize a text to be continued, with the tokenizer's own prefix, such as a bos token.

        Raises:
            RequestError: as for `encode`.
        """
        return [*self._prefix, *self.encode(text)]

    @cached_property
    def _prefix(self) -> list[int]:
        """The special tokens that the tokenizer itself puts before a text."""
        encoding = self._tokenizer.encode("a", add_special_tokens=True)
        return encoding.ids[: len(list(itertools.takewhile(bool, encoding.special_tokens_mask)))]

    @property
    def has_chat_template(self) -> bool:
        return self._chat.exists

    def decode(self, ids: Iterable[int], skip_special: bool = True) -> str:
        """Decode tokens; bytes that form no character become U+FFFD.

        Args:
            ids: token ids; unknown ones add nothing.
            skip_special: whether special tokens are left out.
        """
        return self._tokenizer.decode([int(id_) for id_ in ids], skip_special_tokens=skip_special)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The text that each token adds; a character of several tokens comes with the last of them. Unknown ids add
        nothing."""
        pieces = [self._texts.get(id_) or self._texts.setdefault(id_, self.decode([id_])) for id_ in ids]
        if any(_REPLACEMENT in text for text in pieces) and self.has_bytes:
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            known = self.token_bytes
            pieces = [decoder.decode((known[id_] if id_ < len(known) else None) or b"") for id_ in ids]
            pieces[-1] += decoder.decode(b"", final=True)
        return pieces

    def render(self, messages: Sequence[Message], add_generation_prompt: bool = True) -> str:
        """Render a conversation as text; see `ChatTemplate.render`.

        For reading: `encode` would treat the template's special tokens as plain text too. `encode_chat` distinguishes
        what the template wrote from what users wrote; `encode_rendered` cannot.
        """
        return self._chat.render(messages, add_generation_prompt)

    def encode_chat(self, messages: Sequence[Message], add_generation_prompt: bool = True) -> list[int]:
        """Tokenize a conversation; special tokens come only from the chat template.

        Raises:
            RequestError, CheckpointError: as for `render` and `encode`.
        """
        covered, covers = cover(messages, self._special_ids)
        return self.encode_rendered(self.render(covered, add_generation_prompt), covers)

    def encode_opening(self, messages: Sequence[Message] = ()) -> tuple[list[int], int | None]:
        """Tokenize a conversation up to the start of the user's next turn.

        Returns:
            The tokens, and the special token that the template puts right after the turn, if any.

        Raises:
            RequestError: as for `encode_chat`, or if the template does not contain the turn unchanged.
            CheckpointError: as for `encode_chat`.
        """
        covered, covers = cover(messages, self._special_ids)
        before, after = self._render_turn(covered).split(_TURN)
        _, special_id = next(self._split_at_specials(after.lstrip()), ("", None))
        return self.encode_rendered(before, covers), special_id

    def turn_pieces(self) -> list[str | int]:
        """What a conversation of one turn is made of: ids of special tokens, and texts, to be encoded one by one, in
        which U+100000 stands for the turn.

        Raises:
            RequestError: as for `encode_opening`.
        """
        if not self.has_chat_template:
            return [*self._prefix, _TURN]
        pieces = self._split_at_specials(self._render_turn(()))
        return [text if special_id is None else special_id for text, special_id in pieces]

    def _render_turn(self, messages: Sequence[Message]) -> str:
        rendered = self.render([*messages, {"role": "user", "content": _TURN}])
        if rendered.count(_TURN) != 1:
            raise RequestError(
                f"the chat template writes a user's turn {rendered.count(_TURN)} times; allowed: once, unchanged"
            )
        return rendered

    def ending_with(self, id_: int) -> Tokenizer:
        """The same tokenizer with another token that ends a text."""
        other = copy.copy(self)
        other.eos_ids = tuple(dict.fromkeys((*self.eos_ids, id_)))
        return other

    def encode_rendered(self, rendered: str, covers: Mapping[str, str] | None = None) -> list[int]:
        """Tokenize the result of `render`, including special tokens.

        Args:
            covers: placeholders for characters that were not special tokens before.

        Raises:
            RequestError: as for `encode`.
        """
        uncover = str.maketrans(dict(covers or {}))
        ids: list[int] = []
        for text, special_id in self._split_at_specials(rendered):
            ids += self.encode(text.translate(uncover)) if special_id is None else [special_id]
        return ids

    def _split_at_specials(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Split a text at its special tokens, each with its id."""
        added = self._tokenizer.get_added_tokens_decoder()
        present = sorted((token for token in self._special_ids if token in text), key=len, reverse=True)
        alternatives = []
        for token in present:
            flags = added[self._special_ids[token]]
            before, after = (r"\s*" if strip else "" for strip in (flags.lstrip, flags.rstrip))
            alternatives.append(f"{before}({re.escape(token)}){after}")
        start = 0
        for match in re.finditer("|".join(alternatives), text) if present else ():
            if match.start() > start:
                yield text[start : match.start()], None
            assert match.lastindex is not None
            yield match[0], self._special_ids[present[match.lastindex - 1]]
            start = match.end()
        if start < len(text):
            yield text[start:], None


class Detokenizer:
    """Decodes tokens as they arrive, holding back text that a later token could still change."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Unsettled tokens after a settled one: some decoders treat a first token differently.
        self._window: list[int] = []
        self._num_shown = 0

    def push(self, ids: Iterable[int]) -> str:
        """Add tokens and return the newly settled text; special tokens have none."""
        new = [int(id_) for id_ in ids]
        self._window += [id_ for id_ in new if id_ not in self._tokenizer.special_ids]
        end = len(self._window)
        while end and self._window[end - 1] in self._tokenizer.unstable_ids:
            end -= 1
        text = self._tokenizer.decode(self._window[:end])
        # An incomplete character decodes to one U+FFFD at the end.
        settled = text.removesuffix(_REPLACEMENT)
        shown = settled[self._num_shown :]
        if end and len(settled) == len(text):
            self._num_shown = len(self._tokenizer.decode(self._window[end - 1 : end]))
            self._window = self._window[end - 1 :]
        else:
            self._num_shown = max(self._num_shown, len(settled))
        return shown

    def finish(self) -> str:
        """Return the text held back, with incomplete bytes as U+FFFD, and reset."""
        text = self._tokenizer.decode(self._window)[self._num_shown :]
        self._window, self._num_shown = [], 0
        return text


def _byte_level_characters() -> list[str]:
    """The character for each byte in a byte-level vocabulary: printable ones themselves, the others from U+0100 on
    (GPT-2)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _token_text(value: Any) -> str | None:
    """A token's text in tokenizer_config.json: plain, an object with flags, or null."""
    text = value.get("content") if isinstance(value, dict) else value
    return text if isinstance(text, str) else None
