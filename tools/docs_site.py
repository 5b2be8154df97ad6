"""The documentation site: the pages as Zensical reads them, and a check of what it built.

    python tools/docs_site.py prepare    writes build/docs, from docs and the files of the repository's root
    python tools/docs_site.py redirect   writes a page at each address that moved (tools/moved_pages.toml)
    python tools/docs_site.py check      follows every link of build/site, and searches it as a reader does
    python tools/docs_site.py publish FOLDER    puts build/site into FOLDER/VERSION next to older versions, and lists them

Pages are written for code hosts, so what only the site understands is made here:

    ```yaml rubric.yaml                   a block with the file's name as its title
    <!-- tabs --> ... <!-- end tabs -->   blocks below lines such as **Python** become tabs
    ../README.md                          the files of the root are pages of the site, in `project/`

The search is right when each question of docs/questions.md finds a page that answers it among the
first results.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
PROJECT = {
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "LICENSE": "project/licence.md",
}
"""Files of the repository's root, and the pages that they become. One that is absent is left out."""
FOUND_AMONG = 5
"""How many results a reader looks at."""
NOT_SEARCHED = ("questions.md", "decisions/", "project/changelog.md", "project/contributing.md")
"""Pages that would come before the one that answers."""


# -------------------------------------------------------------------------------------------------
# pages as read


def prepare(to: Path = PAGES) -> None:
    """Write all pages in the form that the site's builder reads."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(ROOT / "docs", to)
    for name, page in PROJECT.items():
        if (ROOT / name).is_file():
            text = (ROOT / name).read_text(encoding="utf-8")
            (to / page).parent.mkdir(exist_ok=True)
            (to / page).write_text(
                text if name.endswith(".md") else f"# Licence\n\n{text}", encoding="utf-8"
            )
    for path in sorted(to.rglob("*.md")):
        page = path.relative_to(to).as_posix()
        hidden = "---\nsearch:\n  exclude: true\n---\n" if page.startswith(NOT_SEARCHED) else ""
        path.write_text(hidden + for_site(path.read_text(encoding="utf-8"), page), encoding="utf-8")


def for_site(text: str, page: str) -> str:
    """`text` of `page` (its path in the site) with titled blocks, tabs, and links that lead to
    pages of the site.
    """
    text = with_tabs(text)
    text = re.sub(r"(?m)^( *`{3,})(\w+) (\S+\.\w+)$", r'\1\2 title="\3"', text)
    text = re.sub(r"(?m)^( *`{3,}console) \w+$", r"\1", text)
    home = posixpath.dirname(page)
    source = next((f"{name}" for name, made in PROJECT.items() if made == page), f"docs/{page}")

    def moved(link: re.Match[str]) -> str:
        path, mark, anchor = link[2].partition("#")
        if not path or ":" in path:
            return link[0]
        at = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        to = PROJECT.get(at) or at.removeprefix("docs/")
        return f"{link[1]}({posixpath.relpath(to, home or '.')}{mark}{anchor})"

    return outside_of_fences(text, lambda part: re.sub(r"(\])\(([^()\s]+)\)", moved, part))


def with_tabs(text: str) -> str:
    """Blocks between `<!-- tabs -->` and `<!-- end tabs -->` as tabs, each named by the line in
    bold above it.
    """

    def tabs(found: re.Match[str]) -> str:
        lines = found[1].strip().splitlines()
        return "\n".join(
            f'=== "{name[1]}"'
            if (name := re.fullmatch(r"\*\*(.+)\*\*", line))
            else f"    {line}"
            if line
            else ""
            for line in lines
        )

    return re.sub(r"(?ms)^<!-- tabs -->\n(.*?)^<!-- end tabs -->$", tabs, text)


def outside_of_fences(text: str, change: Callable[[str], str]) -> str:
    """`text` with `change` applied to everything but fenced blocks."""
    parts = re.split(r"(?ms)^( *(`{3,}).*?^ *\2 *$)", text)
    return "".join(
        part if index % 3 == 1 else change(part) if index % 3 == 0 else ""
        for index, part in enumerate(parts)
    )


# ---------------------------------------------------------------------------------------------- the
# built site


class Question(NamedTuple):
    """What a newcomer asks, and the pages of the site that answer it."""

    words: str
    pages: tuple[str, ...]


def questions(text: str) -> list[Question]:
    """The questions of docs/questions.md: rows `| question | [page](link) |`."""
    rows = re.findall(r"(?m)^\| (.+\?) \| (.+) \|$", text)
    return [
        Question(words, tuple(re.findall(r"\]\(([^)#]+)[^)]*\)", pages))) for words, pages in rows
    ]


def not_found(site: Path, asked: list[Question]) -> list[str]:
    """The questions whose page is not among the first results of the site's own search entries."""
    from lunr import lunr

    entries = json.loads((site / "search.json").read_text(encoding="utf-8"))["items"]
    index = lunr(
        ref="location", fields=[{"field_name": "title", "boost": 10}, "text"], documents=entries
    )
    problems = []
    for question in asked:
        first: list[str] = []
        for result in index.search(re.sub(r"[^\w\s]", " ", question.words)):
            page = str(result["ref"]).partition("#")[0]
            if page not in first:
                first.append(page)
        wanted = {
            PROJECT.get(posixpath.basename(page), page).removesuffix(".md") + ".html"
            for page in question.pages
        }
        if not wanted & set(first[:FOUND_AMONG]):
            problems.append(
                f"not found: {question.words} ({', '.join(sorted(wanted))}); found: {', '.join(first[:FOUND_AMONG])}"
            )
    return problems


