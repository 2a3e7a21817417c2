"""The evidence package holds what somebody else needs, and no text that was not ticked."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from io import BytesIO, StringIO
from pathlib import Path

import pandas as pd
import pytest

from auditlib.audits.saved_calibration import from_json
from auditlib.audits.sets import score_table
from auditlib.core import AuditError
from auditlib.reports.archive import MANIFEST, unpack, verify
from auditlib.reports.browser import find_browser
from auditlib.reports.calibration_package import calibration_evidence
from auditlib.reports.package import Evidence, Package, make_package, spreadsheet_csv
from tests.reports.builders import COMMAND, calibration_facts, read_sets


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return calibration_evidence(calibration_facts(), read_sets())


@pytest.fixture(scope="module")
def package(evidence: Evidence) -> Package:
    return make_package(evidence, with_pdf=False)


@pytest.fixture
def files(package: Package, tmp_path: Path) -> dict[str, bytes]:
    path = tmp_path / "package.zip"
    path.write_bytes(package.data)
    assert verify(path) == []
    return unpack(path)


def test_it_holds_all_that_is_promised(files: dict[str, bytes]) -> None:
    assert set(files) == {
        "README.txt",
        "report.html",
        "scores.csv",
        "scores.parquet",
        "parameters.json",
        "calibration.json",
        "inputs.json",
        "versions.json",
        "run.json",
        MANIFEST,
    }


def test_the_same_run_gives_the_same_bytes(evidence: Evidence, package: Package) -> None:
    again = calibration_evidence(calibration_facts(), read_sets())
    assert make_package(again, with_pdf=False).data == package.data


def test_tables_hold_every_score_exactly(files: dict[str, bytes]) -> None:
    expected = score_table(read_sets(), 20.0)
    table = pd.read_parquet(BytesIO(files["scores.parquet"]))
    pd.testing.assert_frame_equal(table, expected)
    of_csv = pd.read_csv(BytesIO(files["scores.csv"]))
    pd.testing.assert_frame_equal(of_csv, expected, check_dtype=False, check_exact=False, rtol=1e-15)


def test_the_calibration_in_it_can_be_imported(files: dict[str, bytes]) -> None:
    calibration = from_json(files["calibration.json"])
    assert (calibration.score, len(calibration.members)) == ("min_k", 40)


def test_the_run_says_what_a_rerun_needs_and_compares(files: dict[str, bytes]) -> None:
    run = json.loads(files["run.json"])
    assert run["kind"] == "calibration"
    assert run["seed"] == 0
    assert run["command"] == COMMAND
    assert run["identities"]["target"]["weights_sha256"] == "a1" * 32
    assert run["parameters"]["k"] == 20
    assert run["numbers"]["min_k.auc"] == calibration_facts().result.findings.auc.estimate


def test_no_text_is_in_it_unless_ticked(evidence: Evidence, files: dict[str, bytes], tmp_path: Path) -> None:
    text = read_sets().sets.texts[0]
    assert not [name for name, data in files.items() if text[:40].encode() in data]
    assert all("text" not in one for one in json.loads(files["inputs.json"]))
    ticked = calibration_evidence(calibration_facts(), read_sets(), with_texts=True)
    path = tmp_path / "ticked.zip"
    path.write_bytes(make_package(ticked, with_pdf=False).data)
    texts = [json.loads(line)["text"] for line in unpack(path)["texts.jsonl"].decode().splitlines()]
    assert texts == read_sets().sets.texts


def test_the_readme_says_how_to_check_and_repeat(files: dict[str, bytes]) -> None:
    readme = files["README.txt"].decode()
    assert "python -m auditlib verify" in readme
    assert "sha256sum --check MANIFEST.sha256" in readme
    assert COMMAND in readme


def test_a_title_cannot_add_lines_to_the_readme(evidence: Evidence, tmp_path: Path) -> None:
    hostile = replace(evidence, report=replace(evidence.report, title="A\nHOW TO CHECK\n\nrun evil.exe\u202e"))
    path = tmp_path / "package.zip"
    path.write_bytes(make_package(hostile, with_pdf=False).data)
    assert "\nA HOW TO CHECK run evil.exe\n" in unpack(path)["README.txt"].decode()


def test_where_there_is_no_browser_the_package_says_why_it_has_no_pdf(evidence: Evidence, tmp_path: Path) -> None:
    made = make_package(evidence, browser=tmp_path / "no-such-browser")
    assert "AUDIT_BROWSER" in made.without_pdf
    path = tmp_path / "package.zip"
    path.write_bytes(made.data)
    files = unpack(path)
    assert "report.pdf" not in files
    assert "There is no report.pdf" in files["README.txt"].decode()


@pytest.mark.browser
def test_with_a_browser_the_pdf_is_in_it_and_the_bytes_are_the_same_again(evidence: Evidence, tmp_path: Path) -> None:
    try:
        find_browser()
    except AuditError:
        pytest.skip("there is no Chromium on this machine")
    made = make_package(evidence)
    path = tmp_path / "package.zip"
    path.write_bytes(made.data)
    assert (verify(path), made.without_pdf) == ([], "")
    assert unpack(path)["report.pdf"].startswith(b"%PDF-")
    assert make_package(evidence) == made


@pytest.mark.parametrize(
    "value", ["=1+1", "+1", "-1+cmd", "@SUM(A1)", "\t=1", "\r=1", "＝1", '"=1"', " =1", "a,=b", "a\n=b"]
)
def test_no_cell_can_be_taken_for_a_formula(value: str) -> None:
    data = spreadsheet_csv(pd.DataFrame({"group": [value, "plain"], "score": [1.5, -2.0]}))
    rows = list(csv.reader(StringIO(data.decode("utf-8-sig"), newline="")))
    assert rows[1][0].startswith('"')
    assert json.loads(rows[1][0]) == value
    assert rows[2] == ['"plain"', "-2.0"]  # numbers stay numbers


def test_harmless_columns_stay_as_they_are() -> None:
    table = pd.DataFrame({"label": ["non-member", None], "group": ["Work no. 1", "2"]})
    assert spreadsheet_csv(table).decode("utf-8-sig") == "label,group\nnon-member,Work no. 1\n,2\n"
