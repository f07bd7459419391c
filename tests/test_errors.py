"""The exception tree, and the wording for names that are not known."""

from __future__ import annotations

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
def test_an_unknown_name(given: str, message: str):
    assert errors.unknown("sampler", given, ["margin", "entropy"]) == message
