"""What must never happen with a server: texts or keys at a place that nobody chose, answers without end."""

from __future__ import annotations

import io
import json
import logging
import socket
import time
import traceback
from pathlib import Path

import pytest
from httpcore2 import ConnectError

from auditlib.core import AuditError, Settings
from auditlib.jobs.wire import request_from_wire, request_to_wire
from auditlib.models.endpoint.address import checked_address, is_private
from auditlib.models.endpoint.connecting import connect, examine
from auditlib.models.endpoint.keys import KEYS, Keys, without_key
from auditlib.models.endpoint.patience import Patience
from auditlib.models.endpoint.transport import LARGEST_ANSWER_BYTES, GuardedNetwork, RefusedError, guarded_client
from auditlib.models.local import LocalModel
from auditlib.models.opening import ModelShelf
from auditlib.models.request import EndpointRequest, ModelRequest
from auditlib.store import Store, TokenCache
from tests.models.endpoint_server import KEY, NAME, TinyServer, served, tiny_model
from tests.planted import made_up

QUICK = Patience(tries=3, first_wait=0.005, longest_wait=0.01)
SETTINGS = Settings(endpoint_seconds=2)
FORBIDDING = Settings(endpoint_seconds=2, forbid_private_network=True)
TEXT = made_up(1)


@pytest.fixture(scope="module")
def local() -> LocalModel:
    return tiny_model()


@pytest.fixture
def key_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_ENDPOINT_KEY", KEY)


def may_have_the_key(server: TinyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_ENDPOINT_KEY_HOSTS", f"api.example.org, {server.url}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://user:hunter2@example.org/v1", "user name or a password"),
        ("http://hunter2@example.org/v1", "user name or a password"),
        ("https://example.org/v1?api-key=hunter2", "query"),
        ("https://example.org/v1#hunter2", "fragment"),
        ("ftp://example.org/hunter2", "must begin with http"),
        ("file:///etc/hunter2", "must begin with http"),
        ("example.org/hunter2", "must begin with http"),
        ("http:///hunter2", "must begin with http"),
        ("http://example.org:hunter2/v1", "make no sense"),
        ("http://exa mple.org/hunter2", "characters"),
        ("http://example.org\\@hunter2/v1", "characters"),
        ("http://example.org/\r\nX-Hunter2: 1", "characters"),
        ("http://" + "hunter2" * 100, "too long"),
        ("", "empty"),
    ],
)
def test_address_that_is_none_or_holds_a_secret_is_refused_without_being_repeated(url: str, said: str) -> None:
    with pytest.raises(AuditError, match=said) as refused:
        EndpointRequest(url, NAME)
    assert "hunter2" not in str(refused.value)


def test_address_is_taken_apart() -> None:
    address = checked_address(" HTTPS://Models.Example.org/v1/ ".replace("HTTPS", "https"))
    assert address.origin == ("https", "models.example.org", 443)
    assert address.root == "https://Models.Example.org"


@pytest.mark.parametrize(
    ("address", "private"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("10.1.2.3", True),
        ("172.16.0.1", True),
        ("192.168.1.1", True),
        ("169.254.169.254", True),
        ("100.64.0.1", True),
        ("0.0.0.0", True),
        ("224.0.0.1", True),
        ("255.255.255.255", True),
        ("::1", True),
        ("::", True),
        ("fe80::1%eth0", True),
        ("fd00::1", True),
        ("ff02::1", True),
        ("::ffff:10.0.0.1", True),
        ("::10.0.0.1", True),
        ("2002:0a00:0001::1", True),
        ("64:ff9b::10.0.0.1", True),
        ("8.8.8.8", False),
        ("2606:4700:4700::1111", False),
        ("::ffff:8.8.8.8", False),
        ("64:ff9b::8.8.8.8", False),
    ],
)
def test_private_addresses_are_told_from_others(address: str, private: bool) -> None:
    assert is_private(address) is private


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1"])
def test_private_network_is_refused_where_the_operator_has_forbidden_it(local: LocalModel, host: str) -> None:
    with served(local) as server:
        url = f"http://{host}:{server.port}/v1"
        with pytest.raises(AuditError, match="operator has forbidden"):
            connect(EndpointRequest(url, NAME), FORBIDDING, QUICK)
        assert server.behaviour.n_asked == 0


def test_operator_forbids_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDIT_FORBID_PRIVATE_NETWORK", "1")
    assert Settings().forbid_private_network


