"""Plans: an edit of a skill as data, so that one program proposes it, another runs it and a third
puts it in place.

    append_markdown_section    {section_heading, content_lines}
    replace_markdown_section   {section_heading, content_lines}
    insert_before_section      {section_heading, content_lines, before_heading}
    update_yaml_frontmatter    {frontmatter_updates}
    write_files                {files: [{path, text | base64, mode}], delete: [path]}

The first four change one Markdown file; paths of `write_files` are relative to the skill's folder.
Applying a plan is pure: a version in, a version out, or a PlanError that says why not.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, TypeAlias

import msgspec
from msgspec.structs import replace

from honestone.core.artifact import Entry, Version
from honestone.core.editing.proposal import touched
from honestone.core.errors import UsageError
from honestone.core.skill import skill_file
from honestone.core.skill.skill_file import SKILL_FILE, Section

MAX_PLAN_BYTES = 10_000_000


class Refusal(StrEnum):
    """Why a plan was not applied; the value is the `result.status` of an execution artifact."""

    # It is for a person, or of a kind that no program here knows.
    UNSUPPORTED = "unsupported"
    # Every byte would stay as it is.
    NO_CHANGE = "no_change"
    # It does not fit the skill: a section or file is missing, or what it says makes no sense.
    ERROR = "error"
    # It reaches for something outside of the skill.
    OUTSIDE = "outside"


class PlanError(UsageError):
    """A plan that cannot be applied, or that changes nothing."""

    def __init__(self, refusal: Refusal, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.refusal = refusal


APPEND, REPLACE, INSERT = (
    "append_markdown_section",
    "replace_markdown_section",
    "insert_before_section",
)


class EditSection(msgspec.Struct, frozen=True, kw_only=True):
    """A section is added at the end or before another one, or replaced: its heading stays, and all
    below it up to the next heading of its level goes.
    """

    action: str = APPEND
    target: str
    heading: str
    lines: tuple[str, ...]
    before: str | None = None


class UpdateFrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    action: ClassVar[str] = "update_yaml_frontmatter"
    target: str
    updates: Mapping[str, object]


class WriteFiles(msgspec.Struct, frozen=True, kw_only=True):
    """`files` replace or add whole files, `delete` removes some. Paths are relative to the skill's
    folder.
    """

    action: ClassVar[str] = "write_files"
    files: Mapping[str, FileWrite]
    delete: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite:
    """`executable` None keeps the mode that the file has; a new file is then not executable."""

    data: bytes = field(repr=False)
    executable: bool | None = None


Plan: TypeAlias = EditSection | UpdateFrontMatter | WriteFiles

ACTIONS = (APPEND, REPLACE, INSERT, UpdateFrontMatter.action, WriteFiles.action)

# Keys that any plan may have and that say nothing about the edit.
_REMARKS = {"notes", "note", "reason", "rationale", "description", "summary", "comment"}

# What the heading is called before which a section is put, in plans of different programs.
_BEFORE = ("before_heading", "before_section", "insert_before", "anchor_heading", "target_heading")


# ------------------------------------------------------------------------------------------------------------
# applying


def apply_plan(plan: Plan, version: Version) -> Version:
    """The skill after the plan. Raises PlanError; the version given is never changed."""
    after = _written(plan, version) if isinstance(plan, WriteFiles) else _edited(plan, version)
    if SKILL_FILE in version.files and SKILL_FILE not in after.files:
        raise PlanError(Refusal.ERROR, f"the plan removes {SKILL_FILE}, and a skill needs it")
    if after.digest == version.digest:
        raise PlanError(
            Refusal.NO_CHANGE, "the plan changes nothing: every byte would stay as it is"
        )
    return after


def _edited(plan: EditSection | UpdateFrontMatter, version: Version) -> Version:
    _require_inside(plan.target)
    entry = version.files.get(plan.target)
    if entry is None:
        raise PlanError(Refusal.ERROR, f"the skill has no file `{plan.target}`")
    try:
        text = entry.data.decode()
    except UnicodeDecodeError:
        raise PlanError(Refusal.ERROR, f"`{plan.target}` is not UTF-8 text") from None
    try:
        data = _new_text(plan, text).encode()
    except ValueError as error:
        raise PlanError(Refusal.ERROR, f"`{plan.target}`: {error}") from None
    return _with(version, {plan.target: Entry(data, entry.executable)})


def _new_text(plan: EditSection | UpdateFrontMatter, text: str) -> str:
    if isinstance(plan, UpdateFrontMatter):
        return skill_file.updated(text, plan.updates)
    newline = skill_file.newline_of(text)
    if plan.action == REPLACE:
        old = skill_file.the_section(text, plan.heading)
        heading = skill_file.lines_of(text[old.start : old.end])[0].rstrip("\r\n")
        new = skill_file.rendered(heading, plan.lines, newline)
        return skill_file.with_section_at(
            text[: old.start] + text[old.end :], old.start, new, newline
        )
    if skill_file.find(text, plan.heading):
        raise PlanError(
            Refusal.NO_CHANGE,
            f"the plan changes nothing: `{plan.target}` has the section {plan.heading.strip()!r} already",
            hint="replace_markdown_section changes a section that is there",
        )
    level, at = 2, len(text)
    if plan.before is not None:
        follower = skill_file.the_section(text, plan.before)
        level, at = follower.level, follower.start
    new = skill_file.rendered(plan.heading, plan.lines, newline, level=level)
    return skill_file.with_section_at(text, at, new, newline)


def _written(plan: WriteFiles, version: Version) -> Version:
    for path in (*plan.files, *plan.delete):
        _require_inside(path)
    for path in plan.delete:
        if path not in version.files:
            raise PlanError(
                Refusal.ERROR, f"the plan deletes `{path}`, but the skill has no such file"
            )
    new = {
        path: Entry(write.data, _executable(write, version.files.get(path)))
        for path, write in plan.files.items()
    }
    return _with(version, new, without=plan.delete)


def _executable(write: FileWrite, old: Entry | None) -> bool:
    if write.executable is not None:
        return write.executable
    return old is not None and old.executable


def _with(version: Version, new: Mapping[str, Entry], without: Sequence[str] = ()) -> Version:
    files = {**version.files, **new}
    for path in without:
        del files[path]
    for path in new:
        for folder in _folders_of(path):
            if folder in files:
                raise PlanError(
                    Refusal.ERROR, f"`{folder}` cannot be both a file and the folder of `{path}`"
                )
    if sum(len(entry.data) for entry in files.values()) > MAX_PLAN_BYTES:
        raise PlanError(
            Refusal.ERROR, f"the skill would be larger than {MAX_PLAN_BYTES // 1_000_000} MB"
        )
    return Version(dict(sorted(files.items())), is_folder=True)


def _folders_of(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _require_inside(path: str) -> None:
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") for part in parts) or "\\" in path:
        raise PlanError(
            Refusal.OUTSIDE,
            f"the plan's path {path!r} leaves the skill",
            hint="paths of a plan are relative to the skill's folder, with / between their parts",
        )
    if (
        not path.isprintable()
        or len(path) > 1000
        or any(len(part.encode()) > 255 for part in parts)
    ):
        raise PlanError(
            Refusal.ERROR, f"the plan's path {path[:80]!r} cannot be the name of a file"
        )
    if any(part.startswith(".") or part == "__pycache__" for part in parts):
        raise PlanError(
            Refusal.OUTSIDE,
            f"the plan's path {path!r} is hidden, and hidden files do not belong to a skill",
        )


# ------------------------------------------------------------------------------------------------------------
# between


def plan_between(old: Version, new: Version) -> Plan:
    """The plan that turns one version into the other: a Markdown action where the edit is exactly
    that, else whole files. Raises PlanError where nothing differs.
    """
    paths = touched(old, new)
    if not paths:
        raise PlanError(Refusal.NO_CHANGE, "nothing differs between the two versions")
    if len(paths) == 1 and paths[0].lower().endswith(".md"):
        small = _markdown_plan(paths[0], old, new)
        if small is not None:
            return small
    plan = WriteFiles(
        files={
            path: FileWrite(data=entry.data, executable=entry.executable)
            for path in paths
            if (entry := new.files.get(path)) is not None
        },
        delete=tuple(path for path in paths if path not in new.files),
    )
    for path in paths:
        _require_inside(path)
    return plan


def _markdown_plan(path: str, old: Version, new: Version) -> Plan | None:
    """An action that gives exactly these bytes, or None."""
    before, after = old.files.get(path), new.files.get(path)
    if before is None or after is None or before.executable != after.executable:
        return None
    try:
        texts = before.data.decode(), after.data.decode()
    except UnicodeDecodeError:
        return None
    for plan in _guesses(path, *texts):
        try:
            as_data = read_plan(plan_to_plain(plan), target=path)
            if apply_plan(as_data, old).files[path] == after:
                return plan
        except PlanError:
            continue
    return None


_TRIED = 8


def _guesses(path: str, before: str, after: str) -> list[EditSection]:
    """The actions that this edit could be; each is tried."""
    old, new = skill_file.sections(before), skill_file.sections(after)
    known = {(section.level, section.title) for section in old}
    added = [section for section in new if (section.level, section.title) not in known]
    if len(added) == 1:
        edit = EditSection(target=path, heading=added[0].heading, lines=_content(after, added[0]))
        follower = next((one for one in new if one.start >= added[0].end), None)
        return (
            [edit]
            if follower is None
            else [edit, replace(edit, action=INSERT, before=follower.heading)]
        )
    if added or len(old) != len(new):
        return []
    changed = [
        (one, two)
        for one, two in zip(old, new, strict=True)
        if before[one.start : one.end] != after[two.start : two.end]
    ]
    return [  # innermost first: a section holds those below it
        EditSection(action=REPLACE, target=path, heading=one.heading, lines=_content(after, two))
        for one, two in reversed(changed[-_TRIED:])
    ]


def _content(text: str, section: Section) -> tuple[str, ...]:
    """What is below a section's heading, without the blank lines around it."""
    lines = [
        line.rstrip("\r\n") for line in skill_file.lines_of(text[section.start : section.end])[1:]
    ]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return tuple(lines)


