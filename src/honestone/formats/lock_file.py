"""The lock: a contract written next to its rubric, so that a changed rubric, prompt, judge or bar
is refused in words.

`rubric.yaml.lock` holds the whole contract document and its id. It names no machine and no time:
the same contract gives the same bytes, so it can be committed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from honestone.core.errors import ContractMismatch, FileError
from honestone.core.json_value import json_once
from honestone.core.judging.contract import Contract, ContractDocument, canonical, differences
from honestone.formats.syntax.marked import parse_marked, read_text

SCHEMA: Final = "honestone.lock/1"
_PARTS: Final = ("scoring", "rubric", "judges", "checks", "rule", "options")


def lock_path(rubric: Path) -> Path:
    """`rubric.yaml` has its lock in `rubric.yaml.lock`."""
    return rubric.with_name(f"{rubric.name}.lock")


class FilesThatJudge(Struct, frozen=True, kw_only=True):
    """The digests of files by name. `outside`: as seen from the lock. `artifacts`: by its path,
    what an artifact holds of its own.
    """

    outside: Mapping[str, str]
    artifacts: Mapping[str, Mapping[str, str]]


class Lock(Struct, frozen=True, kw_only=True):
    """What a lock holds. `files` is None in one that an older version wrote, which knew only those
    of the contract.
    """

    contract: Contract
    files: FilesThatJudge | None


def dump_lock(contract: Contract, files: FilesThatJudge) -> str:
    document: dict[str, object] = {
        "schema": SCHEMA,
        "contract": contract.id,
        "document": contract.document,
    }
    document["files"] = dict(files.outside)
    if files.artifacts:
        document["artifacts"] = {name: dict(inside) for name, inside in files.artifacts.items()}
    return (
        json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    )


def read_lock(path: Path) -> Lock:
    """The contract that was locked. Raises FileError when there is none, or when it was edited by
    hand.
    """
    if not path.exists():
        raise FileError(
            f"lock `{path}` not found",
            hint=f"honestone rubric lock {path.with_name(path.name.removesuffix('.lock'))}",
        )
    found = parse_marked(read_text(path), str(path)).value
    if (
        not isinstance(found, dict)
        or found.get("schema") != SCHEMA
        or not isinstance(found.get("document"), dict)
    ):
        raise _no_lock(path)
    contract = Contract(document=_as_json(path, found["document"]))
    if contract.id != found.get("contract"):
        raise FileError(
            "this lock was edited: its contract id does not fit what it holds",
            place=f"{path}:1:1",
            hint="take it from version control, or write it again: honestone rubric lock RUBRIC",
        )
    return Lock(contract=contract, files=_files_in(path, found) if "files" in found else None)


def _files_in(path: Path, document: Mapping[str, Any]) -> FilesThatJudge:
    files, artifacts = document["files"], document.get("artifacts", {})
    tables = [files, *(artifacts.values() if isinstance(artifacts, dict) else [None])]
    if not all(isinstance(table, dict) for table in tables):
        raise _no_lock(path)
    return FilesThatJudge(
        outside={str(name): str(digest) for name, digest in files.items()},
        artifacts={
            str(name): {str(file): str(digest) for file, digest in inside.items()}
            for name, inside in artifacts.items()
        },
    )


def _as_json(path: Path, document: Any) -> dict[str, object]:
    """The document as JSON has it: places do not matter here, but `1` and `1.0` and keys that look
    like numbers do.
    """
    try:
        whole: Any = json_once(path.read_text(encoding="utf-8-sig"))
        plain: dict[str, object] = whole["document"]
    except (ValueError, RecursionError):
        raise _no_lock(path) from None
    return plain


def _no_lock(path: Path) -> FileError:
    hint = "write it again: honestone rubric lock RUBRIC"
    return FileError(
        "this is not a lock that this version of honestone reads", place=f"{path}:1:1", hint=hint
    )


def require_locked(
    locked: Contract, now: Contract, lock: Path, *, allows_higher_bar: bool = False
) -> None:
    """Raises ContractMismatch, with what differs in words, when a contract is not the one that was
    locked. With `allows_higher_bar` it may ask for a higher `sure`: what passes it passes the
    locked one too.
    """
    if locked.id == now.id:
        return
    if allows_higher_bar and _with_locked_bar(locked.document, now.document).id == locked.id:
        return
    changed = what_changed(locked.document, now.document)
    raise ContractMismatch(
        "this is not what was locked:" + "".join(f"\n  {line}" for line in changed),
        place=f"{lock}:1:1",
        hint="undo the change, or accept it with `honestone rubric lock`",
    )


def _with_locked_bar(locked: ContractDocument, now: ContractDocument) -> Contract:
    """The contract of `now` with the bar of `locked`, where its own is higher. A rubric has it in
    `rubric`, a suite in `options`. Where only one of them has a bar, verdicts follow another rule.
    """
    document = dict(now)
    for part in ("rubric", "options"):
        before, after = locked.get(part), now.get(part)
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            continue
        least, asked = _bar(before), _bar(after)
        if least is not None and asked is not None and asked > least:
            document[part] = {**after, "sure": before["sure"]}
    return Contract(document=document)


def _bar(part: Mapping[str, object]) -> Fraction | None:
    """`sure` as a share 0-1; None where nothing says it, or what it says is not a number."""
    try:
        return Fraction(str(part["sure"])) if "sure" in part else None
    except (ValueError, ZeroDivisionError):
        return None


def require_covered(now: Mapping[str, str], contracted: Collection[str], lock: Path) -> None:
    """Raises ContractMismatch for a lock of an older version where files judge that are not
    `contracted`: it says nothing of them.
    """
    missing = sorted(now.keys() - set(contracted))
    if missing:
        count = "1 file" if len(missing) == 1 else f"{len(missing)} files"
        raise ContractMismatch(
            f"this lock was made by an older version: {count} not covered, lock again ({', '.join(missing[:5])})",
            place=f"{lock}:1:1",
            hint="look at what judges, then: honestone rubric lock (or suite lock)",
        )


def require_locked_files(locked: Mapping[str, str], now: Mapping[str, str], lock: Path) -> None:
    """Raises ContractMismatch where a file that judges is another one than was locked."""
    changed = [name for name in sorted({*locked, *now}) if locked.get(name) != now.get(name)]
    if changed:
        lines = "".join(
            f"\n  {name}: {_how_changed(name in locked, name in now)}" for name in changed
        )
        raise ContractMismatch(
            f"what judges is not what was locked:{lines}",
            place=f"{lock}:1:1",
            hint="undo the change, or accept it with `honestone rubric lock` (or `suite lock`)",
        )


def _how_changed(was_there: bool, is_there: bool) -> str:
    if not was_there:
        return "new"
    return "changed" if is_there else "missing"


def what_changed(locked: Mapping[str, object], now: Mapping[str, object]) -> list[str]:
    """What differs from the locked document to this one, a line each: things are known by their
    ids, not by their place.
    """
    ours, theirs = _by_id(locked), _by_id(now)
    _keep_common(
        ours, theirs, "checks"
    )  # the rubric says which checks there are; here, what they use
    order = [part for part in _PARTS if part in ours or part in theirs]
    lines = []
    for part in dict.fromkeys([*order, *ours, *theirs]):
        mine = {part: ours[part]} if part in ours else {}
        other = {part: theirs[part]} if part in theirs else {}
        lines += [
            " ".join(line.split()) for line in differences(mine, other)
        ]  # a text may hold line breaks
    return lines or ["the order of criteria, items or judges changed"]


def _by_id(value: Any) -> Any:
    """Lists of things with ids as mappings, so that one that was put in front moves no other."""
    if isinstance(value, Mapping):
        return {key: _by_id(inner) for key, inner in value.items()}
    if not isinstance(value, list | tuple):
        return value
    ids = [_id_of(entry) for entry in value]
    if not ids or None in ids:
        return [_by_id(entry) for entry in value]
    numbered: dict[str, object] = {}
    for id, entry in zip(ids, value, strict=True):
        same = sum(1 for known in numbered if known == id or known.startswith(f"{id}#"))
        numbered[f"{id}#{same + 1}" if same else str(id)] = _by_id(
            {k: v for k, v in entry.items() if k != "id"}
        )
    return numbered


def _id_of(entry: Any) -> str | None:
    """The id of a criterion, item or judge; of a check what it asks."""
    if not isinstance(entry, Mapping):
        return None
    if isinstance(entry.get("id"), str):
        return str(entry["id"])
    return (
        f"{entry['check']} {canonical(entry.get('value'))}"
        if isinstance(entry.get("check"), str)
        else None
    )


def _keep_common(ours: dict[str, object], theirs: dict[str, object], part: str) -> None:
    mine, other = ours.get(part), theirs.get(part)
    mine, other = (
        (mine if isinstance(mine, dict) else {}),
        (other if isinstance(other, dict) else {}),
    )
    ours[part] = {key: value for key, value in mine.items() if key in other}
    theirs[part] = {key: value for key, value in other.items() if key in mine}


def locked_ids(contract: Contract) -> frozenset[str]:
    """The ids of criteria and items that a lock names."""
    rubric = contract.document.get("rubric")
    return (
        frozenset(_ids(rubric.get("criteria", ()))) if isinstance(rubric, Mapping) else frozenset()
    )


def _ids(criteria: Sequence[Mapping[str, Any]]) -> list[str]:
    found: list[str] = []
    for criterion in criteria:
        found.append(str(criterion["id"]))
        found += [str(item["id"]) for item in criterion.get("items", ())]
        found += _ids(criterion.get("criteria", ()))
    return found
