"""The Models page with a worker of its own and servers that behave and others, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from auditlib.audits.companions import CompanionSettings
from auditlib.jobs import CalibrationParameters, save_model, saved_models
from auditlib.models.local import LocalModel
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.store import SavedModels
from auditlib.ui.served import models_in
from tests.jobs.conftest import Place
from tests.models.endpoint_server import CONTEXT, KEY, NAME, served, tiny_model
from tests.pages.acting import press
from tests.tiny import llama_config, save_folder

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 21, tzinfo=UTC)
TEXT = "The ferry was late, and nobody on the quay was surprised. She counted the apples twice."
CHECKS = 12


@pytest.fixture(scope="module")
def model() -> LocalModel:
    return tiny_model()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_folder(tmp_path_factory.mktemp("served") / "tiny", llama_config(context=CONTEXT))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("models page") / "home", ModelRequest(str(folder)))
    made.worker(AUDIT_ENDPOINT_SECONDS="5")
    made.wait_for_worker()
    yield made
    made.close()


@pytest.fixture
def home(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The place, with no model saved in it."""
    monkeypatch.setenv("AUDIT_HOME", str(place.home))
    yield place
    for one in saved_models(place.store):
        SavedModels(place.store).remove(one.name)


def opened(current: ModelRequest) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=100)
    app.session_state["model_request"] = current
    app.run()
    app.switch_page("pages/models.py").run()
    assert not app.exception
    return app


def said(page: AppTest) -> str:
    """All that stands on the page as text, without the marks that keep it from being Markdown."""
    parts = [e.value for kind in ("markdown", "caption", "error", "warning", "info", "success") for e in page.get(kind)]
    parts += [element.value.to_string() for element in (*page.table, *page.dataframe)]
    return "\n".join(map(str, parts)).replace("\\", "").replace("\u2060", "")


def errors(page: AppTest) -> str:
    return "\n".join(e.value for e in page.error).replace("\\", "").replace("\u2060", "")


def keep(place: Place, name: str, url: str, model: str = NAME, **more: object) -> ModelRequest:
    request = ModelRequest(endpoint=EndpointRequest(url, model, **more))  # type: ignore[arg-type]
    save_model(place.store, name, request, NOW)
    return request


def look_at(page: AppTest, name: str) -> AppTest:
    page.selectbox(key="models_chosen").set_value(f"saved {name}").run()
    assert not page.exception
    return page


def type_key(page: AppTest, key: str) -> AppTest:
    next(field for field in page.text_input if field.label == "Key for this address").set_value(key)
    return press(page, "Use this key")


def names(page: AppTest) -> list[str]:
    return list(page.dataframe[0].value["Name"])


def test_folder_is_added_looked_at_loaded_renamed_and_removed(home: Place, folder: Path) -> None:
    page = opened(ModelRequest())
    page.text_input(key="add_0_here_here").set_value(str(folder))
    page.text_input(key="add_name_0").set_value("Mine")
    press(page, "Add")
    assert not page.error
    assert names(page) == ["SmolLM2-135M-Instruct (bundled)", "Mine"]
    assert page.selectbox(key="models_chosen").value == "saved Mine"
    press(page, "Look at its files")
    assert "Takes about 300 MB" in said(page).replace("*", "")
    press(page, "Load")
    assert "loaded" in page.dataframe[0].value["State"][1]
    assert "token ranks" in said(page)
    press(page, "Make it current")
    assert page.session_state["model_request"] == ModelRequest(str(folder))
    page.text_input(key="models_name_Mine").set_value("Ours")
    page.button(key="models_rename").click().run()
    assert names(page)[1] == "Ours"
    press(page, "Unload")
    assert "loaded" not in page.dataframe[0].value["State"][1]
    page.button(key="models_remove").click().run()
    assert not page.exception
    assert "not saved" in names(page)[1]  # it is still the current one


def test_adding_a_server_sends_nothing_and_checking_it_shows_every_check(
    home: Place, model: LocalModel, folder: Path
) -> None:
    save_model(home.store, "copy", ModelRequest(str(folder)), NOW)
    with served(model) as server:
        page = opened(ModelRequest(str(folder)))
        page.radio(key="add_kind_0").set_value("server").run()
        page.text_input(key="add_0_server_base_url").set_value(server.url)
        page.text_input(key="add_0_server_model").set_value(NAME)
        page.number_input(key="add_0_server_price").set_value(2.0)
        press(page, "Add")
        assert names(page) == ["SmolLM2-135M-Instruct (bundled)", "copy", f"{NAME} on 127.0.0.1"]
        assert f"sent to **{server.url}**" in said(page)
        assert server.behaviour.n_asked == 0
        page.selectbox(key="models_copy").set_value("copy").run()
        press(page, "Connect and check")
        shown = next(m.value for m in page.markdown if "check_circle" in m.value)
        assert shown.count(":material/") == CHECKS
        assert ":red[" not in shown
        assert "Mean difference 0.0000" in shown.replace("\\", "")
        assert "This server can be used" in page.success[0].value
        scores = page.table[-1].value
        assert scores.loc["Min-K%", "Allowed"] == "yes"
        assert "does not give the full distribution" in scores.loc["Min-K%++", "Why not"]
        assert scores.loc["ReCaLL", "Allowed"].startswith("yes, with a few texts")
        assert "connected" in page.dataframe[0].value["State"][2]
        press(page, "Disconnect")
        assert "connected" not in page.dataframe[0].value["State"][2]
    (kept,) = [one for one in saved_models(home.store) if one.name != "copy"]
    assert kept.request is not None
    assert kept.request.endpoint == EndpointRequest(server.url, NAME, price=2.0)


