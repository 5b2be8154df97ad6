"""waza files: an evaluation of a skill with its task files, one task by itself, and rubrics for its
prompt grader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.numbers import ONE, ZERO, exact
from honestone.core.rubric import Criterion, Item, as_written, free_id, slug
from honestone.core.suite.case import AttemptRule, Case, CaseWorkspace, Message, Suite, TargetSpec
from honestone.formats.document import Document
from honestone.formats.reader import Cases, FileEntry, FileReading, Keys, Steps, did_you_mean, shown
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.interop import criteria as meant
from honestone.interop.reader import Formats, Reader
from honestone.interop.sibling_files import SiblingFiles
from honestone.interop.waza.code import assertion_script
from honestone.interop.waza.hooks import read_hooks
from honestone.interop.waza.triggers import read_triggers, signs_of_triggers

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables


# -----------------------------------------------------------------------------------------------
# tables of keys

NAMED_LEVEL: Final = Keys(
    "a level", tuple(row for row in TABLES["level"].rows if row.names != ("value",))
)

# -----------------------------------------------------------------------------------------------------
# graders


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What an evaluation gives to all of its tasks."""

    siblings: SiblingFiles
    folder: Path
    graders: tuple[Criterion, ...] = ()
    attempts: int = 1
    timeout: float | None = None
    # The skill under test, and commands before and after every task.
    skill: str | None = None
    hooks: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grader:
    """One grader being read. `config` is its settings, `folder` what paths in them are relative to."""

    at: FileEntry
    config: FileEntry
    type: str
    name: str
    weight: Fraction
    folder: Path
    shared: _Shared

    @property
    def siblings(self) -> SiblingFiles:
        return self.shared.siblings

    @property
    def skill(self) -> str | None:
        return self.shared.skill

    def texts(self, key: str) -> list[str]:
        return self.config.texts(key) or []

    def item(
        self, path: Steps, kind: str, value: Any, /, *, negated: bool = False, **options: Any
    ) -> list[Item]:
        return _item(self.at.reading, path, kind, value, negated=negated, **options)

    def path(self, key: str) -> Steps:
        return (*self.config.path, key)

    def criterion(self, items: Sequence[Item]) -> Criterion | None:
        return meant.checklist(self.name, items, weight=self.weight, floor=ONE) if items else None

    def lose(self, why: str, hint: str | None = None) -> None:
        self.at.loss(f"the grader `{self.name}` (`{self.type}`) {why}", hint=hint)


def _item(
    reading: FileReading,
    path: Steps,
    kind: str,
    value: Any,
    /,
    *,
    negated: bool = False,
    **options: Any,
) -> list[Item]:
    """A check as the item of a checklist; none where it cannot be, which was said."""
    if kind == "regex":
        reading.note(FORMATS.notes["patterns"])
    check = meant.sound_check(reading, path, kind, value, negated=negated, **options)
    return [] if check is None else [meant.check_item(check)]


def _listed(at: FileEntry, *rows: tuple[str, str, bool]) -> list[Item]:
    """A check for each text of some lists: their key, the kind of check, and whether it is negated."""
    return [
        item
        for key, kind, negated in rows
        for number, text in enumerate(at.texts(key) or ())
        for item in _item(at.reading, (*at.path, key, number), kind, text, negated=negated)
    ]


def _text(g: _Grader) -> Criterion | None:
    return g.criterion(
        _listed(
            g.config,
            ("contains", "icontains", False),
            ("not_contains", "icontains", True),
            ("contains_cs", "contains", False),
            ("not_contains_cs", "contains", True),
            ("regex_match", "regex", False),
            ("regex_not_match", "regex", True),
        )
    )


def _file(g: _Grader) -> Criterion | None:
    """Files of the workspace, as the target left it."""
    items: list[Item] = []
    for key, negated in (("must_exist", False), ("must_not_exist", True)):
        for number, name in enumerate(g.texts(key)):
            path = (*g.path(key), number)
            if name.startswith(("/", "-")) or ".." in name.split("/"):
                g.at.reading.problem(f"`{name}` leads out of the workspace", path)
            else:
                items += g.item(path, "command", ["test", "-e", name], negated=negated)
    for at in g.config.mappings("content_patterns", TABLES["pattern"]):
        items += _patterns(g, at)
    return g.criterion(items)


