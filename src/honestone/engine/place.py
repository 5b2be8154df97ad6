"""Where a loop's artifact is on disk: what may be delivered there, and what a killed delivery left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import force_setattr

from honestone.core.artifact import Entry, Version, digest_of
from honestone.core.editing.proposal import MAX_DIFF, MAX_GROWTH
from honestone.core.errors import FileError, StoreError, UsageError
from honestone.system.files import MAX_BYTES, TEMPORARY, Home, load_artifact
from honestone.system.trust.judging_files import JudgingFiles

if TYPE_CHECKING:
    from honestone.core.loop.state import LoopState
    from honestone.ports import Journal, Store


class Place(Struct, frozen=True, kw_only=True):
    """Where the artifact is. `siblings` are files in its folder that are not part of it, `exclude`
    their real paths.

    `output`: deliver there instead; `only_passed`: only when the run passed; `dry_run`: deliver
        nowhere. `off_limits` are paths in a folder, or folders there, that a worker is not shown
        and may not make; files in `locked` judge, so it may not change them, nor what `would_judge`
        finds between two versions; without those in `must_hold` the artifact is no longer what it
        was. `judging` are the files that judge, wherever they are: when one changes the loop ends.
    """

    path: Path
    named: str
    exclude: frozenset[Path] = frozenset()
    siblings: Mapping[str, Entry] = field(default_factory=dict)
    output: Path | None = None
    only_passed: bool = False
    dry_run: bool = False
    max_bytes: int = MAX_BYTES
    max_diff: int = MAX_DIFF
    max_growth: float = MAX_GROWTH
    off_limits: tuple[str, ...] = ()
    locked: tuple[str, ...] = ()
    must_hold: tuple[str, ...] = ()
    judging: JudgingFiles = field(default_factory=JudgingFiles)
    would_judge: Callable[[Version, Version], list[str]] = lambda before, after: []
    # What the target was when the place was made, which is before a worker runs.
    home: Home | None = None

    def __post_init__(self) -> None:
        if self.home is None or self.home.path != self.target:
            force_setattr(self, "home", Home.of(self.target))

    @property
    def own_name(self) -> str:
        """The name of the file or folder, as the person wrote it."""
        return PurePath(self.named).name or self.path.name

    @property
    def target(self) -> Path:
        """Where the best version is delivered."""
        return self.output or self.path

    def on_disk(self) -> Version:
        """The artifact as it is now. Raises FileError when it cannot be read."""
        return load_artifact(self.path, exclude=self.exclude, max_bytes=self.max_bytes).version

    def part(self, version: Version) -> Version:
        """What of a worker's copy belongs to the artifact."""
        return version

    def delivered(self, before: Version, after: Version) -> Version:
        """What the target holds of two versions. Other files in an `--output` folder are left
        alone.
        """
        try:
            version = load_artifact(
                self.target, exclude=self.exclude, max_bytes=self.max_bytes
            ).version
        except FileError:
            return Version({}, is_folder=True)
        if not version.is_folder:
            return version
        ours = {*before.files, *after.files}
        return Version(
            {name: e for name, e in version.files.items() if name in ours}, is_folder=True
        )

    def forbidden(self, before: Version, after: Version | None) -> list[str]:
        """What a worker made where nothing of the artifact may be, or changed although it judges."""
        if after is None or not after.is_folder:
            return []
        made = [
            name
            for name in after.files
            if any(name == off or name.startswith(f"{off}/") for off in self.off_limits)
        ]
        judges = {
            *self.locked,
            *(name for name in before.files if self.path / name in self.judging),
        }
        changed = [
            name for name in sorted(judges) if before.files.get(name) != after.files.get(name)
        ]
        changed += self.would_judge(before, after)
        return [
            *(f"{name} (not part of the artifact)" for name in made),
            *(f"{name} (it judges)" for name in changed),
            *(
                f"{name} (a link in the original)"
                for name in after.files
                if _passes_link(self.path, name)
            ),
        ]


