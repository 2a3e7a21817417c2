"""Books and files as people have them: files in, clean text and snippets out."""

from auditlib.documents.batch import FileResult, Upload, guess_columns, read_file, read_files
from auditlib.documents.cleaning import STEPS, clean_again, pieces, removed_words
from auditlib.documents.folders import read_folder
from auditlib.documents.formats import supported_suffixes
from auditlib.documents.names import display_name
from auditlib.documents.pasted import pasted_document
from auditlib.documents.readers.table import TableColumns
from auditlib.documents.reading import Columns
from auditlib.documents.snippets import excerpt

__all__ = [
    "STEPS",
    "Columns",
    "FileResult",
    "TableColumns",
    "Upload",
    "clean_again",
    "display_name",
    "excerpt",
    "guess_columns",
    "pasted_document",
    "pieces",
    "read_file",
    "read_files",
    "read_folder",
    "removed_words",
    "supported_suffixes",
]
