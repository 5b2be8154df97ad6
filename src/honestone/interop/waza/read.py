"""waza files: an evaluation of a skill with its task files, one task by itself, and rubrics for its prompt grader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import FileError, RubricError
from honestone.core.numbers import ONE, ZERO, exact
from honestone.core.rubric import Criterion, Item, Rubric, as_written, slug
from honestone.core.suite.case import AttemptRule, Case, CaseWorkspace, Message, Suite, TargetSpec
from honestone.formats.document import Document
from honestone.formats.fields import near
from honestone.interop.base import (
    ForeignRubric,
    KnownKey,
    Reader,
    Steps,
    SuiteSource,
    Taking,
    Walk,
    scaled,
    shown,
    yes_no,
)
from honestone.interop.judged_criteria import MAJORITY, check_item, checklist, gated, settle, sound_check, undecided
from honestone.interop.sibling_files import Beside

DEFAULTS: Final = (
    "waza: a task passes when all of its graders pass; a `prompt` grader is one yes/no question, and more than half of the judges have to say yes",
    "waza: with several trials, all attempts have to pass (pass^k)",
)
RUBRIC_DEFAULTS: Final = (
    "waza: a rubric has no threshold of its own, so honestone's 70 holds, and no floor",
    "waza: `chain_of_thought` and the form of the reply are not read: honestone writes the judge's prompt",
)

# ----------------------------------------------------------------------------------------------------- graders


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grader:
    """One grader being read. `config` is its settings, `folder` what paths in them are relative to."""

    at: Taking
    config: Taking
    type: str
    name: str
    weight: Fraction
    beside: Beside
    folder: Path

    def texts(self, key: str) -> list[str]:
        return self.config.texts(key) or []

    def item(self, path: Steps, kind: str, value: Any, *, negated: bool = False, **options: Any) -> list[Item]:
        check = sound_check(self.at.walk, path, kind, value, negated=negated, **options)
        return [] if check is None else [check_item(check)]

    def path(self, key: str) -> Steps:
        return (*self.config.path, key)

    def criterion(self, items: Sequence[Item]) -> Criterion | None:
        return checklist(self.name, items, weight=self.weight, floor=ONE) if items else None

    def lose(self, why: str, hint: str | None = None) -> None:
        self.at.walk.loss(f"the grader `{self.name}` (`{self.type}`) {why}", self.at.path, hint)


def _text(g: _Grader) -> Criterion | None:
    kinds = (
        ("contains", "icontains", False),
        ("not_contains", "icontains", True),
        ("contains_cs", "contains", False),
        ("not_contains_cs", "contains", True),
        ("regex_match", "regex", False),
        ("regex_not_match", "regex", True),
    )
    return g.criterion(
        [
            item
            for key, kind, negated in kinds
            for number, value in enumerate(g.texts(key))
            for item in g.item((*g.path(key), number), kind, value, negated=negated)
        ]
    )


def _file(g: _Grader) -> Criterion | None:
    """Files of the workspace, as the target left it."""
    items: list[Item] = []
    for key, negated in (("must_exist", False), ("must_not_exist", True)):
        for number, name in enumerate(g.texts(key)):
            path = (*g.path(key), number)
            if name.startswith(("/", "-")) or ".." in name.split("/"):
                g.at.walk.problem(f"`{name}` leads out of the workspace", path)
            else:
                items += g.item(path, "command", ["test", "-e", name], negated=negated)
    g.config.lose(
        "content_patterns", message="`{key}` looks into files of the workspace, which no check here does with patterns"
    )
    return g.criterion(items)


def _behavior(g: _Grader) -> Criterion | None:
    items: list[Item] = []
    for key, kind in (("max_tokens", "tokens"), ("max_duration_ms", "latency")):
        limit = g.config.number(key, low=0)
        if limit:
            items += g.item(g.path(key), kind, limit)
    items += _tools(g.config, g.at.walk)
    g.config.lose("max_tool_calls", message="`{key}` limits all tool calls together, which no check here does")
    return g.criterion(items)


def _tools(at: Taking, walk: Walk) -> list[Item]:
    """`required_tools` and `forbidden_tools`, each tool a check of its own."""
    found = []
    for key, negated in (("required_tools", False), ("forbidden_tools", True)):
        for number, tool in enumerate(at.texts(key) or []):
            check = sound_check(walk, (*at.path, key, number), "tool-calls", [tool], negated=negated, mode="any_order")
            if check is not None:
                found.append(check_item(check))
    return found


def _sequence(g: _Grader) -> Criterion | None:
    modes = {"exact_match": "exact", "in_order_match": "in_order", "any_order_match": "any_order"}
    mode = g.config.choice("matching_mode", tuple(modes))
    actions = g.texts("expected_actions")
    if not actions or mode is None:
        if mode is None and "matching_mode" not in g.config:
            g.at.walk.problem("`matching_mode` is missing", g.config.path)
        if not actions:
            g.at.walk.problem("`expected_actions` is missing", g.config.path)
        return None
    return g.criterion(g.item(g.path("expected_actions"), "tool-calls", actions, mode=modes[mode]))


def _json_schema(g: _Grader) -> Criterion | None:
    schema, name = g.config.raw("schema"), g.config.text("schema_file")
    if g.config.flag("extract_json"):
        g.lose("takes JSON out of a text, which no check here does")
        return None
    if schema is None and name is not None:
        found = g.beside.find(g.at.walk, name, g.path("schema_file"), within=g.folder)
        marked = found and g.beside.marked(g.at.walk, found, g.path("schema_file"))
        if not marked:
            return None
        schema = marked.value
    if not isinstance(schema, dict):
        g.at.walk.problem(f"`schema` must be a JSON Schema, not {shown(schema)}", g.config.path)
        return None
    return g.criterion(g.item(g.path("schema"), "json-schema", schema))


def _program(g: _Grader) -> Criterion | None:
    command = g.config.text("command", required=True)
    arguments = g.texts("args")
    timeout = g.config.number("timeout", low=1)
    if command is None:
        return None
    seconds = as_written(timeout) if timeout is not None else 30
    words = [command, *arguments]
    return g.criterion(g.item(g.path("command"), "command", words, stdin="artifact", timeout=seconds))


def _prompt(g: _Grader) -> Criterion | None:
    """A question for judges: the prompt's own text, or a rubric in a file."""
    prompt, named = g.config.text("prompt"), g.config.text("rubric")
    mode = g.config.choice("mode", ("independent", "pairwise"))
    g.config.ignore("model", "reasoning_effort", why="waza: the judge's model is not read: --judge names the judges")
    own = g.at.text("rubric")
    if mode == "pairwise":
        g.lose("compares two outputs", "`honestone eval --baseline` does it")
        return None
    if g.config.flag("continue_session"):
        g.lose("goes on with the agent's own session, which a judge here never sees")
        return None
    text = prompt or own
    if named is not None:
        if "/" not in named and not named.endswith((".md", ".yaml", ".yml")):
            g.lose(f"uses waza's own rubric `{named}`, which is not in this file", "write its text as `prompt`")
            return None
        return _rubric_file(g, named)
    if text is None:
        g.at.walk.problem("a `prompt` grader needs `prompt` or `rubric`", g.config.path)
        return None
    return yes_no(g.name, text, weight=g.weight, floor=MAJORITY)


