"""`python -m auditlib`."""

from auditlib.cli import app

if __name__ == "__main__":
    app(prog_name="python -m auditlib")
