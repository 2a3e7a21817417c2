"""Long work that survives: runs in the background, in a worker that also holds the models.

Page and command line need `JobClient` alone; it imports neither torch nor DBOS.
"""

from auditlib.jobs import books, calibration, unlearning  # noqa: F401  register their kinds
from auditlib.jobs.books_files import BooksSummary, load_books, load_read_books, load_used_calibration
from auditlib.jobs.books_texts import (
    BooksParameters,
    ShelvedDocument,
    books_parameters,
    chosen_calibration,
    demo_books_request,
    planned_shelves,
    shelves_of,
    snippet_text,
)
from auditlib.jobs.brought import brought_file
from auditlib.jobs.calibration_files import (
    CalibrationSummary,
    load_calibration,
    load_examined,
    load_read_sets,
    load_score_table,
    load_summary,
)
from auditlib.jobs.calibration_report import ShownCalibration, evidence_as_shown
from auditlib.jobs.calibration_texts import CalibrationParameters, ChosenDocument, calibration_parameters, chosen
from auditlib.jobs.client import JobClient, WorkerState
from auditlib.jobs.handing_over import evidence_file_name, report_files
from auditlib.jobs.kinds import KINDS, RunKind
from auditlib.jobs.model_facts import KeyState, LoadedModel, ModelFilesLook, ServerExamination
from auditlib.jobs.remote_model import RemoteModel
from auditlib.jobs.saved_models import SavedModel, save_model, saved_models

__all__ = [
    "KINDS",
    "BooksParameters",
    "BooksSummary",
    "CalibrationParameters",
    "CalibrationSummary",
    "ChosenDocument",
    "JobClient",
    "KeyState",
    "LoadedModel",
    "ModelFilesLook",
    "RemoteModel",
    "RunKind",
    "SavedModel",
    "ServerExamination",
    "ShelvedDocument",
    "ShownCalibration",
    "WorkerState",
    "books_parameters",
    "brought_file",
    "calibration_parameters",
    "chosen",
    "chosen_calibration",
    "demo_books_request",
    "evidence_as_shown",
    "evidence_file_name",
    "load_books",
    "load_calibration",
    "load_examined",
    "load_read_books",
    "load_read_sets",
    "load_score_table",
    "load_summary",
    "load_used_calibration",
    "planned_shelves",
    "report_files",
    "save_model",
    "saved_models",
    "shelves_of",
    "snippet_text",
]