def _passes_link(root: Path, name: str) -> bool:
    """Whether the original has a link there, or in place of a folder on the way there."""
    path = root / name
    return any(
        place.is_symlink()
        for place in (path, *path.parents)
        if place != root and place.is_relative_to(root)
    )


def is_mix(on_disk: Version, before: Version, after: Version) -> bool:
    """Whether every file is as in one version or the other: a delivery that was cut off."""
    paths = {*on_disk.files, *before.files, *after.files}
    return all(
        on_disk.files.get(path) in (before.files.get(path), after.files.get(path)) for path in paths
    )


def sweep(root: Path, before: Version, after: Version) -> None:
    """Remove what a killed delivery left half-written: a temporary file with the beginning of one
    of its own.
    """
    near = root.rglob(f"{TEMPORARY}*") if after.is_folder else root.parent.glob(f"{TEMPORARY}*")
    for path in list(near):
        name = path.relative_to(root).as_posix() if after.is_folder else path.name
        if name in before.files or name in after.files or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        # Next to a file others may be writing right now, so there an empty one may be theirs.
        if (data or after.is_folder) and any(e.data.startswith(data) for e in after.files.values()):
            path.unlink(missing_ok=True)


def require_resumable(place: Place, state: LoopState, store: Store, run: str) -> None:
    """An unfinished run resumes only over bytes it knows: its original, or a version it accepted.
    Raises UsageError.
    """
    try:
        on_disk = place.on_disk()
    except FileError as error:
        raise UsageError(
            f"run {run} is unfinished, but its artifact cannot be read: {error.message}",
            hint="bring the file back, or start over with --fresh",
        ) from None
    if on_disk.digest in state.accepted_versions:
        return
    if state.delivering is not None:
        before, after = load_version(store, state.delivered), load_version(store, state.delivering)
        if place.output is None:
            sweep(place.path, before, after)
            on_disk = place.on_disk()
        if is_mix(on_disk, before, after):
            return
    raise UsageError(
        f"run {run} on {place.named!r} is unfinished, and the file has been edited since",
        hint="start from the edited file with --fresh, or bring back a version of the run: "
        f"honestone show {run} --version best > {place.named}",
    )


def version_blobs(version: Version) -> dict[str, bytes]:
    """Everything of a version, by digest: its files, and under `version:DIGEST` the list of them."""
    blobs = {digest_of(entry.data): entry.data for entry in version.files.values()}
    listing = {
        "folder": version.is_folder,
        "files": {
            path: [digest_of(entry.data), entry.executable] for path, entry in version.files.items()
        },
    }
    blobs[f"version:{version.digest}"] = json.dumps(listing).encode()
    return blobs


def load_version(store: Store, digest: str) -> Version:
    """A version by its digest. Raises StoreError when the store does not hold it."""
    listing = _Listing(digest, store.blob(f"version:{digest}"))
    return listing.version({name: store.blob(name) for name in listing.contents})


async def recall_version(journal: Journal, digest: str) -> Version:
    """The same in an event loop."""
    listing = _Listing(digest, await journal.blob(f"version:{digest}"))
    return listing.version({name: await journal.blob(name) for name in listing.contents})


class _Listing:
    """The list of a version's files. Raises StoreError where it is None, or a file's content is."""

    def __init__(self, digest: str, data: bytes | None) -> None:
        if data is None:
            raise StoreError(f"the store does not hold the version {digest[:19]}")
        self._digest = digest
        listing = json.loads(data)
        self._is_folder: bool = listing["folder"]
        self._files: dict[str, tuple[str, bool]] = listing["files"]

    @property
    def contents(self) -> set[str]:
        """The digests of the files."""
        return {name for name, _ in self._files.values()}

    def version(self, contents: Mapping[str, bytes | None]) -> Version:
        files = {}
        for path, (name, executable) in self._files.items():
            content = contents[name]
            if content is None:
                raise StoreError(f"the store has lost {path} of the version {self._digest[:19]}")
            files[path] = Entry(content, executable)
        return Version(files, is_folder=self._is_folder)
