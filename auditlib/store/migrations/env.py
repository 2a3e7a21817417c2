"""What Alembic runs for every upgrade: the steps, in the transaction that `schema.py` has begun."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
