"""What tests of pages do as a person would: press a button, wait for a run."""

from __future__ import annotations

import time

from streamlit.testing.v1 import AppTest

from auditlib.core import settings
from auditlib.jobs import JobClient
from auditlib.store import FINISHED, Run, Store

PATIENCE_SECONDS = 240


def press(page: AppTest, label: str) -> AppTest:
    """Presses the first button of that label."""
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception
    return page


def finished(page: AppTest, kind: str) -> Run:
    """The run that the page has started, once it has ended and the page shows so."""
    client = JobClient(Store(settings().home_folder), settings())
    run_id = page.session_state[f"{kind}_run"]
    until = time.monotonic() + PATIENCE_SECONDS
    while client.run(run_id).state not in FINISHED:
        assert time.monotonic() < until
        time.sleep(0.05)
    page.run()
    assert not page.exception
    return client.run(run_id)
