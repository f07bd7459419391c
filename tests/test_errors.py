"""The exception hierarchy, and messages for unknown names."""

from __future__ import annotations

import re

import pytest

from sfumato import errors


def test_one_root():
    for name in ("ConfigError", "CheckpointError", "RequestError", "CapacityError"):
        assert getattr(errors, name).__base__ is errors.SfumatoError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("entrpy", "unknown sampler 'entrpy'; did you mean 'entropy'? allowed: entropy, margin"),
        ("xyz", "unknown sampler 'xyz'; allowed: entropy, margin"),
        ("", "unknown sampler ''; allowed: entropy, margin"),
    ],
)
def test_unknown_name(given: str, message: str):
    assert errors.unknown("sampler", given, ["margin", "entropy"]) == message


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("51", "text", """ban is '51'; allowed: a list of texts, such as ["red", "green"]"""),
        (b"51", "text", "ban is b'51'; allowed: a list of texts"),
        ({"a": 1}, "text", "ban is {'a': 1}; allowed"),
        (5, "text", "ban is 5; allowed"),
        (["a", 5], "text", "ban has 5; allowed"),
        ((0, 3), "span", "ban has 0; allowed: a list of (start, end), such as [(0, 3)]"),
        ([(0, 3, 4)], "span", "ban has (0, 3, 4); allowed"),
        (["ab"], "span", "ban has 'ab'; allowed"),
        ([0, 1.5], "seed", "ban has 1.5; allowed: a list of whole numbers"),
        ("what?", "prompt", "ban is 'what?'; allowed: a list of prompts"),
    ],
)
def test_values_that_are_not_lists(given: object, kind: str, message: str):
    with pytest.raises(errors.RequestError, match=re.escape(message)):
        errors.as_list("ban", given, kind)


def test_iterables_are_lists():
    for given in (["a", "b"], ("a", "b"), iter("ab"), {"a": 0, "b": 0}.keys()):
        assert errors.as_list("ban", given, "text") == ["a", "b"]
    assert errors.as_list("pin", [(0, 1), [2, 3]], "span") == [(0, 1), [2, 3]]
