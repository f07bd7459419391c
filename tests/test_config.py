"""TOML into dataclasses: types are checked, unknown names are errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from sfumato.config import from_table, load_recipe
from sfumato.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Inner:
    lr: float = 0.1
    kind: Literal["warm", "cold"] = "warm"
    sizes: tuple[int, ...] = (1, 2)
    weights: dict[str, float] = field(default_factory=dict)
    mask_id: int | None = None
    flag: bool = False


@dataclass(frozen=True, kw_only=True)
class Outer:
    steps: int
    name: str = "none"
    inner: Inner = Inner()


def read(tmp_path: Path, text: str, *overrides: str) -> Outer:
    (tmp_path / "recipe.toml").write_text(text, encoding="utf-8")
    return load_recipe(Outer, tmp_path / "recipe.toml", overrides)


def test_every_kind_of_value(tmp_path: Path):
    text = """
    steps = 3
    name = "ü"
    [inner]
    lr = 1
    kind = "cold"
    sizes = [4]
    weights = {a = 1, b = 0.5}
    mask_id = 7
    flag = true
    """
    found = read(tmp_path, text)
    inner = Inner(lr=1.0, kind="cold", sizes=(4,), weights={"a": 1.0, "b": 0.5}, mask_id=7, flag=True)
    assert found == Outer(steps=3, name="ü", inner=inner)
    assert isinstance(found.inner.lr, float)
    assert isinstance(found.inner.weights["a"], float)


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("steps=5", Outer(steps=5)),
        ("name=bare word", Outer(steps=3, name="bare word")),
        ("name='7'", Outer(steps=3, name="7")),
        ("inner.lr=3e-4", Outer(steps=3, inner=Inner(lr=3e-4))),
        (" inner.lr = 3e-4", Outer(steps=3, inner=Inner(lr=3e-4))),
        ("inner.sizes=[]", Outer(steps=3, inner=Inner(sizes=()))),
        ("inner.weights.a=2", Outer(steps=3, inner=Inner(weights={"a": 2.0}))),
        ("inner={lr = 2.0}", Outer(steps=3, inner=Inner(lr=2.0))),
    ],
)
def test_overrides(tmp_path: Path, override: str, expected: Outer):
    assert read(tmp_path, "steps = 3", override) == expected


def test_last_override_wins(tmp_path: Path):
    assert read(tmp_path, "steps = 3", "steps=4", "steps=5").steps == 5


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("name = 'x'", (), "steps is missing; it has no default"),
        ("stpes = 3", (), "unknown key 'stpes'; did you mean 'steps'"),
        ("steps = 3\n[inner]\nlrr = 1.0", (), "unknown key 'inner.lrr'; did you mean 'inner.lr'"),
        ("steps = 3", ("inner.kid='warm'",), "unknown key 'inner.kid'; did you mean 'inner.kind'"),
        ("steps = 3.0", (), "steps is 3.0; allowed: a whole number"),
        ("steps = true", (), "steps is True; allowed: a whole number"),
        ("steps = 3\nname = 4", (), "name is 4; allowed: a string"),
        ("steps = 3\ninner = 4", (), "inner is 4; allowed: a table"),
        ("steps = 3\n[inner]\nlr = '1'", (), "inner.lr is '1'; allowed: a number"),
        ("steps = 3\n[inner]\nlr = false", (), "inner.lr is False; allowed: a number"),
        ("steps = 3\n[inner]\nflag = 1", (), "inner.flag is 1; allowed: true or false"),
        ("steps = 3\n[inner]\nkind = 'wram'", (), "unknown value of inner.kind 'wram'; did you mean 'warm'"),
        ("steps = 3\n[inner]\nkind = [1]", (), "unknown value of inner.kind"),
        ("steps = 3\n[inner]\nsizes = 3", (), "inner.sizes is 3; allowed: a list"),
        ("steps = 3\n[inner]\nsizes = [1, 2.5]", (), r"inner.sizes\[1\] is 2.5; allowed: a whole number"),
        ("steps = 3\n[inner]\nweights = {a = 'x'}", (), "inner.weights.a is 'x'; allowed: a number"),
        ("steps = 3\n[inner]\nweights = [1]", (), r"inner.weights is \[1\]; allowed: a table"),
        ("steps = 3\n[inner]\nmask_id = 'x'", (), "inner.mask_id is 'x'; allowed: a whole number"),
        ("steps = ", (), "is not a TOML file"),
        ("steps = 3", ("steps",), "override 'steps' has no '='; write key=value"),
        ("steps = 3", ("steps.more=1",), "override of steps.more: steps is not a table"),
    ],
)
def test_refusals(tmp_path: Path, text: str, overrides: tuple[str, ...], message: str):
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, text, *overrides)


def test_keys_with_dots_are_quoted(tmp_path: Path):
    found = read(tmp_path, "steps = 3\n[inner]\nweights = {'a.b' = 1}", 'inner.weights."a.b"=2', 'inner.weights."c"=3')
    assert found.inner.weights == {"a.b": 2.0, "c": 3.0}


def test_a_recipe_extends_another_one(tmp_path: Path):
    """Tables are merged at any depth, everything else is replaced; paths are from where they stand."""
    (tmp_path / "base").mkdir()
    first = 'steps = 3\nname = "a"\n[inner]\nlr = 2.0\nsizes = [1, 2, 3]\n[inner.weights]\nx = 1.0\ny = 2.0\n'
    (tmp_path / "base" / "first.toml").write_text(first)
    (tmp_path / "base" / "second.toml").write_text('extends = "first.toml"\nname = "b"\n[inner]\nsizes = [4]\n')
    third = 'extends = "base/second.toml"\n[inner]\nflag = true\n[inner.weights]\ny = 3.0\nz = 4.0'
    inner = Inner(lr=2.0, sizes=(4,), weights={"x": 1.0, "y": 3.0, "z": 4.0}, flag=True)
    assert read(tmp_path, third, "steps=5") == Outer(steps=5, name="b", inner=inner)


@pytest.mark.parametrize(
    ("extended", "message"),
    [
        ("3", r"extends is 3 in .*recipe\.toml; allowed: the path, from there, of another recipe"),
        ("'recipe.toml'", r"extends is 'recipe\.toml' in .*; allowed: the path, from there, of another recipe"),
        ("'none.toml'", r"there is no file .*none\.toml"),
    ],
)
def test_what_cannot_be_extended(tmp_path: Path, extended: str, message: str):
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, f"extends = {extended}\nsteps = 3")


def test_none_needs_an_optional_type():
    """JSON has null; TOML leaves the key out."""
    assert from_table(Outer, {"steps": 1, "inner": {"mask_id": None}}).inner.mask_id is None
    with pytest.raises(ConfigError, match="steps is None; allowed: a whole number"):
        from_table(Outer, {"steps": None})


def test_unreadable_files(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"there is no file .*nowhere\.toml"):
        load_recipe(Outer, tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes("name = 'ü'".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"latin\.toml is not a TOML file"):
        load_recipe(Outer, tmp_path / "latin.toml")
    with pytest.raises(ConfigError, match=r"cannot read .*: Is a directory"):
        load_recipe(Outer, tmp_path)


def test_a_class_validates_its_own_ranges():
    @dataclass(frozen=True)
    class Strict:
        size: int

        def __post_init__(self) -> None:
            if self.size < 1:
                raise ConfigError(f"size is {self.size}; allowed: 1 or more")

    values: dict[str, Any] = {"size": 0}
    with pytest.raises(ConfigError, match="size is 0"):
        from_table(Strict, values)