def _rubric_file(g: _Grader, name: str) -> Criterion | None:
    path = g.path("rubric")
    found = g.beside.find(g.at.walk, name, path, within=g.folder)
    if found is None:
        return None
    if found.suffix == ".md":
        text = g.beside.open(g.at.walk, found, path)
        if text is None:
            return None
        body = text.split("\n---", 1)[1] if text.startswith("---") and "\n---" in text else text
        if not body.strip():
            g.at.walk.problem(f"`{name}` holds no text", path)
            return None
        return yes_no(g.name, body.strip(), weight=g.weight, floor=MAJORITY)
    marked = g.beside.marked(g.at.walk, found, path)
    if marked is None:
        return None
    other = Walk(marked)
    criterion = _rubric(other.at())
    g.at.walk.join(other)
    if criterion is None:
        return None
    (item,) = criterion.items
    floor = MAJORITY if item.anchors is None else None
    if floor is None:
        g.at.walk.note(
            f"waza: the rubric `{name}` is a scale without a pass mark, so its grader only counts in the mean"
        )
    return Criterion(
        id=g.name,
        requirement=criterion.requirement,
        weight=g.weight,
        floor=floor,
        items=(Item(id=g.name, requirement=item.requirement, anchors=item.anchors, whole=True),),
    )


def _constraint(g: _Grader) -> Criterion | None:
    """Tools by plain names; patterns and arguments have no check here."""
    items: list[Item] = []
    for key, negated in (("expect_tools", False), ("reject_tools", True)):
        for at in g.config.each(key, "tools"):
            if not at.require_mapping("a tool"):
                continue
            tool = at.text("tool", required=True)
            at.lose(
                "command_pattern",
                "skill_pattern",
                "path_pattern",
                "args",
                message="`{key}` looks at arguments of a tool with patterns, which no check here does",
            )
            at.close("a tool")
            plain = all(key in ("tool",) for key in at.value)
            if tool is not None and not tool.replace("_", "").replace("-", "").isalnum():
                at.walk.loss(f"the pattern `{tool}` of tool names has no meaning here", at.path, "name the tools")
            elif tool is not None and plain:
                items += g.item(at.path, "tool-calls", [tool], negated=negated, mode="any_order")
    g.config.lose("allow_only", message="`{key}` limits which tools may be used, which no check here does")
    return g.criterion(items)


