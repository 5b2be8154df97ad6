"""Reading the single values of a suite file: what its keys take besides those of a rubric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any, Final, TypeVar, cast

from honestone.core.json_value import is_number
from honestone.core.judging.choices import SANDBOX_CHOICES
from honestone.core.suite.case import (
    OUTPUT_FORMS,
    SUITE_VERSION,
    AttemptRule,
    CaseWorkspace,
    Expect,
    Split,
    TargetSpec,
)
from honestone.formats.fields import Takes
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.syntax.reader import did_you_mean, value_at
from honestone.formats.values import (
    Got,
    Refused,
    ValueReaders,
    ValueReading,
    shown_value,
    take_name,
    take_text,
)

T = TypeVar("T")

# How many attempts or cases at a time a file may ask for: more is a slip of the finger.
MAX_COUNT: Final = 10_000
MAX_SECONDS: Final = 10_000_000
VERDICTS: Final = ("pass", "fail", "inconclusive")


def take_suite_version(reading: ValueReading, value: Any, path: FilePath, owner: str) -> None:
    if not is_number(value) or value != SUITE_VERSION:
        raise reading.must_be(
            "suite-version",
            value,
            path,
            owner,
            "it is the version of the format, not of your suite",
        )


def take_case_id(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    id = take_name(reading, value, path, owner)
    if not id.isprintable():
        hint = "it is typed on command lines and shown in reports"
        raise Refused("`id` holds characters that cannot be shown", path, hint)
    return id


def take_count(reading: ValueReading, value: Any, path: FilePath, owner: str) -> int:
    number = reading.marked.number(path) if is_number(value) else Fraction(0)
    if number > MAX_COUNT:
        raise Refused(
            f"`{path[-1]}` is {reading.marked.raw(path)}, but {MAX_COUNT} is the most", path
        )
    if number.denominator != 1 or number < 1:
        raise reading.must_be("count", value, path, owner)
    return int(number)


def take_seconds(reading: ValueReading, value: Any, path: FilePath, owner: str) -> float:
    if not is_number(value) or value <= 0:
        raise reading.must_be("seconds", value, path, owner, "write a plain number: timeout: 120")
    if value > MAX_SECONDS:
        most = f"{MAX_SECONDS} seconds are the most"
        raise Refused(f"`{path[-1]}`{owner} is {reading.marked.raw(path)}, but {most}", path)
    return float(value)


def _take_choice(
    reading: ValueReading,
    takes: Takes,
    known: Sequence[str],
    value: Any,
    path: FilePath,
    owner: str,
) -> str:
    if isinstance(value, str) and value in known:
        return value
    hint = did_you_mean(value, known) if isinstance(value, str) else None
    raise reading.must_be(takes, value, path, owner, hint)


def take_rule(reading: ValueReading, value: Any, path: FilePath, owner: str) -> AttemptRule:
    return AttemptRule(_take_choice(reading, "rule", tuple(AttemptRule), value, path, owner))


def take_split(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Split:
    return Split(_take_choice(reading, "split", tuple(Split), value, path, owner))


def take_output(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    return _take_choice(reading, "output", OUTPUT_FORMS, value, path, owner)


def take_sandbox(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    return _take_choice(reading, "sandbox", SANDBOX_CHOICES, value, path, owner)


def take_tags(reading: ValueReading, value: Any, path: FilePath, owner: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (take_name(reading, value, path, owner),)
    tags: dict[str, None] = {}
    for index, entry in enumerate(value):
        with reading.noting():
            tags[take_name(reading, entry, (*path, index), f" of `{path[-1]}`")] = None
    return tuple(tags)


def take_commands(reading: ValueReading, value: Any, path: FilePath, owner: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        return (_take_command_line(reading, value, path),)
    return reading.each(
        "commands", value, path, owner, lambda entry, here: _take_command_line(reading, entry, here)
    )


def _take_command_line(reading: ValueReading, value: Any, path: FilePath) -> str:
    import shlex

    key = next(str(step) for step in reversed(path) if isinstance(step, str))
    line = value.strip() if isinstance(value, str) else ""
    if not line:
        shown = shown_value(value, reading.marked.raw(path))
        raise Refused(f"`{key}` is {shown}, but must be a command line, or a list of them", path)
    try:
        words = shlex.split(line)
    except ValueError as error:
        message = f"`{key}` cannot be split into words: {str(error).lower()}"
        raise Refused(message, path, "quote as in a shell") from None
    if not words or not words[0] or "\0" in line:
        raise Refused(f"`{key}` names no program", path)
    return line


def take_artifacts(
    reading: ValueReading, value: Any, path: FilePath, owner: str
) -> tuple[str, ...]:
    return _take_columns(
        reading,
        "artifacts",
        value,
        path,
        lambda entry, here: take_path(reading, entry, here, owner),
    )


def take_targets(
    reading: ValueReading, value: Any, path: FilePath, owner: str
) -> tuple[TargetSpec, ...]:
    return _take_columns(
        reading,
        "targets",
        value,
        path,
        lambda entry, here: take_target(reading, entry, here, owner),
    )


def _take_columns(
    reading: ValueReading,
    takes: Takes,
    value: Any,
    path: FilePath,
    read: Callable[[Any, FilePath], T],
) -> tuple[T, ...]:
    """One, or a list in which none is twice."""
    if not isinstance(value, list):
        return (read(value, path),)
    found = reading.each(takes, value, path, "", read)
    for index, one in enumerate(found):
        if one in found[:index]:
            raise Refused(f"this is in `{path[-1]}` twice", (*path, index), "name each once")
    return found


def take_target(reading: ValueReading, value: Any, path: FilePath, owner: str) -> TargetSpec:
    if isinstance(value, str):
        return TargetSpec(use=take_text(reading, value, path, owner))
    if not isinstance(value, dict):
        raise reading.must_be("target", value, path, owner)
    return TargetSpec(**reading.fields("target", path, " of `target`"))


def take_workspace(reading: ValueReading, value: Any, path: FilePath, owner: str) -> CaseWorkspace:
    if not isinstance(value, dict):
        hint = (
            f"write {{copy: {value.strip()}}}" if isinstance(value, str) and value.strip() else None
        )
        raise reading.must_be("workspace", value, path, owner, hint)
    got = reading.fields("workspace", path, " of `workspace`")
    if "copy" in value and "git" in value:
        reading.problem(
            "`workspace` has both `copy` and `git`",
            (*path, "git"),
            "take one of them",
            at_key=True,
        )
    git, ref = got.get("git", (None, None))
    return CaseWorkspace(copy=got.get("copy"), files=got.get("files", {}), git=git, ref=ref)


def take_workspace_files(
    reading: ValueReading, value: Any, path: FilePath, owner: str
) -> dict[str, str]:
    if not isinstance(value, dict):
        raise reading.must_be("workspace-files", value, path, owner)
    files: dict[str, str] = {}
    for here in reading.keys_at(path):
        name, text = reading.marked.raw_key(here), value_at(reading.marked.value, here)
        wrong = unsafe_name(name)
        if wrong:
            hint = "names are relative to the workspace: src/main.py"
            reading.problem(f"the file name {wrong}", here, hint, at_key=True)
        elif not isinstance(text, str):
            reading.problem(
                f"`{name}` of `files` must be text",
                here,
                "put it in quotes",
                at_key=text is None,
            )
        else:
            files[name] = text
    for name in files:
        above = next(
            (str(folder) for folder in PurePosixPath(name).parents if str(folder) in files),
            None,
        )
        if above:
            reading.problem(f"`{above}` of `files` is a file and a folder at once", path)
    return files


def take_git(
    reading: ValueReading, value: Any, path: FilePath, owner: str
) -> tuple[str, str | None]:
    if isinstance(value, dict):
        got = reading.fields("git", path, " of `git`")
        if "repo" not in value:
            raise Refused("`repo` of `git` is missing", path)
        if "repo" not in got:
            raise Refused
        repo, ref = got["repo"], got.get("ref")
    else:
        repo, ref = split_ref(take_text(reading, value, path, owner))
    for what, word in (("repository", repo), ("ref", ref)):
        # A word with a hyphen in front would be an option of git.
        if word is not None and (word.startswith("-") or not word.isprintable() or not word):
            raise Refused(f"`{word!r}` is not the name of a {what}", path)
    return repo, ref


def take_expect(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Expect:
    if not isinstance(value, dict) or not value:
        raise reading.must_be("expect", value, path, owner)
    verdict = None
    spans: dict[str, tuple[Fraction, Fraction]] = {}
    for here in reading.keys_at(path):
        key, entry = reading.marked.raw_key(here).strip(), value_at(reading.marked.value, here)
        if key != "verdict":
            with reading.noting():
                spans[key] = _take_span(reading, entry, here, key)
        elif isinstance(entry, str) and entry in VERDICTS:
            verdict = entry
        else:
            shown = shown_value(entry, reading.marked.raw(here))
            reading.problem(
                f"`verdict` of `expect` is {shown}, but must be one of: {', '.join(VERDICTS)}",
                here,
            )
    return Expect(verdict=cast(Any, verdict), score=spans.pop("score", None), criteria=spans)


def _take_span(
    reading: ValueReading, value: Any, path: FilePath, key: str
) -> tuple[Fraction, Fraction]:
    try:
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError
        low, high = (reading.marked.number((*path, index)) for index in (0, 1))
    except ValueError:
        raise Refused(
            f"`{key}` of `expect` must be a range of two numbers", path, f"{key}: [10, 30]"
        ) from None
    if not 0 <= low <= high <= 100:
        raise Refused(
            f"`{key}` of `expect` must be a range within 0 to 100, the lower end first", path
        )
    return low / 100, high / 100


def take_cases(reading: ValueReading, value: Any, path: FilePath, owner: str) -> None:
    """Only whether they are a list: they are read when all that they inherit is known."""
    if isinstance(value, dict) and isinstance(value.get("file"), str):
        raise reading.must_be("cases", value, path, owner, f"write cases: {value['file']}")
    if value or not reading.problems:  # what keeps a table from being read has been noted
        reading.each("cases", value, path, owner, lambda entry, here: None)


def take_defaults(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Got:
    if not isinstance(value, dict):
        raise reading.must_be(
            "defaults", value, path, owner, "defaults: {checks: [{not-contains: sorry}]}"
        )
    return reading.fields("defaults", path, "")


def take_data(reading: ValueReading, value: Any, path: FilePath, owner: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise reading.must_be("data", value, path, owner, f"{path[-1]}: {{source: ticket 12}}")
    return {str(key): entry for key, entry in value.items()}


def take_vars(reading: ValueReading, value: Any, path: FilePath, owner: str) -> None:
    """Whether they are texts: they are filled in before a case is read."""
    if not isinstance(value, dict):
        raise reading.must_be("vars", value, path, owner, "vars: {city: Paris}")
    for here in reading.keys_at(path):
        entry = value_at(reading.marked.value, here)
        if entry is None or isinstance(entry, dict | list):
            shown = shown_value(entry, reading.marked.raw(here))
            reading.problem(
                f"`{reading.marked.raw_key(here)}` of `vars` is {shown}, but must be text or a number",
                here,
            )


def take_path(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    text = take_name(reading, value, path, owner)
    if "\0" in text:
        raise Refused(f"`{path[-1]}`{owner} holds a NUL character", path)
    return text


def take_paths(reading: ValueReading, value: Any, path: FilePath, owner: str) -> tuple[str, ...]:
    return reading.each(
        "paths", value, path, owner, lambda entry, here: take_path(reading, entry, here, owner)
    )


SUITE_VALUES: Final[ValueReaders] = {
    "suite-version": take_suite_version,
    "case-id": take_case_id,
    "count": take_count,
    "seconds": take_seconds,
    "rule": take_rule,
    "split": take_split,
    "output": take_output,
    "sandbox": take_sandbox,
    "tags": take_tags,
    "commands": take_commands,
    "artifacts": take_artifacts,
    "targets": take_targets,
    "workspace": take_workspace,
    "workspace-files": take_workspace_files,
    "git": take_git,
    "ref": take_name,
    "expect": take_expect,
    "cases": take_cases,
    "defaults": take_defaults,
    "data": take_data,
    "vars": take_vars,
    "path": take_path,
    "paths": take_paths,
}


def unsafe_name(name: str) -> str | None:
    """What is wrong with the path of a file that is to be written into a folder; None when nothing
    is.
    """
    if not name.isprintable() or not name.strip():
        return "holds characters that cannot be shown" if name.strip() else "is empty"
    if name.startswith(("/", "~")) or "\\" in name or (len(name) > 1 and name[1] == ":"):
        return f"`{name}` is not relative"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return f"`{name}` leads out of the folder, or is not a plain path"
    return None


def split_ref(text: str) -> tuple[str, str | None]:
    """`ADDRESS@REF`. The `@` of `git@host:path` and of `ssh://user@host/path` parts no ref."""
    address, at, ref = text.rpartition("@")
    if (
        not at
        or not address
        or ":" in ref
        or ("://" in address and "/" not in address.partition("://")[2])
    ):
        return text, None
    return address, ref
