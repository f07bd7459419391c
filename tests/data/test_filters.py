"""Each filter drops what it is for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.data.filters import FilterConfig, distinct_share, letters_share, printable_share
from sfumato.errors import ConfigError

GOOD = "The sea is wide, and the boats on it are small."


def written(text: str = GOOD, tokens: range | list[int] = range(12), ended: bool = True) -> dict[str, Any]:
    return dict(text=text, tokens=list(tokens), ended=ended)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (written(), None),
        (written(tokens=range(20)), None),
        (written(tokens=range(21)), "long"),
        (written(tokens=range(21), ended=False), "long"),
        (written(ended=False), "unended"),
        (written(tokens=range(5)), None),
        (written(tokens=range(4)), "short"),
        (written(" \n"), "short"),
        (written("fine but \x07\x08\ufffd"), "unprintable"),
        (written("fine\n\tlaid out\r\n"), None),
        (written("море широко, и лодки малы"), "language"),
        (written("12 + 3 = 15"), None),
        (written(tokens=[1, 2, 3, 4] * 4), "repetitive"),
    ],
)
def test_reasons(given: dict[str, Any], expected: str | None):
    assert FilterConfig().reason(**given, min_tokens=5, max_tokens=20) == expected


def test_limits_are_settings():
    russian = written("море широко, и лодки малы")
    assert FilterConfig(scripts=("cyrillic",)).reason(**russian, min_tokens=1, max_tokens=20) is None
    assert FilterConfig(scripts=()).reason(**russian, min_tokens=1, max_tokens=20) is None
    assert FilterConfig(min_letters=0.0).reason(**russian, min_tokens=1, max_tokens=20) is None
    assert FilterConfig(min_printable=0.5).reason(**written("fine but \x07"), min_tokens=1, max_tokens=20) is None
    assert (
        FilterConfig(min_distinct=0.1).reason(**written(tokens=[1, 2, 3, 4] * 4), min_tokens=1, max_tokens=20) is None
    )
    assert FilterConfig(ngram=17).reason(**written(tokens=[1, 2, 3, 4] * 4), min_tokens=1, max_tokens=20) is None


def test_distinct_share():
    assert distinct_share([1, 2, 3], 4) == 1.0
    assert distinct_share([7] * 13, 4) == 0.1
    # 1212, 2121, 1212: two of three.
    assert distinct_share([1, 2, 1, 2, 1, 2], 4) == pytest.approx(2 / 3)


def test_printable_share():
    assert printable_share("") == 1.0
    assert printable_share("a\nb\u00a0") == 0.75
    assert printable_share("\ufffdabc") == 0.75


def test_letters_share():
    assert letters_share("123 !", ("latin",)) == 1.0
    assert letters_share("Größe 3", ("latin",)) == 1.0
    assert letters_share("abc де", ("latin",)) == 0.6
    assert letters_share("abc де", ("latin", "cyrillic", "latin")) == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_turn_tokens": 0}, "min_turn_tokens is 0 and max_turn_tokens 128; allowed: 1 or more, in order"),
        ({"min_answer_tokens": 9, "max_answer_tokens": 8}, "min_answer_tokens is 9 and max_answer_tokens 8"),
        ({"ngram": 0}, "ngram is 0; allowed: 1 or more"),
        ({"min_distinct": 1.1}, r"min_distinct is 1\.1; allowed: 0 to 1"),
        ({"near_duplicate": 0.0}, r"near_duplicate is 0\.0; allowed: more than 0, at most 1"),
        ({"scripts": ("klingon",)}, "unknown script 'klingon'; allowed: Unicode's names, as latin"),
        ({"scripts": ("latin}]|[a",)}, "unknown script"),
        ({"scripts": ("",)}, "unknown script ''"),
    ],
)
def test_invalid_settings(settings: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        FilterConfig(**settings)
