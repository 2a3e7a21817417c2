"""What lasts: the database, files and documents, the token-statistics cache, runs and what they made."""

from auditlib.store.artifacts import Artifact, Artifacts
from auditlib.store.calibrations import Calibrations, StoredCalibration
from auditlib.store.clearing import Clearing, ClearingState
from auditlib.store.database import Store
from auditlib.store.run_list import RunLine, run_lines
from auditlib.store.runs import (
    FINISHED,
    UNFINISHED,
    Run,
    RunGoneError,
    RunProgress,
    Runs,
    RunState,
    UnfinishedRun,
    unfinished_runs,
)
from auditlib.store.saved_models import SavedModels, StoredModel
from auditlib.store.token_cache import CacheSize, TokenCache
from auditlib.store.workspace import AddedFile, StoredDocument, Workspace

__all__ = [
    "FINISHED",
    "UNFINISHED",
    "AddedFile",
    "Artifact",
    "Artifacts",
    "CacheSize",
    "Calibrations",
    "Clearing",
    "ClearingState",
    "Run",
    "RunGoneError",
    "RunLine",
    "RunProgress",
    "RunState",
    "Runs",
    "SavedModels",
    "Store",
    "StoredCalibration",
    "StoredDocument",
    "StoredModel",
    "TokenCache",
    "UnfinishedRun",
    "Workspace",
    "run_lines",
    "unfinished_runs",
]