class Links(HTMLParser):
    """What a page of the site refers to, and the anchors that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(site: Path) -> list[str]:
    """Each link of the site that leads to no file or no anchor, and each request to another
    machine.
    """
    pages: dict[Path, Links] = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    problems = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # served at any address, so its links are not relative to its own
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (
                path
                if not parts.path
                else Path(posixpath.normpath(path.parent / unquote(parts.path)))
            )
            target = target / "index.html" if target.is_dir() else target
            anchors = pages[target].anchors if target in pages else set()
            if not target.is_file() or (
                target in pages and parts.fragment and unquote(parts.fragment) not in anchors
            ):
                problems.append(f"broken: {link} in {path.relative_to(site)}")
    return problems


# ------------------------------------------------------------------------------------------------------
# versions


def version_of_program() -> str:
    """As the program says it, read and not imported: the site's builder has an environment of its
    own.
    """
    (found,) = re.findall(
        r'(?m)^__version__ = "([^"]+)"$', (ROOT / "src/honestone/__init__.py").read_text("utf-8")
    )
    return str(found)


def publish(to: Path, version: str, site: Path = SITE) -> list[str]:
    """Put a built site into `to` next to other versions: `to/VERSION`, the list `versions.json`
    that the selector on each page reads, and a first page that leads to the newest. Publishing a
    version again replaces it. Returns all versions, newest first.
    """
    if not re.fullmatch(r"[0-9][0-9A-Za-z.+-]*", version):
        raise ValueError(f"not a version: {version}")
    shutil.rmtree(to / version, ignore_errors=True)
    shutil.copytree(site, to / version)
    listed = to / "versions.json"
    known = (
        {str(one["version"]) for one in json.loads(listed.read_text("utf-8"))}
        if listed.is_file()
        else set()
    )
    versions = sorted({*known, version}, key=_order, reverse=True)
    rows = [
        {"version": one, "title": one, "aliases": ["latest"] if at == 0 else []}
        for at, one in enumerate(versions)
    ]
    listed.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    (to / "index.html").write_text(_FIRST_PAGE.format(version=versions[0]), "utf-8")
    return versions


def redirect(site: Path = SITE) -> list[str]:
    """Write a page that leads on at each old address of a page that moved. Returns the old
    addresses. Raises ValueError where the new page is not in the site, or the old one still is.
    """
    moved: dict[str, str] = tomllib.loads((ROOT / "tools/moved_pages.toml").read_text("utf-8"))
    for old, new in moved.items():
        place = site / f"{old}.html"
        if not (site / f"{new}.html").is_file():
            raise ValueError(f"tools/moved_pages.toml: {new} is not a page of the site")
        if place.is_file() and _REDIRECT_MARK not in place.read_text("utf-8"):
            raise ValueError(f"tools/moved_pages.toml: {old} has not moved, it is a page")
        place.parent.mkdir(parents=True, exist_ok=True)
        address = posixpath.relpath(f"{new}.html", posixpath.dirname(old) or ".")
        place.write_text(_REDIRECT.format(address=address), "utf-8")
    return list(moved)


_REDIRECT_MARK = '<meta name="robots" content="noindex">'
_REDIRECT = f"""\
<!doctype html>
<meta charset="utf-8">
{_REDIRECT_MARK}
<title>moved</title>
<meta http-equiv="refresh" content="0; url={{address}}">
<a href="{{address}}">This page has moved.</a>
"""

_FIRST_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<title>honestone</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">honestone {version}</a>
"""


def _order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Newest last: 0.9 before 0.10, and a version that is not out yet before the one that is."""
    numbers, rest = re.fullmatch(r"([0-9]+(?:\.[0-9]+)*)(.*)", version).groups()  # type: ignore[union-attr]
    return tuple(map(int, numbers.split("."))), not rest, rest


def check(site: Path = SITE) -> int:
    asked = questions((ROOT / "docs/questions.md").read_text(encoding="utf-8"))
    broken, missing = broken_links(site), not_found(site, asked)
    print(*broken, *missing, sep="\n")
    print(f"{len(list(site.rglob('*.html')))} pages, {len(broken)} broken links")
    print(
        f"{len(asked) - len(missing)} of {len(asked)} questions lead to their page among the first {FOUND_AMONG} results"
    )
    return 1 if broken or missing else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["prepare"]:
            prepare()
        case ["redirect"]:
            print(f"{len(redirect())} old addresses lead to new ones")
        case ["check"]:
            sys.exit(check())
        case ["publish", folder]:
            print(*publish(Path(folder), version_of_program()), sep="\n")
        case _:
            sys.exit(__doc__)
