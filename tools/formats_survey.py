"""How many files of other tools load: as they are, and with --accept-loss. `make formats-survey
FOLDER=...`

FOLDER has a folder for each repository, named OWNER+NAME, as git checks it out: with its `.git`,
whose place says how far up a file's paths are looked for. A file belongs to a tool by its name and
a few words in it, never by what honestone makes of it; equal files count once. A digest of its path
(or of its repository's name, where `by_repository` is set) puts each file in one of two halves:
readers are changed while looking at the half "tuned", and the figures that count are those of the
half "measured".

    python tools/formats_survey.py FOLDER             writes bench/formats-survey.json, from which `make docs` makes
                                                      the table of docs/reference/formats.md, and the sentence of README.md
    python tools/formats_survey.py FOLDER --show      prints what does not load of the tuned half, and writes nothing
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Final, TypedDict

from msgspec import Struct
from msgspec.structs import asdict

from honestone.core.errors import HonestoneError
from honestone.interop.recognise import read_any_rubric, read_any_suite

REPO: Final = Path(__file__).resolve().parents[1]
RESULT: Final = REPO / "bench/formats-survey.json"
README: Final = REPO / "README.md"
HEAD: Final = 20_000
"""Bytes of a file in which the words of a tool are looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Which files are a tool's. `goal` is the share of them (0-1) that is to load as it is;
    `in_repository`: a word that some Python file of the repository has. `most_of_one`: how many
    files of one repository count, as those of one author are alike. `by_repository`: all files of a
    repository are in one half, for the same reason. `lists`: paths that are its files only where
    they hold a list.
    """

    name: str
    path: str
    words: str
    goal: float | None
    dialects: str
    in_repository: str = ""
    without: str = "^$a"
    most_of_one: int = 1_000
    by_repository: bool = False
    is_rubric: bool = False
    lists: str = "^$a"


FORK: Final = re.compile(r"\+promptfoo$")
_PROMPTFOO: Final = r"(?m)^[\"']?\s*[\"']?(prompts|providers|targets|tests|scenarios)[\"']?\s*:"
_RED_TEAM_ONLY: Final = r"(?ms)\A(?!.*^(tests|scenarios)\s*:).*^redteam\s*:"
# What promptfoo writes of a run, and files of other programs that start it: a workflow, containers.
_NO_CONFIG: Final = r"^\s*\"(evalId|results)\"\s*:|^(jobs|on|services|apiVersion)\s*:"

TOOLS: Final = (
    Tool(
        name="promptfoo configs",
        path=r"(?i)promptfoo[^/]*\.(ya?ml|json)$",
        words=_PROMPTFOO,
        without=f"{_RED_TEAM_ONLY}|{_NO_CONFIG}",
        goal=0.70,
        dialects="promptfoo",
        most_of_one=10,
        by_repository=True,
    ),
    Tool(
        name="promptfoo's own examples",
        path=r"(?i)(^|/)examples/.*promptfoo[^/]*\.(ya?ml|json)$",
        words=_PROMPTFOO,
        without=f"{_RED_TEAM_ONLY}|{_NO_CONFIG}",
        goal=0.75,
        dialects="promptfoo",
    ),
    Tool(
        name="AgentV",
        path=r"(?i)(^|[./])eval\.ya?ml$",
        words=r"(?m)^(tests|evalcases|eval_cases)\s*:",
        without=r"(?m)^defaultTest\s*:",  # promptfoo's word
        goal=0.90,
        dialects="agentv",
    ),
    Tool(
        name="Agent Skills",
        path=r"(?i)((^|/)evals?/evals\.json|trigger[^/]*\.json)$",
        words=r'"(prompt|query|should_trigger)"',
        goal=0.90,
        dialects="agent-skills",
        most_of_one=10,
    ),
    Tool(
        name="PaperBench",
        path=r"\.json$",
        words=r'(?s)\A\s*\{(?=.*"sub_tasks"\s*:)(?=.*"requirements"\s*:)',
        goal=1.0,
        dialects="paperbench",
        is_rubric=True,
    ),
    Tool(
        name="Inspect",
        path=r"\.(jsonl|json|csv)$",
        words=r'(?s)\A(\s*\[?\s*\{(?=.*"input"\s*:)(?=.*"target"\s*:)|(?=[^\n]*\binput\b)(?=[^\n]*\btarget\b)[\w ,"]+\n)',
        without=r'"\$(schema|ref|defs)"|"(eval|plan)"\s*:\s*\{',  # the log of a run holds samples too
        goal=0.80,
        dialects="inspect",
        in_repository="inspect_ai",
        lists=r"\.json$",  # Inspect refuses any other
    ),
    Tool(
        name="pydantic-evals",
        path=r"\.(ya?ml|json)$",
        words=r"(?s)\A(?=.*[\"']?\bcases[\"']?\s*:)(?=.*[\"']?\binputs[\"']?\s*:)",
        without=r'"\$defs"',
        goal=0.50,
        dialects="pydantic-evals",
        in_repository="pydantic_evals",
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file of a tool, by its repository and its path in that."""

    tool: str
    root: Path
    path: Path

    @property
    def name(self) -> str:
        return f"{self.root.name}/{self.path.relative_to(self.root).as_posix()}"

    @property
    def half(self) -> str:
        by_repository = next(tool.by_repository for tool in TOOLS if tool.name == self.tool)
        decides = self.root.name if by_repository else self.name
        return (
            "tuned"
            if hashlib.sha256(decides.encode("utf-8", "surrogateescape")).digest()[0] % 2
            else "measured"
        )