def _patterns(g: _Grader, at: FileEntry) -> list[Item]:
    """Patterns that the text of one file matches, or does not match."""
    file = at.text("path")
    if file is None:
        return []
    return [
        item
        for key, negated in (("must_match", False), ("must_not_match", True))
        for number, pattern in enumerate(at.texts(key) or ())
        for item in g.item((*at.path, key, number), "regex", pattern, negated=negated, path=file)
    ]


def _limits(at: FileEntry, *kinds: tuple[str, str]) -> list[Item]:
    """Limits of tokens and time, and the tools that must and must not be used."""
    items: list[Item] = []
    for key, kind in kinds:
        limit = at.number(key, low=0)
        items += _item(at.reading, (*at.path, key), kind, limit) if limit else []
    return [*items, *_call_count(at, most="max_tool_calls"), *_tools(at)]


def _call_count(at: FileEntry, *, most: str, least: str | None = None) -> list[Item]:
    """A check of how many tool calls there are in all, by the keys that limit them; 0 sets no
    limit, as in waza.
    """
    keys = {"min": least, "max": most}
    limits = {name: at.number(key, low=0) for name, key in keys.items() if key is not None}
    counts = {name: as_written(limit) for name, limit in limits.items() if limit}
    return (
        _item(
            at.reading,
            (*at.path, most if "max" in counts else least or most),
            "tool-count",
            {"*": counts},
        )
        if counts
        else []
    )


def _tools(at: FileEntry) -> list[Item]:
    """`required_tools` and `forbidden_tools`, each tool a check of its own."""
    return [
        item
        for key, negated in (("required_tools", False), ("forbidden_tools", True))
        for number, tool in enumerate(at.texts(key) or [])
        for item in _item(
            at.reading,
            (*at.path, key, number),
            "tool-calls",
            [tool],
            negated=negated,
            mode="any_order",
        )
    ]


def _behavior(g: _Grader) -> Criterion | None:
    return g.criterion(_limits(g.config, ("max_tokens", "tokens"), ("max_duration_ms", "latency")))


def _sequence(g: _Grader) -> Criterion | None:
    modes = {"exact_match": "exact", "in_order_match": "in_order", "any_order_match": "any_order"}
    mode = g.config.choice("matching_mode", tuple(modes))
    actions = g.texts("expected_actions")
    if not actions:
        g.config.problem("`expected_actions` is missing")
    if not actions or mode is None:
        return None
    return g.criterion(g.item(g.path("expected_actions"), "tool-calls", actions, mode=modes[mode]))


def _json_schema(g: _Grader) -> Criterion | None:
    schema, name = g.config.raw("schema"), g.config.text("schema_file")
    if g.config.flag("extract_json"):
        g.lose("takes JSON out of a text, which no check here does")
        return None
    if schema is None and name is not None:
        marked = g.siblings.named(g.at.reading, name, g.path("schema_file"), within=g.folder)
        if not marked:
            return None
        schema = marked.value
    if not isinstance(schema, dict):
        g.config.problem(f"`schema` must be a JSON Schema, not {shown(schema)}")
        return None
    return g.criterion(g.item(g.path("schema"), "json-schema", schema))


def _program(g: _Grader) -> Criterion | None:
    command, arguments = g.config.text("command"), g.texts("args")
    timeout = g.config.number("timeout", low=1)
    if command is None:
        return None
    seconds = as_written(timeout) if timeout is not None else 30
    words = [command, *arguments]
    return g.criterion(
        g.item(g.path("command"), "command", words, stdin="artifact", timeout=seconds)
    )


def _prompt(g: _Grader) -> Criterion | None:
    """A question for judges: the prompt's own text, or a rubric in a file."""
    text, named = g.config.text("prompt") or g.at.text("rubric"), g.config.text("rubric")
    if g.config.choice("mode", ("independent", "pairwise")) == "pairwise":
        g.lose("compares two outputs", "`honestone eval --baseline` does it")
    elif g.config.flag("continue_session"):
        g.lose("continues the agent's own session, which a judge here never sees")
    elif named is not None and "/" not in named and not named.endswith((".md", ".yaml", ".yml")):
        g.lose(
            f"uses waza's own rubric `{named}`, which is not in this file",
            "write its text as `prompt`",
        )
    elif named is not None:
        return _rubric_file(g, named)
    elif text is None:
        g.config.problem("a `prompt` grader needs `prompt` or `rubric`")
    else:
        return meant.yes_no(g.name, text, weight=g.weight, floor=meant.MAJORITY)
    return None


