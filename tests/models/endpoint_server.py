"""A real HTTP server that gives a tiny model's numbers as OpenAI and vLLM would, and misbehaves when told to."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch

from auditlib.models.encoding import TextEncoder
from auditlib.models.local import LocalModel
from tests.tiny import byte_level_tokenizer, llama_config, local_model

NAME = "tiny"
KEY = "sk-audit-0123456789abcdef-SECRET"
CONTEXT = 256
HTML = b"<!doctype html><html><body>Welcome to our web page</body></html>"


def tiny_model() -> LocalModel:
    """The model that the server serves, as it is on this machine."""
    return local_model(llama_config(context=CONTEXT), byte_level_tokenizer(), window_tokens=CONTEXT - 1)


@dataclass
class Behaviour:
    """What the server does. `troubles` are drawn at random with `share`; the rest is what it does always."""

    vllm: bool = True
    echo: bool = True
    tokenize: bool = True
    key: str | None = None
    troubles: tuple[str, ...] = ()
    share: float = 0.0
    always: str | None = None  # a trouble that every completion meets
    after: int = 0  # completions that go well before `always` begins
    change: Callable[[dict[str, Any]], dict[str, Any]] | None = None  # of an answer that is right
    listed: bool = True
    says_context: bool = True
    n_asked: int = 0
    n_completions: int = 0
    most_at_once: int = 0
    times: list[float] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


class TinyServer:
    """On a port of this machine. `behaviour` may be changed while it runs."""

    def __init__(self, model: LocalModel, behaviour: Behaviour, port: int = 0) -> None:
        self.behaviour = behaviour
        self._model = model._model
        self._encoder: TextEncoder = model._encoder
        self._random = random.Random(7)
        self._lock = threading.Lock()
        self._at_work = 0
        self._drops_eos = False
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                server.get(self)

            def do_POST(self) -> None:
                server.post(self)

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def without_eos(self) -> None:
        """From now on no token is put behind a text, as no real server does."""
        self._drops_eos = True

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def get(self, request: BaseHTTPRequestHandler) -> None:
        if not self._may(request):
            return
        if self.behaviour.always == "html":
            send(request, 200, HTML, {"Content-Type": "text/html"})
        elif request.path == "/v1/models" and self.behaviour.listed:
            entry: dict[str, Any] = {"id": NAME, "object": "model", "owned_by": "tests"}
            if self.behaviour.says_context:
                entry["max_model_len"] = CONTEXT
            send_json(request, 200, {"object": "list", "data": [entry]})
        else:
            send_json(request, 404, {"error": {"message": "Not Found"}})

    def post(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
        if not self._may(request):
            return
        if request.path == "/tokenize" and self.behaviour.tokenize and self.behaviour.vllm:
            ids = self._encode(body["prompt"], body.get("add_special_tokens", True))
            pieces = [self._encoder._tokenizer.id_to_token(i) for i in ids]
            send_json(request, 200, {"count": len(ids), "tokens": ids, "token_strs": pieces})
        elif request.path == "/detokenize" and self.behaviour.vllm:
            send_json(request, 200, {"prompt": "".join(self._encoder.token_text(i) for i in body["tokens"])})
        elif request.path == "/v1/completions":
            with self._lock:
                self._at_work += 1
                self.behaviour.n_completions += 1
                number = self.behaviour.n_completions
                self.behaviour.most_at_once = max(self.behaviour.most_at_once, self._at_work)
                self.behaviour.times.append(time.monotonic())
                drawn = self._random.random() < self.behaviour.share and self._random.choice(self.behaviour.troubles)
            try:
                trouble = drawn or (self.behaviour.always if number > self.behaviour.after else None)
                self._complete(request, body, trouble or None)
            finally:
                with self._lock:
                    self._at_work -= 1
        else:
            send_json(request, 404, {"error": {"message": "Not Found"}})

    def _may(self, request: BaseHTTPRequestHandler) -> bool:
        self.behaviour.n_asked += 1
        self.behaviour.headers.append({name.lower(): value for name, value in request.headers.items()})
        given = request.headers.get("Authorization", "")
        if self.behaviour.key is None or given == f"Bearer {self.behaviour.key}":
            return True
        send_json(
            request, 401, {"error": {"message": f"Incorrect API key provided: {given}", "code": "invalid_api_key"}}
        )
        return False

    def _complete(self, request: BaseHTTPRequestHandler, body: dict[str, Any], trouble: str | None) -> None:
        if trouble is not None and TROUBLES[trouble](request):
            return
        if body["model"] != NAME:
            message = f"The model `{body['model']}` does not exist."
            send_json(request, 404, {"error": {"message": message, "code": "model_not_found"}})
            return
        prompt = body["prompt"]
        ids = self._encode(prompt) if isinstance(prompt, str) else prompt
        if len(ids) + body.get("max_tokens", 16) > CONTEXT:
            message = f"This model's maximum context length is {CONTEXT} tokens."
            send_json(request, 400, {"error": {"message": message, "code": "context_length_exceeded"}})
            return
        answer = self._vllm(ids, body) if self.behaviour.vllm and "prompt_logprobs" in body else self._openai(ids, body)
        if "prompt_logprobs" in body and not self.behaviour.vllm:
            send_json(request, 400, {"error": {"message": "Unrecognized request argument: prompt_logprobs"}})
            return
        if self.behaviour.change is not None:
            answer = self.behaviour.change(answer)
        data = json.dumps(answer).encode()
        if trouble == "truncated":
            send(request, 200, data[: len(data) // 2])
        elif trouble == "nan":
            send(request, 200, with_nan(data))
        elif trouble == "dropped":
            request.send_response(200)
            request.send_header("Content-Length", str(len(data)))
            request.end_headers()
            request.wfile.write(data[: len(data) // 2])
            request.wfile.flush()
            request.close_connection = True
        else:
            send(request, 200, data)

    def _encode(self, text: str, special: bool = True) -> list[int]:
        ids: list[int] = self._encoder._tokenizer.encode(text, add_special_tokens=special).ids
        return ids[:-1] if self._drops_eos and ids[-1] == 2 else ids

    def _logprobs(self, ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            return torch.log_softmax(self._model(torch.tensor([ids])).logits[0].float(), dim=-1)

    def _vllm(self, ids: list[int], body: dict[str, Any]) -> dict[str, Any]:
        logp = self._logprobs(ids)
        places: list[dict[str, Any] | None] = [None]
        for row, own in zip(logp[:-1], ids[1:], strict=True):
            chosen = [own, *row.topk(body["prompt_logprobs"]).indices.tolist()] if body["prompt_logprobs"] else [own]
            places.append(
                {
                    str(i): {
                        "logprob": row[i].item(),
                        "rank": int((row > row[i]).sum()) + 1,
                        "decoded_token": self._encoder.token_text(i),
                    }
                    for i in dict.fromkeys(chosen)
                }
            )
        choice = {"index": 0, "text": " x", "logprobs": None, "prompt_logprobs": places, "finish_reason": "length"}
        return {"choices": [choice], "usage": {"prompt_tokens": len(ids)}}

    def _openai(self, ids: list[int], body: dict[str, Any]) -> dict[str, Any]:
        logp = self._logprobs(ids)
        made_up = int(logp[-1].argmax()) if body.get("max_tokens", 16) else None
        if not self.behaviour.echo or not body.get("echo"):
            own: list[int] = [made_up or 0]
            rows = logp[-1:]
            first: list[float | None] = []
        else:
            own = ids if made_up is None else [*ids, made_up]
            rows = logp
            first = [None]
        tokens = [openai_token(self._encoder, i) for i in own]
        scored = own[len(first) :]
        tops = [row.topk(max(body.get("logprobs") or 0, 1)) for row in rows[: len(scored)]]
        offsets, at = [], 0
        for token in tokens:
            offsets.append(at)
            at += len(token)
        numbers = {
            "tokens": tokens,
            "token_logprobs": first + [row[i].item() for row, i in zip(rows, scored, strict=False)],
            "top_logprobs": [None] * len(first)
            + [
                {openai_token(self._encoder, int(i)): p.item() for i, p in zip(top.indices, top.values, strict=True)}
                for top in tops
            ],
            "text_offset": offsets,
        }
        choice = {"index": 0, "text": "".join(tokens), "logprobs": numbers, "finish_reason": "length"}
        return {"choices": [choice], "usage": {"prompt_tokens": len(ids)}, "system_fingerprint": "fp_tests"}


def openai_token(encoder: TextEncoder, token_id: int) -> str:
    """A token as OpenAI writes it: its text, or the bytes of part of a character."""
    raw = encoder._piece_bytes(encoder._tokenizer.id_to_token(token_id) or f"<unused {token_id}>")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)


def with_nan(data: bytes) -> bytes:
    """An answer in which one number became NaN, as Python's json writes it."""
    value = json.loads(data)
    choice = value["choices"][0]
    if choice.get("prompt_logprobs"):
        for told in choice["prompt_logprobs"][1].values():
            told["logprob"] = float("nan")
    else:
        choice["logprobs"]["token_logprobs"][1] = float("nan")
    return json.dumps(value).encode()


