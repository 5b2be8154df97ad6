"""One run of a suite for several processes that all want its results, such as those of
pytest-xdist.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec

from honestone.app.suites.running.run import SuiteResult
from honestone.app.suites.running.table import TableResult
from honestone.report.documents.suite_case import CaseDoc
from honestone.system.files import write_atomically

# By id what came of a case in each column of a table, with the column's name; without a table there
# is one, called "".
Cases: TypeAlias = dict[str, list[tuple[str, CaseDoc]]]


def cases_of(result: SuiteResult | TableResult) -> Cases:
    if isinstance(result, SuiteResult):
        return {case.id: [("", case)] for case in result.cases}
    return {case.id: [(cell.column, cell) for cell in case.cells] for case in result.cases}


def run_once(folder: Path, name: str, run: Callable[[], Cases]) -> Cases:
    """What the first process finds that asks in this shared folder; the others wait for it. Where
    that process ends without a result, the next one runs, and resumes what is on record.
    """
    result_file = (
        folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"
    )
    with result_file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if result_file.exists():
            return msgspec.json.decode(result_file.read_bytes(), type=Cases)
        cases = run()
        write_atomically(result_file, msgspec.json.encode(cases))
        return cases