def _rubric_file(g: _Grader, name: str) -> Criterion | None:
    path, reading = g.path("rubric"), g.at.reading
    found = g.siblings.find(reading, name, path, within=g.folder)
    if found is None:
        return None
    if found.suffix == ".md":
        text = g.siblings.open(reading, found, path)
        if text is None:
            return None
        body = text.split("\n---", 1)[1] if text.startswith("---") and "\n---" in text else text
        if not body.strip():
            reading.problem(f"`{name}` holds no text", path)
            return None
        return meant.yes_no(g.name, body.strip(), weight=g.weight, floor=meant.MAJORITY)
    marked = g.siblings.marked(reading, found, path)
    if marked is None:
        return None
    other = FileReading(marked)
    criterion = _rubric(other.at())
    reading.join(other)
    if criterion is None:
        return None
    (item,) = criterion.items
    if item.anchors is None:
        return meant.yes_no(g.name, item.requirement, weight=g.weight, floor=meant.MAJORITY)
    reading.note(
        f"waza: the rubric `{name}` is a scale without a pass mark, so its grader only counts in the mean"
    )
    return meant.scaled(g.name, item.requirement, dict(item.anchors.levels), weight=g.weight)


def _constraint(g: _Grader) -> Criterion | None:
    """Tools by plain names; patterns and arguments have no check here."""
    items: list[Item] = []
    for key, negated in (("expect_tools", False), ("reject_tools", True)):
        for at in g.config.mappings(key, TABLES["tool"]):
            tool = at.text("tool")
            if tool is not None and not tool.replace("_", "").replace("-", "").isalnum():
                at.loss(
                    f"the pattern `{tool}` of tool names has no meaning here", hint="name the tools"
                )
            elif tool is not None and set(at.value) == {"tool"}:
                items += g.item(at.path, "tool-calls", [tool], negated=negated, mode="any_order")
    return g.criterion(items)


def _tool_calls(g: _Grader) -> Criterion | None:
    return g.criterion(
        [*_call_count(g.config, most="max_calls", least="min_calls"), *_tools(g.config)]
    )


def _skill_invocation(g: _Grader) -> Criterion | None:
    """Whether the skill under test was read; others are not known here."""
    mode = g.config.choice("mode", ("exact_match", "in_order", "any_order"))
    skills = g.texts("required_skills")
    others = [skill for skill in skills if skill != g.skill]
    if not skills:
        g.config.problem("`required_skills` is missing")
    elif others or len(skills) > 1 or mode == "exact_match":
        known = (
            f"whether `{g.skill}` is read"
            if g.skill
            else "only whether the skill under test is read"
        )
        what = (
            f"looks at other skills (`{others[0]}`)"
            if others
            else "counts how often skills are started"
        )
        g.lose(f"{what}, and here {known} is known")
        return None
    return g.criterion(g.item(g.path("required_skills"), "skill-loaded", True))


def _diff(g: _Grader) -> Criterion | None:
    """Files of the workspace, compared with saved ones and looked through for fragments."""
    items: list[Item] = []
    folder = g.folder / (g.config.text("context_dir") or "")
    for at in g.config.mappings("expected_files", TABLES["expected-file"]):
        name, saved = at.text("path"), at.text("snapshot")
        if name is None:
            continue
        if saved is not None:
            text = g.siblings.text(at.reading, saved, (*at.path, "snapshot"), within=folder)
            items += (
                [] if text is None else g.item((*at.path, "snapshot"), "equals", text, path=name)
            )
        for number, fragment in enumerate(at.texts("contains") or ()):
            words = (
                fragment.removeprefix("-")
                if fragment.startswith("-")
                else fragment.removeprefix("+")
            )
            path = (*at.path, "contains", number)
            if words.strip():
                negated = fragment.startswith("-")
                items += g.item(path, "contains", words.strip(), negated=negated, path=name)
        if saved is None and "contains" not in at:
            at.problem("an expected file needs a `snapshot` or `contains`")
    return g.criterion(items)


