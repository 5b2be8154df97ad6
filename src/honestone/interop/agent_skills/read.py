"""Agent Skills: `evals.json` (a skill's evals, beside it) and `grading.json` (what a grader recorded about one run)."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from honestone.core.artifact import as_text
from honestone.core.checks import KINDS
from honestone.core.errors import UsageError
from honestone.core.rubric import Check, Criterion, slug
from honestone.core.suite.case import Case, CaseWorkspace, Message, Suite
from honestone.formats.document import Document
from honestone.formats.suite_file import unsafe_name
from honestone.interop.base import EntryWalk, ForeignRubric, KnownKey, Reader, SuiteSource, Taking, Walk, shown
from honestone.interop.criteria import MAJORITY, check_criterion, gated, undecided, yes_no

ASSERTIONS: Final = ("assertions", "expectations")
RESULTS: Final = ("expectations", "assertion_results")
DEFAULTS: Final = ("agent skills: a case passes when most judges say yes to every assertion; no floor else",)
MAX_FILE: Final = 10_000_000


# ---------------------------------------------------------------------------------------------------- evals.json


def read_evals(document: Document) -> SuiteSource:
    """Raises SourceErrors with everything that is wrong."""
    walk = EntryWalk(document.marked, "evals", "eval")
    walk.notes += DEFAULTS
    top = walk.at()
    skill = top.text("skill_name", required=True)
    evals = top.raw("evals")
    top.ignore("$schema", "version", "description")
    if not isinstance(evals, list) or not evals:
        walk.problem("`evals` must be a list of one eval at least", ("evals",) if "evals" in top else ())
    files: list[Path] = []
    cases: list[Case] = []
    first: dict[str, int] = {}
    for entry in top.each("evals", "evals") if isinstance(evals, list) else ():
        case = _case(walk, entry, document, files)
        if case is None:
            continue
        index = entry.path[-1]
        assert isinstance(index, int)
        if case.id in first:
            line = walk.marked.position(("evals", first[case.id], "id"))[0]
            walk.problem(f"two evals have this id, the first in line {line}", (*entry.path, "id"))
        first.setdefault(case.id, index)
        cases.append(case)
    top.close("an evals file")
    walk.finish()
    return SuiteSource(
        suite=Suite(cases=tuple(cases), title=(skill or "").strip(), skill_id=(skill or "").strip() or None),
        dialect="agent-skills",
        base=document.path.parent,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
        files=(document.path, *dict.fromkeys(files)),
        places={id: walk.marked.at(("evals", index)) for id, index in first.items()},
    )


def _case(walk: Walk, entry: Taking, document: Document, files: list[Path]) -> Case | None:
    if not entry.require_mapping("an eval"):
        return None
    id = entry.text("id", required=True)
    prompt = entry.text("prompt", required=True)
    expected = entry.text("expected_output")
    criteria = [*_assertions(walk, entry), *_trigger(walk, entry)]
    workspace = _files(walk, entry, document, files)
    description = entry.text("name", "description")
    entry.close("an eval")
    if not criteria and expected:
        walk.note("an eval without assertions is judged by whether it gives what `expected_output` says")
        criteria = [yes_no("gives-what-is-expected", f"Gives what is expected: {expected.strip()}", floor=MAJORITY)]
    rubric = gated(walk, entry.path, criteria) if criteria else undecided()
    if not criteria:
        walk.note(f"{walk.marked.at(entry.path)}: eval `{id}` says nothing to judge it by, so it is skipped")
    if id is None or prompt is None or rubric is None:
        return None
    return Case(
        id=id.strip(),
        rubric=rubric,
        messages=(Message("user", prompt),),
        reference=expected,
        workspace=workspace,
        description=description,
        skip=None if criteria else "nothing says what a good output is",
    )


def _assertions(walk: Walk, entry: Taking) -> Iterator[Criterion]:
    """Each one is a yes/no question that most judges have to answer yes."""
    both = [key for key in ASSERTIONS if key in entry]
    if len(both) > 1:
        walk.problem(
            "it has both `assertions` and `expectations`", (*entry.path, both[1]), "put all in one list", at_key=True
        )
    key = entry.which(*ASSERTIONS)
    if key is None:
        return
    value = entry.value[key]
    if not isinstance(value, list):
        walk.problem(f"`{key}` must be a list of texts, not {shown(value)}", (*entry.path, key))
        return
    for index, said in enumerate(value):
        here = (*entry.path, key, index)
        text = said.get("text") if isinstance(said, dict) and set(said) <= {"text", "id", "name"} else said
        if not isinstance(text, str) or not text.strip():
            walk.problem(f"an entry of `{key}` must be text, not {shown(said)}", here)
            continue
        name = said.get("id") or said.get("name") if isinstance(said, dict) else None
        id = str(name).strip() if isinstance(name, str | int) and str(name).strip() else slug(text)
        yield yes_no(id, text.strip(), floor=MAJORITY)


def _trigger(walk: Walk, entry: Taking) -> Iterator[Criterion]:
    """Whether the agent should have read the skill at all."""
    wanted = entry.flag("should_trigger")
    if wanted is None:
        return
    if "skill-loaded" not in KINDS:
        walk.loss("`should_trigger` cannot be checked", (*entry.path, "should_trigger"))
        return
    check = Check(kind="skill-loaded", negated=not wanted)
    words = "The agent uses the skill" if wanted else "The agent leaves the skill alone"
    yield check_criterion(check, id="triggers" if wanted else "does-not-trigger", requirement=words, floor=MAJORITY)


def _files(walk: Walk, entry: Taking, document: Document, read: list[Path]) -> CaseWorkspace | None:
    """The input files, where the prompt expects them: by their path, in the workspace of the case."""
    names = entry.raw("files")
    if names is None:
        return None
    if not isinstance(names, list):
        walk.problem(f"`files` must be a list of paths, not {shown(names)}", (*entry.path, "files"))
        return None
    found: dict[str, str] = {}
    for index, name in enumerate(names):
        here = (*entry.path, "files", index)
        wrong = unsafe_name(name) if isinstance(name, str) else f"{shown(name)} is no path"
        if wrong:
            walk.problem(f"the file name {wrong}", here, "paths are relative to the skill: evals/files/data.csv")
            continue
        text = _file_text(document.path.parent, name, read)
        if isinstance(text, str):
            found[name] = text
        else:
            walk.loss(f"`{name}` {text[0]}, so the case runs without it", here)
    return CaseWorkspace(files=found) if found else None


def _file_text(base: Path, name: str, read: list[Path]) -> str | tuple[str]:
    """The text of a file named relative to the skill's folder, which holds `evals/`; or why there is none."""
    roots = [base.parent, base] if base.name == "evals" else [base]
    for root in roots:
        try:
            real = (root / name).resolve(strict=True)
            if not real.is_relative_to(root.resolve()):
                return ("leads out of the skill's folder",)
            about = real.stat()
            if not stat.S_ISREG(about.st_mode):
                return ("is not a file",)
            if about.st_size > MAX_FILE:
                return ("is larger than 10 MB",)
            text = as_text(real.read_bytes())
        except FileNotFoundError:
            continue
        except (OSError, RuntimeError, ValueError) as error:
            return (f"cannot be read ({getattr(error, 'strerror', None) or error})",)
        read.append(root / name)
        return ("is not a text file",) if text is None else text
    return ("is not there",)


