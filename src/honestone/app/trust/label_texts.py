"""What people label: files that are named, or what a run judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from honestone.core.artifact import Version, digest_of
from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, StoreError, UsageError
from honestone.core.statistics.raters import sample
from honestone.core.suite.attempts import Status
from honestone.report.documents.suite_case import text_of
from honestone.system.files import printable, write_atomically

if TYPE_CHECKING:
    from honestone.app.judging.rubric_plan import RubricPlan
    from honestone.ports import RunInfo, Store

_FORMULA: Final = ("=", "+", "-", "@")
_BAND: Final = 25  # points: scores of one band are one stratum


class LabelText(Struct, frozen=True, kw_only=True):
    """One text. `name` is its path as the labels file has it, `shown` as the person named it.

    `input` and `reference` are what judges of a suite saw with it. `stratum`: what it came to in
    its run, never shown. `copy`: where its bytes are kept once it is labelled, if they are in no
    file.
    """

    name: str
    shown: str
    version: Version
    input: str | None = None
    reference: str | None = None
    run: str | None = None
    case: str | None = None
    attempt: int | None = None
    stratum: str = ""
    copy: Path | None = None

    def keep(self) -> None:
        """Raises FileError where the copy cannot be written."""
        if self.copy is not None and not self.copy.exists():
            try:
                write_atomically(self.copy, self.version.text.encode(), through_links=True)
            except OSError as error:
                raise FileError(
                    f"`{self.copy}` cannot be written: {error.strerror or error}"
                ) from None


def named_texts(plan: RubricPlan, artifacts: Sequence[Path], labels: Path) -> Iterator[LabelText]:
    """The files and folders that were named. Raises FileError for what cannot be read."""
    for artifact in dict.fromkeys(artifacts):
        place = plan.workspace.path(artifact)
        require_outside(labels, place)
        yield LabelText(
            name=_next_to(place, labels.parent),
            shown=printable(artifact),
            version=plan.load(artifact).version,
        )


def texts_with_ids(texts: Mapping[str, str]) -> Iterator[LabelText]:
    """Texts that are in no file, by their ids. Raises UsageError for two ids that a labels file
    takes for one path.
    """
    ids: dict[str, str] = {}
    for id, text in texts.items():
        other = ids.setdefault(os.path.normpath(id), id)
        if other != id:
            raise UsageError(
                f"the ids {visible(repr(other), 60)} and {visible(repr(id), 60)} name the same path",
                hint="give each text an id of its own, because labels go by their path",
            )
        yield LabelText(name=id, shown=printable(id), version=Version.of_text(text))


def texts_of_run(
    plan: RubricPlan, run: str, labels: Path, note: Callable[[str], None]
) -> list[LabelText]:
    """What a run judged: artifacts, or each output of a suite. Raises StoreError for a name that is
    not a run, UsageError for a run of another kind.
    """
    with plan.workspace.open_store(readonly=True) as store:
        found = _Run(plan, store, store.find_run(run), labels)
        texts = [one for one in found.texts() if one.version.text.strip()]
    if found.lost:
        note(f"{found.lost} artifacts left out: the record does not hold their text")
    if not texts:
        raise UsageError(f"run {found.info.id} has no text to label")
    return texts


def drawn(texts: Sequence[LabelText], count: int | None) -> list[LabelText]:
    """A sample of so many, by what they came to; the same for every rater."""
    if count is None:
        return list(texts)
    chosen = set(sample({one.name: one.stratum for one in texts}, count))
    return [one for one in texts if one.name in chosen]


class _Run:
    def __init__(self, plan: RubricPlan, store: Store, info: RunInfo, labels: Path) -> None:
        self.info = info
        self.lost = 0
        self._plan, self._store, self._labels = plan, store, labels
        self._copies = labels.with_suffix(".texts")

    def texts(self) -> Iterator[LabelText]:
        match self.info.kind:
            case "eval":
                return self._artifacts()
            case "suite" | "column":
                return self._outputs()
            case kind:
                raise UsageError(
                    f"run {self.info.id} is of kind `{kind}`, which cannot be labelled",
                    hint="name a run of `eval`, or of a table one of its columns",
                )

    def _artifacts(self) -> Iterator[LabelText]:
        from honestone.app.history import judged_documents
        from honestone.engine.place import load_version

        for number, doc in enumerate(judged_documents(self._store, self.info.id), 1):
            path = Path(doc.artifact.path)
            stratum = _stratum(str(doc.verdict), None if doc.score is None else doc.score / 100)
            try:
                version = (
                    load_version(self._store, doc.artifact.digest)
                    if not isinstance(doc.output, str)
                    else Version.of_text(doc.output)
                )
            except StoreError:
                self.lost += 1
                continue
            if isinstance(doc.output, str) or not self._is_here(path, version):
                if version.is_folder:
                    raise FileError(
                        f"`{path}` has changed since run {self.info.id}",
                        hint="label the folder as it is",
                    )
                yield self._copied(version, str(number), stratum=stratum)
            else:
                name = _next_to(self._plan.workspace.path(path), self._labels.parent)
                yield LabelText(
                    name=name,
                    shown=printable(path),
                    version=version,
                    run=self.info.id,
                    stratum=stratum,
                )

    def _is_here(self, path: Path, version: Version) -> bool:
        try:
            return self._plan.load(path).version.digest == version.digest
        except FileError:
            return False

    def _outputs(self) -> Iterator[LabelText]:
        from honestone.core.record.record import read_record

        record = read_record(self._store.events(self.info.id), run=self.info.id)
        for one in record.cases.values():
            for attempt in one.in_order:
                if (
                    attempt.status is Status.TARGET_ERROR
                    or (made := one.output_of(attempt.number)) is None
                ):
                    continue
                yield self._copied(
                    Version.of_text(made.output),
                    one.case.id,
                    attempt.number,
                    input=one.case.input,
                    reference=text_of(one.case.reference) or None,
                    stratum=_stratum(attempt.status, attempt.score),
                )

    def _copied(
        self,
        version: Version,
        case: str,
        attempt: int | None = None,
        *,
        stratum: str,
        input: str | None = None,
        reference: str | None = None,
    ) -> LabelText:
        """Under a name that says nothing of what it is."""
        name = digest_of(f"{self.info.id}\0{case}\0{attempt}".encode())[7:23] + ".txt"
        copy = self._copies / name
        return LabelText(
            name=_next_to(copy, self._labels.parent),
            shown=name,
            version=version.named(name),
            input=input or None,
            reference=reference,
            run=self.info.id,
            case=case if attempt is not None else None,
            attempt=attempt,
            stratum=stratum,
            copy=copy,
        )


def _stratum(status: str, score: Fraction | float | None) -> str:
    return f"{status} {'' if score is None else min(int(score * 100) // _BAND, 3)}"


def require_outside(labels: Path, artifact: Path) -> None:
    """Raises UsageError for a labels file inside a folder that is judged: judges would see what
    people said.
    """
    if labels.resolve().is_relative_to(artifact.resolve()):
        raise UsageError(
            f"the labels file `{labels}` is inside the artifact `{artifact}`, so judges would see it",
            hint="move it out of that folder",
        )


def _next_to(artifact: Path, folder: Path) -> str:
    """The path of an artifact as the labels file in a folder has it."""
    named = printable(Path(os.path.relpath(artifact, folder)).as_posix())
    return f"./{named}" if named.startswith(_FORMULA) else named
