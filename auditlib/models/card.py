"""What a model's publishers say of it in its card: shown as their words, never taken for facts about its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from huggingface_hub import metadata_load

from auditlib.models.failures import explained

CARD = "README.md"
LARGEST_CARD_BYTES = 1 << 20
LONGEST_VALUE = 200
MOST_VALUES = 20


@dataclass(frozen=True)
class ModelCard:
    """The front matter of a card. Strangers' text: short, printable, and to be shown as text only."""

    licence: tuple[str, ...] = ()
    base_model: tuple[str, ...] = ()
    training_data: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    problem: str = ""


def read_card(folder: Path) -> ModelCard:
    """The card in a model folder; an empty one where there is none, one with a problem where it cannot be read."""
    file = folder / CARD
    try:
        if not file.is_file():
            return ModelCard()
        if file.stat().st_size > LARGEST_CARD_BYTES:
            return ModelCard(problem="The model card is too large to be read.")
        with explained("The model card cannot be read"):
            said = metadata_load(file)
    except Exception:
        # Whatever is wrong with a card, the model can be used without.
        return ModelCard(problem="The model card cannot be read.")
    if not isinstance(said, dict):
        return ModelCard()
    return ModelCard(
        licence=_texts(said.get("license_name") or said.get("license")),
        base_model=_texts(said.get("base_model")),
        training_data=_texts(said.get("datasets")),
        languages=_texts(said.get("language")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    plain = [str(one) for one in values[:MOST_VALUES] if isinstance(one, str | int | float)]
    shown = ["".join(c for c in one if c.isprintable()).strip()[:LONGEST_VALUE] for one in plain]
    return tuple(one for one in shown if one)