def _tool_calls(g: _Grader) -> Criterion | None:
    items = _tools(g.config, g.at.walk)
    g.config.lose("min_calls", "max_calls", message="`{key}` limits all tool calls together, which no check here does")
    g.config.lose("expect", message="`{key}` looks at arguments of tools with matchers, which no check here does")
    return g.criterion(items)


_READ: Final[Mapping[str, Callable[[_Grader], Criterion | None]]] = {
    "text": _text,
    "file": _file,
    "behavior": _behavior,
    "action_sequence": _sequence,
    "json_schema": _json_schema,
    "program": _program,
    "prompt": _prompt,
    "tool_constraint": _constraint,
    "tool_calls": _tool_calls,
}
_LOST: Final[Mapping[str, str]] = {
    "code": "runs expressions of this file, which honestone never does",
    "skill_invocation": "looks at which other skills were started, which no check here does",
    "trigger": "guesses from words whether a skill would start, which no check here does",
    "diff": "compares files of the workspace with saved ones, which no check here does",
}


def _grader(at: Taking, beside: Beside, folder: Path) -> Criterion | None:
    if not at.require_mapping("a grader"):
        return None
    if "ref" in at:
        at.walk.loss("a grader from elsewhere (`ref`) is not fetched", at.path, "write it here")
        return None
    name, type = at.text("name", required=True), at.text("type", required=True)
    weight = at.number("weight", low=0)
    at.ignore("model", why="waza: the judge's model is not read: --judge names the judges")
    at.ignore("config", "rubric", "assertions", "script")
    at.close("a grader")
    if name is None or type is None:
        return None
    if type in _LOST:
        at.walk.loss(f"the grader `{name}` (`{type}`) {_LOST[type]}", at.path)
        return None
    if type not in _READ:
        meant = near(type, [*_READ, *_LOST])
        at.walk.problem(f"unknown grader `{type}`", (*at.path, "type"), f"did you mean `{meant}`?" if meant else None)
        return None
    at.lose("assertions", "script", message="`{key}` runs code of this file, which honestone never does")
    config = at.below("config") if "config" in at else Taking(Walk(at.walk.marked), at.path)
    if "config" in at and not config.require_mapping("`config`"):
        return None
    grader = _Grader(
        at=at,
        config=config if "config" in at else _nothing(at),
        type=type,
        name=name,
        weight=weight or ONE,
        beside=beside,
        folder=folder,
    )
    before = len(at.walk.losses) + len(at.walk.problems)
    criterion = _READ[type](grader)
    grader.config.close(f"the `config` of a `{type}` grader")
    if criterion is None and before == len(at.walk.losses) + len(at.walk.problems):
        at.walk.problem(f"the grader `{name}` asks for nothing", at.path, "give it a `config`")
    return criterion


def _nothing(at: Taking) -> Taking:
    """The settings of a grader that has none."""
    empty = Taking(at.walk, at.path)
    empty.value = {}
    return empty


def _graders(at: Taking, beside: Beside, folder: Path) -> list[Criterion]:
    found = [_grader(entry, beside, folder) for entry in at.each("graders", "graders")]
    return [criterion for criterion in found if criterion is not None]


# ------------------------------------------------------------------------------------------------------- tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What an evaluation gives to all of its tasks."""

    beside: Beside
    folder: Path
    graders: tuple[Criterion, ...] = ()
    attempts: int = 1
    timeout: float | None = None


def _task(at: Taking, shared: _Shared, folder: Path, taken: Mapping[str, Case]) -> Case | None:
    """One task file as a case. `folder` holds the task file."""
    if not at.require_mapping("a task"):
        return None
    id, name = at.text("id", required=True), at.text("name")
    description, tags = at.text("description"), at.texts("tags") or []
    enabled, timeout = at.flag("enabled"), at.number("timeout_seconds", low=1)
    context = at.text("context_dir")
    at.ignore("golden", "first_event_timeout_seconds")
    at.ignore(
        "skill_directories",
        "instruction_files",
        why="waza: other skills and instruction files are not installed: the skill under test is",
    )
    messages, workspace, metadata = _inputs(at, shared, folder, context)
    criteria = [*shared.graders, *_graders(at, shared.beside, folder), *_expected(at)]
    at.close("a task")
    if id is None:
        return None
    if id in taken:
        at.walk.problem(f"two tasks have the id `{id}`", (*at.path, "id"))
        return None
    rubric = gated(at.walk, at.path, criteria)
    skip = None if rubric else "has no grader that can be read"
    if enabled is False:
        skip = "is not enabled"
    return Case(
        id=id,
        rubric=rubric or undecided(),
        messages=tuple(messages),
        tags=tuple(tags),
        skip=skip,
        timeout=float(timeout) if timeout is not None else shared.timeout,
        attempts=shared.attempts,
        attempt_rule=AttemptRule.PASS_HAT_K,
        workspace=workspace,
        metadata=metadata,
        description=name or description,
    )


