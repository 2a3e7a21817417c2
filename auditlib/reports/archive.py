"""The evidence package as a file: a zip whose every byte follows from its contents, and the check of one.

Files stand uncompressed, in the order of their names, with one fixed date. So the same contents give the same bytes
on every machine (compression would depend on the library), and a single byte changed anywhere shows.
"""

from __future__ import annotations

import re
import stat
import zlib
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from auditlib.core import AuditError
from auditlib.documents.archives import open_archive, read_entry, refuse_unsafe_name
from auditlib.documents.names import display_name
from auditlib.documents.refusals import bomb, damaged, too_large

MANIFEST = "MANIFEST.sha256"
LARGEST_BYTES = 512 * 2**20
KIND = "an evidence package"

_DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can say
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LINE = re.compile(r"([0-9a-f]{64})  ([A-Za-z0-9][A-Za-z0-9._-]*)")
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06")


def pack(files: dict[str, bytes]) -> bytes:
    """The zip of `files` by name, and of a manifest that names the SHA-256 of each."""
    for name in files:
        if not _NAME.fullmatch(name) or name == MANIFEST:
            raise ValueError(f"{name!r} cannot stand in an evidence package")
    return _zipped(files | {MANIFEST: manifest(files)})


def manifest(files: dict[str, bytes]) -> bytes:
    """One line a file, in the order of names, as `sha256sum --check` reads it."""
    return "".join(f"{sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()


def unpack(package: Path) -> dict[str, bytes]:
    """Every file of a package by name; nothing is written to disk, and the manifest is not compared.

    Raises `AuditError` for a file that is no package, is damaged, or was made to do harm.
    """
    files, broken = _entries(package)
    if broken:
        raise damaged(f"{package.name}/{broken[0]}", KIND)
    if MANIFEST not in files:
        raise _no_package(package)
    return files


def verify(package: Path) -> list[str]:
    """What is wrong with the package, a sentence each; empty where every byte is as it was made.

    Raises `AuditError` where the file is no package, cannot be read, or was made to do harm. That a package verifies
    says that nothing changed since its manifest was written, not who wrote it: compare `fingerprint` for that.
    """
    files, broken = _entries(package)
    problems = [f"“{name}” was changed: its bytes do not have the checksum that the archive names." for name in broken]
    if MANIFEST in broken:
        return problems
    if MANIFEST not in files:
        raise _no_package(package)
    listed, wrong_lines = _listed(files[MANIFEST])
    problems += wrong_lines
    found = {name: data for name, data in files.items() if name != MANIFEST}
    for name in sorted(listed.keys() - found.keys() - set(broken)):
        problems.append(f"“{name}” is missing.")
    for name in sorted(found.keys() - listed.keys()):
        problems.append(f"“{name}” was added: the manifest does not name it.")
    for name in sorted(found.keys() & listed.keys()):
        if sha256(found[name]).hexdigest() != listed[name]:
            problems.append(f"“{name}” was changed: it does not have the SHA-256 that the manifest names.")
    if not problems and (files[MANIFEST] != manifest(found) or _read(package) != _zipped(files)):
        problems.append(
            "The files are as the manifest names them, but the package around them is not as it was made: it was "
            "packed anew, or bytes between the files were changed."
        )
    return problems


def fingerprint(package: Path) -> str:
    """SHA-256 of the package's manifest: noted elsewhere (in a memo, say), it ties all files down."""
    files, _ = _entries(package)
    if MANIFEST not in files:
        raise _no_package(package)
    return sha256(files[MANIFEST]).hexdigest()


def _entries(package: Path) -> tuple[dict[str, bytes], list[str]]:
    """Files by name, and the names of those whose bytes do not have the checksum that the archive names."""
    name = package.name
    archive = open_archive(_read(package), name, KIND)
    files: dict[str, bytes] = {}
    broken: list[str] = []
    for entry in archive.infolist():
        shown = f"{name}/{display_name(entry.filename)}"
        refuse_unsafe_name(entry, name)
        if entry.filename in files or entry.filename in broken:
            raise bomb(name, f"holds “{display_name(entry.filename)}” twice, so nobody can say which is meant")
        if not _NAME.fullmatch(entry.filename):
            raise AuditError(
                f"“{shown}” is nothing that an evidence package holds: it has no folders and only plain names.",
                "Bring the package as it was made.",
            )
        try:
            data = read_entry(archive, entry, shown, KIND, LARGEST_BYTES)
        except AuditError as error:
            if not isinstance(error.__cause__, BadZipFile | zlib.error):
                raise
            broken.append(entry.filename)
            continue
        if data.startswith(_ZIP_STARTS):
            raise AuditError(f"“{shown}” is an archive inside the package.", "Bring the package as it was made.")
        files[entry.filename] = data
    return files, broken


def _no_package(package: Path) -> AuditError:
    return AuditError(
        f"“{display_name(package.name)}” is not an evidence package: it has no {MANIFEST}.",
        "Choose a file that “Download evidence package” gave.",
    )


def _zipped(files: dict[str, bytes]) -> bytes:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for name in sorted(files, key=lambda name: (name == MANIFEST, name)):
            entry = ZipInfo(name, _DATE)
            entry.create_system = 3  # the same on every machine
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return target.getvalue()


def _listed(text: bytes) -> tuple[dict[str, str], list[str]]:
    """SHA-256 by name as the manifest has them, and what is wrong with its lines."""
    listed: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in listed or match[2] == MANIFEST:
            problems.append(f"Line {number} of the manifest is not one that this program writes.")
        else:
            listed[match[2]] = match[1]
    return listed, problems


def _read(package: Path) -> bytes:
    try:
        size = package.stat().st_size
        if size > LARGEST_BYTES:
            raise too_large(package.name, size, LARGEST_BYTES)
        return package.read_bytes()
    except OSError as error:
        raise AuditError(
            f"“{display_name(str(package))}” cannot be read ({error.strerror or error}).", "Check its name and place."
        ) from error