@pytest.mark.parametrize(
    ("behaviour", "wrong"),
    [
        ({"always": "html"}, "answers with a web page"),
        ({"always": "redirect"}, "sends its visitors on to 'elsewhere.example'"),
        ({"always": "huge"}, "more than 32 MiB"),
        ({"always": "chat"}, "does not continue texts"),
        ({"vllm": False, "echo": False}, "ignores `echo`"),
    ],
    ids=["web page", "redirect", "100 MB", "chat only", "no echo"],
)
def test_server_that_cannot_be_used_is_refused_with_the_reason(
    home: Place, model: LocalModel, folder: Path, behaviour: dict, wrong: str
) -> None:
    with served(model, **behaviour) as server:
        keep(home, "odd", server.url)
        page = look_at(opened(ModelRequest(str(folder))), "odd")
        press(page, "Connect and check")
    assert wrong in errors(page)
    assert not page.success
    assert "connected" not in list(page.dataframe[0].value["State"])


def test_wrong_model_name_is_answered_with_the_names_there_are(home: Place, model: LocalModel, folder: Path) -> None:
    with served(model) as server:
        keep(home, "odd", server.url, "tinny")
        page = press(look_at(opened(ModelRequest(str(folder))), "odd"), "Connect and check")
    assert "has no model 'tinny'. It has 'tiny'." in errors(page).replace("*", "").replace("  ", " ")


@pytest.mark.parametrize("url", ["http://someone:hunter2@127.0.0.1/v1", "http://127.0.0.1/v1?key=hunter2", "hunter2"])
def test_address_with_a_secret_in_it_is_neither_kept_nor_repeated(home: Place, folder: Path, url: str) -> None:
    page = opened(ModelRequest(str(folder)))
    page.radio(key="add_kind_0").set_value("server").run()
    page.text_input(key="add_0_server_base_url").set_value(url)
    page.text_input(key="add_0_server_model").set_value(NAME)
    press(page, "Add")
    assert "The address of the server" in errors(page)
    assert "hunter2" not in said(page)
    assert saved_models(home.store) == []


def test_key_is_typed_used_and_found_nowhere(home: Place, model: LocalModel, folder: Path) -> None:
    with served(model, key=KEY) as server:
        keep(home, "locked", server.url)
        page = look_at(opened(ModelRequest(str(folder))), "locked")
        press(page, "Connect and check")
        assert "wants a key and was sent none" in errors(page)
        assert not any("authorization" in sent for sent in server.behaviour.headers)
        press(type_key(page, "sk-wrong-0123456789"), "Connect and check")
        assert "does not accept the key" in errors(page)
        type_key(page, KEY)
        assert "key that was typed for this address is sent" in said(page)
        press(page, "Connect and check")
        assert "This server can be used" in page.success[0].value
        assert all(field.value != KEY for field in page.text_input)
        assert KEY not in repr(page.session_state)
        press(page, "Forget the typed key")
        press(page, "Connect and check")
        assert "wants a key and was sent none" in errors(page)
        type_key(page, "two\nlines\u00fc")
        assert "given as a key is empty or has characters" in errors(page)
    for secret in (KEY, KEY[:14], "sk-wrong-0123"):
        assert secret not in said(page)
        assert secret not in home.started[0].said
        files = [file for file in home.home.rglob("*") if file.is_file() and not file.is_symlink()]
        assert any(file.name == "log" for file in files)
        assert not [file for file in files if secret.encode() in file.read_bytes()]


def test_typed_key_goes_to_its_own_address_only(home: Place, model: LocalModel, folder: Path) -> None:
    with served(model, key=KEY) as server, served(model) as other:
        keep(home, "one", server.url)
        keep(home, "other", other.url)
        page = type_key(look_at(opened(ModelRequest(str(folder))), "one"), KEY)
        press(look_at(page, "other"), "Connect and check")
        assert "This server can be used" in page.success[0].value
        assert not any("authorization" in sent for sent in other.behaviour.headers)
        press(look_at(page, "one"), "Forget the typed key")


def test_address_that_others_can_listen_to_is_warned_of_before_anything_is_sent(home: Place, folder: Path) -> None:
    keep(home, "safe", "https://192.0.2.7:8000/v1")
    assert "can read texts and key" not in said(look_at(opened(ModelRequest(str(folder))), "safe"))
    keep(home, "far", "http://192.0.2.7:8000/v1")
    assert "can read texts and key" in said(look_at(opened(ModelRequest(str(folder))), "far"))