def _code(g: _Grader) -> Criterion | None:
    """Expressions, each an item; they run with permission."""
    language = g.config.choice("language", ("python", "javascript")) or "python"
    items: list[Item] = []
    for number, assertion in enumerate(g.texts("assertions")):
        path = (*g.path("assertions"), number)
        script = assertion_script(assertion, "javascript" if language == "javascript" else "python")
        if isinstance(script, str):
            hint = "`output` and `duration_ms` are known here"
            g.at.reading.loss(
                f"the assertion `{assertion[:60]}` of `{g.name}` {script}", path, hint
            )
            continue
        g.at.reading.runs(f"the grader `{g.name}` (`code`)", path)
        id = free_id(slug(assertion), {item.id for item in items})
        items += [
            replace(item, id=id, requirement=assertion.strip())
            for item in g.item(path, "script", script.to_plain())
        ]
    return g.criterion(items)


_READ: Final[Mapping[str, Callable[[_Grader], Criterion | None]]] = {
    "code": _code,
    "text": _text,
    "file": _file,
    "behavior": _behavior,
    "action_sequence": _sequence,
    "json_schema": _json_schema,
    "program": _program,
    "prompt": _prompt,
    "tool_constraint": _constraint,
    "tool_calls": _tool_calls,
    "skill_invocation": _skill_invocation,
    "diff": _diff,
}


def _grader(at: FileEntry, shared: _Shared, folder: Path) -> Criterion | None:
    if "ref" in at:
        at.loss("a grader from elsewhere (`ref`) is not fetched", hint="write it here")
        return None
    type = at.value.get("type") if at.is_mapping else None
    if isinstance(type, str) and type in FORMATS.lost:
        at.loss(f"the grader `{at.value.get('name')}` (`{type}`) {FORMATS.lost[type][0]}")
        return None
    if not at.read(TABLES["grader"]):
        return None
    name, type, weight = at.text("name"), at.text("type"), at.number("weight", low=0)
    if name is None or type is None:
        return None
    if type not in _READ:
        at.problem(f"unknown grader `{type}`", "type", did_you_mean(type, [*_READ, *FORMATS.lost]))
        return None
    config = at.below("config") if "config" in at else FileEntry(at.reading, at.path, {})
    lost = len(at.reading.losses)
    if not config.read(TABLES[f"config {type}"]):
        return None
    wrong = len(at.reading.problems)
    criterion = _READ[type](
        _Grader(
            at=at,
            config=config,
            type=type,
            name=name,
            weight=weight or ONE,
            folder=folder,
            shared=shared,
        )
    )
    if criterion is None and (lost, wrong) == (len(at.reading.losses), len(at.reading.problems)):
        at.problem(f"the grader `{name}` asks for nothing", hint="give it a `config`")
    return criterion


def _graders(at: FileEntry, shared: _Shared, folder: Path) -> list[Criterion]:
    found = [_grader(entry, shared, folder) for entry in at.each("graders")]
    return [criterion for criterion in found if criterion is not None]


# -------------------------------------------------------------------------------------------------------
# tasks


def _task(at: FileEntry, shared: _Shared, folder: Path) -> Case | None:
    """One task file as a case. `folder` holds the task file."""
    if not at.read(TABLES["task"]):
        return None
    id, timeout = at.text("id"), at.number("timeout_seconds", low=1)
    messages, workspace, metadata = _inputs(at, shared, folder)
    criteria = [*shared.graders, *_graders(at, shared, folder), *_expected(at)]
    if id is None:
        return None
    rubric = meant.gated(at.reading, at.path, criteria)
    skip = None if rubric else "has no grader that can be read"
    setup, teardown = shared.hooks
    return Case(
        id=id,
        rubric=rubric or meant.undecided(),
        messages=tuple(messages),
        tags=tuple(at.texts("tags") or ()),
        skip="is not enabled" if at.flag("enabled") is False else skip,
        timeout=float(timeout) if timeout is not None else shared.timeout,
        attempts=shared.attempts,
        attempt_rule=AttemptRule.PASS_HAT_K,
        setup=setup,
        teardown=teardown,
        workspace=workspace or (CaseWorkspace() if setup or teardown else None),
        metadata=metadata,
        description=at.text("name", "description"),
    )