# ------------------------------------------------------------------------------------------------------------
# as data


def plan_to_plain(plan: Plan) -> dict[str, object]:
    """An `execution_plan`; `read_plan` reads it back."""
    match plan:
        case EditSection():
            more = {} if plan.before is None else {"before_heading": plan.before}
            return {
                "action": plan.action,
                "section_heading": plan.heading,
                "content_lines": list(plan.lines),
                **more,
            }
        case UpdateFrontMatter():
            return {"action": plan.action, "frontmatter_updates": dict(plan.updates)}
        case WriteFiles():
            files = [_file_to_plain(path, write) for path, write in plan.files.items()]
            return {"action": plan.action, "files": files, "delete": list(plan.delete)}


def _file_to_plain(path: str, write: FileWrite) -> dict[str, object]:
    plain: dict[str, object] = {"path": path}
    try:
        plain["text"] = write.data.decode()
    except UnicodeDecodeError:
        plain["base64"] = base64.b64encode(write.data).decode()
    if write.executable is not None:
        plain["mode"] = "0755" if write.executable else "0644"
    return plain


def read_plan(plain: object, *, target: str) -> Plan:
    """The plan of an `execution_plan`. `target` is the file that a Markdown action changes,
    relative to the skill.

    Raises PlanError for what no program here can apply, and for what makes no sense.
    """
    if not isinstance(plain, Mapping) or not isinstance(plain.get("action"), str):
        raise PlanError(Refusal.ERROR, "the candidate has no execution plan with an action")
    action = plain["action"]
    if action not in ACTIONS:
        raise PlanError(
            Refusal.UNSUPPORTED,
            f"the plan's action {action[:60]!r} is for a person: no program here can apply it",
            hint=f"plans that are applied: {', '.join(ACTIONS)}",
        )
    if action == WriteFiles.action:
        _only(plain, "files", "delete")
        return WriteFiles(files=_files(plain.get("files", [])), delete=_names(plain))
    if action == UpdateFrontMatter.action:
        _only(plain, "frontmatter_updates")
        updates = plain.get("frontmatter_updates")
        if not isinstance(updates, Mapping) or not updates:
            raise PlanError(Refusal.ERROR, "the plan has no `frontmatter_updates`")
        return UpdateFrontMatter(target=target, updates=dict(updates))
    _only(plain, "section_heading", "content_lines", *(_BEFORE if action == INSERT else ()))
    edit = EditSection(
        action=action,
        target=target,
        heading=_heading(plain, "section_heading"),
        lines=_lines(plain),
    )
    if action != INSERT:
        return edit
    named = [key for key in _BEFORE if key in plain]
    if len(named) != 1:
        raise PlanError(
            Refusal.ERROR, "the plan does not say before which section: `before_heading`"
        )
    return replace(edit, before=_heading(plain, named[0]))