def _inputs(
    at: Taking, shared: _Shared, folder: Path, context: str | None
) -> tuple[list[Message], CaseWorkspace | None, dict[str, Any]]:
    if "inputs" not in at:
        at.walk.problem("`inputs` is missing", at.path, "it holds the `prompt`")
        at.ignore("inputs")
        return [], None, {}
    inputs = at.below("inputs")
    if not inputs.require_mapping("`inputs`"):
        return [], None, {}
    prompt, prompt_file = inputs.text("prompt"), inputs.text("prompt_file")
    if prompt is None and prompt_file is not None:
        prompt = shared.beside.text(at.walk, prompt_file, (*inputs.path, "prompt_file"), within=folder)
    elif prompt is None:
        at.walk.problem("`prompt` is missing", inputs.path, "give it a text: prompt: ...")
    if prompt is not None and "{{" in prompt:
        at.walk.loss("a template in a prompt (`{{...}}`) is not filled in", (*inputs.path, "prompt"))
    metadata = inputs.raw("context")
    if metadata is not None and not isinstance(metadata, dict):
        at.walk.problem(f"`context` must be a mapping, not {shown(metadata)}", (*inputs.path, "context"))
        metadata = None
    if metadata and metadata.get("fixture") is not None:
        at.walk.loss(
            "`fixture` copies a folder into the workspace",
            (*inputs.path, "context", "fixture"),
            "name its files in `files`",
        )
    elif metadata:
        at.walk.note("waza: `context` is kept with the case; the target does not get it")
    inputs.lose("repos", message="`{key}` checks out git repositories, which is not read")
    inputs.lose(
        "workdir", "environment", message="`{key}` changes where and how the agent runs, which a case here does not"
    )
    inputs.lose(
        "follow_up_prompts", "responder", message="`{key}` goes on with the conversation; a case here has one input"
    )
    files = _files(inputs, shared, folder, context)
    inputs.close("`inputs`")
    workspace = CaseWorkspace(files=files) if files else None
    kept = {str(key): value for key, value in (metadata or {}).items()}
    return ([Message("user", prompt)] if prompt else []), workspace, kept


def _files(inputs: Taking, shared: _Shared, folder: Path, context: str | None) -> dict[str, str]:
    """Files for the workspace, with their content here or in the folder of fixtures."""
    found: dict[str, str] = {}
    for at in inputs.each("files", "files"):
        if not at.require_mapping("a file"):
            continue
        name, content = at.text("path"), at.raw("content")
        at.close("a file")
        if name is None:
            at.walk.problem("a file needs a `path`", at.path)
        elif name.startswith("/") or ".." in name.split("/"):
            at.walk.problem(f"`{name}` leads out of the workspace", (*at.path, "path"))
        elif isinstance(content, str):
            found[name] = content
        else:
            text = _fixture(at, name, shared, folder, context)
            if text is not None:
                found[name] = text
    return found


def _fixture(at: Taking, name: str, shared: _Shared, folder: Path, context: str | None) -> str | None:
    folders = [shared.folder / context] if context else []
    folders += [shared.folder / "fixtures", folder / "fixtures", folder]
    for place in folders:
        try:
            if (place / name).is_file():
                return shared.beside.text(at.walk, name, (*at.path, "path"), within=place)
        except (OSError, ValueError):
            break
    at.walk.problem(
        f"there is no file `{name}` in the folder of fixtures",
        (*at.path, "path"),
        "put it into `fixtures` beside the evaluation, or give it a `content`",
    )
    return None