def _inputs(
    at: FileEntry, shared: _Shared, folder: Path
) -> tuple[list[Message], CaseWorkspace | None, Mapping[str, object]]:
    if "inputs" not in at:
        at.problem("`inputs` is missing", hint="it holds the `prompt`")
    inputs = at.mapping("inputs", TABLES["inputs"])
    if inputs is None:
        return [], None, {}
    prompt, prompt_file = inputs.text("prompt"), inputs.text("prompt_file")
    if prompt is None and prompt_file is not None:
        prompt = shared.siblings.text(
            at.reading, prompt_file, (*inputs.path, "prompt_file"), within=folder
        )
    elif prompt is None:
        inputs.problem("`prompt` is missing", hint="give it a text: prompt: ...")
    if prompt is not None and "{{" in prompt:
        inputs.loss("a template in a prompt (`{{...}}`) is not filled in", "prompt")
    metadata = inputs.data("context")
    if metadata.get("fixture") is not None:
        path = (*inputs.path, "context", "fixture")
        at.reading.loss(
            "`fixture` copies a folder into the workspace", path, "name its files in `files`"
        )
    elif metadata:
        at.note("waza: `context` is kept with the case; the target does not get it")
    files = _files(inputs, shared, folder, at.text("context_dir"))
    return (
        ([Message("user", prompt)] if prompt else []),
        CaseWorkspace(files=files) if files else None,
        metadata,
    )


def _files(inputs: FileEntry, shared: _Shared, folder: Path, context: str | None) -> dict[str, str]:
    """Files for the workspace, with their content here or in the folder of fixtures."""
    found: dict[str, str] = {}
    for at in inputs.mappings("files", TABLES["file"]):
        name, content = at.text("path"), at.raw("content")
        if name is None:
            at.problem("a file needs a `path`")
        elif name.startswith("/") or ".." in name.split("/"):
            at.problem(f"`{name}` leads out of the workspace", "path")
        else:
            text = (
                content if isinstance(content, str) else _fixture(at, name, shared, folder, context)
            )
            found |= {} if text is None else {name: text}
    return found


def _fixture(
    at: FileEntry, name: str, shared: _Shared, folder: Path, context: str | None
) -> str | None:
    folders = [shared.folder / context] if context else []
    folders += [shared.folder / "fixtures", folder / "fixtures", folder]
    for place in folders:
        try:
            if (place / name).is_file():
                return shared.siblings.text(at.reading, name, (*at.path, "path"), within=place)
        except (OSError, ValueError):
            break
    hint = "put it into `fixtures` next to the evaluation, or give it a `content`"
    at.problem(f"file `{name}` not found in the folder of fixtures", "path", hint)
    return None


def _expected(at: FileEntry) -> list[Criterion]:
    """`expected`: words of the output and rules about how it came about."""
    expected = at.mapping("expected", TABLES["expected"])
    if expected is None:
        return []
    lists = {
        "output-contains": _listed(expected, ("output_contains", "icontains", False)),
        "output-not-contains": _listed(expected, ("output_not_contains", "icontains", True)),
    }
    words = expected.texts("output_contains_any")
    if words:
        path = (*expected.path, "output_contains_any")
        lists["output-contains-any"] = _item(at.reading, path, "icontains-any", words)
    trigger = expected.flag("should_trigger")
    if trigger is not None:
        path = (*expected.path, "should_trigger")
        lists["should-trigger"] = _item(at.reading, path, "skill-loaded", True, negated=not trigger)
    for outcome in expected.each("outcomes"):
        if outcome.value == {"type": "task_completed"}:
            at.note(
                "waza: the outcome `task_completed` is what a target without an error means here"
            )
        elif outcome.is_mapping:
            outcome.loss("an outcome other than `task_completed` has no meaning here")
        else:
            outcome.problem(f"an outcome must be a mapping, not {shown(outcome.value)}")
    rules = expected.mapping("behavior", TABLES["behavior"])
    if rules is not None:
        lists["behavior"] = _limits(
            rules, ("max_tokens", "tokens"), ("max_response_time_ms", "latency")
        )
    return [meant.checklist(id, items, floor=ONE) for id, items in lists.items() if items]