class Half(Struct):
    """How many files there are, and how many of them load."""

    files: int = 0
    as_they_are: int = 0
    with_accept_loss: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of reading a file; `why` it does not load as it is."""

    found: Found
    as_it_is: bool
    with_accept_loss: bool
    why: tuple[str, ...] = field(default=())


# ------------------------------------------------------------------------------------------------------
# finding files


def files_in(folder: Path) -> Iterator[Found]:
    """The files of each tool. A file that is there several times counts once, also in forks of one
    repository.
    """
    seen: set[bytes] = set()
    for root in sorted(one for one in folder.iterdir() if one.is_dir()):
        words: dict[str, bool] = {}
        counted: Counter[str] = Counter()
        for path in sorted(
            root.rglob("*"),
            key=lambda path: hashlib.sha256(
                path.as_posix().encode("utf-8", "surrogateescape")
            ).digest(),
        ):
            name = path.relative_to(root).as_posix()
            tool = (
                _tool_of(root, path, name, words)
                if path.is_file() and not path.is_symlink()
                else None
            )
            if tool is None or counted[tool.name] == tool.most_of_one:
                continue
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                counted[tool.name] += 1
                yield Found(tool.name, root, path)


def _tool_of(root: Path, path: Path, name: str, words: dict[str, bool]) -> Tool | None:
    head = ""
    for tool in TOOLS:
        if not re.search(tool.path, name) or (
            tool.dialects == "promptfoo" and _is_fork(root) != ("own" in tool.name)
        ):
            continue
        head = head or path.read_bytes()[:HEAD].decode("utf-8", "replace")
        if not re.search(tool.words, head) or re.search(tool.without, head):
            continue
        if re.search(tool.lists, name) and not head.lstrip().startswith("["):
            continue
        if tool.in_repository and not _has_word(root, tool.in_repository, words):
            continue
        return tool
    return None


def _is_fork(root: Path) -> bool:
    return FORK.search(root.name) is not None


def _has_word(root: Path, word: str, known: dict[str, bool]) -> bool:
    if word not in known:
        known[word] = any(
            word.encode() in path.read_bytes() for path in root.rglob("*.py") if path.is_file()
        )
    return known[word]


# ------------------------------------------------------------------------------------------------------
# reading them


def outcome(found: Found) -> Outcome:
    """As `suite check` and `rubric check` read it, with `--allow-outside` the root of its
    repository.
    """
    tool = next(one for one in TOOLS if one.name == found.tool)
    read = read_any_rubric if tool.is_rubric else read_any_suite
    try:
        source = read(found.path, [found.root])
    except HonestoneError as error:
        errors = getattr(error, "errors", None) or (error,)
        return Outcome(found, False, False, tuple(f"error: {one.message}" for one in errors))
    if not source.dialect.startswith(tool.dialects):
        return Outcome(found, False, False, (f"error: read as {source.dialect}",))
    return Outcome(
        found, not source.losses, True, tuple(f"loss: {loss.message}" for loss in source.losses)
    )


def survey(folder: Path) -> list[Outcome]:
    with Pool(2) as pool:
        return pool.map(outcome, files_in(folder), chunksize=8)


class Document(TypedDict):
    """What is written. `tools`: by name, the `goal` and the figures of both halves."""

    files: int
    tools: dict[str, dict[str, Any]]
    repositories: list[str]


def document(outcomes: list[Outcome]) -> Document:
    """The figures of each tool, and the repositories that the files come from."""
    tools: dict[str, dict[str, Any]] = {}
    for tool in TOOLS:
        halves = {"tuned": Half(), "measured": Half()}
        for one in outcomes:
            if one.found.tool == tool.name:
                half = halves[one.found.half]
                half.files += 1
                half.as_they_are += one.as_it_is
                half.with_accept_loss += one.with_accept_loss
        tools[tool.name] = {
            "goal": tool.goal,
            **{name: asdict(half) for name, half in halves.items()},
        }
    roots = sorted({one.found.root.name.replace("+", "/", 1) for one in outcomes})
    return Document(files=len(outcomes), tools=tools, repositories=roots)


# ------------------------------------------------------------------------------------------------------
# saying it


def sentence(tools: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    """The sentence of the README: the shares of the measured half."""
    said = []
    for name, about in tools.items():
        half = about["measured"]
        if half["files"]:
            said.append(f"{name} {half['as_they_are'] * 100 // half['files']}%")
    text = f"Of published files that were not looked at while it was made, so many load without a loss: {', '.join(said)}."
    return textwrap.fill(text, 118)


BEGIN, END = "<!-- formats-survey -->", "<!-- /formats-survey -->"


def with_sentence(text: str, said: str) -> str:
    """The README with the sentence between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{said}\n{END}{after}"


