"""How the tables came to be: one file a step in `versions/`, run by Alembic when a database is opened.

A step is never changed once it was released, and uses no table of `tables.py`, which goes on changing. A new one is a
file in `versions/` and its name here.
"""

REVISIONS = ("0001", "0002", "0003")
"""All steps, oldest first. Reading them off the files would cost every start the import of Alembic."""
