"""The unlearning audit as a run: its verdicts where the truth is known, its interruptions, and what people bring."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM

from auditlib.audits.unlearning import ForgottenWord, Role, Work, cut_works, read_questions
from auditlib.core import AuditError, Document
from auditlib.jobs import report_files
from auditlib.jobs.kept_generation import generation_speed
from auditlib.jobs.plain import from_plain, to_plain
from auditlib.jobs.unlearning_files import keep_ratings, load_gallery, people_ratings, tables_of
from auditlib.jobs.unlearning_report import run_evidence
from auditlib.jobs.unlearning_texts import UnlearningParameters, questions_file
from auditlib.models.judge_request import JudgeRequest
from auditlib.models.request import ModelRequest
from auditlib.reports.package import package_files
from auditlib.scoring.similarity import words_of
from auditlib.store import Artifacts
from tests.jobs.conftest import NOW
from tests.jobs.unlearning_place import SETTINGS, WORKS, Audits, Here, Killed, work
from tests.models.chat_server import chat_server
from tests.planted import trained_folder
from tests.tiny import byte_level_tokenizer, llama_config, llama_tokenizer, save_folder

STEPS = 60


def taught(base: Path, folder: Path, works: list[Document]) -> Path:
    """The base model, taught the chunks of works by heart in some seconds."""
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    rows = _padded(works)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        logits = model(input_ids=rows.clamp(min=0)).logits[:, :-1]
        # Smoothed, so that no score of what is known by heart comes near 0, where ratios are chance.
        torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=-100, label_smoothing=0.1
        ).backward()
        optimizer.step()
    return _saved(model, base, folder)


def _padded(works: list[Document]) -> torch.Tensor:
    """Tokens of the works' chunks (chunks, longest), with -100 behind them."""
    chunks = cut_works([Work(one, Role.FORGET) for one in works], SETTINGS.chunk_words, SETTINGS.prompt_words)
    rows = [torch.tensor(byte_level_tokenizer().encode(chunk.text).ids) for chunk in chunks.chunks]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)


def _saved(model: torch.nn.Module, base: Path, folder: Path) -> Path:
    model.save_pretrained(folder)  # type: ignore[operator]
    for file in base.glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModelRequest]:
    """never: saw no work; planted: learned both; unlearned: learned the kept one and another one instead."""
    root = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    base = trained_folder(root / "never")
    forgotten, kept = WORKS[Role.FORGET][0], WORKS[Role.KEEP][0]
    taught(base, root / "planted", [forgotten, kept])
    taught(base, root / "unlearned", [work("In its place", 5), kept])
    save_folder(root / "random", llama_config(context=256))
    save_folder(root / "other tokens", llama_config(context=256), llama_tokenizer())
    return {folder.name: ModelRequest(str(folder)) for folder in root.iterdir()}


@pytest.fixture
def audits(tmp_path: Path) -> Iterator[Audits]:
    place = Audits(tmp_path / "home")
    yield place
    place.store.close()


