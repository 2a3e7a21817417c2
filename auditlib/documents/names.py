"""File names and titles as they may be shown: a name is a stranger's text like any other."""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 120  # characters

_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")

# Characters with a meaning in HTML or Markdown become ones that look alike and have none.
_LOOKALIKES = str.maketrans(
    {"<": "‹", ">": "›", "[": "(", "]": ")", "*": "∗", "`": "'", "$": "＄", "|": "¦", "\\": "∖", "&": "＆"}
)


def display_name(name: str) -> str:
    """`name` on one line, without control characters, text-direction tricks or markup.

    At most 120 characters; the middle of a longer one is left out. An empty name becomes "unnamed".
    """
    # Category C is control, format (direction overrides among them), surrogate, private and unassigned.
    visible = "".join(
        " " if character.isspace() else character
        for character in name[: 100 * LONGEST_NAME]
        if character.isspace() or not unicodedata.category(character).startswith("C")
    )
    plain = re.sub(r" +", " ", visible).strip().translate(_LOOKALIKES)
    if len(plain) > LONGEST_NAME:
        half = (LONGEST_NAME - 1) // 2
        plain = f"{plain[:half]}…{plain[-half:]}"
    return plain or "unnamed"


def suffix_of(name: str) -> str:
    """The ending of a file name with its dot, in lower case; empty where it has none."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1].rstrip()
    stem, dot, ending = last.rpartition(".")
    return f".{ending.lower()}" if dot and stem else ""


def title_from(name: str) -> str:
    """A title for a file that has none inside: its name without folder and ending."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    ending = suffix_of(last)
    return display_name(last.rstrip()[: -len(ending)] if ending else last)


def year_of(text: str) -> int | None:
    """The first year from 1000 to 2099 in `text` ("1851", "c. 1920", "2004-05-01"); None where there is none."""
    found = _YEAR.search(text[: 100 * LONGEST_NAME])
    return int(found[0]) if found else None
