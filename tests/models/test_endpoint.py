"""Served models against the same model on this machine, over real HTTP, with servers that behave and others."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from auditlib.core import AuditError, Capability, Settings, TokenStats
from auditlib.jobs.cached_reading import CachedModel
from auditlib.models.endpoint.connecting import connect
from auditlib.models.endpoint.model import EndpointModel
from auditlib.models.endpoint.patience import Patience
from auditlib.models.local import LocalModel
from auditlib.models.request import EndpointRequest
from auditlib.scoring import all_scores, read_texts
from auditlib.store import Store, TokenCache
from tests.jobs.test_cached_reading import Noted
from tests.models.endpoint_server import CONTEXT, NAME, TinyServer, served, tiny_model
from tests.planted import made_up
from tests.tiny import HARD_TEXTS, llama_config, save_folder

TEXTS = [made_up(seed) for seed in range(12)]
LONG = " ".join(made_up(seed) for seed in range(100, 120))
QUICK = Patience(tries=12, first_wait=0.005, longest_wait=0.02)
SETTINGS = Settings(endpoint_seconds=2)
RANDOM_TROUBLES = ("429", "500", "502 html", "timeout", "truncated", "nan", "dropped", "hang up")


@pytest.fixture(scope="module")
def local() -> LocalModel:
    return tiny_model()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_folder(tmp_path_factory.mktemp("tokenizer") / "tiny", llama_config(context=CONTEXT)))


def connected(server: TinyServer, patience: Patience = QUICK, **request: object) -> EndpointModel:
    return connect(EndpointRequest(server.url, NAME, **request), SETTINGS, patience)  # type: ignore[arg-type]


def assert_same(served_stats: dict[int, TokenStats], own: dict[int, TokenStats]) -> None:
    assert sorted(served_stats) == sorted(own)
    for index, stats in served_stats.items():
        np.testing.assert_allclose(stats.logprob, own[index].logprob, atol=1e-5)
        np.testing.assert_array_equal(stats.start, own[index].start)
        np.testing.assert_array_equal(stats.end, own[index].end)


@pytest.mark.parametrize("with_tokenizer", [True, False], ids=["own tokenizer", "server's"])
@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_a_served_model_gives_what_the_same_model_gives_here(
    local: LocalModel, folder: str, vllm: bool, with_tokenizer: bool
) -> None:
    texts = TEXTS + HARD_TEXTS
    with served(local, vllm=vllm) as server:
        model = connected(server, tokenizer=folder if with_tokenizer else None)
        found = dict(model.token_stats(texts, top=3))
    own = dict(local.token_stats(texts, top=3))
    assert_same(found, own)
    for index, stats in found.items():
        assert stats.expected is None
        assert stats.variance is None
        if vllm:
            np.testing.assert_array_equal(stats.rank, own[index].rank)
            np.testing.assert_array_equal(stats.alternatives.ids, own[index].alternatives.ids)
        if vllm or with_tokenizer:
            np.testing.assert_array_equal(stats.token_ids, own[index].token_ids)
        # Two tokens of one letter's bytes may be written alike, and then OpenAI's shape names one of them only.
        np.testing.assert_allclose(stats.alternatives.logprob[:, 0], own[index].alternatives.logprob[:, 0], atol=1e-5)


def test_capabilities_are_what_the_server_gives(local: LocalModel) -> None:
    with served(local, vllm=False) as server:
        assert connected(server).capabilities == {Capability.TOKEN_LOGPROBS, Capability.ALTERNATIVES}
    with served(local) as server:
        model = connected(server)
        assert model.capabilities == {Capability.TOKEN_LOGPROBS, Capability.RANK, Capability.ALTERNATIVES}
        ((_, reading),) = read_texts(model, [TEXTS[0]])
    scores = all_scores(reading, model.capabilities)
    assert scores["min_k_plus_plus"] is None
    assert scores["min_k"] is not None


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_long_texts_are_read_in_the_windows_that_a_local_model_uses(local: LocalModel, folder: str, vllm: bool) -> None:
    with served(local, vllm=vllm) as server:
        # A window here is one token shorter than the context where the server must make one up.
        model = connected(server, tokenizer=folder, context_length=CONTEXT if vllm else CONTEXT - 1)
        assert model.tokens_to_read(LONG) == local.tokens_to_read(LONG) > CONTEXT
        assert_same(dict(model.token_stats([LONG])), dict(local.token_stats([LONG])))


def test_long_text_without_a_tokenizer_is_refused_with_what_to_do(local: LocalModel) -> None:
    with served(local, vllm=False) as server:
        model = connected(server)
        with pytest.raises(AuditError, match=r"refuses long\.txt .*maximum context length.*folder of the model"):
            list(model.token_stats([LONG], names=["long.txt"]))


def test_text_that_the_server_cuts_off_is_refused(local: LocalModel) -> None:
    def cut(answer: dict) -> dict:
        numbers = answer["choices"][0]["logprobs"]
        answer["usage"]["prompt_tokens"] = 30
        for name in list(numbers):
            numbers[name] = numbers[name][:30]
        return answer

    with served(local, vllm=False) as server:
        model = connected(server)
        server.behaviour.change = cut
        with pytest.raises(AuditError, match=r"cut long\.txt off after 30 tokens"):
            list(model.token_stats([TEXTS[0] * 2], names=["long.txt"]))


def test_letters_that_a_server_would_read_as_a_sign_of_its_own_need_a_tokenizer(local: LocalModel, folder: str) -> None:
    text = "The ferry was late </s> and nobody on the quay was surprised."
    for vllm in (True, False):
        with served(local, vllm=vllm) as server:
            with pytest.raises(AuditError, match="a.txt holds the letters '</s>'"):
                list(connected(server).token_stats([text], names=["a.txt"]))
            own = dict(local.token_stats([text]))
            assert_same(dict(connected(server, tokenizer=folder).token_stats([text])), own)


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_run_over_a_server_that_misbehaves_at_random_ends_with_the_same_result(local: LocalModel, vllm: bool) -> None:
    texts = [made_up(seed) for seed in range(40)]
    with served(local, vllm=vllm) as server:
        quiet = dict(connected(server).token_stats(texts))
    with served(local, vllm=vllm) as server:
        model = connected(server)
        server.behaviour.troubles, server.behaviour.share = RANDOM_TROUBLES, 0.4
        before = server.behaviour.n_completions
        troubled = dict(model.token_stats(texts))
        assert server.behaviour.n_completions - before > 50  # it was troubled indeed
    assert sorted(troubled) == sorted(quiet)
    for index, stats in troubled.items():
        np.testing.assert_array_equal(stats.logprob, quiet[index].logprob)
        np.testing.assert_array_equal(stats.start, quiet[index].start)


def test_connecting_to_a_server_that_misbehaves_at_random_succeeds(local: LocalModel) -> None:
    with served(local, troubles=RANDOM_TROUBLES, share=0.3) as server:
        assert connected(server).capabilities


def test_server_that_is_gone_ends_the_run_with_what_to_do_and_the_run_is_resumed(
    local: LocalModel, folder: str, tmp_path: Path
) -> None:
    cache, limit = TokenCache(Store(tmp_path), 10**9), 10**9
    texts = [made_up(seed) for seed in range(30)]
    with served(local) as server:
        request = {"tokenizer": folder, "at_once": 1}
        model = connected(server, Patience(3, 0.005, 0.01), **request)
        model.batch_tokens = 300
        own = dict(model.token_stats(texts))
        server.behaviour.always = "hang up"
        server.behaviour.after = server.behaviour.n_completions + 12
        with pytest.raises(AuditError) as refused:
            list(CachedModel(model, cache, limit, Noted()).token_stats(texts))
        assert "was asked 3 times and closed the connection, or cannot be reached" in refused.value.wrong
        assert "start the run again and it goes on where it stopped" in refused.value.remedy
        server.behaviour.always = None
        before = server.behaviour.n_completions
        resumed = dict(CachedModel(model, cache, limit, Noted()).token_stats(texts))
        asked_again = server.behaviour.n_completions - before
    assert 30 - 12 <= asked_again < 30  # what was read before was not read again, but for a batch
    for index, stats in resumed.items():
        np.testing.assert_array_equal(stats.logprob, own[index].logprob)


def test_retry_after_is_respected(local: LocalModel) -> None:
    with served(local) as server:
        model = connected(server, at_once=1)
        model.tokens_to_read(TEXTS[0])
        server.behaviour.troubles, server.behaviour.share = ("429",), 1.0
        server.behaviour.times.clear()
        model.server.patience = Patience(tries=4, first_wait=0.001, longest_wait=0.001)
        with pytest.raises(AuditError, match="asked 4 times and answered with status 429"):
            list(model.token_stats([TEXTS[0]]))
    assert len(server.behaviour.times) == 4
    assert np.diff(server.behaviour.times).min() >= 0.05  # what the server asked for


def test_server_that_wants_hours_of_peace_ends_the_run(local: LocalModel) -> None:
    with served(local) as server:
        model = connected(server)
        server.behaviour.always = "hours"
        with pytest.raises(AuditError, match="wants to be left alone for 120 minutes") as refused:
            list(model.token_stats([TEXTS[0]]))
    assert "start the run again" in refused.value.remedy


def test_account_that_is_paid_out_is_not_asked_again(local: LocalModel) -> None:
    with served(local) as server:
        model = connected(server)
        server.behaviour.always = "quota"
        before = server.behaviour.n_completions
        with pytest.raises(AuditError, match="status 429: insufficient_quota"):
            list(model.token_stats([TEXTS[0]]))
        assert server.behaviour.n_completions - before == 1


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("timeout", "did not answer within 2 seconds"),
        ("drip", "did not answer within 2 seconds"),
        ("nan", "a log-probability that is not finite"),
        ("truncated", "not whole, or not JSON"),
        ("dropped", "closed the connection"),
        ("500", "answered with status 500"),
    ],
)
def test_trouble_that_never_ends_is_named_with_the_text(local: LocalModel, trouble: str, said: str) -> None:
    with served(local) as server:
        model = connected(server, Patience(tries=2, first_wait=0.01, longest_wait=0.01))
        server.behaviour.always = trouble
        with pytest.raises(AuditError, match=f"While a.txt was read: .*{said}"):
            list(model.token_stats([TEXTS[0]], names=["a.txt"]))


@pytest.mark.parametrize("wrong", [0.5, "-1.0", None, True, 10**400, -9999.0], ids=str)
def test_number_that_is_no_log_probability_is_never_passed_on(local: LocalModel, wrong: object) -> None:
    def spoil(answer: dict) -> dict:
        for told in answer["choices"][0]["prompt_logprobs"][2].values():
            told["logprob"] = wrong
        return answer

    with served(local) as server:
        model = connected(server, Patience(tries=2, first_wait=0.01, longest_wait=0.01))
        server.behaviour.change = spoil
        with pytest.raises(AuditError, match="answered with what cannot be used"):
            list(model.token_stats([TEXTS[0]]))


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_answer_with_fewer_numbers_than_tokens_is_not_used(local: LocalModel, folder: str, vllm: bool) -> None:
    def shorten(answer: dict) -> dict:
        choice = answer["choices"][0]
        lists = choice["logprobs"] or choice
        for name in ("prompt_logprobs", "tokens", "token_logprobs", "top_logprobs", "text_offset"):
            if lists.get(name):
                lists[name] = lists[name][:-2]
        return answer

    with served(local, vllm=vllm) as server:
        model = connected(server, Patience(tries=2, first_wait=0.01, longest_wait=0.01), tokenizer=folder)
        server.behaviour.change = shorten
        with pytest.raises(AuditError, match=r"\d+ numbers for \d+ tokens"):
            list(model.token_stats([TEXTS[0]]))


def test_never_more_requests_at_once_than_allowed(local: LocalModel) -> None:
    with served(local) as server:
        model = connected(server, at_once=3)
        list(model.token_stats([made_up(seed) for seed in range(30)]))
        assert 2 <= server.behaviour.most_at_once <= 3


def test_estimate_is_what_is_then_sent(local: LocalModel, folder: str) -> None:
    with served(local) as server:
        model = connected(server, tokenizer=folder, price=2.0)
        n_asked, spent = server.behaviour.n_completions, model.budget.spent_tokens
        estimate = model.estimate(TEXTS)
        assert server.behaviour.n_completions == n_asked  # nothing was sent to be scored
        n_tokens = sum(len(model.prompt_of(text)) for text in TEXTS)
        assert estimate.is_exact
        assert estimate.tokens == n_tokens
        assert estimate.cost == pytest.approx(n_tokens * 2 / 1_000_000)
        list(model.token_stats(TEXTS))
        assert model.budget.spent_tokens - spent == n_tokens


def test_estimate_without_a_tokenizer_is_near_and_says_that_it_is_one(local: LocalModel) -> None:
    with served(local, vllm=False) as server:
        estimate = connected(server).estimate(TEXTS)
    true = sum(local.tokens_to_read(text) for text in TEXTS)
    assert not estimate.is_exact
    assert true < estimate.tokens < 2.5 * true  # this tokenizer knows these texts' words better than other words


def test_budget_stops_before_anything_is_sent_that_it_does_not_hold(local: LocalModel, folder: str) -> None:
    with served(local) as server:
        spent = connected(server, tokenizer=folder).budget.spent_tokens
        model = connected(server, tokenizer=folder, price=1000.0, most_cost=(spent + 100) / 1000)
        before = server.behaviour.n_completions
        with pytest.raises(AuditError, match=r"The budget of this server ends here.*a cost of") as refused:
            list(model.token_stats(TEXTS))
        assert server.behaviour.n_completions == before
        assert "what was read so far is kept" in refused.value.remedy
        list(model.token_stats(TEXTS[:1]))  # which it does hold


def test_tries_that_failed_count_in_the_budget(local: LocalModel, folder: str) -> None:
    with served(local) as server:
        spent = connected(server, tokenizer=folder).budget.spent_tokens
        model = connected(server, tokenizer=folder, most_tokens=spent + 200)
        server.behaviour.always = "500"
        with pytest.raises(AuditError, match="budget of this server ends here"):
            list(model.token_stats([TEXTS[0]]))
        assert model.budget.spent_tokens <= spent + 200


def test_whoever_waits_can_stop_a_reading_that_hangs(local: LocalModel) -> None:
    class Cancelled(BaseException):
        pass

    def hear(_done: int, _total: int) -> None:
        raise Cancelled

    with served(local) as server:
        model = connected(server, Patience(tries=100, first_wait=10, longest_wait=10))
        server.behaviour.always = "500"
        began = time.monotonic()
        with pytest.raises(Cancelled):
            list(model.token_stats(TEXTS, progress=hear))
        assert time.monotonic() - began < 9  # not the wait before a second try


def test_text_too_short_to_be_scored_is_refused_with_its_name(local: LocalModel, folder: str) -> None:
    for vllm, tokenizer in ((True, folder), (True, None), (False, None)):
        with served(local, vllm=vllm) as server:
            model = connected(server, tokenizer=tokenizer)
            for text in ("", "a", "\0 is no text at all, is it?"):
                with pytest.raises(AuditError, match=r"^a\.txt "):
                    model.tokens_to_read(text, "a.txt")


def test_two_servers_are_never_taken_for_one(local: LocalModel, folder: str) -> None:
    with served(local) as one, served(local) as other:
        first, second = connected(one, tokenizer=folder).identity, connected(other, tokenizer=folder).identity
    assert first.digest != second.digest
    assert first.weights_sha256.startswith("unknown")
    assert first.name == NAME


@pytest.mark.parametrize("vllm", [True, False], ids=["vllm", "openai"])
def test_prefix_before_every_text_gives_what_it_gives_here(local: LocalModel, folder: str, vllm: bool) -> None:
    prefix = made_up(900)
    with served(local, vllm=vllm) as server:
        model = connected(server, tokenizer=folder)
        after = model.after(prefix)
        assert after.windowing != model.windowing
        assert_same(dict(after.token_stats(TEXTS)), dict(local.after(prefix).token_stats(TEXTS)))
        assert_same(dict(model.token_stats(TEXTS)), dict(local.token_stats(TEXTS)))  # which has no prefix still
        np.testing.assert_array_equal(model.token_ids(TEXTS[0]), local.token_ids(TEXTS[0]))


def test_prefix_and_word_counts_need_a_tokenizer(local: LocalModel) -> None:
    with served(local, vllm=False) as server:
        model = connected(server)
        for work in (lambda: model.after(made_up(900)), lambda: model.token_ids(TEXTS[0])):
            with pytest.raises(AuditError, match="folder of the model's tokenizer"):
                work()


def test_vllm_whose_tokenizer_cannot_be_asked_reads_texts_whole(local: LocalModel) -> None:
    with served(local, tokenize=False) as server:
        model = connected(server)
        assert model.tokens is None
        found, own = dict(model.token_stats(TEXTS)), dict(local.token_stats(TEXTS))
        assert_same(found, own)
        np.testing.assert_array_equal(found[0].token_ids, own[0].token_ids)
        np.testing.assert_array_equal(found[0].rank, own[0].rank)
        with pytest.raises(AuditError, match=r"for emoji\.txt are not the letters of the text.*folder of the model"):
            list(model.token_stats(["The ferry was late \N{GRINNING FACE} again."], names=["emoji.txt"]))
