"""Who wrote a document and when, where its file or a catalogue says so."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Adds both columns; of the documents that are there, neither is known."""
    op.add_column("documents", sa.Column("author", sa.LargeBinary))
    op.add_column("documents", sa.Column("year", sa.Integer))
