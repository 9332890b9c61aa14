"""Dataclasses that are put together when they are first used, with little to compile.

The standard library compiles up to six methods of a class, 0.3 to 0.9 ms in all: most of what importing the
package took, and a tenth of a small command, for the classes that it uses. A class of values takes
:func:`dataclass` from here. It behaves like the one of the standard library, which is asked for its fields;
of its methods only ``__init__`` is compiled, and the others are closures over the names of the fields.
"""

from __future__ import annotations

import dataclasses
import reprlib
import threading
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    Made = TypeVar("Made", bound=type)
    _making = threading.RLock()
    _WAITING = ("__init__", "__setstate__", "__signature__", "__dataclass_fields__")

    def dataclass(cls: Made | None = None, **options: bool) -> Any:
        """Do what :func:`dataclasses.dataclass` does, at the first instance or question about the fields.

        Args:
            cls: The class, where the decorator stands without options.
            options: Those of :func:`dataclasses.dataclass`, without ``slots``, which need another class.

        Example:
            >>> @dataclass(frozen=True)
            ... class Point:
            ...     x: int
            >>> "__eq__" in vars(Point), Point(1) == Point(1), "__eq__" in vars(Point)
            (False, True, True)
        """
        return _later(cls, options) if cls is not None else lambda given: _later(given, options)

    def _later(cls: Made, options: dict[str, bool]) -> Made:
        """Leave on the class what makes it whole when it is asked for."""
        if not vars(cls).keys().isdisjoint(_WAITING):  # its instances would not come through here
            return dataclasses.dataclass(**options)(cls)
        pending = set(_WAITING)

        def make() -> None:
            with _making:
                if pending:
                    for name in pending:
                        delattr(cls, name)
                    pending.clear()
                    _finish(cls, options)

        def __init__(self: Any, *given: Any, **named: Any) -> None:
            make()
            cls.__init__(self, *given, **named)

        def __setstate__(self: Any, state: dict[str, Any]) -> None:
            make()
            self.__dict__.update(state)

        found = {"__init__": __init__, "__setstate__": __setstate__}
        for name in pending:
            setattr(cls, name, found.get(name) or _Made(name, make))
        return cls

    class _Made:
        """An attribute of a class that only the finished class has."""

        def __init__(self, name: str, make: Any) -> None:
            self._name, self._make = name, make

        def __get__(self, instance: object, owner: type) -> Any:
            self._make()
            return getattr(owner, self._name)

    _OPTIONS = {"frozen", "kw_only"}
    _OWN = {"__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"}

    class _Factory:
        """Stands for a value that its field makes anew each time."""

        def __repr__(self) -> str:
            return "<factory>"

    _ABSENT = _Factory()

    def _finish(cls: type, options: dict[str, bool]) -> None:
        """Put a class together: the standard library finds the fields, and its methods are made here."""
        if not _is_light(cls, options):
            dataclasses.dataclass(**options)(cls)
            return
        frozen = options.get("frozen", False)
        named = {"kw_only": options.get("kw_only", False)}
        dataclasses.dataclass(init=False, repr=False, eq=False, **named)(cls)
        methods = [_init(cls, frozen), _repr(cls), _eq(cls), *(_frozen(cls) if frozen else ())]
        for method in [*methods, *([_hash(cls)] if frozen else [])]:
            method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
            setattr(cls, method.__name__, method)
        if not frozen:
            cls.__hash__ = None
        told = cls.__dataclass_params__  # a class that extends this one must be frozen alike
        told.init = told.repr = told.eq = True
        told.frozen = frozen

    def _is_light(cls: type, options: dict[str, bool]) -> bool:
        """Tell whether a class extends no other one, and has ordinary fields alone and no method of these."""
        annotations = map(str, vars(cls).get("__annotations__", {}).values())
        if not options.keys() <= _OPTIONS or not vars(cls).keys().isdisjoint(_OWN):
            return False
        if any("ClassVar" in text or "InitVar" in text for text in annotations):
            return False
        return not any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:])

    def _init(cls: type, frozen: bool) -> Any:
        """Compile ``__init__``, the one method that has the fields as its parameters."""
        known: dict[str, Any] = {"__lazy_set": object.__setattr__, "__lazy_absent": _ABSENT}
        parameters: dict[bool, list[str]] = {False: [], True: ["*"]}
        lines = []
        fields = dataclasses.fields(cls)
        for field in fields:
            value, default = field.name, f"__lazy_{field.name}"
            if field.default_factory is not dataclasses.MISSING:
                known[default] = field.default_factory
                given = f" if {value} is __lazy_absent else {value}" if field.init else ""
                value, default = f"{default}(){given}", "__lazy_absent"
            elif field.default is not dataclasses.MISSING:
                known[default] = field.default
            else:
                default = ""
            if field.init:
                parameters[field.kw_only].append(field.name + (f"={default}" if default else ""))
            if field.init or field.default_factory is not dataclasses.MISSING:
                place = f"__lazy_set(self, {field.name!r}, {value})"
                lines.append(place if frozen else f"self.{field.name} = {value}")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        listed = ["self", *parameters[False], *(parameters[True] if len(parameters[True]) > 1 else [])]
        exec(f"def __init__({', '.join(listed)}):\n " + "\n ".join(lines or ["pass"]), known)
        made = known["__init__"]
        made.__annotations__ = {field.name: field.type for field in fields if field.init} | {"return": None}
        return made

    def _values(names: list[str]) -> Any:
        """Give what reads some fields of an instance, as a tuple."""
        if len(names) > 1:
            return attrgetter(*names)
        return lambda instance: tuple(getattr(instance, name) for name in names)

    def _repr(cls: type) -> Any:
        names = [field.name for field in dataclasses.fields(cls) if field.repr]

        @reprlib.recursive_repr()
        def __repr__(self: Any) -> str:
            shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{self.__class__.__qualname__}({shown})"

        return __repr__

    def _eq(cls: type) -> Any:
        values = _values([field.name for field in dataclasses.fields(cls) if field.compare])

        def __eq__(self: Any, other: object) -> Any:
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        return __eq__

    def _hash(cls: type) -> Any:
        fields = dataclasses.fields(cls)
        values = _values([each.name for each in fields if (each.compare if each.hash is None else each.hash)])

        def __hash__(self: Any) -> int:
            return hash(values(self))

        return __hash__

    def _frozen(cls: type) -> tuple[Any, Any]:
        """Give the methods that refuse to change a field."""
        names = {field.name for field in dataclasses.fields(cls)}

        def refuse(instance: Any, name: str, what: str) -> None:
            if type(instance) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot {what} field {name!r}")

        def __setattr__(self: Any, name: str, value: Any) -> None:
            refuse(self, name, "assign to")
            super(cls, self).__setattr__(name, value)

        def __delattr__(self: Any, name: str) -> None:
            refuse(self, name, "delete")
            super(cls, self).__delattr__(name)

        return __setattr__, __delattr__