def _expected(at: Taking) -> list[Criterion]:
    """`expected`: words of the output and rules about how it came about."""
    if "expected" not in at:
        at.ignore("expected")
        return []
    expected = at.below("expected")
    if not expected.require_mapping("`expected`"):
        return []
    criteria = []
    for key, kind, negated in (
        ("output_contains", "icontains", False),
        ("output_not_contains", "icontains", True),
        ("output_contains_any", "icontains-any", False),
    ):
        words = expected.texts(key) or []
        values: list[Any] = [words] if key.endswith("any") and words else list(words)
        items = []
        for value in values:
            check = sound_check(at.walk, (*expected.path, key), kind, value, negated=negated)
            items += [check_item(check)] if check else []
        if items:
            criteria.append(checklist(key.replace("_", "-"), items, floor=ONE))
    trigger = expected.flag("should_trigger")
    if trigger is not None:
        check = sound_check(at.walk, (*expected.path, "should_trigger"), "skill-loaded", True, negated=not trigger)
        criteria += [checklist("should-trigger", [check_item(check)], floor=ONE)] if check else []
    expected.lose("tool_calls", message="`{key}` is a free form, which is not read")
    for outcome in expected.each("outcomes", "outcomes"):
        if not outcome.require_mapping("an outcome"):
            continue
        if outcome.value == {"type": "task_completed"}:
            at.walk.note("waza: the outcome `task_completed` is what a target without an error means here")
        else:
            at.walk.loss("an outcome other than `task_completed` has no meaning here", outcome.path)
    rules = _rules(expected)
    expected.close("`expected`")
    return [*criteria, *rules]


def _rules(expected: Taking) -> list[Criterion]:
    if "behavior" not in expected:
        expected.ignore("behavior")
        return []
    at = expected.below("behavior")
    if not at.require_mapping("`behavior`"):
        return []
    items: list[Item] = []
    for key, kind in (("max_tokens", "tokens"), ("max_response_time_ms", "latency")):
        limit = at.number(key, low=0)
        check = sound_check(at.walk, (*at.path, key), kind, limit) if limit else None
        items += [check_item(check)] if check else []
    items += _tools(at, at.walk)
    at.lose(
        "max_tool_calls",
        "max_iterations",
        message="`{key}` limits all steps of the agent together, which no check here does",
    )
    at.close("`behavior`")
    return [checklist("behavior", items, floor=ONE)] if items else []


def _read_task(document: Document) -> SuiteSource:
    walk = Walk(document.marked)
    folder = document.path.parent
    # A task lies in `tasks`, its fixtures beside that folder.
    above = folder.parent if folder.name == "tasks" else folder
    shared = _Shared(beside=Beside(above), folder=above)
    case = _task(walk.at(), shared, folder, {})
    if case is None and not walk.problems:
        walk.problem("this is no task", ())
    for note in DEFAULTS:
        walk.note(note)
    settle(walk)
    assert case is not None
    return SuiteSource(
        suite=Suite(cases=(case,), title=case.description or ""),
        dialect="waza-task",
        base=folder,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
        files=(document.path, *shared.beside.files),
        places={case.id: walk.marked.at(())},
    )


# ------------------------------------------------------------------------------------------------- evaluations


def _read_eval(document: Document) -> SuiteSource:
    walk = Walk(document.marked)
    top = walk.at()
    folder = document.path.parent
    beside = Beside(folder)
    cases: dict[str, Case] = {}
    places: dict[str, str] = {}
    walks: list[Walk] = []
    title, skill, concurrency = "", None, None
    if top.require_mapping("a waza evaluation"):
        title, skill = top.text("name") or "", top.text("skill")
        attempts, timeout, concurrency = _config(top)
        shared = _Shared(
            beside=beside,
            folder=folder,
            graders=tuple(_graders(top, beside, folder)),
            attempts=attempts,
            timeout=timeout,
        )
        top.ignore("description", "version", "schemaVersion", "scenario", "baseline")
        top.ignore("metrics", why="waza: `metrics` are not read: what gates a task there is its graders")
        top.lose("hooks", message="`{key}` runs commands of this file around the evaluation")
        top.lose(
            "mcp_mocks",
            "command_mocks",
            message="`{key}` puts stand-ins in place of tools, which a target here does not get",
        )
        top.lose("inputs", message="`{key}` fills in templates of all tasks")
        top.lose("tasks_from", "range", message="`{key}` makes or chooses tasks, which is not read")
        for index, pattern in enumerate(top.texts("tasks") or []):
            for file in beside.glob(walk, pattern, ("tasks", index)):
                marked = beside.marked(walk, file, ("tasks", index))
                if marked is None:
                    continue
                other = Walk(marked)
                walks.append(other)
                case = _task(other.at(), shared, file.parent, cases)
                if case is not None:
                    cases[case.id] = case
                    places[case.id] = marked.at(())
        top.close("a waza evaluation")
        if not cases and not walk.problems and not any(other.problems for other in walks):
            walk.problem("this evaluation has no tasks", (), "name task files: tasks: [tasks/*.yaml]")
    for note in DEFAULTS:
        walk.note(note)
    settle(walk, *walks)
    suite = Suite(
        cases=tuple(cases.values()),
        title=title,
        skill_id=skill,
        concurrency=concurrency,
        target=TargetSpec(skill=True if skill else None),
    )
    return SuiteSource(
        suite=suite,
        dialect="waza",
        base=folder,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
        files=(document.path, *beside.files),
        places=places,
    )


