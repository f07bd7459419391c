import re

import pytest

import sfumato
from sfumato.data.kinds import PromptKind
from sfumato.data.tasks import find_task, items
from sfumato.errors import ConfigError
from sfumato.ui import execute, is_refusal, parse
from sfumato.ui.grammar import pattern_for, program_pattern

PAGE = """a page: Crew
 b list
  c checkbox on: Call Ada
  d checkbox hidden: Pay the rent
 e table: Who | Shift
  f record: Ada | early
  g record: Bo | late
 h slider 40: Volume
 i button disabled: Send"""


def fits(sentence: str, program: str) -> bool:
    return re.fullmatch(program_pattern(parse(PAGE), sentence), program) is not None


FITTING = """set d on
clear c on
set h 75
set c,d red
set b* red
clear b+on on
only b-on
del b*
only e[Shift | late]
set e[Who | Ada] marked
cell f Shift | late
head e Shift | Time
drop e Who
sort e down Shift
sort b down name
column e Time | -
text a: the Crew
text i: Time
clear i disabled
add last b checkbox: Time
add before c checkbox on red: Ada
add last e record: Time | late
add after h text bold: Time
move d first b
move e before b
swap c d
copy b
set a dark
set d on; del f
copy h; text j: Time; set j 5
refuse: not on this screen"""
UNFIT = """set c on
clear d on
clear c marked
set h loud
set b red
set z red
clear i hidden
only b+marked
only e[Shift | noon]
cell f Time | late
cell c Shift | late
drop e Time
sort e up name
sort b up Who
text b
text c: Nonsense
text c: Tim
add last b button: Time
add last c text: Time
add last e record: Time
set d on;
refuse: I am tired
swap c e
move c first e
"""


@pytest.mark.parametrize("program", FITTING.replace("; ", ";").split("\n"))
def test_programs_that_change_the_page_fit(program: str):
    program = program.replace(";", "\n")
    assert fits("the Time", program)
    assert is_refusal(program) or execute(parse(PAGE), program) != parse(PAGE)


@pytest.mark.parametrize("program", UNFIT.replace("; ", ";").split("\n"))
def test_programs_that_do_not_fit_or_change_nothing_do_not(program: str):
    assert not fits("the Time", program.replace(";", "\n"))


def test_words_of_the_sentence_may_lose_what_surrounds_them():
    assert fits('call it "Bo\'s shift", please!', "text a: Bo's shift")
    assert fits("add Bo's car.", "add last b checkbox: Bo car")
    assert fits("it is five now", "cell f Shift | 5")


@pytest.mark.parametrize("name", ["ui_edit", "ui_edit_several", "ui_edit_domains", "ui_edit_examples"])
def test_what_tasks_want_fits(name: str):
    asked = items(find_task(name), "test", 0, 60)
    kept = [re.fullmatch(pattern_for(item.prompt) or "", item.response) is not None for item in asked]
    assert sum(kept) >= 0.9 * len(kept)


def test_model_writes_what_fits_whatever_is_asked():
    model = sfumato.load("ui")
    for seed, sentence in enumerate(("make it sing", "xyzzy", "everything", "Ada Ada Ada", "no", "sell the Crew")):
        program = model.generate(f"{PAGE}\n> {sentence}", seed=seed, temperature=1.5).text
        assert fits(sentence, program), (sentence, program)
    chosen = model.generate(f"{PAGE}\n> tick the second", choices=["set b red", "nonsense"]).text
    assert chosen in ("set b red", "nonsense"), "a constraint of one's own comes first"


def test_prompt_without_a_page_is_answered_freely():
    assert pattern_for("a page\n b lamp\n> hide it") is None
    model = sfumato.load("ui")
    assert isinstance(model.generate("a page\n b lamp\n> hide it").text, str)


def test_kind_names_a_known_grammar():
    with pytest.raises(ConfigError, match="answers of prompt kind 'x' is 'poems'; allowed: 'ui_program'"):
        PromptKind(name="x", description="", example="x", pattern="x", answers="poems")
