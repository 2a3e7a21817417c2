"""The Chromium-family browser of this machine, found and run by its own command line."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from auditlib.core import AuditError

NAMES = (
    "google-chrome",
    "google-chrome-stable",
    "chromium",
    "chromium-browser",
    "microsoft-edge",
    "microsoft-edge-stable",
    "brave-browser",
    "chrome",
    "msedge",
)
MAC_APPS = ("Google Chrome", "Chromium", "Microsoft Edge", "Brave Browser")
WINDOWS_PATHS = (
    r"Google\Chrome\Application\chrome.exe",
    r"Microsoft\Edge\Application\msedge.exe",
    r"Chromium\Application\chrome.exe",
)
WINDOWS_ROOTS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")

VERSION_SECONDS = 20
QUIET = (
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--no-first-run",
    "--no-default-browser-check",
    # Whatever a browser would like to ask its makers: it finds nobody.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def find_browser(named: Path | None = None) -> Path:
    """The browser that is `named`, else one found on this machine. Raises `AuditError` where there is none."""
    if named is not None:
        found = shutil.which(str(named.expanduser()))
        if found is None:
            raise AuditError(
                f"The setting AUDIT_BROWSER names {named}, which is no program on this machine.",
                "Correct or remove it.",
            )
        return Path(found)
    for candidate in candidates(sys.platform, os.environ):
        if found := shutil.which(candidate):
            return Path(found)
    raise AuditError(
        "There is no Chrome, Chromium or Edge on this machine to print the PDF with.",
        "Install one, or name one in AUDIT_BROWSER; or open the HTML report in any browser and print it from there.",
    )


def candidates(platform: str, environment: Mapping[str, str]) -> list[str]:
    """Names and paths where a browser may be, the likeliest first."""
    places: list[str] = []
    if platform == "darwin":
        for root in ("/Applications", f"{environment.get('HOME', '')}/Applications"):
            places += [f"{root}/{app}.app/Contents/MacOS/{app}" for app in MAC_APPS]
    elif platform == "win32":
        roots = [environment[name] for name in WINDOWS_ROOTS if environment.get(name)]
        places += [f"{root}\\{path}" for path in WINDOWS_PATHS for root in roots]
    return [*places, *NAMES]


def major_version(browser: Path) -> int | None:
    """The browser's version, such as 131; None where it does not say (on Windows none does)."""
    if sys.platform == "win32":
        return None
    try:
        said = subprocess.run(
            [browser, "--version"], capture_output=True, timeout=VERSION_SECONDS, check=False, stdin=subprocess.DEVNULL
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"\b(\d{2,4})\.\d+\.\d+", said)
    return int(match[1]) if match else None


def run_browser(browser: Path, arguments: Sequence[str], profile: Path, seconds: float) -> str:
    """Runs the browser unseen, with a profile of its own, and gives what it said to its error output.

    Root cannot use the browser's sandbox, so it runs without; nothing but our own page is opened. Raises `AuditError`
    where it takes too long or cannot be started. It is ended with all its children.
    """
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [str(browser), *QUIET, *sandbox, f"--user-data-dir={profile}", *arguments]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a group of its own, so that all of it can be ended
        )
    except OSError as error:
        raise AuditError(
            f"The browser {browser} could not be started ({error.strerror or error}).",
            "Name another one in AUDIT_BROWSER, or print the HTML report from any browser.",
        ) from error
    try:
        return process.communicate(timeout=seconds)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired as error:
        raise AuditError(
            f"The browser {browser.name} did not finish the PDF within {seconds:.0f} seconds.",
            "Try again when the machine is less busy, or print the HTML report from any browser.",
        ) from error
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and whatever it started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
