"""How long the browser takes to draw a heatmap and to follow the k slider, at several text lengths.

`python -m benchmarks.heatmap` prints milliseconds and their share of one frame at 60 frames a second.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from auditlib.core import Alternatives, ModelIdentity, TokenStats
from auditlib.scoring import Reading
from auditlib.ui.heatmap import heatmap_payload, standalone_html
from tests.get_browser import installed_browser

LENGTHS = (1_000, 10_000, 50_000)
FRAME_MS = 1000 / 60
IDENTITY = ModelIdentity("made up", "made up", None, "0" * 64, "0" * 64, "0" * 64, "float32", "none")
FOLLOW_SLIDER = """() => {
    const slider = document.querySelector(".k-input");
    const times = [];
    for (let k = 1; k <= 100; k++) {
        const began = performance.now();
        slider.value = k;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        document.querySelector(".text").getBoundingClientRect();
        times.push(performance.now() - began);
    }
    times.sort((a, b) => a - b);
    return [times[50], times[99]];
}"""


class MadeUpModel:
    """Stands for a model where only names of tokens are asked for."""

    identity = IDENTITY
    vocabulary_size = 50_000

    def token_text(self, token_ids: list[int]) -> list[str]:
        """A word for each id."""
        return [f" word{i}" for i in token_ids]


def made_up_payload(n_tokens: int) -> dict[str, Any]:
    """A text of `n_tokens` words with log-probabilities spread as a model's are."""
    rng = np.random.default_rng(20261121)
    words = [f" word{i}" for i in range(n_tokens)]
    ends = np.cumsum([len(word) for word in words]).astype(np.int32)
    logprob = -rng.gamma(1.0, 3.0, n_tokens).astype(np.float32)
    top = np.sort(-rng.gamma(1.0, 3.0, (n_tokens, 5)).astype(np.float32))[:, ::-1]
    stats = TokenStats(
        token_ids=np.arange(n_tokens, dtype=np.int32),
        start=np.concatenate([[0], ends[:-1]]).astype(np.int32),
        end=ends,
        logprob=logprob,
        expected=np.full(n_tokens, -3, dtype=np.float32),
        variance=np.full(n_tokens, 4, dtype=np.float32),
        rank=rng.integers(1, 50_000, n_tokens).astype(np.int32),
        alternatives=Alternatives(rng.integers(0, n_tokens, (n_tokens, 5)).astype(np.int32), top),
    )
    return heatmap_payload(MadeUpModel(), Reading("".join(words), stats))  # type: ignore[arg-type]


def measure(page: Page, n_tokens: int, folder: Path) -> None:
    file = folder / f"{n_tokens}.html"
    file.write_text(standalone_html(made_up_payload(n_tokens), IDENTITY, "made up", "0" * 64, k=20), encoding="utf-8")
    page.goto(file.as_uri())
    page.locator(".readout b").first.wait_for()
    loaded = page.evaluate("performance.getEntriesByType('navigation')[0].domComplete")
    median, worst = page.evaluate(FOLLOW_SLIDER)
    print(
        f"  {n_tokens:>6,} tokens: page complete after {loaded:5.0f} ms; a step of the slider takes "
        f"{median:5.1f} ms ({median / FRAME_MS:.2f} frames), at worst {worst:5.1f} ms ({worst / FRAME_MS:.2f} frames)"
    )


def main() -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=installed_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        print(f"Chromium {browser.version}")
        for n_tokens in LENGTHS:
            measure(browser.new_page(), n_tokens, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
