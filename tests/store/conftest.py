"""Every test of the store runs on SQLite, and on PostgreSQL too where its programs are on the machine."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from auditlib.store import Store

OpenStore = Callable[..., Store]


def postgresql_programs() -> Path | None:
    """The folder of the newest PostgreSQL server's programs. Debian keeps them off the PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda f: int(f.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def server_user() -> str | None:
    """Whom the server runs as where we are root, which it refuses; None where we are not."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name for user in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Address of a PostgreSQL server made for this session: on a socket in its own folder, so that no port is used."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    user = server_user()
    folder = Path(tempfile.mkdtemp(prefix="audit-postgresql-"))  # outside pytest's own, which only we may enter
    if user:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(programs / program), *arguments]
        result = subprocess.run(command, user=user, cwd=folder, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stdout + result.stderr

    data = str(folder / "data")
    run("initdb", "-D", data, "-U", "audit", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off -c shared_buffers=32MB"
    # Its log goes to a file: a server that kept our pipe would keep us waiting for its end.
    run("pg_ctl", "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
    try:
        yield f"postgresql://audit@/postgres?host={folder}"
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """None for SQLite, or an empty PostgreSQL database's address."""
    if request.param == "sqlite":
        return None
    server: str = request.getfixturevalue("postgresql")
    # Emptied, not made anew: a database is 300 files.
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return server


@pytest.fixture
def open_store(tmp_path: Path, database_url: str | None) -> Iterator[OpenStore]:
    """Opens the test's one data folder and database, as often as it is called."""
    opened: list[Store] = []

    def open_it(**options: float) -> Store:
        opened.append(Store(tmp_path / "home", database_url, **options))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of 24 MiB that everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="audit-small-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        folder.rmdir()
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()