def write(result: Document) -> None:
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")
    README.write_text(with_sentence(README.read_text("utf-8"), sentence(result["tools"])), "utf-8")


def show(outcomes: list[Outcome], most: int) -> None:
    """What keeps files of the tuned half from loading, the most frequent first."""
    for tool in TOOLS:
        own = [one for one in outcomes if one.found.tool == tool.name and one.found.half == "tuned"]
        why = Counter(_general(text) for one in own for text in set(map(_general, one.why)))
        loads = sum(one.as_it_is for one in own)
        print(
            f"\n== {tool.name}: {loads} of {len(own)}, {sum(o.with_accept_loss for o in own)} with --accept-loss"
        )
        for text, count in why.most_common(most):
            print(f"{count:5}  {text}")
        for one in own:
            if not one.as_it_is:
                print(f"       {one.found.name}: {'; '.join(one.why)[:300]}")


def _general(message: str) -> str:
    return re.sub(r"\d+", "N", re.sub(r"(eval|case|test|eval number) `[^`]*`", r"\1", message))[
        :110
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--show", action="store_true", help="print what does not load of the tuned half"
    )
    parser.add_argument("--most", type=int, default=25, help="reasons to print for each tool")
    asked = parser.parse_args()
    outcomes = survey(asked.folder.resolve())
    if asked.show:
        show(outcomes, asked.most)
        return 0
    result = document(outcomes)
    write(result)
    json.dump(result["tools"], sys.stdout, indent=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