def test_private_network_is_refused_where_the_operator_forbids_it(
    tmp_path: Path, model: LocalModel, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidding = Place(tmp_path / "home", ModelRequest(str(folder)))
    monkeypatch.setenv("AUDIT_HOME", str(forbidding.home))
    try:
        forbidding.worker(AUDIT_FORBID_PRIVATE_NETWORK="1")
        forbidding.wait_for_worker()
        with served(model) as server:
            keep(forbidding, "near", server.url)
            page = press(look_at(opened(forbidding.model), "near"), "Connect and check")
            assert "operator has forbidden" in errors(page)
            assert server.behaviour.n_asked == 0
    finally:
        forbidding.close()


def test_inspect_says_where_a_text_goes_and_sends_none_of_it_before_it_is_told_to(
    home: Place, model: LocalModel, folder: Path
) -> None:
    with served(model) as server:
        request = keep(home, "served", server.url, price=1_000_000.0, most_tokens=20_000)
        press(look_at(opened(ModelRequest(str(folder))), "served"), "Connect and check")
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=100)
        page.session_state["model_request"] = request
        page.run()
        before = server.behaviour.n_asked
        page.text_area(key="text_pasted").set_value(TEXT).run()
        assert f"sent to **{server.url}**" in said(page)
        assert "tokens**, a cost of about **" in said(page)
        assert server.behaviour.n_asked == before
        page.text_area(key="text_pasted").set_value(TEXT * 400).run()
        assert "budget does not hold all of it" in said(page)
        assert server.behaviour.n_asked == before
        page.text_area(key="text_pasted").set_value(TEXT).run()
        press(page, "Read this text")
        assert not page.error
        assert "perplexity" in page.table[0].value.loc["Loss", "Value"]
        assert server.behaviour.n_asked > before


def test_two_models_are_compared_and_a_served_copy_agrees(home: Place, model: LocalModel, folder: Path) -> None:
    with served(model) as server:
        save_model(home.store, "copy", ModelRequest(str(folder)), NOW)
        keep(home, "served", server.url)
        page = opened(ModelRequest(str(folder)))
        page.selectbox(key="models_first").set_value("saved copy").run()
        page.selectbox(key="models_second").set_value("saved served").run()
        assert server.behaviour.n_asked == 0
        press(page, "Compare")
    assert "differ by **0.0000 nats a token**" in said(page)
    table = page.table[-1].value
    assert table.loc["Weights (SHA-256)"].iloc[2] == "not known"
    assert table.loc["Nats a character"].iloc[0] == table.loc["Nats a character"].iloc[1]


def test_model_that_cannot_be_understood_is_said_and_can_be_removed(home: Place, folder: Path) -> None:
    SavedModels(home.store).add("of tomorrow", {"source": "x", "quantum": True}, NOW)
    page = look_at(opened(ModelRequest(str(folder))), "of tomorrow")
    assert "kept by another version" in said(page)
    page.button(key="models_remove").click().run()
    assert not page.exception
    assert saved_models(home.store) == []


def test_name_that_is_taken_is_refused_and_nothing_typed_is_lost(home: Place, folder: Path) -> None:
    save_model(home.store, "Mine", ModelRequest(str(folder)), NOW)
    page = opened(ModelRequest())
    page.text_input(key="add_0_here_here").set_value(str(folder))
    page.text_input(key="add_name_0").set_value("Mine")
    press(page, "Add")
    assert "a model called 'Mine' already" in errors(page)
    assert page.text_input(key="add_0_here_here").value == str(folder)


def test_page_stands_without_a_worker(own_home: Path) -> None:
    page = opened(ModelRequest())
    press(page, "Load")
    assert "python -m auditlib worker" in errors(page)


def test_page_that_starts_a_run_says_what_is_sent_where_and_what_it_costs(
    home: Place, model: LocalModel, folder: Path
) -> None:
    with served(model) as server, served(model) as other:
        request = keep(home, "served", server.url, price=1_000_000.0)
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=100)
        page.session_state["model_request"] = request
        page.run()
        page.switch_page("pages/calibrate.py").run()
        press(page, "Demo")  # which chooses the planted model
        assert "sent to" not in said(page)
        page.session_state["model_request"] = request
        page.run()
        notice = next(info.value for info in page.info if "sent to" in info.value).replace("\\", "")
        n_tokens = int(notice.partition("about **")[2].partition(" tokens")[0].replace(",", ""))
        assert 10_000 < n_tokens < 60_000  # 80 passages of 96 words or so, twice
        assert f"a cost of about **{n_tokens:,}.00**" in notice
        assert server.behaviour.n_asked == other.behaviour.n_asked == 0


def test_every_model_of_a_run_is_found_whichever_part_it_plays(folder: Path) -> None:
    far = ModelRequest(endpoint=EndpointRequest("https://far.example/v1", NAME))
    near = ModelRequest(str(folder))
    asked = CalibrationParameters(near, companions=CompanionSettings(reference=far, placebo=near))
    assert models_in(asked) == [near, far]
