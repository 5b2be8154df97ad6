"""The loops of other tools, kept as runs: what their state says, without a verdict of ours."""

from __future__ import annotations

import json
from pathlib import Path

from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import Event, LoopImported, RunFinished
from honestone.interop.rulph.state import NAMESPACE, read_state
from honestone.report.documents.imported import ImportedDoc
from honestone.system.files import load_file, printable

IMPORTED = "imported"


def import_loop(workspace: Workspace, file: Path) -> ImportedDoc:
    """Keeps rulph's state.json as a run. Raises UsageError for a file that is not one."""
    started = _read_loop(workspace.path(file), printable(file))
    with workspace.open_store() as store:
        run = store.start_run(
            kind=IMPORTED, subject=started.path, identity="", contract="", first=started
        )
        store.finish_run(run, IMPORTED, RunFinished(result=IMPORTED))
    return imported_document(run, started)


def imported_document(run: str, started: Event) -> ImportedDoc:
    assert isinstance(started, LoopImported)
    state = dict(started.state)
    summary = str(read_state({NAMESPACE: state}))
    return ImportedDoc(
        run=run, tool=started.tool, path=started.path, summary=summary, state=dict(state)
    )


def _read_loop(path: Path, named: str) -> LoopImported:
    try:
        plain = json.loads(load_file(path).text)
        if read_state(plain) is None:
            raise ValueError(f"it has no `{NAMESPACE}`")
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"this is not the state of a rulph loop: {error}",
            place=named,
            hint='it looks like {"rulph": {"round": 2, "score": 91.65, "threshold": 90, ...}}',
        ) from None
    return LoopImported(
        contract={}, contract_id="", tool=NAMESPACE, path=named, state=plain[NAMESPACE]
    )
