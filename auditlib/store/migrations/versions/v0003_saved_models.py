"""Models that a person has named, so that they can be chosen again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Adds their table."""
    op.create_table(
        "saved_models",
        sa.Column("key", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("workspace", sa.String, nullable=False),
        sa.Column("name", sa.LargeBinary, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("workspace", "name", name="uq_saved_models"),
    )
