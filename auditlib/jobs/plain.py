"""Frozen dataclasses as plain JSON values and back, every number the same: how parameters and results are kept."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

Value = TypeVar("Value")
# JSON has no word for these, and strict readers refuse Python's.
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any) -> Any:
    """Dataclasses and named tuples as objects, arrays and tuples as lists; numbers that are not finite as words."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_plain(part) for name, part in value._asdict().items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): to_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = sorted(value) if isinstance(value, set | frozenset) else value
        return [to_plain(part) for part in parts]
    if isinstance(value, np.ndarray | np.generic):
        return to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def from_plain(kind: type[Value], value: Any) -> Value:
    """What `to_plain` was given, where that was of type `kind`. Raises `ValueError` naming what does not fit."""
    read: Value = _read(kind, value, kind.__name__)
    return read


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _first_that_fits(of, value, where)
    if origin is Literal:
        return _checked(value, value in of, where)
    if origin is np.ndarray:
        (dtype,) = get_args(of[1])
        return np.array([_NOT_FINITE.get(v, v) if isinstance(v, str) else v for v in _list(value, where)], dtype=dtype)
    if origin in (tuple, frozenset):
        every = origin is frozenset or (len(of) == 2 and of[1] is Ellipsis)
        parts = _list(value, where)
        kinds = [of[0]] * len(parts) if every else of
        _checked(value, len(parts) == len(kinds), where)
        return origin(_read(kinds[place], part, f"{where}[{place}]") for place, part in enumerate(parts))
    if origin is dict:
        _checked(value, isinstance(value, dict), where)
        return {_key(of[0], key): _read(of[1], part, f"{where}.{key}") for key, part in value.items()}
    return _read_class(kind, value, where)


def _read_class(kind: Any, value: Any, where: str) -> Any:
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        _checked(value, isinstance(value, dict) and set(value) <= set(hints), where)
        try:
            return kind(**{name: _read(hints[name], part, f"{where}.{name}") for name, part in value.items()})
        except TypeError as error:  # a field is missing
            raise ValueError(f"{where}: {error}") from error
    if kind is Any:
        return value
    if kind is NoneType:
        return _checked(value, value is None, where)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(_checked(value, value in [one.value for one in kind], where))
    if kind is float:
        if isinstance(value, str) and value in _NOT_FINITE:
            return _NOT_FINITE[value]
        return float(_checked(value, isinstance(value, int | float) and not isinstance(value, bool), where))
    if kind is int:
        return _checked(value, isinstance(value, int) and not isinstance(value, bool), where)
    return _checked(value, isinstance(value, kind), where)


def _first_that_fits(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    problems = []
    for kind in kinds:
        try:
            return _read(kind, value, where)
        except ValueError as error:
            problems.append(str(error))
    raise ValueError(problems[0])


def _key(kind: Any, key: str) -> Any:
    return float(key) if kind is float else key


def _list(value: Any, where: str) -> list[Any]:
    checked: list[Any] = _checked(value, isinstance(value, list | tuple), where)
    return checked


def _checked(value: Any, holds: bool, where: str) -> Any:
    if not holds:
        raise ValueError(f"{where} cannot be {str(value)[:60]!r}")
    return value
