"""Which books did it read: works of known origin, books to be audited, and what a model's numbers say of these."""

from auditlib.audits.books.audit import BookAudit, audit_books, judged_with
from auditlib.audits.books.judging import BookResult, BookSettings, Judged, checked_settings
from auditlib.audits.books.known import Known, Method
from auditlib.audits.books.numbers import SnippetNumbers, numbers_from_parquet, numbers_to_parquet
from auditlib.audits.books.passages import extraction_map, profile
from auditlib.audits.books.planning import BookPlan, plan_books
from auditlib.audits.books.prefixes import without_prefix_works
from auditlib.audits.books.reading import BlindWords, PlacedWorks, ReadBooks, examine_words, read_books
from auditlib.audits.books.shelves import Shelf, Shelves, Work, arrange, refuse_unusable

__all__ = [
    "BlindWords",
    "BookAudit",
    "BookPlan",
    "BookResult",
    "BookSettings",
    "Judged",
    "Known",
    "Method",
    "PlacedWorks",
    "ReadBooks",
    "Shelf",
    "Shelves",
    "SnippetNumbers",
    "Work",
    "arrange",
    "audit_books",
    "checked_settings",
    "examine_words",
    "extraction_map",
    "judged_with",
    "numbers_from_parquet",
    "numbers_to_parquet",
    "plan_books",
    "profile",
    "read_books",
    "refuse_unusable",
    "without_prefix_works",
]