def test_forgotten_and_kept_chunks_come_out_on_their_right_sides(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    # Two trainings of so small a model leave scores of what it knows by heart further apart than the paper's window.
    settings = replace(SETTINGS, factor=3.0)
    found = audits.audited(models["planted"], models["unlearned"], reference=models["never"], settings=settings)
    forget, keep = found.screening.count(Role.FORGET), found.screening.count(Role.KEEP)
    assert forget is not None
    assert keep is not None
    assert forget.n_suspicious == 0
    assert keep.n_suspicious >= keep.n_chunks - 1
    difference = found.completions.comparison("rouge_l", "suspicious chunks", "other chunks")
    assert difference is not None
    assert difference.difference is not None
    assert difference.difference.low > 0
    known = found.forgetting.forgotten
    assert known.original is not None
    assert known.original.low > 0.5
    assert known.fall is not None
    assert known.fall.low > 0
    assert found.verdict.word is not ForgottenWord.NOT_FORGOTTEN
    assert found.verdict.over_forgetting == ()


def test_the_same_model_twice_has_not_forgotten(audits: Audits, models: dict[str, ModelRequest]) -> None:
    found = audits.audited(models["planted"], models["planted"])
    assert found.verdict.word is ForgottenWord.NOT_FORGOTTEN
    assert all(line.suspicious and line.ratio == 1 for line in found.screening.lines)
    comparison = found.completions.comparison("rouge_l", "suspicious chunks", "other chunks")
    assert comparison is not None
    assert comparison.difference is None
    assert "no piece" in comparison.missing


def test_a_model_that_forgot_nothing_but_is_another_one_has_not_forgotten(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    """Both learned both works, one after the other's weights were moved a little."""
    moved = Path(models["planted"].source).parent / "moved"
    model = AutoModelForCausalLM.from_pretrained(models["planted"].source)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1 + 0.002 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    model.save_pretrained(moved)
    for file in Path(models["planted"].source).glob("tokenizer*"):
        (moved / file.name).write_bytes(file.read_bytes())
    found = audits.audited(models["planted"], ModelRequest(str(moved)))
    assert not found.forgetting.same_numbers
    assert found.verdict.word is ForgottenWord.NOT_FORGOTTEN


def test_random_weights_have_forgotten_too_much(audits: Audits, models: dict[str, ModelRequest]) -> None:
    found = audits.audited(models["planted"], models["random"])
    assert found.verdict.over_forgetting
    assert "damaged" in " ".join(found.verdict.over_forgetting)
    assert found.verdict.word is not ForgottenWord.FORGOTTEN


def test_random_weights_are_told_also_where_only_works_to_forget_were_brought(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    found = audits.audited(models["planted"], models["random"], works={Role.FORGET: WORKS[Role.FORGET]})
    assert "guesses" in " ".join(found.verdict.over_forgetting)
    assert found.verdict.word is ForgottenWord.INCONCLUSIVE


def test_models_of_different_tokenizers_are_compared_with_a_warning(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    found = audits.audited(models["planted"], models["other tokens"])
    assert not found.forgetting.same_tokens
    assert any("different tokens" in reason.sentence for reason in found.verdict.reasons if not reason.holds)
    assert found.verdict.word is not ForgottenWord.FORGOTTEN


def test_a_chunk_longer_than_the_context_is_read_and_not_completed(
    audits: Audits, models: dict[str, ModelRequest], tmp_path: Path
) -> None:
    small = ModelRequest(str(save_folder(tmp_path / "small", llama_config(context=20))))
    found = audits.audited(models["planted"], small)
    assert len(found.screening.lines) == 40
    assert "do not fit into the 20 tokens" in found.completions.missing
    assert any("do not fit" in reason.sentence for reason in found.verdict.reasons)


def test_without_a_judge_everything_else_is_there_and_the_panel_says_how(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    found = audits.audited(models["planted"], models["unlearned"])
    assert found.completions.completions
    assert "base URL" in found.completions.panel.said
    assert found.completions.panel.n_rated == 0


def test_a_judge_that_cannot_be_reached_ends_nothing_else(audits: Audits, models: dict[str, ModelRequest]) -> None:
    judge = JudgeRequest("http://127.0.0.1:9/v1", "nobody")
    found = audits.audited(models["planted"], models["unlearned"], judge=judge)
    assert found.completions.completions
    assert "cannot be reached" in found.completions.panel.said
    assert found.completions.panel.n_unrated == {"the judge was not asked": len(found.completions.completions)}


def test_works_that_are_too_short_are_refused_before_any_model_is_loaded(audits: Audits) -> None:
    run = audits.start(ModelRequest("/nowhere"), ModelRequest("/nowhere"), {Role.FORGET: [work("Short", 5, 12)]})
    assert audits.execute(run) == "failed"
    problem = audits.client.run(run.id).problem
    assert problem is not None
    assert "too short" in problem
    assert "12 words" in problem


def test_a_kill_costs_one_batch_and_changes_nothing(
    audits: Audits, models: dict[str, ModelRequest], tmp_path: Path
) -> None:
    settings = from_plain(type(SETTINGS), to_plain(SETTINGS) | {"samples": 20, "new_tokens": 40})
    whole = audits.start(models["planted"], models["unlearned"], settings=settings)
    assert audits.execute(whole) == "done"
    n_steps = len(audits.here.done)
    n_drawn = sum(name.startswith("completions") for name, _ in audits.here.done)
    assert n_drawn >= 4
    again = audits.start(models["planted"], models["unlearned"], settings=settings)
    audits.here.done.clear()
    assert audits.execute(again) == "done"
    assert not any(tokens for _, tokens in audits.here.done)  # all of it was drawn before

    other = Audits(tmp_path / "other")
    killed = other.start(models["planted"], models["unlearned"], settings=settings)
    drawn: list[str] = []
    for steps in (n_steps - n_drawn + 1, n_steps - n_drawn + 2, 10**9):
        here = Here(other.settings, steps, audits.here.models)
        with contextlib.suppress(Killed):
            assert other.execute(killed, here) == "done"
        drawn += [name for name, tokens in here.done if tokens and name.startswith("completions")]
    assert sorted(drawn) == sorted(set(drawn))
    assert len(drawn) == n_drawn
    assert to_plain(other.result(killed)) == to_plain(audits.result(whole)) == to_plain(audits.result(again))
    other.store.close()


def test_a_kept_batch_that_was_damaged_is_drawn_again(audits: Audits, models: dict[str, ModelRequest]) -> None:
    run = audits.start(models["planted"], models["unlearned"])
    audits.execute(run)
    again = audits.start(models["planted"], models["unlearned"])
    for one in (run, again):
        Artifacts(audits.store).put(one.id, "generated-completions-0001.json", "application/json", b"{}", NOW)
    assert audits.execute(again) == "done"
    assert generation_speed(audits.store, again)[0] == 40 * 3 * 16
    assert to_plain(audits.result(again)) == to_plain(audits.result(run))


def test_questions_with_missing_answers_are_named_and_the_rest_is_asked(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    words = WORKS[Role.FORGET][0].text.split()
    rows = [f"What follows {words[n]}?,{words[n + 1]}" for n in range(0, 40, 4)]
    table = "\n".join(["question,answer", *rows, "What is missing here?,", ",Nothing was asked."])
    questions = read_questions("questions.csv", table.encode())
    assert len(questions.questions) == 10
    assert questions.notes == ("2 questions were left out for no question or no answer: rows 12, 13.",)
    run = audits.start(models["planted"], models["unlearned"], files=questions_file(questions))
    assert audits.execute(run) == "done"
    found = audits.result(run).questions
    assert found is not None
    assert len(found.lines) == 10
    assert found.notes == questions.notes
    assert all(line.place is not None for line in found.lines)
    copied = audits.client.duplicate(run.id, {}, "again")
    assert audits.execute(copied) == "done"
    assert to_plain(audits.result(copied).questions) == to_plain(found)


def test_the_result_goes_to_json_and_back_and_holds_no_text_of_a_work(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    run = audits.start(models["planted"], models["unlearned"])
    audits.execute(run)
    found = audits.result(run)
    assert to_plain(from_plain(type(found), json.loads(json.dumps(to_plain(found))))) == to_plain(found)
    text = Artifacts(audits.store).read(run.id, "chunks.parquet")
    sentence = " ".join(WORKS[Role.FORGET][0].text.split()[:8]).encode()
    assert sentence not in text
    assert set(tables_of(found, with_texts=False)["completions"]) & {"text", "judge_reason"} == set()
    tokens, seconds = generation_speed(audits.store, run)
    assert tokens == 40 * 3 * 16
    assert seconds > 0


def test_report_and_package_have_the_closest_completions_in_short_quotations(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    run = audits.start(models["planted"], models["unlearned"], reference=models["never"])
    audits.execute(run)
    run = audits.client.run(run.id)
    gallery = load_gallery(audits.store, run)
    assert len(gallery.items) == 13
    for item in gallery.items:
        assert all(len(f"{q.before} {q.run} {q.after}") <= 310 for q in (item.truth, item.written))
        assert words_of(item.truth.run) == words_of(item.written.run)
    package = report_files(audits.store, run, with_pdf=False)
    assert package.data
    files = package_files(run_evidence(audits.store, run))
    html = files["report.html"].decode()
    assert html.index("Summary") < html.index("What was examined") < html.index("Completions")
    assert "<mark>" in html
    assert audits.result(run).verdict.word.value in html
    assert "texts.jsonl" not in files
    assert "texts.jsonl" in package_files(run_evidence(audits.store, run, with_texts=True))


def test_parameters_that_make_no_sense_are_refused_before_they_are_queued(audits: Audits) -> None:
    here = ModelRequest("/nowhere")
    for wrong in (
        {"chunk_words": 30, "prompt_words": 25},
        {"score": "astrology"},
        {"factor": 1.0},
        {"samples": 0},
        {"margin": 0.0},
        {"alpha": 2.0},
    ):
        settings = from_plain(type(SETTINGS), to_plain(SETTINGS) | wrong)
        with pytest.raises(AuditError):
            audits.start(here, here, settings=settings)
    with pytest.raises(AuditError, match="to be forgotten"):
        audits.client.start("unlearning", "one", UnlearningParameters(here, here))


def test_a_judge_in_a_run_is_asked_once_for_each_pair(audits: Audits, models: dict[str, ModelRequest]) -> None:
    with chat_server() as server:
        server.reply = lambda messages: f"Score: {1 + len(messages[1]['content']) % 5}\nReason: By length."
        judge = JudgeRequest(server.url, "judge")
        first = audits.audited(models["planted"], models["unlearned"], judge=judge)
        assert first.completions.panel.n_rated == len(first.completions.completions)
        assert {one.judge for one in first.completions.completions} == {1, 2, 3, 4, 5}
        n = len(server.asked)
        assert n <= len(first.completions.completions)
        second = audits.audited(models["planted"], models["unlearned"], judge=judge)
        assert len(server.asked) == n
    assert to_plain(second.completions) == to_plain(first.completions)


def test_a_judge_that_refuses_leaves_every_other_test_done(audits: Audits, models: dict[str, ModelRequest]) -> None:
    with chat_server() as server:
        server.reply = lambda messages: "I'm sorry, but I cannot compare these texts."
        found = audits.audited(models["planted"], models["unlearned"], judge=JudgeRequest(server.url, "judge"))
    test = found.completions
    assert test.panel.n_rated == 0
    assert test.panel.n_unrated == {"the judge refused": len(test.completions)}
    assert {one.measure for one in test.comparisons} == {"rouge_l", "run_words"}
    assert found.verdict.reasons


def test_a_persons_ratings_are_kept_with_the_run_and_stand_in_its_report(
    audits: Audits, models: dict[str, ModelRequest]
) -> None:
    run = audits.start(models["planted"], models["unlearned"])
    assert audits.execute(run) == "done"
    run = audits.client.run(run.id)
    item = load_gallery(audits.store, run).items[0]
    keep_ratings(audits.store, run, {(item.chunk, item.sample): 2}, NOW)
    assert people_ratings(audits.store, run) == {(item.chunk, item.sample): 2}
    rows = pd.DataFrame(run_evidence(audits.store, run).tables["completions"])
    own = rows[(rows["chunk"] == item.chunk) & (rows["sample"] == item.sample)]
    assert own["person"].tolist() == [2]
    assert rows["person"].notna().sum() == 1
    assert ", rated 2" in package_files(run_evidence(audits.store, run))["report.html"].decode()
    Artifacts(audits.store).put(run.id, "ratings.json", "application/json", b"[[1]", NOW)
    assert people_ratings(audits.store, run) == {}
