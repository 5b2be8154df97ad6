"""A suite or a rubric in another format: whole, or refused with every loss."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.formats.source import ForeignRubric, Loss, SuiteSource, refuse_losses
from honestone.interop.recognise import read_any_rubric, read_any_suite
from honestone.system.drawing import count

if TYPE_CHECKING:
    from honestone.app.carried_files import CarriedFiles, Copy
    from honestone.app.convert_written import WrittenSuite
    from honestone.core.judging.rubric import Rubric
    from honestone.core.suite.case import Suite

# `agentv` is the dialect that its published package reads (4.42).
SUITE_FORMATS: Final = (
    "honestone",
    "agentv",
    "agentv-5",
    "agentv-4",
    "agentv-2",
    "agentv-seed",
    "task-suite",
    "healthbench",
)
RUBRIC_FORMATS: Final = ("honestone", "autorubric")


class Conversion(Struct, frozen=True, kw_only=True):
    """The file in the other format, and what a person should know about the reading and the
    writing. `copies`: the files that it needs next to it, below its folder.
    """

    text: str
    notes: tuple[str, ...]
    copies: tuple[Copy, ...] = ()


def convert_suite(
    path: Path,
    form: str,
    *,
    accept_loss: bool,
    output: Path | None = None,
    allowed: Sequence[Path] = (),
    read_as: str | None = None,
) -> Conversion:
    """A suite of any format in another one. `output` is where it will be written: its paths start
    there.

    Raises SourceErrors with everything that one of the formats cannot say, unless losses are
    accepted.
    """
    from honestone.app.convert_written import in_usual_words

    source = read_any_suite(path, allowed, read_as)
    carried = _carried(path, output, allowed)
    written, why_not = _in_its_words(source, path, form, carried)
    where_it_is: str | None = None
    left: Sequence[Loss] = ()
    lost: Sequence[Loss] = ()
    if written is not None:
        text = written.text
    else:
        suite = in_usual_words(source) if form == "honestone" else source.suite
        suite, left = _with_one_prompt(suite, path, why_not)
        text, lost = _suite_text(suite, form)
        where_it_is = text
        if carried is not None:
            text, lost = _suite_text(carried.suite(suite), form)
    losses = (
        *refuse_losses((*source.losses, *_not_made(source)), source.dialect, accepted=accept_loss),
        *refuse_losses(_when_written(lost, form), form, accepted=accept_loss),
        *refuse_losses(left, form, accepted=accept_loss),
    )
    readable = None if where_it_is is None else _read_back(where_it_is, path, form)
    notes = (
        f"read as {source.dialect}",
        *source.notes,
        *losses,
        *_code_written(source, readable),
        *_carried_notes(carried),
        *(() if written is None else written.notes),
        *(() if written is not None and written.has_tables else _tables_written_out(source, path)),
    )
    return Conversion(
        text=text, notes=notes, copies=() if carried is None else tuple(carried.copies.values())
    )


def _not_made(source: SuiteSource) -> list[Loss]:
    """Prompts and tests that code makes: a conversion runs nothing, so they cannot be written."""
    hint = "honestone eval --allow-code runs it; a suite here has prompts and tests as they are: save what it makes"
    return [
        Loss(place=one.place, message=f"{one.what}, made by code, cannot be written", hint=hint)
        for one in source.code
        if one.makes_cases
    ]


def _in_its_words(
    source: SuiteSource, path: Path, form: str, carried: CarriedFiles | None
) -> tuple[WrittenSuite | None, str]:
    """The suite with prompts and variables as its file has them, or why that cannot be written."""
    from honestone.app.convert_written import as_written

    if form != "honestone":
        return None, f"a suite of {form} has one"
    try:
        return as_written(source, path, carried), ""
    except UsageError as error:
        return None, error.message


def _with_one_prompt(suite: Suite, path: Path, why: str) -> tuple[Suite, list[Loss]]:
    """The suite as it is run with the first of its prompts, and what is left out: the others, and
    what is not for the first. Raises UsageError where nothing is for it.
    """
    if not suite.prompts:
        return suite, []
    first, *others = suite.prompts
    targets = [one for one in suite.targets if one.prompts is None or first in one.prompts]
    gone = {one.label for one in suite.targets if one not in targets}
    cases = {
        case.id: case
        for case in suite.cases
        if (first in case.prompts or not case.prompts)
        and (not case.targets or set(case.targets) - gone)
    }
    if not cases or not targets:
        raise UsageError(f"no {'target' if cases else 'case'} is for the prompt `{first}`")
    apart = f"it is not asked with the prompt `{first}`"
    left = [
        *((f"the prompt `{name}`", why) for name in others),
        *((f"the target `{name}`", apart) for name in sorted(map(str, gone))),
        *((f"the case `{case.id}`", apart) for case in suite.cases if case.id not in cases),
    ]
    hint = "--accept-loss writes the first prompt alone"
    target, *more = (replace(one, prompts=None) for one in targets)
    alone = [
        replace(
            case.asked_with(first),
            prompt=None,
            variables={},
            targets=tuple(name for name in case.targets if name not in gone),
            depends_on=tuple(id for id in case.depends_on if id in cases),
        )
        for case in cases.values()
    ]
    return (
        replace(suite, cases=tuple(alone), target=target, more_targets=tuple(more), prompts=()),
        [
            Loss(place=f"{path}:1:1", message=f"{what} is left out: {reason}", hint=hint)
            for what, reason in left
        ],
    )


def convert_rubric(
    path: Path,
    form: str,
    *,
    accept_loss: bool,
    output: Path | None = None,
    read_as: str | None = None,
) -> Conversion:
    """A rubric of any format in another one. Raises as `convert_suite` does."""
    source = read_any_rubric(path, read_as=read_as)
    notes = list(source.notes)
    if isinstance(source, ForeignRubric):
        losses = list(source.losses)
        if source.marks:
            losses.append(Loss(place=f"{path}:1:1", message=_MARKS, hint=_MARKS_HINT))
        notes = [
            f"read as {source.dialect}",
            *notes,
            *refuse_losses(losses, source.dialect, accepted=accept_loss),
        ]
    carried = _carried(path, output)
    rubric = source.rubric if carried is None else carried.rubric(source.rubric)
    text, lost = _rubric_text(rubric, form)
    notes += refuse_losses(_when_written(lost, form), form, accepted=accept_loss)
    copies = () if carried is None else tuple(carried.copies.values())
    return Conversion(text=text, notes=(*notes, *_carried_notes(carried)), copies=copies)


def _carried(path: Path, output: Path | None, allowed: Sequence[Path] = ()) -> CarriedFiles | None:
    """The files that go along; None where paths mean the same."""
    if output is None or output.parent.resolve() == path.parent.resolve():
        return None
    from honestone.app.carried_files import CarriedFiles

    return CarriedFiles(path, output, allowed)


def _carried_notes(carried: CarriedFiles | None) -> list[str]:
    if carried is None:
        return []
    copied = len(carried.copies)
    copied_note = (
        [f"{count(copied, 'file')} that it needs will be copied to its folder"] if copied else []
    )
    return [*dict.fromkeys(carried.notes), *copied_note]


_MARKS = "the marks recorded in the file are not part of a rubric"
_MARKS_HINT = "--accept-loss writes the rubric alone"


# ----------------------------------------------------------------------------------------------------
# writers


def _suite_text(suite: Suite, form: str) -> tuple[str, Sequence[Loss]]:
    if form == "honestone":
        from honestone.formats.suite.suite_write import dump_suite

        return dump_suite(suite), ()
    if form == "task-suite":
        from honestone.interop.task_suite.write import dump_task_suite

        return dump_task_suite(suite)
    if form == "healthbench":
        from honestone.interop.healthbench.write import dump_healthbench

        return dump_healthbench(suite)
    from honestone.interop.agentv.write import dump_agentv

    return dump_agentv(suite, "4" if form == "agentv" else form.removeprefix("agentv-"))  # type: ignore[arg-type]


def _read_back(text: str, path: Path, form: str) -> SuiteSource:
    """The suite as it will be read. Raises UsageError where the accepted losses leave so little of
    it that no program can read it. Nothing is written then.
    """
    from honestone.formats.suite.suite_file import read_suite
    from honestone.formats.syntax.document import Document
    from honestone.interop.reader import Reader
    from honestone.interop.recognise import recognise

    sibling = path.parent / f"{path.stem}.{'jsonl' if form == 'healthbench' else 'yaml'}"
    document = Document(path=sibling, text=text, read_rubric=read_any_rubric)
    try:
        found = recognise(document)
        read = (found.read if isinstance(found, Reader) else read_suite)(document)
    except UsageError as error:
        raise UsageError(
            f"too little of this suite can be said in {form}: {error.message}",
            hint="choose another format (--to)",
        ) from None
    assert isinstance(read, SuiteSource)
    return read


def _rubric_text(rubric: Rubric, form: str) -> tuple[str, Sequence[Loss]]:
    if form == "honestone":
        from honestone.formats.rubric.rubric_write import dump_rubric

        return dump_rubric(rubric), ()
    from honestone.interop.autorubric.write import dump_autorubric

    return dump_autorubric(rubric)


# ----------------------------------------------------------------------------------------------------
# losses


def _when_written(losses: Sequence[Loss], form: str) -> list[Loss]:
    """Losses of a writer, with what to do about them where the writer does not say."""
    hint = f"{form} cannot say this: --accept-loss writes the rest"
    return [loss if loss.hint else replace(loss, hint=hint) for loss in losses]


def _tables_written_out(source: SuiteSource, path: Path) -> list[str]:
    far = [id for id, place in source.places.items() if not place.startswith(f"{path}:")]
    return (
        [f"{count(len(far), 'case')} of other files are written out, as they are filled in"]
        if far
        else []
    )


def _code_written(source: SuiteSource, readable: SuiteSource | None) -> list[str]:
    """`readable`: the suite that is written, as it is read back; None where it has all the code."""
    from honestone.core.checking.checks import checks_of, runs_code

    places = sum(not one.makes_cases for one in source.code)
    if readable is not None:
        rubrics = (case.rubric for case in readable.suite.cases)
        written = sum(runs_code(check) for one in rubrics for check in checks_of(one))
        # Of another tool's suite `eval` asks.
        places = 0 if readable.code else min(places, written)
    if not places:
        return []
    what = f"the code of {count(places, 'place')}"
    return [
        f"{what} is in the suite now, and `eval` runs it without asking for permission: read it first"
    ]
