"""The real hub client against a small hub of our own, over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from auditlib.core import AuditError, Settings
from auditlib.models import hub
from auditlib.models.opening import load_model
from auditlib.models.request import ModelRequest
from tests.tiny import save_folder

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """What of the hub's interface the client asks for: a repository's files, and each file."""

    repositories: dict[str, dict[str, bytes]] = {}  # noqa: RUF012  filled by the fixture
    asked: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.answer(with_body=True)

    def do_HEAD(self) -> None:
        self.answer(with_body=False)

    def answer(self, with_body: bool) -> None:
        path = self.path.split("?")[0]
        self.asked.append(path)
        for name, files in self.repositories.items():
            if path.startswith(f"/api/models/{name}/tree/"):
                entries = [
                    {"type": "file", "path": f, "size": len(d), "oid": sha256(d).hexdigest()} for f, d in files.items()
                ]
                return self.send(200, json.dumps(entries).encode(), with_body, {"Content-Type": "application/json"})
            if path.startswith(f"/api/models/{name}"):
                siblings = [{"rfilename": f, "size": len(d)} for f, d in files.items()]
                body = json.dumps({"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings, "tags": []})
                return self.send(200, body.encode(), with_body, {"Content-Type": "application/json"})
            prefix = f"/{name}/resolve/{COMMIT}/"
            if path.startswith(prefix) and path.removeprefix(prefix) in files:
                data = files[path.removeprefix(prefix)]
                headers = {"ETag": f'"{sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
                return self.send(200, data, with_body, headers)
        return self.send(404, b"{}", with_body, {"X-Error-Code": "RepoNotFound"})

    def send(self, status: int, body: bytes, with_body: bool, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def small_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    folder = save_folder(tmp_path / "published")
    Hub.repositories = {
        "tiny/good": {f.name: f.read_bytes() for f in folder.iterdir()}
        | {"pytorch_model.bin": b"pickled", "evil.py": b"x"},
        "tiny/pickled": {"config.json": b"{}", "pytorch_model.bin": b"pickled"},
    }
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("small_hub")
def test_hub_model_is_fetched_without_pickles_or_code_and_named_by_its_commit(tmp_path: Path) -> None:
    model = load_model(ModelRequest(source="tiny/good"), Settings(home=tmp_path / "home"))
    assert (model.identity.source, model.identity.revision) == ("tiny/good", COMMIT)
    ((_, stats),) = model.token_stats(["The ferry was late, and nobody was surprised."])
    assert stats.n_tokens > 3
    fetched = {f.name for f in (tmp_path / "home").rglob("*") if f.is_file()}
    assert "model.safetensors" in {f.name for f in (tmp_path / "home").rglob("*")}
    assert not [name for name in (*fetched, *Hub.asked) if name.endswith(("pytorch_model.bin", "evil.py"))]


@pytest.mark.usefixtures("small_hub")
def test_name_marked_as_the_hubs_is_never_taken_for_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny" / "good").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert load_model(ModelRequest("hub:tiny/good"), Settings(home=tmp_path / "home")).identity.revision == COMMIT
    with pytest.raises(AuditError, match="no config.json"):
        load_model(ModelRequest("tiny/good"), Settings(home=tmp_path / "home"))


@pytest.mark.usefixtures("small_hub")
@pytest.mark.parametrize("source", ["../tiny/good", "./good", "/tiny/good"])
def test_path_is_never_asked_of_the_hub(source: str, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="There is no model folder"):
        load_model(ModelRequest(source), Settings(home=tmp_path))
    assert Hub.asked == []


def test_hub_model_fetched_before_is_used_when_the_hub_is_away(small_hub: ThreadingHTTPServer, tmp_path: Path) -> None:
    here = Settings(home=tmp_path / "home")
    before = load_model(ModelRequest(source="tiny/good"), here).identity
    small_hub.shutdown()
    small_hub.server_close()
    assert load_model(ModelRequest(source="tiny/good"), here).identity == before


@pytest.mark.usefixtures("small_hub")
def test_pickled_hub_model_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="pickled only"):
        hub.hub_folder("tiny/pickled", None, tmp_path)
    assert not [path for path in Hub.asked if "/resolve/" in path]


@pytest.mark.usefixtures("small_hub")
def test_unknown_hub_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="The hub has no model 'tiny/nowhere'"):
        hub.hub_folder("tiny/nowhere", None, tmp_path)


def test_hub_out_of_reach_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(AuditError, match="hub cannot be reached or does not") as refusal:
        hub.hub_folder("tiny/good", None, tmp_path)
    assert "bundled model" in refusal.value.remedy


def test_hub_that_answers_nonsense_is_said(tmp_path: Path, small_hub: ThreadingHTTPServer) -> None:
    Hub.repositories = {"tiny/good": {"model.safetensors": b"not weights", "config.json": b"["}}
    with pytest.raises(AuditError, match="config.json .* cannot be read"):
        load_model(ModelRequest(source="tiny/good"), Settings(home=tmp_path / "home"))
