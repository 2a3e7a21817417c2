"""Zip containers, opened with suspicion: EPUB, DOCX and .zip all pass through here.

Nothing is ever unpacked to disk, so a name that climbs out of its folder can do no harm here; it is refused
all the same, because an archive that has one was made to harm somebody.
"""

from __future__ import annotations

import lzma
import stat
import zlib
from io import BytesIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from auditlib.core import AuditError
from auditlib.documents import limits
from auditlib.documents.names import display_name
from auditlib.documents.refusals import bomb, damaged, too_large

# All that zipfile and its decompressors raise on broken input.
_DAMAGE = (
    BadZipFile,
    EOFError,
    IndexError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    zlib.error,
)


def open_archive(data: bytes, name: str, kind: str) -> ZipFile:
    """The archive, its promises checked: not too many entries and not too much text once unpacked.

    zipfile never unpacks more of an entry than the archive promises, so the promises are the limit. `kind`
    says with its article what the file should be. Raises `AuditError`.
    """
    try:
        archive = ZipFile(BytesIO(data))
        entries = archive.infolist()
    except _DAMAGE as error:
        raise damaged(name, kind) from error
    if len(entries) > limits.ARCHIVE_ENTRIES:
        raise bomb(name, f"holds {len(entries):,} files, more than the {limits.ARCHIVE_ENTRIES:,} allowed")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.ARCHIVE_BYTES:
        raise bomb(name, f"would unpack to {unpacked / limits.MEBIBYTE:,.0f} MiB (a “zip bomb”)")
    return archive


def read_entry(archive: ZipFile, entry: ZipInfo, name: str, kind: str, most: int = limits.ENTRY_BYTES) -> bytes:
    """One entry, unpacked. `name` is what an error calls it, `kind` what the file should be."""
    if entry.flag_bits & 0x1:
        raise AuditError(f"“{name}” is locked with a password.", "Unlock it and bring it again.")
    if entry.file_size > limits.BOMB_FLOOR_BYTES and entry.file_size > limits.BOMB_RATIO * entry.compress_size:
        raise bomb(name, f"would swell to {entry.file_size / limits.MEBIBYTE:,.0f} MiB (a “zip bomb”)")
    if entry.file_size > most:
        raise too_large(name, entry.file_size, most)
    try:
        return archive.read(entry)
    except _DAMAGE as error:
        raise damaged(name, kind) from error


def find_entry(archive: ZipFile, path: str) -> ZipInfo | None:
    """The entry at `path`, or None."""
    try:
        return archive.getinfo(path)
    except KeyError:
        return None


def container_kind(archive: ZipFile) -> str:
    """What a zip container is by its parts: "epub", "docx", "office" (another Office file) or "zip"."""
    names = set(archive.namelist())
    if "META-INF/container.xml" in names:
        return "epub"
    if "word/document.xml" in names:
        return "docx"
    if "[Content_Types].xml" in names or "content.xml" in names:
        return "office"
    return "zip"


def is_clutter(entry: ZipInfo) -> bool:
    """Folders, and what operating systems leave in archives without being asked."""
    parts = entry.filename.replace("\\", "/").split("/")
    return entry.is_dir() or parts[0] == "__MACOSX" or parts[-1].startswith(".")


def refuse_unsafe_name(entry: ZipInfo, archive_name: str) -> None:
    """Raises `AuditError` for an entry that points out of the archive or is a link."""
    path = entry.filename.replace("\\", "/")
    shown = f"{archive_name}/{display_name(entry.filename)}"
    if path.startswith("/") or path[1:2] == ":" or ".." in path.split("/"):
        raise AuditError(
            f"“{shown}” was not read: its name points outside the archive.",
            "Do not unpack this archive yourself; ask its sender for a clean one.",
        )
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise AuditError(
            f"“{shown}” was not read: it is a link to another file, not a file.",
            "Put the file itself into the archive.",
        )
