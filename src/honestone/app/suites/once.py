"""One run of a suite for several processes that all want its results, such as those of pytest-xdist."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from honestone.report.documents.suite import SuiteReportDoc
from honestone.system.files import write_atomically


def run_once(folder: Path, name: str, run: Callable[[], SuiteReportDoc]) -> SuiteReportDoc:
    """The report of the first process that asks for it in this shared folder; the others wait for it. Where that process
    ends without a report, the next one runs, and resumes what is on record."""
    kept = folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            return msgspec.json.decode(kept.read_bytes(), type=SuiteReportDoc)
        report = run()
        write_atomically(kept, msgspec.json.encode(report))
        return report
