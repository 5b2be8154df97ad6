"""What is known of programs: which run tests or only look, and which files hold their settings."""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.core.tables import table_text

# Options of programs that only look at their operands: which short ones take a file that they judge
# by.
SHORT_OPTIONS: Final = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "jq"), "f"),
    **dict.fromkeys(
        (
            "eslint",
            "yamllint",
            "markdownlint",
            "mdl",
            "golangci-lint",
            "tflint",
            "bandit",
            "rubocop",
        ),
        "c",
    ),
    **dict.fromkeys(("tsc", "pyright", "basedpyright"), "p"),
    "codespell": "IDx",
    "ajv": "sr",
    "typos": "c",
    "phpstan": "c",
    "hadolint": "c",
    "cspell": "c",
    "ansible-lint": "c",
}

SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "busybox"})


_JUDGING_NAME: Final = late_pattern(
    r"expect|golden|rules?\b|schema|baseline|snapshot|fixture|pattern|oracle|truth|want|grader|judge|check"
)


_TEST_FOLDER: Final = late_pattern(
    r"tests?|__tests__|specs?|testing|testdata|test[-_]data|__snapshots__|fixtures|e2e|integration[-_]tests?|unit[-_]tests?|features"
    r"|[Tt]ests|[Tt]est|\w+[-_.][Tt]ests?"
)
_TEST_FILE: Final = late_pattern(
    r"test[-_].*|tests?\.\w+|.*[-_]tests?\.\w+|.*[-_]spec\.\w+|.*\.(?:test|spec|cy|e2e)\.\w+|.*\.snap|.*Tests?\.(?:java|kt|cs|scala|swift|php|groovy)"
    r"|.*\.(?:bats|feature|robot)|Test\w*\.(?:java|kt|cs)"
)


def plain_name(word: str) -> str:
    """The name of a program without its folder, its version and `.exe`: `python3.12` is `python`."""
    name = posixpath.basename(word).removesuffix(".exe").removesuffix(".cmd")
    bare = re.sub(r"(?<=[A-Za-z])[\d.]+$", "", name)
    if bare in ("python", "pypy", "node", "ruby", "perl", "php", "lua", "pytest", "tclsh", "bash"):
        return bare
    return {"py.test": "pytest", "nodejs": "node", "py": "python"}.get(name, name)


class Recipe(Struct, frozen=True, kw_only=True):
    """What one program judges by; see `judging_recipes.toml`."""

    files: tuple[str, ...] = ()
    tests: bool = False
    reads: bool = False
    runs: bool = False
    programs: tuple[str, ...] = ()


@cache
def recipes() -> Mapping[str, Recipe]:
    rows = tomllib.loads(table_text("checking/commands/judging_recipes"))
    return {
        name: Recipe(
            files=tuple(row.get("files", ())),
            tests=row.get("tests", False),
            reads=row.get("reads", False),
            runs=row.get("runs", False),
            programs=tuple(row.get("with", ())),
        )
        for name, row in rows.items()
    }


_NO_RECIPE: Final = Recipe()


def recipe_of(program: str) -> Recipe:
    """The row of the table, or an empty one."""
    return recipes().get(program, _NO_RECIPE)


def with_their_own(programs: Iterable[str]) -> tuple[str, ...]:
    """The programs with those that they run or read the settings of."""
    found: dict[str, None] = {}
    waiting = list(programs)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = None
            waiting += recipe_of(name).programs
    return tuple(found)


def runs_tests(programs: Iterable[str]) -> bool:
    return any(recipe_of(name).tests for name in programs)


def only_looks(programs: Iterable[str]) -> bool:
    """Whether every program is one that looks at files, as linters do, and starts nothing."""
    return all(recipe_of(name).reads or name in SHELLS for name in programs)


def is_test(name: str) -> bool:
    """Whether a path is a test by the customs of its language, or is in a folder of tests."""
    *folders, last = name.split("/")
    return bool(_TEST_FILE.fullmatch(last)) or any(
        _TEST_FOLDER.fullmatch(folder) for folder in folders
    )


def is_measure(name: str) -> bool:
    """Whether a file is called something that others are held against: `expected.txt`,
    `rules.json`.
    """
    return bool(_JUDGING_NAME.search(posixpath.basename(name).lower())) or is_test(name)


