"""`honestone runs` and `honestone show`: what was recorded, in any format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from honestone.app.setup import open_store_for, settings_here
from honestone.cli import options as shared
from honestone.cli.printing import FORMATS, Printer, dump, render_improvement, write
from honestone.cli.suites.printing import SUITE_FORMATS
from honestone.core.errors import UsageError
from honestone.core.events import SuiteStarted
from honestone.ports import Store
from honestone.report.documents import KINDS, json_schema

if TYPE_CHECKING:
    from honestone.report.documents.scorecard import ScorecardDoc


@click.command("runs", short_help="List recorded runs.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True)
@shared.json_option
def runs(limit: int, as_json: bool) -> int:
    """List recorded runs, newest first."""
    with open_store_for(settings_here(), readonly=True) as store:
        found = [(info, _side_of(store, info)) for info in store.runs(limit=limit)]
    if as_json:
        fields = ("id", "kind", "subject", "contract", "started", "finished", "result")
        rows = [{**{name: getattr(info, name) for name in fields}, "side": side} for info, side in found]
        write(dump(rows) + "\n")
        return 0
    from honestone.report.draw import clean

    for info, side in found:
        started = info.started[:16].replace("T", " ")
        which = f" ({side})" if side else ""
        write(f"{info.id}  {started}  {info.kind:<8}{info.result or 'unfinished':<16} {clean(info.subject + which)}\n")
    return 0


def _side_of(store: Store, info: Any) -> str | None:
    """Which side of something larger a suite's run is: the baseline of a comparison, a split within an `improve`."""
    if info.kind != "suite":
        return None
    first = next(store.iter_events(info.id), None)
    return (first.side if isinstance(first, SuiteStarted) else None) or None


class _Format(click.Choice[str]):
    """Our formats, and those of other packages, which are looked for only when one is named."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from honestone.report.formats import other_formats

        return value if value not in self.choices and value in other_formats() else super().convert(value, param, ctx)


@click.command("show", short_help="Show a recorded run.")
@click.argument("run", default="last")
@click.option("--format", "form", type=_Format([*SUITE_FORMATS, "diff"]), default="text", show_default=True)
@click.option(
    "--version", "version", metavar="N", help="Print that version of the artifact: a round, 0, `best` or `original`."
)
@click.option("--schema", type=click.Choice(KINDS), help="Print the JSON Schema of a document of that kind instead.")
@shared.json_option
def show(run: str, form: str, version: str | None, schema: str | None, as_json: bool) -> int:
    """Show a run: its id, the beginning of it, or `last`.

    A package can add formats with entry points of the group `honestone.reports`.
    """
    if schema is not None:
        write(dump(json_schema(schema)) + "\n")
        return 0
    with open_store_for(settings_here(), readonly=True) as store:
        info = store.find_run(run)
        form = "json" if as_json else form
        if info.kind == "improve":
            return _show_improvement(store, info.id, form, version)
        if version is not None or form == "diff":
            raise UsageError(f"run {info.id} is an eval: it has no versions of its own")
        if info.kind == "suite":
            _show_suite(store, info.id, form)
        else:
            _show_eval(judged(store, info.id), form)
        return 0


def _show_suite(store: Store, run: str, form: str) -> None:
    from honestone.cli.suites.printing import print_suite
    from honestone.core.suite.record import read_record
    from honestone.report.suite_documents import suite_document

    print_suite(suite_document(read_record(store.events(run), run=run)), form)


def judged(store: Store, run: str) -> Iterator[ScorecardDoc]:
    from honestone.app.history import judged_documents

    return judged_documents(store, run)


def refuse_other_formats(form: str, what: str) -> None:
    """CSV, JSON lines and HTML are for suites; a format of another package is for everything."""
    if form in SUITE_FORMATS and form not in FORMATS:
        raise UsageError(f"--format {form} is for suites; {what} is shown as {', '.join(FORMATS)}")


def _show_eval(documents: Iterator[ScorecardDoc], form: str) -> None:
    refuse_other_formats(form, "an artifact's scorecard")
    first, second = next(documents, None), next(documents, None)
    if first is None:
        print("nothing was judged in this run", file=sys.stderr)
        return
    printer = Printer(form, many=second is not None)
    for document in (first, *((second,) if second else ()), *documents):
        printer.add(document)
    printer.end()


def _show_improvement(store: Store, run: str, form: str, version: str | None) -> int:
    from honestone.app.history import improvement_report, round_diffs, state_of

    if version is not None:
        _print_version(store, run, version)
        return 0
    if form == "diff":
        state = state_of(store.events(run))
        for number, diff in round_diffs(store, state):
            entry = state.rounds[number - 1]
            decision = "accepted" if entry.accepted else "rejected"
            best = ", the version delivered" if entry.accepted and entry.version == state.best else ""
            write(f"# round {entry.number}: {', '.join(entry.focus)}, {decision}{best}\n{diff}")
        return 0
    refuse_other_formats(form, "an improvement")
    document, report = improvement_report(store, run)
    write(render_improvement(document, form, report=report))
    return 0


def _print_version(store: Store, run: str, version: str) -> None:
    """A file's bytes as they are. Of a folder, each file under a line with its path."""
    from honestone.app.history import state_of
    from honestone.engine.versions import load_version

    state = state_of(store.events(run))
    by_name = {"0": state.original, "original": state.original, "best": state.best, "current": state.current}
    by_name.update({str(entry.number): entry.version for entry in state.rounds if entry.version})
    digest = by_name.get(version)
    if digest is None:
        raise UsageError(f"run {run} has no version {version!r}", hint=f"known: {', '.join(by_name)}")
    found = load_version(store, digest)
    out = sys.stdout.buffer
    sys.stdout.flush()
    for path, entry in found.files.items():
        if found.is_folder:
            out.write(f"==> {path} <==\n".encode())
        out.write(entry.data)
        if found.is_folder and not entry.data.endswith(b"\n"):
            out.write(b"\n")
    out.flush()