def _only(plain: Mapping[str, object], *known: str) -> None:
    for key in plain:
        if key not in {"action", *known, *_REMARKS}:
            raise PlanError(
                Refusal.UNSUPPORTED,
                f"the plan says {str(key)[:60]!r}, which `{plain['action']}` does not know: it cannot be applied in part",
            )


def _heading(plain: Mapping[str, object], key: str) -> str:
    heading = plain.get(key)
    if not isinstance(heading, str):
        raise PlanError(Refusal.ERROR, f"the plan's `{key}` is not a text")
    try:
        skill_file.parsed_heading(heading)
    except ValueError as error:
        raise PlanError(Refusal.ERROR, f"the plan's `{key}`: {error}") from None
    return heading


def _lines(plain: Mapping[str, object]) -> tuple[str, ...]:
    lines = plain.get("content_lines")
    if not isinstance(lines, list) or not lines or not all(isinstance(line, str) for line in lines):
        raise PlanError(Refusal.ERROR, "the plan's `content_lines` is not a list of lines")
    return tuple(part for line in lines for part in (line.split("\n") or [""]))


def _files(plain: object) -> dict[str, FileWrite]:
    if not isinstance(plain, list):
        raise PlanError(Refusal.ERROR, "the plan's `files` is not a list")
    files: dict[str, FileWrite] = {}
    for one in plain:
        if not isinstance(one, Mapping) or not isinstance(one.get("path"), str):
            raise PlanError(Refusal.ERROR, "an entry of the plan's `files` has no path")
        path = one["path"]
        if path in files:
            raise PlanError(Refusal.ERROR, f"the plan writes `{path}` twice")
        unknown = set(one) - {"path", "text", "base64", "mode"}
        if unknown:
            raise PlanError(
                Refusal.UNSUPPORTED,
                f"the plan says {sorted(map(str, unknown))} of `{path}`, which is not known",
            )
        files[path] = FileWrite(data=_data(one, path), executable=_mode(one.get("mode"), path))
    return files


