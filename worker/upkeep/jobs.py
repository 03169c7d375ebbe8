"""Jobs: long work in the ledger's own words, resumable, one step a transaction."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from worker.parts import Parts
from worker.upkeep.resweep import resweep_step

log = logging.getLogger(__name__)


Stepper = Callable[[int, dict[str, Any], Parts], tuple[float, dict[str, Any] | None]]

SILENCE = timedelta(seconds=60)
"""After a job has not moved for so long, whoever ran it is taken for dead; a step takes seconds."""

STEPPERS: dict[str, Stepper] = {"secret-sweep": resweep_step}


def run_jobs(tenant: int, parts: Parts) -> int:
    """Runs a tenant's open jobs to their ends; how many ended."""
    ended = 0
    while _step(tenant, parts):
        ended += 1
    return ended


def _step(tenant: int, parts: Parts) -> bool:
    """Runs the oldest open job that no other worker runs; False when there is none."""
    with parts.ledger.transaction(tenant) as filing:
        job = filing.run("next_job", of="upkeep", silence=SILENCE).fetchone()
        if job is None:
            return False
    resume: dict[str, Any] | None = job["resume"]
    stepper = STEPPERS.get(job["kind"])
    if stepper is None:
        _end(tenant, parts, job, "failed", {"error": "internal_error", "message": "No such kind of job."})
        return True
    while resume is not None:
        progress, resume = stepper(tenant, resume, parts)
        if resume is not None:
            with parts.ledger.transaction(tenant) as filing:
                filing.run(
                    "advance_job",
                    of="upkeep",
                    job_id=job["job_id"],
                    progress=progress,
                    resume=json.dumps(resume),
                )
    _end(tenant, parts, job, "succeeded", None)
    return True


def _end(tenant: int, parts: Parts, job: dict[str, Any], status: str, error: dict[str, str] | None) -> None:
    with parts.ledger.transaction(tenant) as filing:
        filing.run(
            "end_job",
            of="upkeep",
            job_id=job["job_id"],
            status=status,
            error=None if error is None else json.dumps(error),
        )
    log.info("job %s of tenant %d %s", job["kind"], tenant, status)
