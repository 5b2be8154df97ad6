"""What every reader of a foreign format is made of: the reader's own description, and criteria as they are made."""

from __future__ import annotations

from collections.abc import Iterator

from honestone.core.rubric import slug
from honestone.formats.document import Document, JsonLine, MarkedLine
from honestone.formats.nodes import MapKey
from honestone.formats.reader import Entry, Reading, Steps, did_you_mean, shown
from honestone.formats.source import ForeignRubric, Loss, SuiteSource


class Walk(Reading):
    """A reading of what has no tables of keys yet."""

    def at(self, path: Steps = ()) -> Taking:
        return Taking(self, path)


EntryWalk = Walk


class Taking(Entry):
    def __init__(self, walk: Walk, path: Steps) -> None:
        super().__init__(walk, path)
        self.walk = walk
        self.taken: set[MapKey] = set()

    def require_mapping(self, what: str) -> bool:
        if not self.is_mapping:
            self.walk.problem(f"{what} must be a mapping, not {shown(self.value)}", self.path)
        return self.is_mapping

    def which(self, *names: str) -> str | None:
        self.taken.update(names)
        return super().which(*names)

    def below(self, key: MapKey) -> Taking:
        self.taken.add(key)
        return Taking(self.walk, (*self.path, key))

    def each(self, key: str, what: str = "") -> Iterator[Taking]:  # type: ignore[override]
        for entry in super().each(key):
            yield Taking(self.walk, entry.path)

    def text(self, *names: str, required: bool = False) -> str | None:
        if required and self.which(*names) is None:
            self.walk.problem(f"`{names[0]}` is missing", self.path, f"give it a text: {names[0]}: ...")
            return None
        found = super().text(*names)
        key = self.which(*names)
        raw = None if key is None else self.walk.marked.raw((*self.path, key))
        if required and key is not None and raw is not None and not raw.strip():
            self.walk.problem(f"`{key}` is empty", (*self.path, key))
        return found

    def ignore(self, *keys: str, why: str | None = None) -> None:
        self.taken.update(keys)
        if why and any(key in self for key in keys):
            self.walk.note(why)

    def lose(self, *keys: str, message: str) -> None:
        for key in keys:
            self.taken.add(key)
            if key in self:
                self.walk.loss(message.format(key=key), (*self.path, key))

    def close(self, what: str) -> None:
        for key in self.value if isinstance(self.value, dict) else ():
            if key not in self.taken and not str(key).startswith("x-"):
                path = (*self.path, key)
                message = f"unknown key `{self.walk.marked.raw_key(path)}` in {what}"
                self.walk.problem(message, path, did_you_mean(key, map(str, self.taken)), at_key=True)


__all__ = [
    "Document",
    "ForeignRubric",
    "JsonLine",
    "Loss",
    "MarkedLine",
    "Steps",
    "SuiteSource",
    "Taking",
    "Walk",
    "shown",
    "slug",
]