# What is written for readers, or in a language: no recipe includes it.
_SOURCES: Final = late_pattern(
    r".*\.(?:pyi?|[cm]?[jt]sx?|c|cc|cpp|cxx|h|hh|hpp|m|mm|go|rs|java|kt|scala|rb|php|pl|lua|r|R|jl|swift|cs|fs|hs|ml|ex|exs|erl"
    r"|clj|dart|zig|nim|sql|vue|svelte|html?|css|scss|svg|md|markdown|rst|adoc|txt|tex|csv|tsv|jsonl?|ya?ml|xml|ipynb|png|jpe?g"
    r"|gif|webp|pdf)"
)


def may_be_included(name: str) -> bool:
    """Whether a recipe that includes what cannot be named may include a file of this name."""
    return not _SOURCES.fullmatch(posixpath.basename(name))


# Programs that everything is started with: a file of their name means nothing.
_WITHOUT_SETTINGS: Final = SHELLS | {
    "python",
    "pypy",
    "env",
    "time",
    "timeout",
    "true",
    "false",
    "cd",
    "test",
    "[",
    "app",
    "main",
}


def is_setting(name: str, programs: Iterable[str]) -> bool:
    """Whether a program reads a file of this name as its settings or recipe, in whatever folder."""
    *folders, last = name.split("/")
    for program in programs:
        for pattern in recipe_of(program).files:
            if pattern.endswith("/"):
                if any(_glob(pattern[:-1]).fullmatch(folder) for folder in folders):
                    return True
            elif _glob(pattern).fullmatch(last) or ("/" in pattern and name.endswith(pattern)):
                return True
        if program not in _WITHOUT_SETTINGS and _settings_of_any(program).fullmatch(last):
            return True
        if program not in _WITHOUT_SETTINGS and f".{program}" in folders:
            return True
    return False


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


@cache
def _settings_of_any(program: str) -> re.Pattern[str]:
    """The names by which programs call their settings, after their own."""
    own = re.escape(program)
    return re.compile(
        rf"\.{own}(?:rc)?(?:\.\w+)?|{own}rc(?:\.\w+)?|\.?{own}\.(?:toml|ini|cfg|conf|json|jsonc|json5|ya?ml|xml|properties)"
        rf"|\.?{own}[.-]config\.\w+|{own}\.config|\.{own}[-_]?ignore"
    )


# Tables of package.json and Cargo.toml that say what a package is, and decide nothing about how it
# is tested.
_FREE: Final = {
    "package.json": frozenset(
        "name version description keywords author contributors license homepage repository bugs funding private main module types"
        " typings exports bin files man engines dependencies peerDependencies optionalDependencies publishConfig sideEffects".split()
    )
}


def is_shared(name: str) -> bool:
    """Whether a file holds settings of many programs, so that what differs in it matters."""
    return posixpath.basename(name) in ("pyproject.toml", "setup.cfg", "tox.ini", "package.json")


def settings_in(name: str, data: bytes | None, programs: Sequence[str]) -> object:
    """The part of a shared file that these programs read, to be compared; the bytes where the file
    cannot be read.
    """
    last = posixpath.basename(name)
    if data is None:
        return None
    try:
        text = data.decode("utf-8-sig")
        if last == "pyproject.toml":
            return _of_pyproject(tomllib.loads(text), programs)
        if last == "package.json":
            document = json.loads(text, object_pairs_hook=_each_once)
            return {key: value for key, value in document.items() if key not in _FREE[last]} or None
    except (ValueError, AttributeError, RecursionError):
        return data
    return _of_ini(text, programs) or None


def _of_pyproject(document: Mapping[str, object], programs: Sequence[str]) -> object:
    tools = document.get("tool", {})
    project = document.get("project", {})
    found: dict[str, object] = {}
    if isinstance(tools, Mapping):
        found = {name: tools[name] for name in programs if name in tools}
    if isinstance(project, Mapping) and "requires-python" in project:
        found["requires-python"] = project["requires-python"]
    if "build-system" in document and {"pip", "build", "tox", "nox"} & set(programs):
        found["build-system"] = document["build-system"]
    return found or None


def _of_ini(text: str, programs: Collection[str]) -> list[str]:
    """The sections that speak of the programs, as lines."""
    found: list[str] = []
    is_of_one = "tox" in programs
    programs = {*programs, "testenv", "base", "pkgenv"} if is_of_one else programs
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            parts = re.split(r"[^\w.]+", line.strip().strip("[]"))
            names_one = any(plain_name(part) in programs or part in programs for part in parts)
            # An indented one may be the value of the line above.
            is_of_one = names_one or (is_of_one and line != line.lstrip())
        if is_of_one and line.strip():
            found.append(line.rstrip())
    return found


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice")
    return found