def _config(top: Taking) -> tuple[int, float | None, int | None]:
    """Attempts, seconds for one run, and how many cases run at a time."""
    if "config" not in top:
        top.ignore("config")
        return 1, None, None
    at = top.below("config")
    if not at.require_mapping("`config`"):
        return 1, None, None
    trials = at.number("trials_per_task", low=1, high=1000, is_whole=True)
    timeout = at.number("timeout_seconds", low=1)
    workers = at.number("workers", low=0, high=1000, is_whole=True)
    parallel = at.flag("parallel")
    at.ignore(
        "executor",
        "model",
        "reasoning_effort",
        why="waza: `executor` and `model` are not read: --target says what runs the tasks",
    )
    at.ignore(
        "judge_model", "judge_reasoning_effort", why="waza: the judge's model is not read: --judge names the judges"
    )
    at.ignore(
        "first_event_timeout_seconds",
        "max_attempts",
        "fail_fast",
        "group_by",
        "inject_skill_body",
        "trigger_skill_routing",
    )
    at.ignore(
        "skill_directories",
        "required_skills",
        "disabled_skills",
        "instruction_files",
        why="waza: other skills and instruction files are not installed: the skill under test is",
    )
    at.lose("mcp_servers", message="`{key}` starts servers for the agent, which a target here does not get")
    at.close("`config`")
    concurrency = (int(workers) or None) if parallel and workers is not None else None if parallel else 1
    return int(trials or 1), float(timeout) if timeout is not None else None, concurrency


# ----------------------------------------------------------------------------------------------------- rubrics


def _rubric(at: Taking) -> Criterion | None:
    """The criterion of a rubric file: its criteria in words and its levels."""
    if not at.require_mapping("a rubric"):
        return None
    name, words = at.text("name") or "rubric", at.text("evaluation_criteria", required=True)
    at.ignore("description", "version", "source", "score_type", "scale", "goldens")
    at.ignore("chain_of_thought", "output_format", "output_schema")
    _inputs_of_rubric(at)
    _normalisation(at)
    levels = _levels(at)
    at.close("a rubric")
    if words is None or levels is None:
        return None
    if len(levels) < 2:
        at.walk.problem("`rating_levels` needs two levels at least", (*at.path, "rating_levels"))
        return None
    if set(levels) == {ZERO, ONE}:
        met, unmet = levels[ONE], levels[ZERO]
        return yes_no(slug(name), f"{words.strip()}\n\nMet: {met}\nNot met: {unmet}")
    return scaled(slug(name), words.strip(), levels)


def _inputs_of_rubric(at: Taking) -> None:
    """What the judge is to see: the question and the answer are there, tool calls and the like are not."""
    value = at.raw("input_mapping")
    if value is None:
        return
    if not isinstance(value, dict):
        at.walk.problem(f"`input_mapping` must be a mapping, not {shown(value)}", (*at.path, "input_mapping"))
        return
    for key in value:
        if key not in ("query", "response"):
            at.walk.loss(f"`{key}` is not shown to a judge here", (*at.path, "input_mapping", key))


def _normalisation(at: Taking) -> None:
    """Scores are normalised linearly here; anything else is told apart at the levels."""
    value = at.raw("score_normalization")
    if isinstance(value, dict) and value.get("method", "linear") != "linear":
        at.walk.loss(
            f"scores are normalised by `{value['method']}`; here they are linear",
            (*at.path, "score_normalization", "method"),
        )


def _levels(at: Taking) -> dict[Fraction, str] | None:
    """The levels on their own scale; on 0 to 1 where their names are no numbers or their scores are not linear."""
    value = at.raw("rating_levels")
    path = (*at.path, "rating_levels")
    entries: list[tuple[Any, Taking]]
    if isinstance(value, dict):
        entries = [(at.walk.marked.raw_key((*path, key)), Taking(at.walk, (*path, key))) for key in value]
    elif isinstance(value, list):
        entries = []
        for index in range(len(value)):
            level = Taking(at.walk, (*path, index))
            if level.require_mapping("a level"):
                entries.append((level.text("value", required=True), level))
    else:
        at.walk.problem("`rating_levels` must describe the levels, in a list or a mapping", path)
        return None
    raw: dict[Fraction, str] = {}
    normalised: dict[Fraction, str] = {}
    pairs: list[tuple[Fraction | None, Fraction | None]] = []
    for number_text, level in entries:
        if not level.require_mapping("a level"):
            return None
        words, score = _level(level), level.number("normalized_score", low=0, high=1)
        level.close("a level")
        number = _number(number_text)
        pairs.append((number, score))
        if number is not None:
            if number in raw:
                at.walk.problem(f"the level {number_text} stands there twice", level.path)
            raw[number] = words
        if score is not None:
            normalised[score] = words
    if all(number is not None for number, _ in pairs) and _is_linear(pairs):
        return raw
    if len(normalised) == len(pairs):
        return normalised
    at.walk.problem("every level needs a number as `value`, or a `normalized_score` of its own", path)
    return None


