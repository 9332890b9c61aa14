"""The privacy models, one module each; whatever module stands in this folder is a form of the language."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ppdm_sql.privacy.requirement import Requirement


@cache
def models() -> tuple[type[Requirement], ...]:
    """Find the models, those that open with a word of their own first.

    Example:
        >>> [model.__name__ for model in models() if model.reads_anything]
        ['Template']
    """
    modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
    found = [
        model for module in modules for model in vars(module).values() if _is_model(model, module.__name__)
    ]
    return tuple(sorted(found, key=lambda model: model.reads_anything))


def _is_model(found: object, module: str) -> bool:
    return inspect.isclass(found) and issubclass(found, Requirement) and found.__module__ == module
