"""MinHash against the Jaccard similarity it estimates; what is nearly the same is found, and nothing else."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sfumato.data.filters import NearDuplicates, Repeated, shingles, similarity, words

WORDS = [f"{first}{second}" for first in "abcdefghij" for second in "klmnopqrstuvwxyz"]


def some_text(rng: random.Random, num_words: int = 60) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(num_words))


def with_changes(text: str, rng: random.Random, num_changes: int) -> str:
    parts = text.split()
    for place in rng.sample(range(len(parts)), num_changes):
        parts[place] = "changed"
    return " ".join(parts)


def jaccard(one: str, other: str, size: int = 3) -> float:
    first, second = shingles(one, size), shingles(other, size)
    return len(first & second) / len(first | second)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("7-3 is not 7+3", ["7", "-", "3", "is", "not", "7", "+", "3"]),
        ("日本 and ไทย", ["日", "本", "and", "ไ", "ท", "ย"]),
        ("?!", []),
    ],
)
def test_words(text: str, expected: list[str]):
    assert words(text) == expected


def test_shingles():
    assert shingles("a b c d", 3) == {"a b c", "b c d"}
    assert shingles("A b.", 3) == {"a b"}
    assert shingles("?!", 3) == {"?!"}
    assert shingles("?!", 3) != shingles("!!", 3)


@pytest.mark.parametrize("num_changes", [0, 1, 2, 4, 8, 16])
def test_estimates_are_within_their_error(num_changes: int):
    """128 hashes have a standard deviation of sqrt(J (1 - J) / 128); over 40 pairs, of that by sqrt(40)."""
    hashing, rng = NearDuplicates(0.8), random.Random(num_changes)
    errors, deviations = [], []
    for _ in range(40):
        one = some_text(rng)
        other = with_changes(one, rng, num_changes)
        exact = jaccard(one, other)
        errors.append(similarity(hashing.signature(one), hashing.signature(other)) - exact)
        deviations.append(np.sqrt(exact * (1 - exact) / 128))
    assert np.abs(errors).max() <= 5 * max(deviations)
    assert abs(np.mean(errors)) <= 5 * max(deviations) / np.sqrt(40)


def test_signature_depends_on_the_set():
    one, other = NearDuplicates(0.8, shingle_words=1), NearDuplicates(0.8, shingle_words=1)
    assert (one.signature("a b c") == one.signature("C, a; b a")).all()
    assert (one.signature("a b c") == other.signature("a b c")).all()
    assert (one.signature("a b c") != one.signature("a b d")).any()


def test_planted_near_duplicates_are_found_and_distinct_texts_are_not():
    rng, index = random.Random(0), NearDuplicates(0.7)
    originals = [some_text(rng) for _ in range(300)]
    for text in originals:
        signature = index.signature(text)
        assert index.find(signature) is None
        index.add(signature)
    for place, text in enumerate(originals):
        # One word of 60 is in three shingles of 58: a similarity of 55 / 61.
        near = with_changes(text, rng, 1)
        assert jaccard(text, near) > 0.85
        assert index.find(index.signature(near)) == place
    fresh = [some_text(rng) for _ in range(300)]
    assert [text for text in fresh if index.find(index.signature(text)) is not None] == []
    # Ten words of 60 leave half the shingles: less than the threshold, though some bands agree.
    far = [with_changes(text, rng, 10) for text in originals]
    assert max(map(jaccard, originals, far)) < 0.6
    assert [text for text in far if index.find(index.signature(text)) is not None] == []


def test_first_duplicate_is_found():
    index = NearDuplicates(0.8)
    for text in ("one two three four", "one two three four"):
        index.add(index.signature(text))
    assert index.find(index.signature("One two three four.")) == 0


def test_repeated_conversations():
    rng, seen = random.Random(1), Repeated(0.8, 3)
    turn, answer = some_text(rng), some_text(rng)
    assert seen.take(turn, answer) is None
    assert seen.take(f" {turn.upper()}\n", some_text(rng)) == "exact_duplicate"
    assert seen.take(some_text(rng), answer) == "exact_duplicate"
    assert seen.take(with_changes(turn, rng, 1), some_text(rng)) == "near_duplicate"
    assert seen.take(some_text(rng), with_changes(answer, rng, 1)) == "near_duplicate"
    # A turn is held against turns, an answer against answers.
    assert seen.take(answer, turn) is None
    assert seen.take("What is 7-3?", "It is 4.") is None
    assert seen.take("What is 7+3?", "It is 10.") is None


def test_dropped_items_do_not_count_as_seen():
    rng, seen = random.Random(2), Repeated(0.8, 3)
    turn, other = some_text(rng), some_text(rng)
    assert seen.take(turn, some_text(rng)) is None
    answer = some_text(rng)
    assert seen.take(turn, answer) == "exact_duplicate"
    assert seen.take(other, answer) is None
