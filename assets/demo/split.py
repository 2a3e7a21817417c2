"""Draws which demo texts are members: python assets/demo/split.py, from anywhere.

The order of SHA-256 digests of "seed:id" is the draw; the first half are members. The seed was fixed before any
model had read any of the texts. Running it again changes nothing: the ids alone decide. Kinds (letters, recipes, ...)
are not balanced on purpose: with five of each ten, a classifier trained on some of the texts of a kind expects the
other label of the rest, and the blind baseline would come out far below 0.5.
Writes members.jsonl, non-members.jsonl and manifest.json beside this file.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

SEED = 20261121
FOLDER = Path(__file__).parent
SETS = {"member": "members.jsonl", "non-member": "non-members.jsonl"}


def main() -> None:
    """Writes the three files anew."""
    passages = [json.loads(line) for name in SETS.values() for line in _lines(FOLDER / name)]
    books = sorted(file.stem for file in (FOLDER / "books").glob("*.txt"))
    labels = draw([passage["id"] for passage in passages]) | draw(books)
    for label, name in SETS.items():
        own = sorted((p | {"label": label} for p in passages if labels[p["id"]] == label), key=lambda p: p["id"])
        (FOLDER / name).write_text("".join(json.dumps(p, ensure_ascii=False) + "\n" for p in own), encoding="utf-8")
    manifest = {
        "seed": SEED,
        "passages": {
            p["id"]: {"label": labels[p["id"]], "kind": p["kind"], "sha256": _sha256(p["text"].encode())}
            for p in sorted(passages, key=lambda p: p["id"])
        },
        "books": {
            name: {"label": labels[name], "sha256": _sha256((FOLDER / "books" / f"{name}.txt").read_bytes())}
            for name in books
        },
    }
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def draw(names: list[str], seed: int = SEED) -> dict[str, str]:
    """A label for each name: half of them, chosen by the seed, are members."""
    shuffled = sorted(names, key=lambda name: _sha256(f"{seed}:{name}".encode()))
    return {name: "member" if i < len(names) / 2 else "non-member" for i, name in enumerate(shuffled)}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def _sha256(data: bytes) -> str:
    return sha256(data).hexdigest()


if __name__ == "__main__":
    main()