def send(request: BaseHTTPRequestHandler, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
    request.send_response(status)
    for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    request.wfile.write(data)


def send_json(
    request: BaseHTTPRequestHandler, status: int, value: dict[str, Any], headers: dict[str, str] | None = None
) -> bool:
    send(request, status, json.dumps(value).encode(), headers)
    return True


def _busy(request: BaseHTTPRequestHandler) -> bool:
    return send_json(request, 429, {"error": {"message": "slow down"}}, {"Retry-After": "0.05"})


def _paid_out(request: BaseHTTPRequestHandler) -> bool:
    return send_json(request, 429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})


def _hours(request: BaseHTTPRequestHandler) -> bool:
    return send_json(request, 429, {"error": {"message": "come back later"}}, {"Retry-After": "7200"})


def _broken(request: BaseHTTPRequestHandler) -> bool:
    return send_json(request, 500, {"error": {"message": "internal"}})


def _html_error(request: BaseHTTPRequestHandler) -> bool:
    send(request, 502, HTML, {"Content-Type": "text/html"})
    return True


def _html(request: BaseHTTPRequestHandler) -> bool:
    send(request, 200, HTML, {"Content-Type": "text/html"})
    return True


def _hang(request: BaseHTTPRequestHandler) -> bool:
    time.sleep(2.5)  # longer than the tests wait
    request.close_connection = True
    return True


