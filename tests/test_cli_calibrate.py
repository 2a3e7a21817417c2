"""`calibrate` and `place`: known truth is found, what is printed is what was computed, and what is wrong is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from auditlib.audits.saved_calibration import from_json
from auditlib.cli import app
from auditlib.core import Settings
from auditlib.evidence import LIMITS
from auditlib.models.local import LocalModel
from auditlib.models.planting import Lesson, PlantSettings, plant
from auditlib.models.request import ModelRequest
from auditlib.scoring import SCORES, Companion
from tests.planted import made_up, trained_folder

N = 30  # texts of each set


def run(*arguments: object, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner(env={"COLUMNS": "400"}).invoke(app, [str(a) for a in arguments], input=text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, " ".join(result.stderr.split())


@pytest.fixture(scope="module")
def place_of(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and both sets; the label in the files is the wrong one, as the option decides."""
    folder = tmp_path_factory.mktemp("calibrate")
    trained_folder(folder / "model")
    for name, start, label in (("members", 0, "non-member"), ("others", 100, "")):
        rows = [json.dumps({"text": made_up(start + i), "label": label}) + "\n" for i in range(N)]
        (folder / f"{name}.jsonl").write_text("".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def adapter(place_of: Path) -> Path:
    """The model, taught the members."""
    lessons = [Lesson(f"text {i}", made_up(i), 25) for i in range(N)]
    how = PlantSettings(rank=16, alpha=32, learning_rate=1e-2)
    request = ModelRequest(str(place_of / "model"), dtype="float32")
    plant(request, lessons, place_of / "adapter", Settings(home=place_of), how)
    return place_of / "adapter"


def sets(folder: Path) -> list[object]:
    return ["--members", folder / "members.jsonl", "--non-members", folder / "others.jsonl"]


def with_model(folder: Path) -> list[object]:
    return [*sets(folder), "--model", folder / "model"]


@pytest.fixture(scope="module")
def planted(place_of: Path, adapter: Path) -> dict[str, Any]:
    """What the planted model's calibration prints as JSON; saved and tabled besides."""
    code, out, err = run(
        "calibrate",
        *with_model(place_of),
        "--adapter",
        adapter,
        "--json",
        "--save",
        place_of / "planted.json",
        "--table",
        place_of / "planted.csv",
    )
    assert code == 0, err
    found: dict[str, Any] = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return found


@pytest.fixture(scope="module")
def bare(place_of: Path) -> str:
    """The same of the model that was taught none of the texts, as printed."""
    code, out, err = run("calibrate", *with_model(place_of), "--json")
    assert code == 0, err  # whatever the verdict
    return out


def test_planted_model_is_supported_and_the_bare_one_is_not(planted: dict[str, Any], bare: str) -> None:
    assert planted["verdict"]["word"] == "supported"
    assert planted["methods"]["min_k"]["auc"]["low"] > 0.8
    assert json.loads(bare)["verdict"]["word"] != "supported"
    assert json.loads(bare)["methods"]["min_k"]["auc"]["low"] < 0.5


def test_json_has_every_score_with_its_intervals_and_the_reasons_of_its_verdict(planted: dict[str, Any]) -> None:
    assert set(planted["methods"]) == {n for n, score in SCORES.items() if score.reads <= {Companion.LOWERCASED}}
    for method in planted["methods"].values():
        for name in ("auc", "accuracy", "words_alone", "difference"):
            assert method[name]["low"] <= method[name]["estimate"] <= method[name]["high"]
        assert isinstance(method["threshold"], float)
        assert method["tpr_at_fpr"]["0.01"] is None
        assert "cannot be resolved" in method["unresolved"]["0.01"]
        assert all(set(reason) == {"holds", "sentence"} for reason in method["verdict"]["reasons"])
        assert method["verdict"]["limits"] == LIMITS
    assert len(planted["k_sweep"]["auc_by_k"]) == len(planted["k_sweep"]["ks"])


def test_json_says_which_model_which_texts_and_which_settings(planted: dict[str, Any], adapter: Path) -> None:
    assert planted["model"]["name"] == "model + adapter"
    assert len(planted["model"]["adapter"]) == 64
    assert planted["sets"]["members"]["snippets"] == planted["sets"]["non-members"]["snippets"] == N
    assert planted["sets"]["members"]["sha256"] != planted["sets"]["non-members"]["sha256"]
    assert planted["settings"] == {
        "k": 20.0,
        "alpha": 0.05,
        "rule": "accuracy",
        "seed": 0,
        "cut": "whole",
        "clean": False,
    }
    assert planted["versions"]["pretraining-audit"]


def test_label_in_a_file_gives_way_to_the_option_it_came_under(planted: dict[str, Any], place_of: Path) -> None:
    table = pd.read_csv(place_of / "planted.csv")
    members = table[table["label"] == "member"]
    assert len(members) == N
    assert members["group"].str.contains("members.jsonl, row").all()


def test_table_has_the_scores_that_the_numbers_come_from(planted: dict[str, Any], place_of: Path) -> None:
    table = pd.read_csv(place_of / "planted.csv")
    assert len(table) == 2 * N
    own, others = (table.loc[table["label"] == label, "zlib"].to_numpy() for label in ("member", "non-member"))
    pairs = np.mean(own[:, None] > others[None, :])
    assert planted["methods"]["zlib"]["auc"]["estimate"] == pytest.approx(pairs)


def test_what_is_printed_gives_the_verdict_first_then_its_reasons_and_limits(
    planted: dict[str, Any], place_of: Path, adapter: Path
) -> None:
    code, out, _ = run("calibrate", *with_model(place_of), "--adapter", adapter, "--score", "loss")
    assert code == 0
    assert out.startswith("Supported. By Loss, the members are more like the texts that model + adapter was trained on")
    assert out.count("✓") == len(planted["methods"]["loss"]["verdict"]["reasons"])
    assert LIMITS in out
    for definition in SCORES.values():
        assert definition.label in out
    auc = planted["methods"]["min_k"]["auc"]
    assert f"{auc['estimate']:.2f}" in out
    assert f"{auc['low']:.2f} to {auc['high']:.2f}" in out
    for said in ("AUC of Min-K% by k: 5%", "Lengths in words", f"{N} texts from {N} works", "No TPR at 1%"):
        assert said in out
    for identity in (planted["model"]["weights_sha256"], planted["model"]["adapter"]):
        assert identity[:16] in out
    for never in ("proof", "guilty", "stolen", "nan"):
        assert never not in out.lower()


def test_same_inputs_print_the_same_in_another_data_folder(
    bare: str, place_of: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_HOME", str(tmp_path / "another home"))
    code, out, err = run("calibrate", *with_model(place_of), "--json")
    assert (code, out) == (0, bare)
    assert "had been read" not in err


def test_at_another_k_no_text_passes_through_the_model(
    bare: str, place_of: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a text was read again")

    monkeypatch.setattr(LocalModel, "token_stats", refuse)
    code, out, err = run("calibrate", *with_model(place_of), "--json", "--k", 40)
    assert code == 0, err
    assert f"{2 * N} of {2 * N} texts had been read by this model before" in err
    assert out != bare


def test_what_was_read_before_an_interruption_is_not_read_again(
    bare: str, place_of: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_HOME", str(tmp_path / "interrupted"))
    read, batches = LocalModel.token_stats, []

    def stopped(model: LocalModel, texts: list[str], *rest: Any, **more: Any) -> Any:
        if batches:  # the texts as they stand; in lower case they are read after that
            raise KeyboardInterrupt
        batches.append(len(texts))
        return read(model, texts, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(LocalModel, "token_stats", stopped)
        assert run("calibrate", *with_model(place_of), "--json")[0] != 0
    code, out, err = run("calibrate", *with_model(place_of), "--json")
    assert code == 0, err
    assert f"{sum(batches)} of {2 * N} texts had been read" in err
    assert json.loads(out)["verdict"] == json.loads(bare)["verdict"]


def test_texts_are_cut_as_asked_and_what_is_left_over_is_said(place_of: Path, tmp_path: Path) -> None:
    for name, start in (("members", 0), ("others", 50)):
        (tmp_path / name).mkdir()
        for i in range(6):
            (tmp_path / name / f"{i}.txt").write_text(made_up(start + i, 65), encoding="utf-8")
        (tmp_path / name / "short.txt").write_text(made_up(start + 9, 12), encoding="utf-8")
    options = ["--members", tmp_path / "members", "--non-members", tmp_path / "others", "--model", place_of / "model"]
    code, out, err = run("calibrate", *options, "--cut", "sample", "--words", 20, "--snippets", 2, "--json")
    assert code == 0, err
    found = json.loads(out)
    # files of one name in both folders are two works
    assert found["sets"]["members"]["snippets"] == 12
    assert found["sets"]["members"]["groups"] == found["sets"]["non-members"]["groups"] == 6
    assert found["methods"]["min_k"]["auc"]["method"] == "grouped bootstrap"
    assert found["settings"] | {"cut": "sample", "words": 20, "snippets": 2} == found["settings"]
    assert sum("“short" in note for note in found["notes"]) == 2
    tiled = json.loads(run("calibrate", *options, "--cut", "tile", "--words", 20, "--json")[1])
    assert tiled["sets"]["members"]["snippets"] == 18


def test_options_may_be_repeated_and_an_unreadable_file_in_a_folder_is_noted(place_of: Path, tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"{i}.txt").write_text(made_up(300 + i), encoding="utf-8")
    (tmp_path / "program.exe").write_bytes(b"MZ" + bytes(99))
    more = ["--members", tmp_path, "--members", place_of / "members.jsonl"]
    code, out, err = run("calibrate", *with_model(place_of)[2:], *more, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["sets"]["members"]["snippets"] == N + 6
    assert any(note.startswith("Not read:") and "program.exe" in note for note in found["notes"])


def test_text_in_both_sets_is_left_out_and_noted(place_of: Path, tmp_path: Path) -> None:
    (tmp_path / "both.txt").write_text(made_up(3), encoding="utf-8")
    code, out, _ = run("calibrate", *with_model(place_of), "--non-members", tmp_path / "both.txt", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["sets"]["members"]["snippets"] == N - 1
    assert found["sets"]["non-members"]["snippets"] == N
    assert any("share passages" in note for note in found["notes"])


def test_three_non_members_are_told_to_be_too_few(place_of: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.jsonl"
    few.write_text("".join(json.dumps({"text": made_up(700 + i)}) + "\n" for i in range(3)), encoding="utf-8")
    options = ["--members", place_of / "members.jsonl", "--non-members", few, "--model", place_of / "model"]
    code, out, _ = run("calibrate", *options, "--rule", "0.01")
    assert code == 0
    assert out.startswith("Inconclusive. The test could not tell")
    assert "No threshold: A false-positive rate of 0.01 cannot be resolved" in out
    assert "No sweep over k" in out
    json.loads(run("calibrate", *options, "--rule", "0.01", "--json")[1])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--k", "0"], "k is a percentage"),
        (["--alpha", "2"], "--alpha"),
        (["--rule", "best"], "A threshold is chosen by"),
        (["--rule", "0"], "A threshold is chosen by"),
        (["--score", "teapot"], "There is no score 'teapot'"),
        (["--cut", "teapot"], "teapot"),
        (["--members", "/no/such/file.txt"], "file.txt"),
        (["--model", "/no/such/folder"], "There is no model folder"),
        (["--adapter", "/no/such/folder"], "There is no adapter folder"),
        (["--save", "/no/such/place/c.json"], "There is no folder to write"),
        (["--save", "."], "is a folder"),
        (["--table", "scores.docx"], "table of an unknown kind"),
        (["--table", "/no/such/place/t.csv"], "There is no folder to write"),
        (["--name", "mine"], "nothing to save under it"),
        (["--cut", "truncate", "--words", "5000"], "There are no members"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(options: list[str], said: str, place_of: Path) -> None:
    given = sets(place_of) if "--model" in options else with_model(place_of)
    code, out, err = run("calibrate", *given, *options)
    assert code == 2
    assert said in err
    assert out == ""
    assert "Traceback" not in err


def test_empty_and_equal_sets_are_refused_before_a_model_is_asked_for(place_of: Path, tmp_path: Path) -> None:
    empty, one = tmp_path / "empty", tmp_path / "one.txt"
    empty.mkdir()
    one.write_text(made_up(1), encoding="utf-8")
    members = place_of / "members.jsonl"
    for others, said in ((empty, "no non-members"), (one, "1 non-member"), (members, "stand in both sets")):
        code, _, err = run("calibrate", "--members", members, "--non-members", others, "--model", "/no/such/model")
        assert code == 2
        assert said in err


def test_saved_calibration_is_the_one_that_was_printed(planted: dict[str, Any], place_of: Path) -> None:
    kept = from_json((place_of / "planted.json").read_bytes())
    assert kept.name == "planted"
    assert kept.score == "min_k"
    assert kept.threshold == planted["methods"]["min_k"]["threshold"]
    assert kept.auc.estimate == planted["methods"]["min_k"]["auc"]["estimate"]
    assert kept.model.as_dict() == planted["model"]
    assert kept.members_sha256 == planted["sets"]["members"]["sha256"]


@pytest.fixture
def texts(tmp_path: Path) -> list[Path]:
    """A text that the planted model was taught, and one that it never saw."""
    files = [tmp_path / "known.txt", tmp_path / "strange.txt"]
    for file, seed in zip(files, (7, 900), strict=True):
        file.write_text(made_up(seed), encoding="utf-8")
    return files


@pytest.mark.usefixtures("planted")
def test_texts_are_placed_with_their_p_and_verdict(place_of: Path, adapter: Path, texts: list[Path]) -> None:
    code, out, err = run("place", place_of / "planted.json", *texts, "--adapter", adapter, "--json")
    assert code == 0, err
    known, strange = (text["placement"] for text in json.loads(out)["texts"])
    assert known["p"]["n_compared"] >= 20
    assert known["p"]["p"] == pytest.approx(1 / (known["p"]["n_compared"] + 1))
    assert known["non_members_below"] == 1
    assert strange["p"]["p"] > 0.05
    assert strange["verdict"]["word"] != "supported"
    code, out, _ = run("place", place_of / "planted.json", texts[0], "--adapter", adapter)
    assert code == 0
    assert "known.txt: supported." in out
    assert f"{known['p']['p']:.3g}" in out
    assert LIMITS in out


@pytest.mark.usefixtures("planted")
def test_another_model_is_refused_with_both_identities_side_by_side(place_of: Path, texts: list[Path]) -> None:
    code, out, err = run("place", place_of / "planted.json", *texts)
    assert code == 2
    assert out == ""
    assert "they differ in adapter." in err
    kept = from_json((place_of / "planted.json").read_bytes())
    assert kept.model.adapter in err
    assert "calibrated" in err
    assert "opened" in err


@pytest.mark.usefixtures("planted")
def test_text_that_cannot_be_placed_is_named_and_the_others_are(
    place_of: Path, adapter: Path, texts: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "one.txt").write_text("a")
    texts.append(tmp_path / "one.txt")
    code, out, err = run("place", place_of / "planted.json", *texts, "--adapter", adapter, "--json")
    assert code == 1
    assert len(json.loads(out)["texts"]) == 2
    assert "Not placed:" in err
    assert "one.txt" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be opened"), ("ROC", "is no calibration"), ("{}", "is no calibration")],
)
def test_file_that_is_no_calibration_is_refused(content: str | None, said: str, texts: list[Path]) -> None:
    file = texts[0].with_name("c.json")
    if content is not None:
        file.write_text(content)
    code, _, err = run("place", file, *texts)
    assert code == 2
    assert said in err


@pytest.mark.usefixtures("planted")
def test_calibration_changed_by_hand_places_nothing(place_of: Path, texts: list[Path]) -> None:
    file = texts[0].with_name("c.json")
    file.write_text((place_of / "planted.json").read_text().replace('"alpha": 0.05', '"alpha": 0.5'))
    code, _, err = run("place", file, *texts)
    assert code == 2
    assert "was changed after it was written" in err