def _read_task(document: Document) -> SuiteSource:
    reading = FileReading(document.marked)
    folder = document.path.parent
    # A task is in `tasks`, its fixtures next to that folder.
    above = folder.parent if folder.name == "tasks" else folder
    shared = _Shared(siblings=SiblingFiles(above), folder=above)
    cases = Cases("tasks")
    cases.add(_task(reading.at(), shared, folder), reading.at())
    if not cases and not reading.problems:
        reading.problem("this is not a task", ())
    reading.finish(*FORMATS.defaults("waza"))
    (case,) = cases.all()
    suite = Suite(cases=(case,), title=case.description or "")
    return reading.suite_source(document, "waza-task", suite, cases, shared.siblings.files)


# -------------------------------------------------------------------------------------------------
# evaluations


def _read_eval(document: Document) -> SuiteSource:
    reading = FileReading(document.marked)
    top = reading.at()
    siblings = SiblingFiles(document.path.parent)
    cases = Cases("tasks")
    others: list[FileReading] = []
    if not top.read(TABLES["evaluation"]):
        reading.finish()
    attempts, timeout, concurrency = _config(top)
    skill = top.text("skill")
    shared = _Shared(
        siblings=siblings,
        folder=siblings.base,
        attempts=attempts,
        timeout=timeout,
        skill=skill,
        hooks=read_hooks(top),
    )
    shared = replace(shared, graders=tuple(_graders(top, shared, siblings.base)))
    for index, pattern in enumerate(top.texts("tasks") or []):
        for file in siblings.glob(reading, pattern, ("tasks", index)):
            marked = siblings.marked(reading, file, ("tasks", index))
            if marked is not None:
                others.append(FileReading(marked))
                cases.add(_task(others[-1].at(), shared, file.parent), others[-1].at())
    if not cases and not reading.problems and not any(other.problems for other in others):
        reading.problem(
            "this evaluation has no tasks", (), "name task files: tasks: [tasks/*.yaml]"
        )
    reading.join(*others)
    reading.finish(*FORMATS.defaults("waza"))
    suite = Suite(
        cases=cases.all(),
        title=top.text("name") or "",
        skill_id=skill,
        concurrency=concurrency,
        target=TargetSpec(skill=True if skill else None),
    )
    return reading.suite_source(document, "waza", suite, cases, siblings.files)


def _config(top: FileEntry) -> tuple[int, float | None, int | None]:
    """Attempts, seconds for one run, and how many cases run at a time."""
    at = top.mapping("config", TABLES["config"])
    if at is None:
        return 1, None, None
    trials = at.number("trials_per_task", low=1, high=1000, is_whole=True)
    timeout = at.number("timeout_seconds", low=1)
    workers = at.number("max_workers", "workers", low=0, high=1000, is_whole=True)
    parallel = at.flag("parallel")
    concurrency = (
        (int(workers) or None) if parallel and workers is not None else None if parallel else 1
    )
    return int(trials or 1), float(timeout) if timeout is not None else None, concurrency


# -----------------------------------------------------------------------------------------------------
# rubrics


def _rubric(at: FileEntry) -> Criterion | None:
    """The criterion of a rubric file: its criteria in words and its levels."""
    if not at.read(TABLES["rubric-file"]):
        return None
    name, words = at.text("name") or "rubric", at.text("evaluation_criteria")
    # The judge sees the question and the answer, but no tool calls and the like.
    for key in at.data("input_mapping"):
        if key not in ("query", "response"):
            at.reading.loss(
                f"`{key}` is not shown to a judge here", (*at.path, "input_mapping", key)
            )
    method = at.raw("score_normalization")
    if isinstance(method, dict) and method.get("method", "linear") != "linear":
        path = (*at.path, "score_normalization", "method")
        at.reading.loss(
            f"scores are normalised by `{method['method']}`; here they are linear", path
        )
    levels = _levels(at)
    if words is None or levels is None:
        return None
    if len(levels) < 2:
        at.problem("`rating_levels` needs two levels at least", "rating_levels")
        return None
    if set(levels) == {ZERO, ONE}:
        return meant.yes_no(
            slug(name), f"{words.strip()}\n\nMet: {levels[ONE]}\nNot met: {levels[ZERO]}"
        )
    return meant.scaled(slug(name), words.strip(), levels)


