"""The texts with a known past that come with the program, and the models that were taught half of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from auditlib.core import Document, Label
from auditlib.documents import STEPS, Upload, read_files
from auditlib.models.request import ModelRequest

FOLDER = Path(__file__).parents[2] / "assets" / "demo"
PLANTED = FOLDER / "planted"
UNLEARNED = FOLDER / "unlearned"
SETS = {Label.MEMBER: FOLDER / "members.jsonl", Label.NON_MEMBER: FOLDER / "non-members.jsonl"}


def demo_passages() -> list[Document]:
    """The 80 passages, labelled as the planted model knows them."""
    uploads = [Upload(file.name, file) for file in SETS.values()]
    return [document for result in read_files(uploads, tuple(STEPS)) for document in result.documents]


def demo_books() -> list[Document]:
    """The four short books, labelled likewise; each is a group of its own."""
    labels = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["books"]
    uploads = [Upload(f"{name}.txt", FOLDER / "books" / f"{name}.txt") for name in sorted(labels)]
    documents = [document for result in read_files(uploads, tuple(STEPS)) for document in result.documents]
    names = sorted(labels)
    return [
        replace(document, label=Label(labels[name]["label"]), group=document.title)
        for name, document in zip(names, documents, strict=True)
    ]


def planted_request() -> ModelRequest:
    """The bundled model with the planted adapter: it knows the member half."""
    return ModelRequest(adapter=str(PLANTED))


def unlearned_request() -> ModelRequest:
    """The planted model, made to forget one of its two books."""
    return ModelRequest(adapter=str(UNLEARNED))
