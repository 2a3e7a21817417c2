"""Long work that survives: runs in the background, in a worker that also holds the models.

Page and command line need `JobClient` alone; it imports neither torch nor DBOS.
"""

from auditlib.jobs.brought import brought_file
from auditlib.jobs.calibration import (
    CalibrationSummary,
    load_calibration,
    load_read_sets,
    load_score_table,
    load_summary,
)
from auditlib.jobs.calibration_texts import CalibrationParameters, ChosenDocument, calibration_parameters, chosen
from auditlib.jobs.client import JobClient, LoadedModel, WorkerState
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
    "load_calibration",
    "load_read_sets",
    "load_score_table",
    "load_summary",
]