def _level(level: Taking) -> str:
    label, description = level.text("label"), level.text("description")
    examples = level.texts("examples") or []
    words = ": ".join(" ".join(text.split()) for text in (label, description) if text)
    told = "; ".join(" ".join(text.split()) for text in examples)
    return f"{words or 'not described'}{f' For example: {told}' if told else ''}"


def _number(text: Any) -> Fraction | None:
    try:
        return exact(str(text))
    except (ValueError, ZeroDivisionError):
        return None


def _is_linear(pairs: Sequence[tuple[Fraction | None, Fraction | None]]) -> bool:
    """Whether the scores, where given, lie where the numbers put them (to two places, as they are written)."""
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
    walk = Walk(document.marked)
    criterion = _rubric(walk.at())
    for note in RUBRIC_DEFAULTS:
        walk.note(note)
    settle(walk)
    assert criterion is not None
    title = document.value.get("name")
    try:
        rubric = Rubric(criteria=(criterion,), title=title if isinstance(title, str) else "", floor=ZERO)
    except RubricError as error:
        raise FileError(error.message, place=walk.marked.at(()), hint=error.hint) from None
    return ForeignRubric(
        rubric=rubric, dialect="waza-rubric", marked=document.marked, notes=tuple(walk.notes), losses=tuple(walk.losses)
    )


# ------------------------------------------------------------------------------------------------ being recognised


def _eval_signs(document: Document) -> int:
    if document.is_lines or "tests" in document.keys or "suite" in document.keys:
        return 0
    own = len(document.keys & {"tasks", "tasks_from", "metrics", "graders", "skill", "config"})
    return 80 if own >= 3 and document.keys & {"tasks", "tasks_from"} else 0


def _task_signs(document: Document) -> int:
    value = document.value
    if document.is_lines or not isinstance(value, dict) or not isinstance(value.get("inputs"), dict):
        return 0
    prompted = value["inputs"].keys() & {"prompt", "prompt_file"}
    return 80 if prompted and "id" in value and not value.keys() & {"cases", "tests", "tasks"} else 0


def _rubric_signs(document: Document) -> int:
    return 80 if not document.is_lines and document.keys >= {"evaluation_criteria", "rating_levels"} else 0


