"""Dataclasses that are put together when they are first used.

Putting one together compiles its methods, 0.3 to 0.6 ms each: most of what importing the package took, for
classes of which a run uses a third. A class of values takes :func:`dataclass` from here; it is the one of the
standard library in all but the moment.
"""

from __future__ import annotations

import dataclasses
import threading
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
                    dataclasses.dataclass(**options)(cls)

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
