"""How much of the studio `make test` tries, and how much `make test-web`."""

from __future__ import annotations

import os

import pytest

FULL = "SFUMATO_STUDIO_FULL" in os.environ
only_in_full = pytest.mark.skipif(not FULL, reason="`make test-web` runs it")