def test_name_that_changes_its_address_is_looked_at_anew_and_connected_by_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A name server that says something harmless first and this machine later must gain nothing."""
    answers = iter(["93.184.215.14", "127.0.0.1"])
    tried: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def dial(address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        tried.append(address[0])
        raise OSError("no way")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", dial)
    network = GuardedNetwork(forbid_private=True)
    with pytest.raises(ConnectError):
        network.connect_tcp("rebinding.example", 80)
    assert tried == ["93.184.215.14"]
    with pytest.raises(RefusedError, match="forbidden"):
        network.connect_tcp("rebinding.example", 80)
    assert len(tried) == 1


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 80)) for ip in ("93.184.215.14", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(RefusedError):
        GuardedNetwork(forbid_private=True).connect_tcp("both.example", 80)


def test_redirect_to_another_host_is_not_followed(local: LocalModel) -> None:
    with (
        served(local, always="redirect") as server,
        pytest.raises(AuditError, match=r"sends its visitors on to 'elsewhere\.example'"),
    ):
        connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
    with served(local) as server:
        model = connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        server.behaviour.always = "redirect"
        with pytest.raises(AuditError, match=r"elsewhere\.example"):
            list(model.token_stats([TEXT]))


def test_redirect_on_the_same_host_is_said(local: LocalModel) -> None:
    with served(local, always="moved") as server, pytest.raises(AuditError, match="another address of its own"):
        connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)


def test_client_speaks_to_its_server_only(local: LocalModel) -> None:
    with served(local) as server, served(local) as other:
        client = guarded_client(checked_address(server.url), None, False, 2)
        with pytest.raises(RefusedError, match="about to leave"):
            client.get(other.url)
        assert other.behaviour.n_asked == 0


@pytest.mark.parametrize("trouble", ["huge", "packed"])
def test_answer_without_end_is_cut_off(local: LocalModel, trouble: str) -> None:
    with served(local) as server:
        model = connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        server.behaviour.always = trouble
        before = server.behaviour.n_completions
        with pytest.raises(AuditError, match="more than 32 MiB" if trouble == "huge" else "packs its answers"):
            list(model.token_stats([TEXT]))
        assert server.behaviour.n_completions - before == 1  # not asked for again
    assert LARGEST_ANSWER_BYTES < 100_000_000


def test_web_page_is_told_from_a_model_server(local: LocalModel) -> None:
    with served(local, always="html") as server, pytest.raises(AuditError, match="answers with a web page"):
        connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)


def test_server_that_is_not_there_is_said_within_seconds() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    began = time.monotonic()
    with pytest.raises(AuditError, match="cannot be reached.*See that the server runs"):
        connect(EndpointRequest(f"http://127.0.0.1:{port}/v1", NAME), SETTINGS)
    assert time.monotonic() - began < 10


def test_wrong_model_name_is_answered_with_the_right_ones(local: LocalModel) -> None:
    with served(local) as server, pytest.raises(AuditError, match="has no model 'tinny'. It has 'tiny'"):
        connect(EndpointRequest(server.url, "tinny"), SETTINGS, QUICK)
    with served(local, listed=False) as server, pytest.raises(AuditError, match="has no model 'tinny'"):
        connect(EndpointRequest(server.url, "tinny"), SETTINGS, QUICK)


@pytest.mark.usefixtures("key_in_environment")
def test_right_key_opens_and_wrong_key_says_what_to_do(local: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(local, key=KEY) as server:
        may_have_the_key(server, monkeypatch)
        assert connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        monkeypatch.setenv("AUDIT_ENDPOINT_KEY", "sk-wrong-key-0987654321")
        with pytest.raises(AuditError, match="does not accept the key") as refused:
            connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        assert "AUDIT_ENDPOINT_KEY" in refused.value.remedy
        assert "sk-wrong" not in str(refused.value)
        KEYS.remember(server.url, KEY)  # what was typed goes before what the environment holds
        try:
            assert connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        finally:
            KEYS.forget(server.url)


@pytest.mark.parametrize("variable", ["PATH", "AWS_SECRET_ACCESS_KEY", "AUDIT_DATABASE_URL", KEY])
def test_no_other_secret_of_the_environment_can_be_named_as_the_key(variable: str) -> None:
    with pytest.raises(AuditError, match="must begin with AUDIT_") as refused:
        EndpointRequest("http://example.org/v1", NAME, key_variable=variable)
    assert variable not in str(refused.value)


@pytest.mark.usefixtures("key_in_environment")
def test_nothing_of_this_machine_goes_along_with_a_request(local: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-of-somebody")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: of somebody")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with served(local) as server:
        may_have_the_key(server, monkeypatch)
        connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        names = set().union(*server.behaviour.headers)
        assert all(sent["authorization"] == f"Bearer {KEY}" for sent in server.behaviour.headers)
    assert names <= {
        "host", "accept", "content-type", "content-length", "connection", "user-agent", "accept-encoding",
        "authorization",
    }  # fmt: skip
    assert "somebody" not in json.dumps(server.behaviour.headers)


@pytest.mark.usefixtures("key_in_environment")
@pytest.mark.parametrize("trouble", [None, "500", "429", "quota", "truncated", "hang up", "redirect", "html", "huge"])
def test_key_appears_nowhere(
    local: LocalModel, tmp_path: Path, trouble: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no log at any level, no error with all its causes, no repr, no identity, no row and no file."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(1)
    libraries = [logging.getLogger(name) for name in ("openai", "httpx2", "httpcore2", "auditlib")]
    for logger in libraries:
        logger.setLevel(1)
    seen: list[str] = []
    try:
        with served(local, key=KEY) as server:
            may_have_the_key(server, monkeypatch)
            request = EndpointRequest(server.url, NAME)
            model = connect(request, SETTINGS, QUICK)
            server.behaviour.always = trouble
            try:
                stats = dict(model.token_stats([TEXT]))
                TokenCache(Store(tmp_path), 10**9).put(model.identity, model.windowing, {"0" * 64: stats[0]})
            except AuditError as error:
                assert trouble is not None
                seen.append("".join(traceback.format_exception(error)))
            server.behaviour.key = "another"
            server.behaviour.always = None
            with pytest.raises(AuditError) as refused:
                connect(request, SETTINGS, QUICK)
            seen.append("".join(traceback.format_exception(refused.value)))
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        for logger in libraries:
            logger.setLevel(logging.NOTSET)
    seen += [repr(x) for x in (model, model.server, model.__dict__, vars(model.server), model.identity, request)]
    seen += [repr(vars(model.server._client)), json.dumps(request_to_wire(ModelRequest(endpoint=request)))]
    seen += [repr(check) for check in model.checks] + [repr(KEYS), said.getvalue()]
    assert "127.0.0.1" in said.getvalue()  # the log was heard
    for part in (KEY, KEY[:12], KEY[-12:]):
        assert not any(part in one for one in seen)
        for file in tmp_path.rglob("*"):
            assert file.is_dir() or part.encode() not in file.read_bytes()


def test_key_is_taken_out_of_what_a_server_says() -> None:
    keys = Keys()
    keys.remember("http://example.org/v1/", f" {KEY}\n")
    key = keys.find("http://example.org/v1", "AUDIT_ENDPOINT_KEY", {}).secret
    said = without_key(f"bad key {KEY}, that is {KEY[:10]}...{KEY[-8:]}", key)
    assert KEY[:10] not in said
    assert KEY[-8:] not in said
    assert said.startswith("bad key [key]")
    keys.forget("http://example.org/v1")
    assert keys.find("http://example.org/v1", "AUDIT_ENDPOINT_KEY", {}).secret is None


@pytest.mark.parametrize(
    ("hosts", "url", "goes"),
    [
        ("", "https://api.example.org/v1", False),
        ("api.example.org", "https://api.example.org/v1", True),
        ("other.example.org , API.example.org", "https://api.example.org/v1", True),
        ("api.example.org", "http://api.example.org/v1", False),
        ("api.example.org", "https://api.example.org:8443/v1", False),
        ("api.example.org:8443", "https://api.example.org:8443/v1", True),
        ("api.example.org", "https://api.example.org.evil.example/v1", False),
        ("example.org", "https://api.example.org/v1", False),
        ("*", "https://api.example.org/v1", False),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1", True),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8001/v1", False),
        ("user:secret@api.example.org", "https://api.example.org/v1", False),
    ],
)
def test_key_of_the_environment_goes_only_to_servers_that_the_environment_names(
    hosts: str, url: str, goes: bool
) -> None:
    environment = {"AUDIT_ENDPOINT_KEY": KEY, "AUDIT_ENDPOINT_KEY_HOSTS": hosts}
    found = Keys().find(url, "AUDIT_ENDPOINT_KEY", environment)
    assert (found.secret is not None) is goes
    if not goes:
        assert "AUDIT_ENDPOINT_KEY_HOSTS does not name this server" in found.said
        repaired = environment | {"AUDIT_ENDPOINT_KEY_HOSTS": found.remedy.rpartition(" to ")[2].rstrip(".")}
        assert Keys().find(url, "AUDIT_ENDPOINT_KEY", repaired).secret is not None  # what to do helps
    assert KEY not in repr(found) + found.said + found.remedy


def test_each_variable_has_servers_of_its_own() -> None:
    environment = {"AUDIT_MY_KEY": KEY, "AUDIT_ENDPOINT_KEY_HOSTS": "api.example.org"}
    assert Keys().find("https://api.example.org/v1", "AUDIT_MY_KEY", environment).secret is None
    environment["AUDIT_MY_KEY_HOSTS"] = "api.example.org"
    assert Keys().find("https://api.example.org/v1", "AUDIT_MY_KEY", environment).secret is not None


@pytest.mark.usefixtures("key_in_environment")
def test_server_that_wants_a_key_and_is_not_named_is_sent_none_and_the_error_says_why(local: LocalModel) -> None:
    with served(local, key=KEY) as server:
        with pytest.raises(AuditError, match="wants a key and was sent none") as refused:
            connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        assert f"set AUDIT_ENDPOINT_KEY_HOSTS to http://127.0.0.1:{server.port}" in refused.value.remedy
        assert not any("authorization" in sent for sent in server.behaviour.headers)


@pytest.mark.parametrize(
    ("url", "is_open"),
    [
        ("http://localhost:8000/v1", False),
        ("http://127.0.0.1/v1", False),
        ("http://[::1]:8000/v1", False),
        ("https://api.example.org/v1", False),
        ("http://api.example.org/v1", True),
        ("http://192.168.0.7:8000/v1", True),
        ("http://localhost.example.org/v1", True),
    ],
)
def test_address_says_whether_others_can_read_what_is_sent_to_it(url: str, is_open: bool) -> None:
    assert checked_address(url).is_open_to_readers is is_open


@pytest.mark.parametrize("key", ["", " \n", "two\nlines", "schlüssel"])
def test_key_that_cannot_be_one_is_refused(key: str) -> None:
    with pytest.raises(AuditError, match="given as a key"):
        Keys().remember("http://example.org/v1", key)


def test_request_survives_the_way_to_the_worker_and_is_checked_there() -> None:
    endpoint = EndpointRequest("http://example.org/v1", NAME, "vllm", "/folder", 2048, 4, 1.5, 10_000, 3.0)
    request = ModelRequest(endpoint=endpoint)
    wire = json.loads(json.dumps(request_to_wire(request)))
    assert request_from_wire(wire) == request
    wire["endpoint"]["base_url"] = "http://user:pass@example.org"
    with pytest.raises(AuditError, match="password"):
        request_from_wire(wire)
    assert request_from_wire({"source": "bundled"}) == ModelRequest()  # as it was kept before servers were known


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": " "},
        {"model": "a\nb"},
        {"style": "grpc"},
        {"at_once": 0},
        {"at_once": 1000},
        {"price": -1.0},
        {"price": float("nan")},
        {"most_tokens": 0},
        {"context_length": -5},
        {"most_cost": 3.0},
    ],
    ids=str,
)
def test_request_that_makes_no_sense_is_refused(wrong: dict) -> None:
    with pytest.raises(AuditError):
        EndpointRequest(**{"base_url": "http://example.org/v1", "model": NAME} | wrong)


def test_shelf_holds_a_served_model_and_drops_none_on_this_machine_for_it(local: LocalModel) -> None:
    shelf = ModelShelf(most_loaded=1)
    with served(local) as server:
        request = ModelRequest(endpoint=EndpointRequest(server.url, NAME))
        shelf._models[ModelRequest()] = local
        model = shelf.open(request, SETTINGS)
        assert shelf.open(request, SETTINGS) is model
        assert list(shelf.loaded()) == [ModelRequest(), request]
        assert shelf.drop(request)


def test_folder_without_a_tokenizer_is_refused_before_anything_is_sent(local: LocalModel, tmp_path: Path) -> None:
    with served(local) as server:
        for folder in (tmp_path, tmp_path / "nothing"):
            problem = examine(EndpointRequest(server.url, NAME, tokenizer=str(folder)), SETTINGS, QUICK).problem
            assert problem is not None
        assert server.behaviour.n_asked == 0


def test_counting_a_text_for_an_estimate_sends_nothing_of_it(local: LocalModel) -> None:
    with served(local) as server:
        model = connect(EndpointRequest(server.url, NAME), SETTINGS, QUICK)
        before = server.behaviour.n_asked
        assert model.estimate([TEXT]).tokens > 0
        assert model.estimated_tokens(TEXT) > 0
        assert server.behaviour.n_asked == before
        model.tokens_to_read(TEXT)  # which asks the server's own tokenizer
        assert server.behaviour.n_asked > before
