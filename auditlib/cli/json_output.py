"""Results as JSON: dataclasses, arrays and numbers as what any reader of JSON knows."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np


def to_json(value: Any) -> str:
    """Indented JSON with finite numbers only: what is infinite or not a number becomes null."""
    return json.dumps(plain_value(value), indent=2, ensure_ascii=False, allow_nan=False)


def plain_value(value: Any) -> Any:
    """`value` in dicts, lists, strings, finite numbers, booleans and None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain_value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain_value(value._asdict())
    if isinstance(value, dict):
        return {str(key): plain_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain_value(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
