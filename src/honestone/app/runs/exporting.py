"""A recorded suite run to a server that keeps results of other tools too."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from msgspec import Struct

from honestone.report.documents.suite import SuiteReportDoc
from honestone.system.drawing import count, line


class Exported(Struct, frozen=True):
    """`words`: where the run is, as a line for a person. `left_out`: what has no place there, in
    words.
    """

    words: str
    left_out: Sequence[str] = ()


def export_to_mlflow(doc: SuiteReportDoc) -> Exported:
    """Write the run to the store of MLFLOW_TRACKING_URI, or find it there. Raises UsageError."""
    from honestone.adapters.exports.mlflow import store_run
    from honestone.report.exports.mlflow_run import suite_mlflow

    place = store_run(suite_mlflow(doc))
    done = "was there already" if place.was_there else "written"
    return Exported(
        f"MLflow run {place.run} {done}: experiment {line(place.experiment)} at {line(place.store)}"
    )


def export_to_langfuse(doc: SuiteReportDoc) -> Exported:
    """Send the run to the server of LANGFUSE_HOST. Raises UsageError."""
    from honestone.adapters.exports.langfuse import langfuse_server, send_to_langfuse
    from honestone.report.exports.langfuse_traces import no_place_in_langfuse, suite_langfuse

    server = langfuse_server(os.environ)
    made = suite_langfuse(doc)
    asyncio.run(send_to_langfuse(server, made))
    traces, scores = count(made.traces, "trace"), count(len(made.scores), "score")
    return Exported(
        f"{traces} and {scores} sent to {server.where}: session {doc.run}",
        no_place_in_langfuse(doc),
    )