_GRADER_KEYS: Final = (
    KnownKey(key="graders[].name, weight", meaning="The criterion's id and weight; its floor is 100."),
    KnownKey(key="graders[]: text", meaning="A checklist of `icontains`, `contains` and `regex` checks."),
    KnownKey(
        key="graders[]: file (must_exist, must_not_exist)",
        meaning="`command` checks in the workspace; `content_patterns` is lost.",
    ),
    KnownKey(
        key="graders[]: behavior", meaning="`tokens`, `latency` and `tool-calls` checks; `max_tool_calls` is lost."
    ),
    KnownKey(key="graders[]: action_sequence", meaning="A `tool-calls` check."),
    KnownKey(
        key="graders[]: tool_constraint, tool_calls",
        meaning="`tool-calls` checks for plain names; patterns, arguments and counts are lost.",
    ),
    KnownKey(key="graders[]: json_schema", meaning="A `json-schema` check; `extract_json` is lost."),
    KnownKey(key="graders[]: program", meaning="A `command` check that reads the output."),
    KnownKey(
        key="graders[]: prompt",
        meaning="A yes/no question: its `prompt`, or a rubric in a file; waza's own rubrics and `pairwise` are lost.",
    ),
    KnownKey(
        key="graders[]: code, skill_invocation, trigger, diff",
        meaning="Code of the file, or nothing like it here.",
        how="lost",
    ),
)
_TASK_KEYS: Final = (
    KnownKey(key="id, name, description, tags, enabled", meaning="The case; one that is not enabled is skipped."),
    KnownKey(key="timeout_seconds", meaning="The limit of one run."),
    KnownKey(key="inputs.prompt, prompt_file", meaning="The case's input."),
    KnownKey(
        key="inputs.files, context_dir", meaning="Files of the case's workspace, from `fixtures` or with their content."
    ),
    KnownKey(key="inputs.context", meaning="Kept with the case; the target does not get it."),
    KnownKey(
        key="inputs.repos, workdir, environment, follow_up_prompts, responder, context.fixture",
        meaning="A case here has one input and one folder.",
        how="lost",
    ),
    KnownKey(
        key="expected.output_contains, output_not_contains, output_contains_any",
        meaning="Checklists of `icontains` checks.",
    ),
    KnownKey(key="expected.should_trigger", meaning="A `skill-loaded` check."),
    KnownKey(
        key="expected.behavior",
        meaning="`tokens`, `latency` and `tool-calls` checks; limits of all steps together are lost.",
    ),
    KnownKey(key="expected.outcomes", meaning="`task_completed` is a target without an error; others are lost."),
    KnownKey(key="expected.tool_calls", meaning="A free form.", how="lost"),
    KnownKey(
        key="golden, skill_directories, instruction_files", meaning="Other skills are not installed.", how="ignored"
    ),
    *_GRADER_KEYS,
)
_EVAL_KEYS: Final = (
    KnownKey(key="name, skill", meaning="The suite's title and the skill that its artifact is."),
    KnownKey(key="tasks", meaning="Patterns of task files beside the evaluation."),
    KnownKey(key="config.trials_per_task", meaning="Attempts, all of which have to pass."),
    KnownKey(
        key="config.timeout_seconds, parallel, workers", meaning="The limit of one run; how many cases run at a time."
    ),
    KnownKey(key="config.executor, model, judge_model", meaning="`--target` and `--judge` say it.", how="ignored"),
    KnownKey(key="config.mcp_servers", meaning="Servers for the agent.", how="lost"),
    KnownKey(key="graders", meaning="Criteria of every task."),
    KnownKey(key="metrics", meaning="Graders gate a task, not metrics.", how="ignored"),
    KnownKey(
        key="hooks, mcp_mocks, command_mocks, inputs, tasks_from, range",
        meaning="Commands, stand-ins and made tasks.",
        how="lost",
    ),
    *_GRADER_KEYS,
)
_RUBRIC_KEYS: Final = (
    KnownKey(key="name", meaning="The rubric's title and its criterion's id."),
    KnownKey(key="evaluation_criteria", meaning="What is asked."),
    KnownKey(key="rating_levels", meaning="Anchors; two levels that score 0 and 1 are one yes/no question."),
    KnownKey(key="rating_levels[].label, description, examples", meaning="The level in words."),
    KnownKey(
        key="rating_levels[].normalized_score, score_normalization",
        meaning="Linear; levels that are not are put on 0 to 1.",
    ),
    KnownKey(key="input_mapping", meaning="`query` and `response` are there; tool calls and system messages are lost."),
    KnownKey(
        key="chain_of_thought, output_format, output_schema, description, version, source",
        meaning="honestone writes the judge's prompt.",
        how="ignored",
    ),
)

_TASK_EXAMPLE: Final = """\
id: rename-a-variable
name: Rename a variable
inputs:
  prompt: Rename `x` to `width` in area.py
  files:
    - {path: area.py, content: "x = 3\\n"}
expected:
  output_contains: [width]
graders:
  - name: says-what-it-did
    type: prompt
    config: {prompt: Says which file was changed}
"""
_EVAL_EXAMPLE: Final = """\
name: renaming
skill: rename
config: {trials_per_task: 2, timeout_seconds: 120, executor: mock, model: any}
metrics:
  - {name: done, weight: 1, threshold: 0.8}
graders:
  - name: no-errors
    type: text
    config: {not_contains: [traceback]}
tasks: [tasks/*.yaml]
"""
_RUBRIC_EXAMPLE: Final = """\
name: politeness
evaluation_criteria: How politely does the reply turn the request down?
rating_levels:
  - {value: 1, label: rude, description: Blames the person}
  - {value: 3, label: plain, description: Says no and stops}
  - {value: 5, label: polite, description: Says no and offers a way on}
"""

EVAL: Final = Reader(
    name="waza",
    title="a waza evaluation",
    gives="suite",
    signs=_eval_signs,
    read=_read_eval,
    keys=_EVAL_KEYS,
    defaults=DEFAULTS,
    looks_like=("name", "skill", "config", "metrics", "graders", "tasks"),
    example=_EVAL_EXAMPLE,
)
TASK: Final = Reader(
    name="waza-task",
    title="a waza task",
    gives="suite",
    signs=_task_signs,
    read=_read_task,
    keys=_TASK_KEYS,
    defaults=DEFAULTS,
    looks_like=("id", "inputs", "expected", "graders"),
    example=_TASK_EXAMPLE,
)
RUBRIC: Final = Reader(
    name="waza-rubric",
    title="a waza rubric",
    gives="rubric",
    signs=_rubric_signs,
    read=_read_rubric,
    keys=_RUBRIC_KEYS,
    defaults=RUBRIC_DEFAULTS,
    looks_like=("evaluation_criteria", "rating_levels", "score_type", "input_mapping"),
    example=_RUBRIC_EXAMPLE,
)

READERS: tuple[Reader, ...] = (EVAL, TASK, RUBRIC)