def _data(one: Mapping[str, object], path: str) -> bytes:
    text, coded = one.get("text"), one.get("base64")
    try:
        if isinstance(text, str) and coded is None:
            return text.encode()
        if isinstance(coded, str) and text is None:
            return base64.b64decode(coded, validate=True)
    except (ValueError, binascii.Error):
        pass
    raise PlanError(Refusal.ERROR, f"the plan has no `text` for `{path}` that can be written")


def _mode(mode: object, path: str) -> bool | None:
    """Modes are octal text (`0755`); what matters is whether the owner may execute the file."""
    if mode is None:
        return None
    if isinstance(mode, str) and re.fullmatch(r"(?:0o|0|100)?[0-7]{3}", mode):
        return bool(int(mode[-3:], 8) & 0o100)
    raise PlanError(
        Refusal.ERROR,
        f"the plan's mode of `{path}` is {str(mode)[:20]!r}, not one like 0644 or 0755",
    )


def _names(plain: Mapping[str, object]) -> tuple[str, ...]:
    names = plain.get("delete", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise PlanError(Refusal.ERROR, "the plan's `delete` is not a list of paths")
    files = plain.get("files")
    rows = files if isinstance(files, list) else []
    written = {one["path"] for one in rows if isinstance(one, Mapping) and "path" in one}
    doubled = [name for name, times in Counter(names).items() if times > 1 or name in written]
    if doubled:
        raise PlanError(Refusal.ERROR, f"the plan names `{doubled[0]}` twice")
    return tuple(names)


def target_of(plan: Plan) -> str:
    """What the plan changes, relative to the skill: one file, or the folder itself (`""`) where
    there are several.
    """
    if not isinstance(plan, WriteFiles):
        return plan.target
    touched = (*plan.files, *plan.delete)
    return touched[0] if len(touched) == 1 else ""
