"""Sees to it that the browser tests have a Chromium: an installed one, else Debian's, else Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

INSTALLED_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")


def installed_browser() -> str | None:
    """Path of a Chromium-family browser on this machine; None where there is none outside Playwright's cache."""
    return next((path for name in INSTALLED_NAMES if (path := shutil.which(name))), None)


def main() -> None:
    if installed_browser():
        return
    print("No Chromium found: fetching one for the browser tests …", flush=True)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], check=False)
    if not installed_browser():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)


if __name__ == "__main__":
    main()
