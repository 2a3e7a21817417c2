"""Long work that survives: runs in the background, in a worker that also holds the models.

Page and command line need `JobClient` alone; it imports neither torch nor DBOS.
"""

from auditlib.jobs import calibration  # noqa: F401  registers its kind
from auditlib.jobs.brought import brought_file
from auditlib.jobs.calibration_files import (
    CalibrationSummary,
    load_calibration,
    load_examined,
    load_read_sets,
    load_score_table,
    load_summary,
)
from auditlib.jobs.calibration_texts import CalibrationParameters, ChosenDocument, calibration_parameters, chosen
from auditlib.jobs.client import JobClient, LoadedModel, WorkerState
from auditlib.jobs.handing_over import evidence_file_name, report_files
from auditlib.jobs.kinds import KINDS, RunKind
from auditlib.jobs.remote_model import RemoteModel

__all__ = [
    "KINDS",
    "CalibrationParameters",
    "CalibrationSummary",
    "ChosenDocument",
    "JobClient",
    "LoadedModel",
    "RemoteModel",
    "RunKind",
    "WorkerState",
    "brought_file",
    "calibration_parameters",
    "chosen",
    "evidence_file_name",
    "load_calibration",
    "load_examined",
    "load_read_sets",
    "load_score_table",
    "load_summary",
    "report_files",
]