# ---------------------------------------------------------------------------------------------------- grading.json


def _refuse_grading(document: Document) -> SuiteSource | ForeignRubric:
    raise UsageError(
        "this is a recorded grading of Agent Skills: marks of a run that is over, not a suite",
        place=document.marked.at(),
        hint="its suite is the skill's evals/evals.json: honestone eval evals/evals.json",
    )


# ---------------------------------------------------------------------------------------------------- what they look like


def _signs_of_evals(document: Document) -> int:
    if document.is_lines or not isinstance(document.value, dict):
        return 0
    evals = document.value.get("evals")
    if not isinstance(evals, list):
        return 0
    if "skill_name" in document.keys:
        return 95
    return 60 if any(isinstance(entry, dict) and "prompt" in entry for entry in evals) else 0


def _signs_of_grading(document: Document) -> int:
    if document.is_lines or not isinstance(document.value, dict):
        return 0
    for key in RESULTS:
        results = document.value.get(key)
        if isinstance(results, list) and any(isinstance(entry, dict) and "passed" in entry for entry in results):
            return 90
    return 0


READERS: tuple[Reader, ...] = (
    Reader(
        name="agent-skills",
        title="an Agent Skills evals file",
        gives="suite",
        signs=_signs_of_evals,
        read=read_evals,
        keys=(
            KnownKey(key="skill_name", meaning="the skill that the suite is for; the title"),
            KnownKey(key="evals[].id", meaning="the case's id, as written"),
            KnownKey(key="evals[].prompt", meaning="the case's input"),
            KnownKey(
                key="evals[].expected_output", meaning="the case's reference; without assertions, what it is judged by"
            ),
            KnownKey(key="evals[].assertions, expectations", meaning="one yes/no criterion each"),
            KnownKey(
                key="evals[].files", meaning="files in the case's workspace, read from the skill's folder; text only"
            ),
            KnownKey(key="evals[].should_trigger", meaning="a check that the agent read the skill, or that it did not"),
            KnownKey(key="evals[].name, description", meaning="the case's description"),
        ),
        defaults=DEFAULTS,
        looks_like=("skill_name", "evals"),
        example='{"skill_name": "greeter", "evals": [{"id": 1, "prompt": "Greet me", "assertions": ["Greets back"]}]}\n',
    ),
    Reader(
        name="agent-skills-grading",
        title="a recorded grading (Agent Skills)",
        gives="suite",
        signs=_signs_of_grading,
        read=_refuse_grading,
        keys=(
            KnownKey(
                key="expectations, assertion_results", meaning="recorded marks; a grading is no suite", how="ignored"
            ),
        ),
        looks_like=("expectations", "assertion_results", "summary"),
    ),
)
