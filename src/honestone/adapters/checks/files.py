"""Checks of an artifact's files: which there are, and whether the links of its Markdown lead
anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any, Final
from urllib.parse import unquote

from honestone.adapters.checks.check_input import Setting, Subject, finding
from honestone.adapters.checks.markdown import Link, Page, read_page
from honestone.core.artifact import Version, as_text
from honestone.core.checking.checks import CheckAnswer, matching, quoted, visible
from honestone.core.checking.gave_up import GaveUp
from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check
from honestone.ports import Finding
from honestone.system.files import below

_SIBLINGS: Final = "beside"
_MARKDOWN: Final = (".md", ".markdown", ".mdown", ".mkd", ".mdx")
_NOT_SIBLINGS: Final = (".git", ".honestone", "node_modules", ".venv")
_MOST_SIBLINGS: Final = 20_000
_LARGEST_SIBLING: Final = 5_000_000


def identity(check: Check, setting: Setting) -> Mapping[str, Any]:
    """The neighbours of a single file change what its links resolve to."""
    folder = _sibling_folder(check, setting)
    if folder is None:
        return {}
    whole = hashlib.sha256()
    for count, path in enumerate(_files_below(folder)):
        if count == _MOST_SIBLINGS:
            break
        if setting.name_in_artifact(path) is None:
            whole.update(
                f"{path.relative_to(folder).as_posix()}\0".encode("utf-8", "surrogateescape")
            )
            if path.suffix.lower() in _MARKDOWN and path.stat().st_size <= _LARGEST_SIBLING:
                whole.update(hashlib.sha256(path.read_bytes()).digest())
    return {_SIBLINGS: "sha256:" + whole.hexdigest()}


def preflight(check: Check, setting: Setting, version: Version | None) -> None:
    folder = check.option(_SIBLINGS, "")
    if folder and not (setting.base / folder).is_dir():
        raise UsageError(
            f"`beside` of `{check.name}` is {folder!r}, but there is no such folder",
            hint="its path is relative to the rubric's folder",
        )


def judging_files(check: Check, setting: Setting) -> list[Path]:
    return []


async def find(check: Check, subject: Subject) -> Finding:
    if check.kind == "file-exists":
        return finding(check, _files_are_there(check, subject.version), final=True)
    return finding(check, _links_resolve(check, subject))


# -----------------------------------------------------------------------------------------------------
# file-exists


def _files_are_there(check: Check, version: Version) -> CheckAnswer:
    """All of a list; with `not-`, none."""
    paths = sorted({place for path in version.files for place in (path, *_parents(path))})
    for glob in check.words:
        found = matching(paths, glob)
        if check.negated and found:
            return False, f"found {quoted(found[0])}"
        if not check.negated and not found:
            return False, f"no file matches {quoted(glob)}"
    return True, None


def _parents(path: str) -> Iterator[str]:
    while path := dirname(path):
        yield path


# ---------------------------------------------------------------------------------------------------
# links-resolve


class _Site:
    """Where relative links lead: the folder artifact, or a file with its neighbours or without.
    `holds` says whether a path is there, `text` gives what is in it; `pages` are those that are
    read already.
    """

    def __init__(
        self,
        holds: Callable[[str], bool],
        text: Callable[[str], str | None],
        pages: Mapping[str, Page] = {},
    ) -> None:
        self._holds, self._text, self._pages = holds, text, dict(pages)

    def holds(self, path: str) -> bool:
        return path in self._pages or self._holds(path)

    def page(self, path: str) -> Page | None:
        """The Markdown page of this path, None for anything else."""
        if path not in self._pages:
            text = self._text(path) if _is_markdown(path) else None
            if text is None:
                return None
            self._pages[path] = read_page(text)
        return self._pages[path]


def _site_of(version: Version) -> _Site:
    places = {place for path in version.files for place in (path, *_parents(path))} | {"."}
    return _Site(places.__contains__, version.texts.get)


class _FolderOnDisk:
    """A folder that one judged file is in. Links in it that lead out are not followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()

    def holds(self, path: str) -> bool:
        return self._inside(path) is not None

    def text(self, path: str) -> str | None:
        place = self._inside(path)
        if place is None or not place.is_file() or place.stat().st_size > _LARGEST_SIBLING:
            return None
        return as_text(place.read_bytes())

    def _inside(self, path: str) -> Path | None:
        try:
            place = (self._folder / path).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            return None
        return place if place.is_relative_to(self._folder) else None


