"""When the tables of a pipeline are maintained, and how far that goes."""

from __future__ import annotations

from pydantic import Field

from tidemark.model.maintenance import Policy
from tidemark.spec.base import SpecModel
from tidemark.spec.schedule import Cron


class PolicySpec(SpecModel):
    """How far files may wear before they are rewritten, and how long snapshots are kept."""

    small_files: int = Field(
        default=5,
        ge=2,
        strict=True,
        description="files of a partition, smaller than three quarters of write.target-file-size-"
        "bytes, that are written together once there are so many",
    )
    max_deleted: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="share of a file's rows that may be deleted before the file is rewritten",
    )
    max_delete_files: int = Field(
        default=10,
        ge=1,
        strict=True,
        description="delete files that may belong to a file before it is rewritten",
    )
    max_manifests: int = Field(
        default=100,
        ge=1,
        strict=True,
        description="manifests that a snapshot may have before they are written together",
    )
    keep_days: int = Field(
        default=5,
        ge=1,
        strict=True,
        description="days for which snapshots are kept for time travel; main, branches and tags "
        "stay",
    )
    max_snapshots: int = Field(
        default=200,
        ge=1,
        strict=True,
        description="the newest snapshots that are kept of these days; each makes the metadata "
        "longer that every cut of the table reads and writes",
    )
    orphan_days: int = Field(
        default=3,
        ge=3,
        strict=True,
        description="days after which a file is removed that no snapshot names",
    )


class MaintenanceSpec(PolicySpec):
    """Maintenance of one pipeline's tables; what it leaves out is as in the installation."""

    schedule: Cron | None = Field(
        default="0 3 * * *",
        description="cron schedule of the DAG maintain__<pipeline>; null: only by hand",
    )

    def policy(self, installation: PolicySpec) -> Policy:
        """What the file says, and for the rest the installation."""
        declared = self.model_dump(include=self.model_fields_set - {"schedule"})
        return Policy(**{**installation.model_dump(), **declared})
