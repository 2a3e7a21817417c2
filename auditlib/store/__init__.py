"""What lasts: a workspace's files and the documents that were read out of them."""

from auditlib.store.workspace import AddedFile, StoredDocument, Workspace

__all__ = ["AddedFile", "StoredDocument", "Workspace"]
