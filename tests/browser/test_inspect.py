"""The main job as a person does it: paste, read, look, move k, hover, move on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, Server, settle
from tests.tiny import byte_level_tokenizer, llama_config, save_folder

pytestmark = pytest.mark.browser

TEXT = (ROOT / "assets" / "examples" / "pride-and-prejudice.txt").read_text(encoding="utf-8")
HOSTILE = (
    '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1"> &lt;i&gt; 👩‍👩‍👧 \u202eevil\u202c </div>'
)


def paste_and_read(page: Page, text: str) -> None:
    settle(page)
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Read this text").click()
    page.locator(".heatmap .readout b").first.wait_for()


def set_k(page: Page, k: int) -> None:
    """As a hand on the slider: every step fires `input`, letting go fires `change`."""
    page.locator(".heatmap .k-input").evaluate(
        """(slider, k) => {
            slider.value = k;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
        }""",
        k,
    )


def let_go(page: Page) -> None:
    page.locator(".heatmap .k-input").evaluate("slider => slider.dispatchEvent(new Event('change', { bubbles: true }))")


def readout(page: Page) -> str:
    return page.locator(".heatmap .readout").inner_text()


def shown_min_k(page: Page) -> float:
    found = re.search(r"\): (−?[\d.]+) nats", readout(page))
    assert found
    return float(found[1].replace("−", "-"))


def score_from_shell(tmp_path: Path, text: str, k: int, model: str = "bundled") -> dict[str, float]:
    file = tmp_path / "text.txt"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "auditlib", "score", str(file), "--k", str(k), "--json", "--model", model]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    scores: dict[str, float] = json.loads(output)[0]["scores"]
    return scores


@pytest.mark.bundled
def test_paste_see_the_heatmap_move_k_and_read_the_alternatives(
    server: Server, new_page: Callable[[str], Page], tmp_path: Path
) -> None:
    page = new_page(server.url)
    paste_and_read(page, TEXT)
    assert page.locator(".heatmap .text").evaluate("pane => pane.textContent") == TEXT
    at_20 = score_from_shell(tmp_path, TEXT, 20)
    assert shown_min_k(page) == pytest.approx(at_20["min_k"], abs=1e-4)
    outlined = page.locator(".heatmap .text .cell.low").count()

    # The server is stopped dead: what changes now changes in the browser alone.
    server.process.send_signal(signal.SIGSTOP)
    try:
        set_k(page, 5)
        assert page.locator(".heatmap .text .cell.low").count() < outlined
        at_5 = shown_min_k(page)
        assert at_5 < at_20["min_k"]
        page.locator(".heatmap .colour-by").select_option("z")
        page.locator(".heatmap .unit").select_option("sentences")
        page.locator(".heatmap .unit").select_option("tokens")
        page.locator(".heatmap .colour-by").select_option("logprob")

        page.locator(".heatmap .text .cell.low").nth(2).hover()
        card = page.locator(".heatmap .card")
        expect(card).to_be_visible()
        for fact in ("log-probability", "probability", "rank", "entropy here", "in the bottom 5%"):
            expect(card).to_contain_text(fact)
        expect(card.locator("li")).to_have_count(5)
        assert all(re.search(r"\S.*%", line) for line in card.locator("li").all_inner_texts())
    finally:
        server.process.send_signal(signal.SIGCONT)

    let_go(page)
    expect(page.get_by_text("Min-K% (k = 5%)")).to_be_visible()
    assert at_5 == pytest.approx(score_from_shell(tmp_path, TEXT, 5)["min_k"], abs=1e-4)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    expect(page.locator(".js-plotly-plot").first).to_contain_text("bottom 5%")


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "tiny"
    return save_folder(folder, llama_config(context=512), byte_level_tokenizer())


@pytest.fixture
def tiny_page(server: Server, new_page: Callable[[str], Page], tiny_folder: Path) -> Page:
    """The page, with a small model chosen through its dialog."""
    page = new_page(server.url)
    choose_folder(page, str(tiny_folder))
    expect(page.get_by_role("dialog")).to_be_hidden()
    return page


def name_folder(page: Page, folder: str) -> None:
    page.get_by_role("button", name="Change model").click()
    page.get_by_role("dialog").get_by_text("A folder or .gguf file").click()
    page.get_by_label("Folder or .gguf file", exact=True).fill(folder)
    page.get_by_label("Folder or .gguf file", exact=True).press("Tab")
    page.get_by_role("button", name="Use this model").click()


def choose_folder(page: Page, folder: str) -> None:
    name_folder(page, folder)
    expect(page.get_by_role("dialog")).to_be_hidden()
    settle(page)


def test_a_slow_press_right_after_pasting_is_not_lost(tiny_page: Page) -> None:
    settle(tiny_page)
    tiny_page.get_by_label("Text", exact=True).fill(TEXT)
    button = tiny_page.get_by_role("button", name="Read this text")
    button.hover()
    tiny_page.mouse.down()  # the field is left, the page hears of the text and says how long it is
    expect(tiny_page.get_by_text(re.compile(rf"^{len(TEXT.split())} words"))).to_be_visible()
    settle(tiny_page)
    tiny_page.mouse.up()
    tiny_page.locator(".heatmap .readout b").first.wait_for()


def test_keyboard_goes_from_outlier_to_outlier(tiny_page: Page) -> None:
    paste_and_read(tiny_page, TEXT)
    pane, current = tiny_page.locator(".heatmap .text"), tiny_page.locator(".heatmap .cell.current")
    pane.focus()
    places = []
    for _ in range(3):
        pane.press("n")
        expect(current).to_have_class(re.compile("low"))
        places.append(current.evaluate("cell => cell.place"))
    assert places == sorted(set(places))
    pane.press("p")
    assert current.evaluate("cell => cell.place") == places[1]
    expect(tiny_page.locator(".heatmap .card")).to_be_visible()
    expect(tiny_page.locator(".heatmap .spoken")).to_contain_text("in the bottom 20 percent")
    pane.press("ArrowRight")
    assert current.evaluate("cell => cell.place") == places[1] + 1
    pane.press("Escape")
    expect(tiny_page.locator(".heatmap .card")).to_be_hidden()


def test_markup_in_a_text_is_shown_as_its_letters(tiny_page: Page) -> None:
    paste_and_read(tiny_page, HOSTILE)
    assert tiny_page.locator(".heatmap .text").evaluate("pane => pane.textContent") == HOSTILE
    assert tiny_page.locator(".heatmap .text :is(script, img, i, div)").count() == 0
    assert tiny_page.evaluate("window.hacked") is None
    marks = tiny_page.locator(".heatmap .hidden-character").evaluate_all("all => all.map(one => one.dataset.mark)")
    assert {"U+202E", "U+202C"} <= set(marks)


def test_ten_thousand_tokens_are_drawn_with_a_map_that_jumps(tiny_page: Page) -> None:
    words = " ".join(f"{i * 7919 % 10007} ferries" for i in range(2600))
    paste_and_read(tiny_page, words)
    n_tokens = int(re.search(r"of ([\d,]+) tokens", readout(tiny_page))[1].replace(",", ""))  # type: ignore[index]
    assert n_tokens > 10_000
    assert tiny_page.locator(".heatmap .text .cell").count() > 9_000
    before = tiny_page.locator(".heatmap .text .cell.low").count()
    set_k(tiny_page, 40)
    assert tiny_page.locator(".heatmap .text .cell.low").count() > 1.8 * before
    mini_map = tiny_page.locator(".heatmap .minimap")
    expect(mini_map).to_be_visible()
    box = mini_map.bounding_box()
    assert box
    mini_map.dispatch_event(
        "pointerdown", {"buttons": 1, "clientX": box["x"] + 5, "clientY": box["y"] + box["height"] * 0.9}
    )
    assert tiny_page.locator(".heatmap .text").evaluate("pane => pane.scrollTop / pane.scrollHeight") > 0.5


def test_downloads_hold_the_tokens_and_a_page_that_works_offline(
    tiny_page: Page, new_page: Callable[[str], Page], tmp_path: Path
) -> None:
    paste_and_read(tiny_page, "=1+1 is what a spreadsheet would compute. " + TEXT)
    files = {}
    for label in ("Token table (CSV)", "Heatmap (HTML)"):
        with tiny_page.expect_download() as download:
            tiny_page.get_by_role("button", name=label).click()
        files[label] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[label])
    rows = files["Token table (CSV)"].read_text(encoding="utf-8-sig").splitlines()
    assert rows[0].startswith("position,start,end,text,token_id,token,logprob")
    assert not [row for row in rows if re.search(r"(^|,)[=+@]", row)]

    offline = new_page(files["Heatmap (HTML)"].as_uri())
    assert readout(offline) == readout(tiny_page)
    set_k(offline, 50)
    assert readout(offline) != readout(tiny_page)
    offline.locator(".heatmap .text .cell.low").first.hover()
    expect(offline.locator(".heatmap .card li")).to_have_count(5)


def test_uploaded_file_is_read_and_a_bad_one_is_said_by_name(tiny_page: Page) -> None:
    tiny_page.get_by_text("Upload", exact=True).click()
    chooser = tiny_page.locator("input[type=file]")
    chooser.set_input_files({"name": "bad.txt", "mimeType": "text/plain", "buffer": bytes(range(256))})
    tiny_page.get_by_text("bad.txt").first.wait_for()
    tiny_page.get_by_role("button", name="Read this text").click()
    expect(tiny_page.get_by_role("alert")).to_contain_text("“bad.txt” is not text")
    chooser.set_input_files({"name": "good.md", "mimeType": "text/markdown", "buffer": TEXT.encode()})
    tiny_page.get_by_text(f"{len(TEXT.split())} words").wait_for()
    tiny_page.get_by_role("button", name="Read this text").click()
    tiny_page.locator(".heatmap .readout b").first.wait_for()
    assert tiny_page.locator(".heatmap .text").evaluate("pane => pane.textContent") == TEXT


def test_two_people_reading_at_once_each_see_their_own_text(
    server: Server, new_page: Callable[[str], Page], tiny_folder: Path, tmp_path: Path
) -> None:
    texts = [TEXT * 2, "She counted the apples twice and wrote the smaller number down. " * 20]
    pages = [new_page(server.url) for _ in texts]
    for page, text in zip(pages, texts, strict=True):
        choose_folder(page, str(tiny_folder))
        expect(page.get_by_role("dialog")).to_be_hidden()
        page.get_by_label("Text", exact=True).fill(text)
    for page in pages:
        page.get_by_role("button", name="Read this text").click()
    for page, text in zip(pages, texts, strict=True):
        page.locator(".heatmap .readout b").first.wait_for()
        assert page.locator(".heatmap .text").evaluate("pane => pane.textContent") == text.strip("\r")
        truth = score_from_shell(tmp_path, text, 20, str(tiny_folder))["min_k"]
        assert shown_min_k(page) == pytest.approx(truth, abs=1e-4)


def test_first_start_without_any_model_says_so_and_a_folder_still_works(
    serve: Callable[..., Server],
    worker_on: Callable[[Path], None],
    new_page: Callable[[str], Page],
    tiny_folder: Path,
    tmp_path: Path,
) -> None:
    worker_on(tmp_path / "nothing here")
    page = new_page(serve(AUDIT_HOME=str(tmp_path / "nothing here")).url)
    settle(page)
    page.get_by_label("Text", exact=True).fill(TEXT)
    page.get_by_role("button", name="Read this text").click()
    expect(page.get_by_role("alert")).to_contain_text("SmolLM2-135M-Instruct is not on this machine yet")
    name_folder(page, "/no/such/place")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("There is no model folder /no/such/place")
    page.get_by_label("Folder or .gguf file", exact=True).fill(str(tiny_folder))
    page.get_by_label("Folder or .gguf file", exact=True).press("Tab")
    page.get_by_role("button", name="Use this model").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    paste_and_read(page, TEXT)
    assert "tokens" in readout(page)


def test_dark_mode_is_followed(server: Server, new_page: Callable[[str], Page], tiny_folder: Path) -> None:
    page = new_page(server.url)
    page.emulate_media(color_scheme="dark")
    page.reload()
    choose_folder(page, str(tiny_folder))
    expect(page.get_by_role("dialog")).to_be_hidden()
    paste_and_read(page, TEXT)
    expect(page.locator(".heatmap")).to_have_class(re.compile("dark"))


@pytest.mark.parametrize(("path", "title"), [("documents", "Documents"), ("method", "Method"), ("inspect", "Inspect")])
def test_address_of_a_page_opens_it_inside_the_app_also_on_a_fresh_server(
    path: str, title: str, serve: Callable[..., Server], new_page: Callable[[str], Page], tmp_path: Path
) -> None:
    fresh = serve(AUDIT_HOME=str(tmp_path)).url  # nobody has opened its first page yet
    page = new_page(f"{fresh}/{path}")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Change model")).to_be_visible()
    expect(page.get_by_role("link", name="Documents")).to_be_visible()
