"""One run of a suite for several processes that all want its results, such as those of
pytest-xdist.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from honestone.app.suites.running.run import SuiteResult
from honestone.app.suites.running.table import TableResult
from honestone.report.building.table import column_reports
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.system.files import write_atomically

# By id what came of a case in each column of a table, with the column's name; without a table there
# is one, called "".
Cases: TypeAlias = dict[str, list[tuple[str, CaseDoc]]]


class SuiteVerdict(msgspec.Struct, frozen=True):
    """What the cases of a column come to together. `words`: the verdict; `reasons`: it in detail."""

    verdict: str
    words: str
    reasons: Sequence[str]
    belief: BeliefDoc | None


class FoundOut(msgspec.Struct, frozen=True):
    """What came of the cases, and of each column."""

    cases: Cases
    verdicts: Sequence[SuiteVerdict]


def found_by(result: SuiteResult | TableResult) -> FoundOut:
    if isinstance(result, SuiteResult):
        cases: Cases = {case.id: [("", case)] for case in result.cases}
        reports = [result.report]
    else:
        cases = {one.id: [(cell.column, cell) for cell in one.cells] for one in result.cases}
        reports = column_reports(result.report)
    verdicts = [
        SuiteVerdict(
            one.verdict,
            f"{one.verdict_words}: {one.name}",
            list(dict.fromkeys([*one.reasons, *one.belief_words])),
            one.belief,
        )
        for one in reports
    ]
    return FoundOut(cases, verdicts)


def run_once(folder: Path, name: str, run: Callable[[], FoundOut]) -> FoundOut:
    """What the first process finds that asks in this shared folder; the others wait for it. Where
    that process ends without a result, the next one runs, and resumes what is on record.
    """
    result_file = (
        folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"
    )
    with result_file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if result_file.exists():
            return msgspec.json.decode(result_file.read_bytes(), type=FoundOut)
        found = run()
        write_atomically(result_file, msgspec.json.encode(found))
        return found