def _levels(at: FileEntry) -> dict[Fraction, str] | None:
    """The levels on their own scale; on 0 to 1 where their names are not numbers or their scores
    are not linear.
    """
    value = at.raw("rating_levels")
    below = at.below("rating_levels") if value is not None else at
    if not isinstance(value, dict | list):
        at.problem(
            "`rating_levels` must describe the levels, in a list or a mapping", "rating_levels"
        )
        return None
    raw: dict[Fraction, str] = {}
    normalised: dict[Fraction, str] = {}
    pairs: list[tuple[Fraction | None, Fraction | None]] = []
    for step in value if isinstance(value, dict) else range(len(value)):
        level = below.below(step)
        if not level.read(TABLES["level"] if isinstance(value, list) else NAMED_LEVEL):
            return None
        written = (
            level.text("value")
            if isinstance(value, list)
            else at.reading.marked.raw_key(level.path)
        )
        words, score, number = (
            _level(level),
            level.number("normalized_score", low=0, high=1),
            _number(written),
        )
        pairs.append((number, score))
        if number is not None:
            if number in raw:
                level.problem(f"the level {written} is there twice")
            raw[number] = words
        if score is not None:
            normalised[score] = words
    if all(number is not None for number, _ in pairs) and _is_linear(pairs):
        return raw
    if len(normalised) == len(pairs):
        return normalised
    at.problem(
        "every level needs a number as `value`, or a `normalized_score` of its own", "rating_levels"
    )
    return None


def _level(level: FileEntry) -> str:
    parts = (level.text("label"), level.text("description"))
    words = ": ".join(" ".join(text.split()) for text in parts if text)
    listed = [*(level.texts("example") or []), *(level.texts("examples") or [])]
    more = {"For example": listed, "Forms of a fault": level.texts("fault_formats") or []}
    said = [
        f"{what}: {'; '.join(' '.join(text.split()) for text in texts)}"
        for what, texts in more.items()
        if texts
    ]
    return " ".join([words or "not described", *said])


def _number(text: str | None) -> Fraction | None:
    try:
        return exact(str(text))
    except (ValueError, ZeroDivisionError):
        return None


def _is_linear(pairs: Sequence[tuple[Fraction | None, Fraction | None]]) -> bool:
    """Whether the scores, where given, are where the numbers put them (to two places, as they are
    written).
    """
    numbers = [number for number, _ in pairs if number is not None]
    low, high = min(numbers, default=ZERO), max(numbers, default=ZERO)
    if low == high:
        return True
    return all(
        score is None or abs((number - low) / (high - low) - score) < Fraction(1, 100)
        for number, score in pairs
        if number is not None
    )


def _read_rubric(document: Document) -> ForeignRubric:
    reading = FileReading(document.marked)
    criterion = _rubric(reading.at())
    reading.note(*FORMATS.defaults("waza-rubric"))
    name = document.value.get("name")
    title = name if isinstance(name, str) else ""
    rubric = (
        None
        if criterion is None
        else meant.sound_rubric(reading, (), [criterion], title=title, floor=ZERO)
    )
    reading.finish()
    assert rubric is not None
    return reading.rubric_source(rubric, "waza-rubric")


# ------------------------------------------------------------------------------------------------
# being recognised


def _eval_signs(document: Document) -> int:
    if document.is_lines or "tests" in document.keys or "suite" in document.keys:
        return 0
    own = len(document.keys & {"tasks", "tasks_from", "metrics", "graders", "skill", "config"})
    return 80 if own >= 3 and document.keys & {"tasks", "tasks_from"} else 0


def _task_signs(document: Document) -> int:
    inputs = document.mapping.get("inputs")
    if not isinstance(inputs, dict) or not inputs.keys() & {"prompt", "prompt_file"}:
        return 0
    return 80 if "id" in document.keys and not document.keys & {"cases", "tests", "tasks"} else 0


def _rubric_signs(document: Document) -> int:
    return (
        80
        if not document.is_lines and document.keys >= {"evaluation_criteria", "rating_levels"}
        else 0
    )


READERS: tuple[Reader, ...] = (
    FORMATS.reader("waza", _eval_signs, _read_eval),
    FORMATS.reader("waza-task", _task_signs, _read_task),
    FORMATS.reader("waza-rubric", _rubric_signs, _read_rubric),
    FORMATS.reader("waza-triggers", signs_of_triggers, read_triggers),
)
