"""Files in, clean text out. Knows formats; knows no model."""

from auditlib.documents.plain_text import SUFFIXES, document_of, read_file

__all__ = ["SUFFIXES", "document_of", "read_file"]
