"""Screens and commands that are made up: their checkers, and what training never sees of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from random import Random

import pytest

from sfumato.data.apps import examples
from sfumato.data.apps.commands import Command, draw_command, draw_command_about, draw_commands
from sfumato.data.apps.domains import NUM_HELD_OUT, Domain, capitalize, coin_domain, domains, words
from sfumato.data.apps.drafts import Draft
from sfumato.data.apps.intents import ON_CELL, ON_FLAG, ON_HOLDER, ON_ONE, ON_STATE, ON_TASK, ON_TWO
from sfumato.data.apps.references import refer, says
from sfumato.data.apps.screens import draw_domain, draw_screen
from sfumato.data.apps.speech import conjugate, copied, distort, plain, templates, texts, word
from sfumato.data.tasks import TASKS, Item, items
from sfumato.ui import REFUSALS, execute, is_refusal, parse, to_text
from sfumato.ui.edits import select
from sfumato.ui.tree import kinds

SCREEN, EDIT = TASKS["ui_screen"], TASKS["ui_edit"]
# Many tests look at the same items.
draw_screen_item, draw_edit_item = cache(SCREEN.generate), cache(EDIT.generate)
PAGE = "a page\n b header: Shop\n c list\n  d checkbox: Milk\n  e checkbox: Bread\n> tick off the first"


def test_program_is_checked_by_its_tree():
    item = Item(prompt=PAGE, response="set d on", meta={})
    assert EDIT.check(item, "set d on")
    assert EDIT.check(item, "set d on\nset e red\nclear e color")
    assert not EDIT.check(item, "set e on")
    assert not EDIT.check(item, "set z on")
    assert not EDIT.check(item, "refuse: not on this screen")
    refused = Item(prompt=PAGE, response="refuse: not on this screen", meta={})
    assert EDIT.check(refused, "refuse: not on this screen")
    assert not EDIT.check(refused, "refuse: more than one fits")
    assert not EDIT.check(refused, "clear d on")


def test_open_items_may_differ_within_the_domain():
    response = "page\n header: Shop\n list\n  checkbox on: Milk\n  checkbox: Bread"
    item = Item(prompt="screen: two items, one done", response=response, meta={"choices": ("Milk", "Bread", "Eggs")})
    assert SCREEN.check(item, response)
    assert SCREEN.check(item, response.replace("Milk", "Eggs"))
    assert SCREEN.check(item, "page\n header: Shop\n list\n  checkbox: Eggs\n  checkbox on: Milk")
    assert not SCREEN.check(item, response.replace("Milk", "Bread"))
    assert not SCREEN.check(item, response.replace("Milk", "Stones"))
    assert not SCREEN.check(item, response.replace(" on", ""))
    assert not SCREEN.check(item, response.replace("Shop", "Store"))
    assert not SCREEN.check(item, response + "\n  checkbox: Eggs")
    named = Item(prompt=item.prompt, response=response, meta={"choices": ()})
    assert not SCREEN.check(named, response.replace("Milk", "Eggs"))


def test_to_dos_that_nobody_named_are_tasks():
    tasks = {capitalize(task) for domain in domains() for task in domain.tasks}
    drawn = [draw_screen(Random(seed)) for seed in range(1500)]
    free = [each for each in drawn if each.choices and any(" checkbox" in line for line in each.lines)]
    assert len(free) > 20
    assert all(set(each.choices) <= tasks for each in free)


def test_training_has_no_held_out_domain():
    held = [domain.topic for domain in domains()[-NUM_HELD_OUT:]]
    pattern = re.compile("|".join(held), re.IGNORECASE)
    assert len(domains()) == 30
    for draw in (draw_screen_item, draw_edit_item):
        assert not any(pattern.search(draw(seed).prompt) for seed in range(500))
    assert any(pattern.search(TASKS["ui_screen_domains"].generate(seed).prompt) for seed in range(20))


def test_made_up_domains_use_no_word_of_a_held_out_domain():
    def stems(found: Iterable[Domain]) -> set[str]:
        text = " ".join(" ".join((each.topic, *each.tasks, *each.things, each.number, each.state)) for each in found)
        return {word.casefold().removesuffix("s") for word in re.findall(r"\w+", text)}

    held = stems(domains()[-NUM_HELD_OUT:]) - stems(domains()[:-NUM_HELD_OUT])
    assert len(held) > 100
    assert not held & {word.removesuffix("s") for part in words()[:3] for word in part}
    assert len(stems(coin_domain(Random(seed)) for seed in range(300))) > 1500


def test_unknown_domain_fields_are_named():
    """Else nobody could know what to write on the screen of a domain never seen."""
    for seed in range(300):
        screen = draw_screen(Random(seed), unseen_domain=True)
        assert not screen.choices
        sentence = plain(screen.sentence).casefold()
        for component in parse("\n".join(screen.lines)).walk():
            if component.kind in ("item", "checkbox", "card", "tab"):
                assert component.text.casefold() in sentence


def test_held_out_wordings_are_in_no_other_set():
    for text in texts()["commands"].values():
        seen, held = templates(text, held_out=False), templates(text, held_out=True)
        assert seen
        assert held
        assert not set(seen) & set(held)
        slots = {match for line in seen for match in re.findall(r"\{(\w+)\}", line)}
        assert {match for line in held for match in re.findall(r"\{(\w+)\}", line)} <= slots
    openings = {distort(draw_command(Random(seed), unseen_wording=True).sentence, Random(0)) for seed in range(50)}
    assert not openings & {draw_edit_item(seed).prompt.rpartition("\n> ")[2] for seed in range(500)}


def test_held_out_combinations_are_drawn_only_by_name():
    def is_held(item: Item) -> bool:
        page, response = parse(item.prompt.rpartition("\n> ")[0]), item.response
        slot = {component.id: component.kind for component in page.walk()}.get(response.split()[1])
        return item.meta["intent"] == "color" and slot in ("badge", "card")

    assert not any(is_held(draw_edit_item(seed)) for seed in range(500))
    assert any(is_held(TASKS["ui_edit_combinations"].generate(seed)) for seed in range(100))
    dark_table = re.compile(r"page dark\n.*\n table")
    assert not any(dark_table.match(draw_screen_item(seed).response) for seed in range(500))
    assert any(dark_table.match(TASKS["ui_screen_combinations"].generate(seed).response) for seed in range(100))


def test_every_intent_is_drawn_and_changes_a_page():
    found = {item.meta["intent"]: item for item in map(draw_edit_item, range(1000))}
    assert found.keys() == texts()["commands"].keys()
    for intent, item in found.items():
        page = parse(item.prompt.rpartition("\n> ")[0])
        refused = item.response.removeprefix("refuse: ") in REFUSALS
        assert refused == (intent in ("missing", "ambiguous", "nonsense"))
        assert (to_text(execute(page, item.response)) != to_text(page)) != refused, intent


def test_every_component_is_on_some_screen():
    seen = {"refuse"}
    for seed in range(1000):
        item = draw_screen_item(seed)
        assert SCREEN.check(item, item.response)
        seen |= {line.split()[0].rstrip(":") for line in item.response.split("\n")}
    assert seen >= kinds().keys() - {"column"}


def test_typos_spare_copied_text():
    sentence = word("[delete|remove] {ref} now", Random(0)).format(ref=copied("to the four"))
    assert plain(copied("a\x01b\x02")) == "ab"
    found = {distort(sentence, Random(seed)) for seed in range(500)}
    assert all("to the four" in text.replace("To the", "to the") for text in found)
    assert len(found) > 30


@pytest.mark.parametrize(
    ("verb", "past", "participle"),
    [
        ("bake", "baked", "baked"),
        ("carry", "carried", "carried"),
        ("stay", "stayed", "stayed"),
        ("plan", "planned", "planned"),
        ("fix", "fixed", "fixed"),
        ("deliver", "delivered", "delivered"),
        ("write", "wrote", "written"),
        ("put", "put", "put"),
    ],
)
def test_past_tense(verb: str, past: str, participle: str):
    assert conjugate(verb) == (past, participle)


def test_a_task_that_was_done_is_ticked():
    num_found = 0
    for seed in range(1200):
        item = draw_edit_item(seed)
        if item.meta["intent"] == "check_did":
            page, _, said = item.prompt.rpartition("\n> ")
            (box,) = [each for each in parse(page).walk() if each.id == item.response.split()[1]]
            assert item.response == f"set {box.id} on"
            assert box.get("on") is None
            assert box.text.split()[-1] in said
            num_found += 1
    assert num_found > 5


def test_a_list_is_named_by_its_text_or_by_the_tab_or_header_above():
    num_found = 0
    for seed in range(1200):
        item = draw_edit_item(seed)
        if item.meta["intent"] == "add_to":
            page, _, said = item.prompt.rpartition("\n> ")
            lines = page.split("\n")
            number = next(i for i, line in enumerate(lines) if line.split()[0] == item.response.split()[2])
            assert lines[number].split()[1].rstrip(":") == "list"
            names = [line.partition(": ")[2].casefold() for line in lines[number - 1 : number + 1]]
            assert (names[1] or names[0]) in said.casefold()
            num_found += 1
    assert num_found > 10


def test_every_intent_has_wordings():
    methods = {name for name in vars(Draft) if not name.startswith("_")}
    assert {*methods, *ON_ONE, *ON_TWO, *ON_HOLDER, *ON_STATE, *ON_CELL, *ON_FLAG, *ON_TASK} == texts()[
        "commands"
    ].keys()


def test_a_sentence_with_several_commands_is_about_as_many_components():
    several = TASKS["ui_edit_several"]
    counts = set()
    for seed in range(60):
        item = several.generate(seed)
        lines = item.response.split("\n")
        assert several.check(item, item.response)
        # Moving the second item to the top does nothing where the first is deleted.
        assert not several.check(item, "\n".join(lines[1:])) or lines[0].startswith("move")
        about = {line.split()[1].rstrip(":") for line in lines}
        assert len(about) == len(lines) - bool(re.search(r"\bit\b", item.prompt)) or len(about) == len(lines)
        counts.add(len(lines))
    assert counts == {2, 3, 4, 5, 6}


def test_commands_about_filtered_screens_count_what_is_seen():
    filtered, by_position = TASKS["ui_edit_filtered"], 0
    for seed in range(60):
        item = filtered.generate(seed)
        assert filtered.check(item, item.response)
        shown, _, said = item.prompt.rpartition("\n> ")
        page = parse(shown)
        assert sum(each.get("hidden") is not None for each in page.walk()) > 1
        ordinal = re.fullmatch(r".*\bthe (first|second|third) (?:item|task|entry|checkbox)\b.*", said)
        holders = [each for each in page.walk() if each.kind == "list"]
        if ordinal and len(holders) == 1:
            number = ("first", "second", "third").index(ordinal[1])
            seen = [each for each in holders[0].children if each.get("hidden") is None]
            assert seen[number].id in item.response.split()[1].rstrip(":").split(","), item.prompt
            by_position += 1
    assert by_position > 5


def test_commands_about_what_is_missing_name_no_component():
    missing = TASKS["ui_edit_missing"]
    for seed in range(60):
        item = missing.generate(seed)
        shown, _, said = item.prompt.rpartition("\n> ")
        assert missing.check(item, "refuse: not on this screen")
        assert not missing.check(item, "set a dark")
        for component in parse(shown).walk():
            label = component.text or (component.cells[0] if component.kind == "record" else "")
            assert not label or f" {label.casefold()} " not in f" {said.casefold()} ", item.prompt


def test_phrases_are_found_by_text_position_and_kind():
    find = TASKS["ui_find"]
    texts_seen = positions = cells = 0
    for seed in range(120):
        item = find.generate(seed)
        page = parse(item.prompt.rpartition("\n? ")[0])
        slots = {component.id: component for component in page.walk()}
        assert find.check(item, item.response)
        for line in item.response.split("\n"):
            if condition := re.fullmatch(r"(.+) ([a-z]+\[(.+)\])", line):
                cells += 1
                phrase, selector, cell = condition.groups()
                assert cell in phrase
                found = select(page, selector)
                assert found
                assert len({each.cells.index(cell) for each in found}) == 1
                continue
            phrase, _, slot = line.rpartition(" ")
            assert phrase in item.prompt
            component = slots[slot]
            texts_seen += phrase.strip('"').casefold() == says(component).casefold()
            positions += "first" in phrase and component.kind in ("item", "checkbox", "record")
    assert texts_seen > 120
    assert positions > 5
    assert cells > 25


def drawn_about(shown: str, count: int, *, unseen_wording: bool = False) -> list[Command]:
    random = Random(3)
    domain = draw_domain(random, held_out=False)
    page = parse(shown)
    return [draw_command_about(page, domain, random, unseen_wording=unseen_wording) for _ in range(count)]


def test_a_cell_alone_names_records_only_where_one_column_has_it():
    shown = "a page\n b table: Name | Vegan | Paid\n  c record: Soup | yes | no\n  d record: Stew | no | no"
    drawn = [each for unseen in (False, True) for each in drawn_about(shown, 1500, unseen_wording=unseen)]
    found = [each for each in drawn if each.intent in ("mark_cell", "delete_cell")]
    assert any("[yes]" in each.program for each in found)
    for each in found:
        assert ("[yes]" in each.program) == ("vegan" not in each.sentence.casefold() and "yes" in each.program)
        assert "[no]" not in each.program
        if "| no]" in each.program:
            column = each.program.partition("[")[2].partition(" ")[0]
            assert column.casefold() in each.sentence.casefold()


def test_what_says_to_toggle_changes_what_is():
    lines = [line.replace("{ref}", "Moving") for line in texts()["toggles"]["bold"].strip().split("\n")]
    for shown in ("", " bold"):
        found = drawn_about(f"a page\n b text{shown}: Moving\n c button: Go", 6000)
        said = [plain(each.sentence) for each in found if " b bold" in each.program]
        assert any(line in sentence for line in lines for sentence in said)


@pytest.mark.parametrize(("name", "count"), [("ui_screen_written", 80), ("ui_edit_written", 200)])
def test_written_items_are_right_by_their_own_task(name: str, count: int):
    task = TASKS[name]
    found = items(task, "test", seed=0, count=1000)
    assert len(found) == count
    assert all(task.check(item, item.response) for item in found)


def test_no_written_item_is_an_example():
    about = {of_screen[0].page for of_screen in examples.edits()} | {each.sentence for each in examples.screens()}
    for name in ("ui_screen_written", "ui_edit_written"):
        for item in items(TASKS[name], "test", seed=0, count=1000):
            assert item.prompt.removeprefix("screen: ").rpartition("\n> ")[0] not in about
            assert item.prompt.removeprefix("screen: ") not in about


def test_examples_fit_their_screens():
    assert sum(map(len, examples.edits())) > 500
    assert len(examples.screens()) > 80
    for of_screen in examples.edits():
        page = parse(of_screen[0].page)
        assert to_text(page) == of_screen[0].page
        for example in of_screen:
            assert is_refusal(example.response) or execute(page, example.response) != page, example
    for example in examples.screens():
        assert is_refusal(example.response) or to_text(parse(example.response), ids=False) == example.response


def test_examples_on_screens_that_cannot_be_shown_are_not_sound():
    for cell, is_sound in (("Milk jug", True), ("Keep some pie bracelet", False)):
        page = f"a page\n b table: What | Who\n  c record: {cell} | Abel"
        assert examples._is_sound(examples.Example(page, "sell it", "refuse: a screen cannot do that")) == is_sound


def test_varied_examples_have_the_same_new_label_everywhere(monkeypatch: pytest.MonkeyPatch):
    block = "a page: Shop\n b list\n  c checkbox: Oat milk\n  d checkbox: Milk\n  e checkbox: Wash the car\n> {}"
    said = {"and call milk Cream": "text d: Cream", "buy Soap, no oat milk": "add last b checkbox: Soap\ndel c"}
    blocks = "\n\n".join(block.format("\n".join(pair)) for pair in said.items())
    monkeypatch.setattr(examples, "_blocks", lambda: blocks.split("\n\n"))
    examples.edits.cache_clear()
    seen = set()
    for seed in range(200):
        example = examples.draw_edit_example(Random(seed))
        page, sentence = parse(example.page), plain(example.sentence)
        oat, milk, wash = list(page.walk())[2:]
        assert wash.text == "Wash the car" or wash.text not in sentence
        if "del c" in example.response:
            assert oat.text.casefold() in sentence.casefold()
        else:
            assert f"call {milk.text}".casefold() in sentence.casefold()
        new = re.findall("(?m): (.+)$", example.response)
        assert all(text.casefold() in sentence.casefold() for text in new)
        seen |= {oat.text, milk.text, *new}
    assert len(seen) > 50
    examples.edits.cache_clear()


def test_varied_columns_and_cells_are_the_same_everywhere(monkeypatch: pytest.MonkeyPatch):
    page = "a page\n b table: Crew | Shift\n  c record: Ada | 12\n  d record: Bo | 40"
    said = "the shift of Ada is 40 now, then sort by shift, and that is all for the crew"
    block = f"{page}\n> {said}\ncell c Shift | 40\nsort b down Crew"
    monkeypatch.setattr(examples, "_blocks", lambda: [block])
    examples.edits.cache_clear()
    seen = set()
    for seed in range(100):
        example = examples.draw_edit_example(Random(seed))
        table = list(parse(example.page).walk())[1]
        assert table.cells[1] == "Shift", "it is said twice"
        crew, number = table.cells[0], re.findall(r"\| (\d+)$", example.response, re.MULTILINE)[0]
        assert example.response.split("\n")[:2] == [f"cell c Shift | {number}", f"sort b down {crew}"]
        assert f"the {crew}".casefold() in plain(example.sentence).casefold()
        assert f" is {number} now" in plain(example.sentence)
        seen |= {crew, number}
    assert len(seen) > 50
    examples.edits.cache_clear()


def test_example_tasks_are_varied_and_right_by_their_own_check():
    for name in ("ui_screen_examples", "ui_edit_examples"):
        found = [TASKS[name].generate(seed) for seed in range(200)]
        assert all(TASKS[name].check(item, item.response) for item in found)
        assert len({item.prompt for item in found}) > 190


def test_it_is_the_component_of_the_command_before():
    found = 0
    for seed in range(300):
        command = draw_commands(Random(seed))
        first, second = (line.split()[1].rstrip(":") for line in command.program.split("\n")[:2])
        if re.search(r"\bit\b", plain(command.sentence)) and first == second:
            found += 1
    assert found > 20


def test_a_command_that_was_carried_out_before_names_what_it_sets():
    num_found = 0
    for seed in range(1500):
        example = examples.draw_edit_example(Random(seed))
        page, sentence = parse(example.page), plain(example.sentence).casefold()
        if is_refusal(example.response) or execute(page, example.response) != page:
            continue
        num_found += 1
        for line in example.response.split("\n"):
            operation, slots, _ = line.split(" ")
            named = [each for each in page.walk() if each.id in slots.split(",")]
            assert operation in ("set", "clear")
            assert all(says(each).casefold() in sentence for each in named)
    assert 15 < num_found < 150


def test_positions_count_what_is_visible():
    page = parse("a page\n b list\n  c item hidden: Ant\n  d item: Bee\n  e item: Cow\n  f item hidden: Dog")
    entries = page.children[0].children
    ant, bee, cow, dog = ({refer(page, each, Random(seed)) for seed in range(200)} for each in entries)
    assert {"the first", "number 1"} <= bee - ant
    assert {"the last", "the second"} <= cow - dog
    assert not any("third" in phrase or "3" in phrase for phrase in (ant | bee | cow | dog) - {None})