def _drip(request: BaseHTTPRequestHandler) -> bool:
    """A byte now and then: no single read ever takes too long."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    try:
        for _ in range(60):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(0.1)
    except OSError:
        pass
    request.close_connection = True
    return True


def _hang_up(request: BaseHTTPRequestHandler) -> bool:
    request.connection.close()
    request.close_connection = True
    return True


def _elsewhere(request: BaseHTTPRequestHandler) -> bool:
    return send_json(request, 307, {}, {"Location": "http://elsewhere.example/v1/completions"})


def _moved(request: BaseHTTPRequestHandler) -> bool:
    return send_json(request, 308, {}, {"Location": "/api/v1/completions"})


def _chat_only(request: BaseHTTPRequestHandler) -> bool:
    message = "This is a chat model and not supported in the v1/completions endpoint."
    return send_json(request, 404, {"error": {"message": message}})


def _huge(request: BaseHTTPRequestHandler) -> bool:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    try:
        for _ in range(100):
            request.wfile.write(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
    except OSError:
        pass
    request.close_connection = True
    return True


def _packed(request: BaseHTTPRequestHandler) -> bool:
    send(request, 200, b"\x1f\x8b" + bytes(100), {"Content-Encoding": "gzip"})
    return True


def _answers(_: BaseHTTPRequestHandler) -> bool:
    return False  # what is wrong is done to the answer


TROUBLES: dict[str, Callable[[BaseHTTPRequestHandler], bool]] = {
    "429": _busy,
    "quota": _paid_out,
    "hours": _hours,
    "500": _broken,
    "502 html": _html_error,
    "html": _html,
    "timeout": _hang,
    "drip": _drip,
    "hang up": _hang_up,
    "truncated": _answers,
    "nan": _answers,
    "dropped": _answers,
    "redirect": _elsewhere,
    "moved": _moved,
    "chat": _chat_only,
    "huge": _huge,
    "packed": _packed,
}


@contextmanager
def served(model: LocalModel, **behaviour: Any) -> Iterator[TinyServer]:
    """A server for the length of a test."""
    server = TinyServer(model, Behaviour(**behaviour))
    try:
        yield server
    finally:
        server.close()
