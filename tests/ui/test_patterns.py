"""The regular expressions of pages and programs, against what reads and executes them."""

from __future__ import annotations

from collections import deque
from random import Random

import numpy as np
import pytest

from sfumato.constraints.dfa import Budget, Language
from sfumato.constraints.regex import from_regex
from sfumato.data.tasks import TASKS
from sfumato.errors import RequestError
from sfumato.ui import edit_regex, execute, is_refusal, parse, screen_regex, to_text

LETTERS = "abcdefgh klmn onst,:|+-*[]\n0123ABé"


def compile_(pattern: str) -> Language:
    return from_regex(pattern, Budget(max_seconds=300))


@pytest.fixture(scope="module")
def screens() -> Language:
    return compile_(screen_regex())


def draw_texts(language: Language, random: Random, count: int) -> list[str]:
    """Texts of ASCII that the automaton accepts: some way through it, and then the shortest to an end."""
    follow = language.next_SB[:, [10, *range(32, 127)]]
    back: dict[int, set[int]] = {}
    for state, row in enumerate(follow):
        for other in set(row.tolist()):
            back.setdefault(other, set()).add(state)
    left = np.full(len(follow), -1)
    queue = deque(np.flatnonzero(language.final_S).tolist())
    left[list(queue)] = 0
    while queue:
        state = queue.popleft()
        for other in back.get(state, ()):
            if left[other] < 0:
                left[other] = left[state] + 1
                queue.append(other)
    texts = []
    for _ in range(count):
        state, length, said = language.start, random.randrange(120), []
        while left[state]:
            distances = left[follow[state]]
            allowed = distances >= 0 if len(said) < length else distances == distances[distances >= 0].min()
            # Kinds of steps by where they lead, so that letters of a string are no more likely than an end.
            chosen = random.choice(sorted(set(follow[state][allowed].tolist())))
            byte = random.choice(np.flatnonzero((follow[state] == chosen) & allowed).tolist())
            said.append("\n" if byte == 0 else chr(31 + byte))
            state = chosen
        texts.append("".join(said))
    return texts


def corrupt(text: str, random: Random) -> str:
    place = random.randrange(len(text))
    return (
        text[:place]
        + random.choice(("", random.choice(LETTERS), random.choice(LETTERS) + text[place]))
        + text[place + 1 :]
    )


def is_page(text: str) -> bool:
    try:
        return to_text(parse(text), ids=False) == text
    except RequestError:
        return False


def fits(page_text: str, program: str) -> bool:
    try:
        execute(parse(page_text), program)
    except RequestError:
        return False
    return True


def test_pattern_matches_exactly_the_screens(screens: Language):
    random, refused = Random(0), 0
    for seed in range(300):
        text = TASKS["ui_screen"].generate(seed).response
        assert screens.accepts(text)
        wrong = corrupt(text, random)
        right = is_page(wrong) or is_refusal(wrong)
        assert screens.accepts(wrong) == right, wrong
        refused += not right
    assert refused > 100


def test_matches_are_screens(screens: Language):
    for text in draw_texts(screens, Random(1), 300):
        assert is_page(text) or is_refusal(text), text


def test_the_expression_of_screens_is_within_the_engine_s_budget(screens: Language):
    assert len(screens.next_SB) < 30_000


def test_programs_match_when_they_apply():
    random, refused, seen = Random(0), 0, 0
    for seed in range(12):
        item = TASKS["ui_edit"].generate(seed)
        text = item.prompt.rpartition("\n> ")[0]
        language = compile_(edit_regex(parse(text)))
        assert language.accepts(item.response), item.response
        for program in draw_texts(language, random, 60):
            assert is_refusal(program) or fits(text, program), (text, program)
        for _ in range(60):
            wrong = corrupt(item.response, random)
            accepted = language.accepts(wrong)
            assert not accepted or is_refusal(wrong) or fits(text, wrong), (text, wrong)
            seen, refused = seen + 1, refused + (not accepted)
    assert refused > seen / 2


def test_each_kind_of_command_matches():
    seen: set[str] = set()
    for seed in range(400):
        item = TASKS["ui_edit"].generate(seed)
        if item.meta["intent"] in seen:
            continue
        seen.add(item.meta["intent"])
        if len(seen) % 3 == 0:
            page = parse(item.prompt.rpartition("\n> ")[0])
            assert compile_(edit_regex(page)).accepts(item.response), item.response
    assert len(seen) > 35
