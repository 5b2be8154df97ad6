"""A `stage run` that can be killed: which stages are done, and the skill as it was, written down before anything is spent.

The loop is the same every time; a stage that is on record is read from its artifact and not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from honestone.app.stages.files import (
    Artifact,
    StageFiles,
    Target,
    folder_key,
    put_in_place,
    read_json,
    read_stage,
    recover,
    target_at,
    write_json,
)
from honestone.core.artifact import Version, digest_of
from honestone.core.errors import UsageError
from honestone.core.skill.plan import FileWrite, PlanError, WriteFiles, plan_to_plain, read_plan
from honestone.core.skill.stage_file import Stage
from honestone.system.files import TEMPORARY, printable

_FOLDER = "running"


class RunRecord:
    """The record of one run of a skill that is not finished. `target` is the skill as the run found it."""

    def __init__(self, path: Path, document: dict[str, Any], target: Target, *, goes_on: bool) -> None:
        self._path = path
        self._document = document
        self.target = target
        self.goes_on = goes_on

    @property
    def id(self) -> str:
        return str(self._document["run"])

    @property
    def steps(self) -> dict[str, str]:
        steps: dict[str, str] = self._document["steps"]
        return steps

    def step(
        self,
        name: str,
        stage: Stage,
        work: Callable[[], Mapping[str, Any]],
        *,
        is_final: Callable[[Mapping[str, Any]], bool] = lambda document: True,
    ) -> Artifact:
        """The artifact of a stage: of an earlier process where that finished it, else made now. One that is not final is
        made again by the next process."""
        known = self.known(name, stage)
        if known is not None:
            return known
        document = work()
        path = str(document["truth_anchor"])
        if is_final(document):
            self.steps[name] = path
            self._save()
        return read_stage(Path(path), stage)

    def known(self, name: str, stage: Stage) -> Artifact | None:
        """What an earlier process, or this one, has made of a stage."""
        path = self.steps.get(name)
        return read_stage(Path(path), stage) if path is not None and Path(path).is_file() else None

    def will_apply(self, after: Version) -> None:
        """Before a candidate is put in place: what the files will be, so that a kill on the way can be undone."""
        self._document["applying"] = {
            path: None if (entry := after.files.get(path)) is None else digest_of(entry.data)
            for path in sorted({*self.target.version.files, *after.files})
        }
        self._save()

    def note(self, name: str, path: str) -> None:
        self.steps[name] = path
        self._save()

    def finish(self) -> None:
        self._path.unlink(missing_ok=True)

    def _save(self) -> None:
        write_json(self._path, self._document)


def open_record(files: StageFiles, target: Target, *, identity: str, run: Callable[[], str], fresh: bool) -> RunRecord:
    """The record of the unfinished run of the same identity, or a new one.

    Where an earlier process was killed while a candidate was in place, the original is put back first, unless that very
    run goes on with it. Raises UsageError when somebody has edited the skill since.
    """
    target = recover(files, target)
    folder = printable(target.folder.resolve())
    path = _record_path(files, target)
    _sweep(path)
    old = _read(path, folder)
    goes_on = old is not None and old["identity"] == identity and not fresh
    if old is not None:
        _sweep(*(target.folder / name for name in {"", *(old.get("applying") or {})}))
        waits_for_gate = goes_on and _is_applied_and_not_gated(old["steps"])
        target = _as_it_was(old, target, path, leave=waits_for_gate, accept_edit=fresh)
        if goes_on:
            original = _version(old["original"])
            before = Target(
                folder=target.folder,
                named=target.named,
                left_out=target.left_out,
                skill=_with_version(target, original),
            )
            return RunRecord(path, old, before, goes_on=True)
    document = {
        "run": run(),
        "identity": identity,
        "skill": folder,
        "base_digest": target.version.digest,
        "original": _plain(target.version),
        "applying": None,
        "steps": {},
    }
    record = RunRecord(path, document, target, goes_on=False)
    record._save()
    return record


def settled(files: StageFiles, target: Target) -> Target:
    """The skill as it is when no stage is halfway through with it: what a stage measures must not be half a candidate.

    Raises UsageError while another process is at it, and where a killed `stage run` left a candidate in place.
    """
    from honestone.app.stages.files import note_of
    from honestone.app.stages.state import only_one

    if note_of(files, target).exists():
        with only_one(target.folder):
            target = recover(files, target)
    path = _record_path(files, target)
    old = _read(path, printable(target.folder.resolve()))
    if old is None or target.version.digest == old["base_digest"] or _was_kept(old["steps"]):
        return target
    if _is_ours(old, target.version, _version(old["original"])):
        raise UsageError(
            f"`{target.named}` holds a candidate of a `stage run` that is not finished",
            hint="the same `stage run` command goes on with it, and puts the original back where it has to",
        )
    return target


def _record_path(files: StageFiles, target: Target) -> Path:
    return files.root / _FOLDER / f"{folder_key(target.folder)}.json"


def _read(path: Path, folder: str) -> dict[str, Any] | None:
    if not path.exists():
        return None
    document: dict[str, Any] = read_json(path).value
    fits = (
        document.get("skill") == folder
        and isinstance(document.get("identity"), str)
        and isinstance(document.get("steps"), dict)
        and isinstance(document.get("original"), dict)
        and isinstance(document.get("run"), str)
        and isinstance(document.get("applying"), dict | None)
    )
    if not fits:
        raise UsageError(f"`{printable(path)}` is damaged", hint="delete it when the skill is as it should be")
    return document


def _sweep(*places: Path) -> None:
    """Half-written files of ours that a kill left beside these."""
    for folder in {place if place.is_dir() else place.parent for place in places}:
        for path in folder.glob(f"{TEMPORARY}*"):
            if path.is_file() and not path.is_symlink():
                path.unlink(missing_ok=True)


def _is_applied_and_not_gated(steps: Mapping[str, str]) -> bool:
    gated = {name.removeprefix("gate ") for name in steps if name.startswith("gate ")}
    applied = {name.removeprefix("apply ") for name in steps if name.startswith("apply ")}
    return bool(applied - gated)


def _as_it_was(old: Mapping[str, Any], target: Target, path: Path, *, leave: bool, accept_edit: bool) -> Target:
    """The skill with the original in place again, where a candidate of the unfinished run, or half of one, is there."""
    original, now = _version(old["original"]), target.version
    if now.digest == original.digest or _was_kept(old["steps"]):
        return target
    if _is_ours(old, now, original):
        if leave:
            return target
        put_in_place(target, original)
        return target_at(target.folder, named=target.named)
    if accept_edit:
        return target
    raise UsageError(
        f"`{target.named}` was edited since the run that is not finished; nothing was overwritten",
        hint=f"`--fresh` starts from the skill as it is now; the original of that run is kept in {printable(path)}",
    )


def _is_ours(old: Mapping[str, Any], now: Version, original: Version) -> bool:
    """Whether every file is the original's or the candidate's that was being put in place."""
    applying = old.get("applying")
    return isinstance(applying, dict) and all(
        now.files.get(name) == original.files.get(name) or _digest(now, name) == applying.get(name)
        for name in {*now.files, *original.files, *applying}
    )


def _was_kept(steps: Mapping[str, str]) -> bool:
    """Whether the run was killed when all was decided, and the candidate is in the skill for good."""
    for name, path in steps.items():
        if name.startswith("gate ") and Path(path).is_file() and read_json(Path(path)).value.get("decision") == "keep":
            return True
    return False


def _digest(version: Version, name: str) -> str | None:
    entry = version.files.get(name)
    return None if entry is None else digest_of(entry.data)


def _plain(version: Version) -> dict[str, Any]:
    files = {path: FileWrite(data=entry.data, executable=entry.executable) for path, entry in version.files.items()}
    return plan_to_plain(WriteFiles(files=files))


def _version(plain: object) -> Version:
    from honestone.core.artifact import Entry

    try:
        plan = read_plan(plain, target="")
    except PlanError as error:
        raise UsageError(f"the record of the unfinished run is damaged: {error.message}") from None
    assert isinstance(plan, WriteFiles)
    files = {path: Entry(write.data, bool(write.executable)) for path, write in plan.files.items()}
    return Version(dict(sorted(files.items())), is_folder=True)


def _with_version(target: Target, version: Version) -> Any:
    from dataclasses import replace

    return replace(target.skill, version=version)
