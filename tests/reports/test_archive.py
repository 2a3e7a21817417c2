"""A package verifies as it was made, and not when one byte of it differs."""

from __future__ import annotations

import stat
import warnings
from collections.abc import Callable
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
from typer.testing import CliRunner

from auditlib.cli import app
from auditlib.core import AuditError
from auditlib.reports.archive import MANIFEST, fingerprint, manifest, pack, unpack, verify

FILES = {"report.html": b"<!doctype html>", "run.json": b"{}\n", "scores.csv": b"a,b\n1,2\n"}
Write = Callable[[bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(data: bytes) -> Path:
        path = tmp_path / "package.zip"
        path.write_bytes(data)
        return path

    return to


def zipped(files: list[tuple[str | ZipInfo, bytes]], compression: int = ZIP_DEFLATED) -> bytes:
    """As somebody else's program would pack them, in the order given."""
    target = BytesIO()
    with warnings.catch_warnings(), ZipFile(target, "w", compression) as archive:
        warnings.simplefilter("ignore")  # that a name is there twice is meant
        for name, data in files:
            archive.writestr(name, data)
    return target.getvalue()


def with_manifest(files: dict[str, bytes]) -> list[tuple[str | ZipInfo, bytes]]:
    return [*files.items(), (MANIFEST, manifest(files))]


def test_a_package_verifies_as_it_was_made(write: Write) -> None:
    path = write(pack(FILES))
    assert verify(path) == []
    assert unpack(path) == FILES | {MANIFEST: manifest(FILES)}


def test_the_same_files_give_the_same_bytes_in_whatever_order() -> None:
    assert pack(FILES) == pack(dict(reversed(FILES.items())))


def test_the_manifest_is_one_that_sha256sum_reads() -> None:
    digest = sha256(FILES["run.json"]).hexdigest()
    assert f"{digest}  run.json\n" in manifest(FILES).decode()


def test_every_single_byte_that_is_altered_shows(write: Write) -> None:
    package = pack(FILES)
    unseen = []
    for place in range(len(package)):
        altered = bytearray(package)
        altered[place] ^= 0x01
        try:
            if not verify(write(bytes(altered))):
                unseen.append(place)
        except AuditError:
            pass
    assert unseen == []


def test_an_altered_file_is_named(write: Write) -> None:
    package = pack(FILES)
    problems = verify(write(package.replace(b"1,2\n", b"1,3\n")))
    assert len(problems) == 1
    assert "scores.csv" in problems[0]


def test_a_file_that_was_replaced_with_a_checksum_that_fits_is_named(write: Write) -> None:
    listed = manifest(FILES)
    problems = verify(write(zipped([*(FILES | {"run.json": b"[]\n"}).items(), (MANIFEST, listed)])))
    assert problems == ["“run.json” was changed: it does not have the SHA-256 that the manifest names."]


def test_missing_and_added_files_are_named(write: Write) -> None:
    others = {name: data for name, data in FILES.items() if name != "run.json"} | {"more.txt": b"more"}
    problems = verify(write(zipped([*others.items(), (MANIFEST, manifest(FILES))])))
    assert problems == ["“run.json” is missing.", "“more.txt” was added: the manifest does not name it."]


def test_a_package_that_was_packed_anew_is_told_from_the_one_that_was_made(write: Write) -> None:
    (problem,) = verify(write(zipped(with_manifest(FILES))))
    assert "packed anew" in problem


@pytest.mark.parametrize(
    "line", ["nonsense", f"{'0' * 64}  ../outside", f"{'0' * 64}  {MANIFEST}", f"{'0' * 64} one-space"]
)
def test_a_manifest_with_lines_of_its_own_is_told(line: str, write: Write) -> None:
    listed = manifest(FILES) + f"{line}\n".encode()
    assert "Line 4 of the manifest" in verify(write(zipped([*FILES.items(), (MANIFEST, listed)])))[0]


def link(name: str) -> ZipInfo:
    entry = ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([("../outside.txt", b"x")], "points outside"),
        ([("/etc/passwd", b"x")], "points outside"),
        ([("C:\\outside.txt", b"x")], "points outside"),
        ([("folder/file.txt", b"x")], "no folders"),
        ([("folder/", b"")], "no folders"),
        ([("<b>.txt", b"x")], "plain names"),
        ([(link("run.json"), b"/etc/passwd")], "it is a link"),
        ([("run.json", b"1"), ("run.json", b"2")], "twice"),
        ([("inner.bin", zipped([("a", b"b")]))], "archive inside"),
        ([("zeros.csv", bytes(64 * 2**20))], "zip bomb"),
        ([("run.json", b"{}")], f"has no {MANIFEST}"),
    ],
)
def test_what_no_package_holds_is_refused(files: list[tuple[str | ZipInfo, bytes]], said: str, write: Write) -> None:
    with pytest.raises(AuditError, match=said):
        verify(write(zipped(files)))


def test_a_package_beyond_all_sizes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.zip"
    with path.open("wb") as file:
        file.truncate(600 * 2**20)  # takes no room on disk
    with pytest.raises(AuditError, match="600 MiB"):
        verify(path)


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04" + bytes(40)])
def test_a_file_that_is_no_package_is_refused_in_a_sentence(data: bytes, write: Write) -> None:
    with pytest.raises(AuditError, match="cannot be read as an evidence package"):
        verify(write(data))


def test_a_file_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be read"):
        verify(tmp_path / "absent.zip")


@pytest.mark.parametrize("name", ["../x", "a/b", "", MANIFEST, ".hidden"])
def test_a_name_that_could_not_be_verified_cannot_be_packed(name: str) -> None:
    with pytest.raises(ValueError, match="cannot stand"):
        pack({name: b"x"})


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["verify", *(str(a) for a in arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_the_fingerprint_of_a_sound_package(write: Write) -> None:
    path = write(pack(FILES))
    code, out, err = run(path)
    assert code == 0
    assert out.split()[0] == fingerprint(path) == sha256(manifest(FILES)).hexdigest()
    assert "Every file is as it was" in err


def test_the_command_names_what_was_changed_and_exits_with_1(write: Write) -> None:
    code, _, err = run(write(pack(FILES).replace(b"1,2\n", b"1,3\n")))
    assert code == 1
    assert "scores.csv" in err


def test_the_command_holds_a_package_against_a_fingerprint_noted_elsewhere(write: Write) -> None:
    path = write(pack(FILES))
    assert run(path, "--fingerprint", fingerprint(path))[0] == 0
    code, _, err = run(write(pack(FILES | {"run.json": b"[]"})), "--fingerprint", fingerprint(path)[::-1])
    assert code == 1
    assert "its manifest is another" in err


def test_the_command_says_in_a_sentence_what_is_no_package(write: Write) -> None:
    code, _, err = run(write(b"not a zip"))
    assert code == 2
    assert "Stopped:" in err
