"""What an order of a suite says, so that another machine can run its cases: the request, what it
must find there, its files.

Pure: what reads files, variables and the store is elsewhere. All of it is plain JSON on record
(`to_plain`, `from_plain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from honestone.core.json_value import Json, JsonObject, expected, texts
from honestone.core.judging.contract import digest_json
from honestone.core.judging.needs import MachineNeeds

FORMAT: Final = 2
# Bytes of a file that are kept in one piece.
CHUNK: Final = 8_000_000


class BundleFile(Struct, frozen=True, kw_only=True):
    """One file: its path from the folder that travels, and the digests of its content, in pieces of
    at most `CHUNK` bytes.
    """

    path: str
    chunks: tuple[str, ...]
    executable: bool = False


class Bundle(Struct, frozen=True, kw_only=True):
    """The files that a run needs, by path."""

    files: tuple[BundleFile, ...] = ()

    @property
    def digest(self) -> str:
        return digest_json(self.to_plain())

    @property
    def blobs(self) -> frozenset[str]:
        return frozenset(chunk for file in self.files for chunk in file.chunks)

    def to_plain(self) -> Sequence[Json]:
        return [
            [one.path, list(one.chunks), one.executable]
            for one in sorted(self.files, key=lambda one: one.path)
        ]

    @classmethod
    def from_plain(cls, plain: object) -> Bundle:
        """Raises ValueError for what `to_plain` never gave, and for a path that leads out."""
        return cls(files=tuple(map(_file, expected(list, plain, "a list"))))


class Plan(Struct, frozen=True, kw_only=True):
    """An order. `request` is what `eval SUITE` was asked, `head` what its suite says besides its
    cases, which are rows of the store; `at` is its folder, from the folder that travels.

    What a runner must find to be the same: `contract`, the identities of the `judges`, of the
    `target` and of the `artifact` (digests), the digest of the `code`, the `sandbox` of its checks
    where they run programs, and the digests of the `files` that judges, target and checks name, by
    the name. `needs` say what each of them wants of a machine, by what it is called in words.
    `version` is for people. `is_trusted`: a person trusts the settings where the order was made.
    """

    request: JsonObject
    contract: str
    code: str
    version: str
    head: JsonObject = field(default_factory=dict)
    at: str = "."
    judges: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    artifact: str | None = None
    sandbox: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, MachineNeeds] = field(default_factory=dict)
    bundle: Bundle = field(default_factory=Bundle)
    is_trusted: bool = False

    def to_plain(self) -> dict[str, Json]:
        return {
            "plan": FORMAT,
            "request": self.request,
            "head": self.head,
            "at": self.at,
            "contract": self.contract,
            "judges": dict(self.judges),
            "target": self.target,
            "artifact": self.artifact,
            "sandbox": self.sandbox,
            "files": dict(self.files),
            "code": self.code,
            "version": self.version,
            "needs": {who: needs.to_plain() for who, needs in self.needs.items()},
            "bundle": self.bundle.to_plain(),
            "trusted": self.is_trusted,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> Plan:
        """Raises ValueError for a plan of another format, and for what `to_plain` never gave."""
        if plain.get("plan") != FORMAT:
            raise ValueError(
                f"it is an order of format {plain.get('plan')}, and this version reads {FORMAT}"
            )
        request, head = plain.get("request"), plain.get("head")
        if not isinstance(request, Mapping) or not isinstance(head, Mapping):
            raise ValueError("it is not an order")
        return cls(
            request=request,
            head=head,
            at=_required_text(plain.get("at")),
            contract=_required_text(plain.get("contract")),
            judges=_digests(plain.get("judges")),
            target=_text_or_none(plain.get("target")),
            artifact=_text_or_none(plain.get("artifact")),
            sandbox=_text_or_none(plain.get("sandbox")),
            files=_digests(plain.get("files")),
            code=_required_text(plain.get("code")),
            version=_required_text(plain.get("version")),
            needs={
                who: MachineNeeds.from_plain(one)
                for who, one in expected(dict, plain.get("needs"), "a table").items()
            },
            bundle=Bundle.from_plain(plain.get("bundle")),
            is_trusted=plain.get("trusted") is True,
        )

    def differences(self, other: Plan) -> list[str]:
        """The differences to another plan of the same request, in words."""
        changes = []
        if other.code != self.code:
            changes.append(
                f"its code is another one (version {other.version} here, {self.version} ordered the run)"
            )
        changes += [
            f"the judge `{name}` is another one" for name in _changed(self.judges, other.judges)
        ]
        if other.target != self.target:
            changes.append("the target is another one")
        if other.artifact != self.artifact:
            changes.append("the artifact is another one")
        if other.sandbox != self.sandbox:
            here, there = (one.sandbox or "not needed" for one in (other, self))
            remedy = f" (ordered with `--sandbox {here}` it can run here)" if other.sandbox else ""
            changes.append(
                f"the sandbox of its checks is {here} here, and was {there} where the run was ordered{remedy}"
            )
        changes += [
            f"the file `{name}` is another one" for name in _changed(self.files, other.files)
        ]
        if other.contract != self.contract and not changes:
            changes.append("the contract is another one")
        return changes


def _changed(ours: Mapping[str, str], theirs: Mapping[str, str]) -> Iterable[str]:
    return [name for name in dict.fromkeys((*ours, *theirs)) if ours.get(name) != theirs.get(name)]


def _file(plain: object) -> BundleFile:
    path, chunks, executable = expected(list, plain, "a list")
    name = _required_text(path)
    parts = name.split("/")
    if not name or name.startswith("/") or "\0" in name or {"", ".", ".."} & set(parts):
        raise ValueError(f"{name!r} leads out of the folder that travels")
    return BundleFile(path=name, chunks=texts(chunks), executable=executable is True)


def _digests(value: object) -> dict[str, str]:
    return {
        _required_text(name): _required_text(digest)
        for name, digest in expected(dict, value, "a table").items()
    }


def _required_text(value: object) -> str:
    return expected(str, value, "a text")


def _text_or_none(value: object) -> str | None:
    return None if value is None else _required_text(value)
