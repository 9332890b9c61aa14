"""A dataclass that waits for its first use is, from then on, the one of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
from typing import ClassVar

import pytest

from ppdm_sql.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Point:
    """Pickled by name, so it stands at the top."""

    x: int
    y: int = 0


def waits(kind: type) -> bool:
    return not isinstance(vars(kind).get("__dataclass_fields__"), dict)


def a_class() -> type:
    @dataclass(frozen=True)
    class Line:
        length: int
        marks: list[int] = dataclasses.field(default_factory=list)

    return Line


def test_nothing_is_made_before_the_first_instance() -> None:
    line = a_class()
    assert waits(line)
    made = line(2)
    assert not waits(line)
    assert made == line(2, []) != line(3)
    assert repr(made).endswith("Line(length=2, marks=[])")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.length = 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda kind: [one.name for one in dataclasses.fields(kind)] == ["length", "marks"],
        dataclasses.is_dataclass,
        lambda kind: list(inspect.signature(kind).parameters) == ["length", "marks"],
    ],
    ids=["fields", "is_dataclass", "signature"],
)
def test_a_question_about_the_fields_is_answered(ask) -> None:
    line = a_class()
    assert waits(line)
    assert ask(line)


def test_values_that_were_not_made_by_calling_the_class_are_whole() -> None:
    state = pickle.dumps(Point(1, 2))

    @dataclass(frozen=True)
    class Again:
        x: int
        y: int = 0

    other = object.__new__(Again)
    other.__setstate__({"x": 1, "y": 2})
    assert other == Again(1, 2)
    assert hash(other) == hash(Again(1, 2))
    assert pickle.loads(state) == copy.copy(Point(1, 2)) == Point(1, 2)


def test_a_subclass_has_the_fields_of_both() -> None:
    base = a_class()

    @dataclass(frozen=True, kw_only=True)
    class Named(base):
        name: str = "a"

    assert waits(base)
    assert [one.name for one in dataclasses.fields(Named(1, name="b"))] == ["length", "marks", "name"]
    assert not waits(base)


def test_a_subclass_that_is_no_dataclass_calls_what_it_inherits() -> None:
    class Long(a_class()):
        def __init__(self) -> None:
            super().__init__(9)

    assert Long().length == 9


def test_what_the_class_defines_itself_stays() -> None:
    @dataclass
    class Own:
        size: int

        def __init__(self) -> None:
            self.size = 5

        def __post_init__(self) -> None:
            raise AssertionError("the class has an __init__ of its own")

    assert Own().size == 5
    assert Own() == Own()
    assert [one.name for one in dataclasses.fields(Own)] == ["size"]


def test_what_follows_the_values_is_run() -> None:
    @dataclass
    class Positive:
        size: int

        def __post_init__(self) -> None:
            if self.size < 1:
                raise ValueError("none")

    with pytest.raises(ValueError, match="none"):
        Positive(0)
    assert dataclasses.replace(Positive(1), size=2) == Positive(2)


def test_threads_that_come_at_once_get_the_same_class() -> None:
    line, found, ready = a_class(), [], threading.Barrier(8)

    def ask() -> None:
        ready.wait()
        found.append(line(1))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(repr, found))) == 1
    assert len(found) == 8


def test_wrong_arguments_are_told_as_by_any_class() -> None:
    with pytest.raises(TypeError, match="length"):
        a_class()()


def as_in_the_library(kind, frozen: bool, **options: bool) -> tuple[type, type]:
    """Make a class twice: here, and by the standard library."""
    options["frozen"] = frozen
    return dataclass(**options)(kind()), dataclasses.dataclass(**options)(kind())


def of_many_fields() -> type:
    class Kind:
        """Has fields of all sorts."""

        first: int
        second: str = "b"
        aside: list[int] = dataclasses.field(default_factory=list, compare=False)
        hidden: int = dataclasses.field(default=3, repr=False, hash=False)
        counted: list[int] = dataclasses.field(init=False, default_factory=list, compare=False)
        last: int = dataclasses.field(default=4, kw_only=True)

        def __post_init__(self) -> None:
            self.counted.append(self.first)

    return Kind


def of_one_field() -> type:
    class Kind:
        """Has one field."""

        only: int

    return Kind


def of_none() -> type:
    class Kind:
        """Has no field."""

    return Kind


def of_more_than_fields() -> type:
    class Kind:
        """Has what is no field, too."""

        shared: ClassVar[int] = 5
        made: dataclasses.InitVar[int]
        kept: int = 0

        def __post_init__(self, made: int) -> None:
            object.__setattr__(self, "kept", made)

    return Kind


@pytest.mark.parametrize("frozen", [False, True], ids=["changing", "frozen"])
@pytest.mark.parametrize(
    ("kind", "given", "named"),
    [
        (of_many_fields, [(1,), (2,), (1, "c"), (1, "b", [7]), (1, "b", [], 9)], {"last": 8}),
        (of_one_field, [(1,), (2,)], {}),
        (of_none, [()], {}),
        (of_more_than_fields, [(1,), (2,)], {}),
    ],
)
def test_a_class_behaves_as_in_the_library(kind, given, named, frozen: bool) -> None:
    ours, theirs = as_in_the_library(kind, frozen)
    mine, known = ([made(*each, **more) for each in given for more in ({}, named)] for made in (ours, theirs))
    assert [repr(one) for one in mine] == [repr(one) for one in known]
    assert [[a == b for a in mine] for b in mine] == [[a == b for a in known] for b in known]
    assert mine[0] != known[0] and mine[0].__eq__(3) is NotImplemented
    assert [dataclasses.astuple(one) for one in mine] == [dataclasses.astuple(one) for one in known]
    assert [vars(one) for one in mine] == [vars(one) for one in known]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    if frozen:
        assert [hash(one) for one in mine] == [hash(one) for one in known]
    for one in (mine[0], known[0]):
        assert (one.__hash__ is None) is not frozen
        for name in ("only", "first", "other"):
            for change in (lambda one, name: setattr(one, name, 1), delattr):
                if frozen:
                    with pytest.raises(dataclasses.FrozenInstanceError, match=f"field '{name}'"):
                        change(one, name)


def test_a_frozen_class_that_is_extended_refuses_its_own_fields_alone() -> None:
    class Longer(a_class()):
        pass

    line = Longer(2)
    line.other = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'length'"):
        line.length = 3
    del line.other
    assert vars(line) == {"length": 2, "marks": []}


def test_a_value_that_holds_itself_is_shown() -> None:
    line = a_class()(1)
    line.marks.append(line)
    assert repr(line).endswith("marks=[...])")