def _links_resolve(check: Check, subject: Subject) -> CheckAnswer:
    try:
        return _links(check, subject)
    except GaveUp as why:
        return None, str(why)


def _links(check: Check, subject: Subject) -> CheckAnswer:
    version = subject.version
    if not version.is_folder:
        return _links_of_file(check, subject)
    if "path" in check.options:
        chosen = list(subject.texts(check))
        if not chosen:
            return False, f"no text file matches {quoted(str(check.options['path']))}"
    else:
        chosen = [path for path in version.texts if _is_markdown(path)]
    site = _site_of(version)
    broken = [
        f"{path}: {problem}"
        for path in chosen
        for problem in _problems(site.page(path) or read_page(version.texts[path]), path, site)
    ]
    return _verdict(broken)


def _links_of_file(check: Check, subject: Subject) -> CheckAnswer:
    """A file is judged alone: its own anchors resolve, other files only in the folder that the
    check names.
    """
    (name,) = subject.version.files
    page = read_page(subject.text)
    folder = _sibling_folder(check, subject.setting)
    if folder is not None:
        siblings = _FolderOnDisk(folder)
        return _verdict(
            list(_problems(page, name, _Site(siblings.holds, siblings.text, {name: page})))
        )
    problems = list(
        _problems(page, name, _Site(lambda path: False, lambda path: None, {name: page}))
    )
    others = any("not there" in problem for problem in problems)
    answer = _verdict(problems)
    if others and answer[1] is not None:
        return False, visible(
            f"{answer[1]} (the file is judged alone: name its folder with `beside`)"
        )
    return answer


def _verdict(broken: list[str]) -> CheckAnswer:
    if not broken:
        return True, "every link resolves"
    more = f" (and {len(broken) - 3} more)" if len(broken) > 3 else ""
    return False, visible("; ".join(broken[:3]), 240) + more


def _problems(page: Page, path: str, site: _Site) -> Iterator[str]:
    for link in page.links:
        problem = _problem(link, page, path, site)
        if problem is not None:
            yield f"line {link.line}: {problem}"


_SCHEME: Final = late_pattern(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


def _problem(link: Link, page: Page, path: str, site: _Site) -> str | None:
    if link.is_undefined:
        return f"[{visible(link.target, 60)}] is not defined"
    if _SCHEME.match(link.target):
        return None
    target, _, fragment = link.target.partition("#")
    name, anchor = unquote(target.partition("?")[0]), unquote(fragment)
    shown = quoted(link.target)
    if not link.target:
        return "a link leads nowhere"
    if not name:
        return None if _has(page, anchor) else f"{shown} names no heading"
    # As on GitHub, a leading slash means the top folder.
    place = name if name.startswith("/") else f"{dirname(path)}/{name}"
    place = normpath(place.lstrip("/") or ".")
    if place == ".." or place.startswith("../") or "\0" in place:
        return f"{shown} leads out of the artifact"
    if not site.holds(place):
        return f"{shown} is not there"
    if not anchor:
        return None
    other = site.page(place)
    return None if other is None or _has(other, anchor) else f"{shown}: no such heading there"


def _has(page: Page, anchor: str) -> bool:
    return (
        anchor in ("", "top")
        or anchor in page.anchors
        or anchor.removeprefix("user-content-") in page.anchors
    )


def _is_markdown(path: str) -> bool:
    return path.lower().endswith(_MARKDOWN)


def _sibling_folder(check: Check, setting: Setting) -> Path | None:
    folder = check.option(_SIBLINGS, "")
    return None if not folder else setting.base / folder


def _files_below(folder: Path) -> Iterator[Path]:
    return (
        path for path in below(folder, _NOT_SIBLINGS) if path.is_file() and not path.is_symlink()
    )
