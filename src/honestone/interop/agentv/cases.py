"""AgentV cases: what one case says, with what its file says for all."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, Final

from honestone.core.errors import FileError, RubricError
from honestone.core.numbers import ZERO
from honestone.core.rubric import Criterion, Rubric
from honestone.core.suite.case import AttemptRule, Case, CaseWorkspace, Message, Split
from honestone.formats.document import Document
from honestone.formats.marked import read_marked
from honestone.formats.nodes import MapKey, Node
from honestone.formats.project import require_readable
from honestone.formats.reader import FileEntry, FileReading, Steps, shown
from honestone.interop.agentv.dialect import GRADER_LISTS, PASS_MARK, Dialect
from honestone.interop.agentv.graders import Frame, expected_data, read_graders
from honestone.interop.agentv.keys import TABLES
from honestone.interop.agentv.rubrics import rated, read_criteria
from honestone.interop.agentv.templates import lose_what_is_left, reading_of
from honestone.interop.agentv.text import Texts, fill, names_file, placeholders, plain
from honestone.interop.criteria import unique_ids

GOAL_THEN_ANSWER: Final = ("Goal:\n", "\n\nA good answer:\n")
"""How a goal and a reference answer are put into one text."""

_STRATEGIES: Final = {
    "pass_at_k": AttemptRule.PASS_AT_K,
    "pass_any": AttemptRule.PASS_AT_K,
    "pass_all": AttemptRule.PASS_HAT_K,
    "mean": AttemptRule.MEAN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How a case is run; None is what the file above says."""

    threshold: Fraction | None = None
    attempts: int | None = None
    attempt_rule: AttemptRule | None = None
    stops_at_pass: bool | None = None
    timeout: float | None = None
    skip_defaults: bool | None = None

    def over(self, above: Running) -> Running:
        """This, and from above what it does not say."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(above, **{name: value for name, value in own.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a case runs: its folder, and the commands before and after."""

    workspace: CaseWorkspace | None = None
    setup: tuple[str, ...] = ()
    teardown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What a file says for all its cases. `graders` are the mappings that hold lists of graders."""

    dialect: Dialect
    texts: Texts
    merges: bool
    title: str = ""
    concurrency: int | None = None
    running: Running = field(default_factory=Running)
    graders: tuple[FileEntry, ...] = ()
    prompts: FileEntry | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    messages: tuple[Message, ...] = ()
    input_files: tuple[tuple[FileEntry, str], ...] = ()
    place: Place = field(default_factory=Place)


class Targets:
    """The targets that a file and its cases name, to be reported once."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def take(self, take: FileEntry, *keys: str) -> None:
        for key in keys:
            value = take.raw(key)
            for one in value if isinstance(value, list) else [] if value is None else [value]:
                name = one if isinstance(one, str) else self._name(one)
                if name is not None and name not in self.names:
                    self.names.append(name)

    @staticmethod
    def _name(one: Any) -> str | None:
        if not isinstance(one, dict):
            return None
        found = one.get("id") or one.get("name") or one.get("label")
        if found is None and len(one) == 1:
            found = next(iter(one))  # {"openai:gpt": {label: ...}}
        return found if isinstance(found, str) else None


# -------------------------------------------------------------------------------------------------------- one case


def read_case(take: FileEntry, shared: Shared, number: int, targets: Targets) -> Case | None:
    """One case; None when there is none to make, which was said."""
    if not take.read(TABLES["case"]):
        return None
    id = take.text("id")
    if "id" not in take and shared.dialect.name != "agentv-5":
        take.problem("`id` is missing", hint="give it a text: id: ...")
    id = id or f"test-{number}"
    values = {**shared.values, **take.data("vars")}
    execution = (
        take.mapping("execution", TABLES["execution"]) if isinstance(take.value.get("execution"), dict) else None
    )
    running = _running(take, execution, targets).over(shared.running)
    texts = shared.texts
    goal = _goal(take, values)
    messages = _messages(take, shared, values)
    answer = _answer(take, texts, values)
    frame = Frame(
        dialect=shared.dialect,
        texts=texts,
        threshold=PASS_MARK if running.threshold is None else running.threshold,
        goal=goal,
        reference=answer,
        values=values,
        expected=expected_data(_raw_answer(take, values)),
    )
    criteria, had_graders = _criteria(take, execution, shared, running, frame)
    place = read_place(take) or shared.place
    tags, split, metadata = _metadata(take)
    description = take.text("description")
    _rest(take, targets)
    skip = None
    if not criteria:
        skip = "nothing that marks it can be read" if had_graders else None
        criteria = _by_goal(take, frame)
    if not messages and shared.dialect.needs_input:
        take.problem("this case has no `input`", hint="say what the target is asked: input: ...")
    rubric = _rubric(take, criteria, frame.threshold)
    if rubric is None:
        return None
    case = Case(
        id=id,
        rubric=rubric,
        messages=messages,
        reference=_reference(goal if had_graders else None, answer),
        split=split,
        tags=tags,
        timeout=running.timeout,
        attempts=running.attempts or 1,
        stops_at_pass=bool(running.stops_at_pass),
        attempt_rule=running.attempt_rule or AttemptRule.MEAN,
        setup=place.setup,
        teardown=place.teardown,
        workspace=place.workspace,
        skip=skip,
        description=description,
        metadata=metadata,
    )
    lose_what_is_left(take, case, values)
    return case


def _rest(take: FileEntry, targets: Targets) -> None:
    """Its targets and their options."""
    targets.take(take, "provider", "providers", "target")
    options = take.raw("options")
    for key in options if isinstance(options, dict) else ():
        if key == "provider":
            take.note("which model judges is chosen with --judge, not by the file")
        else:
            take.reading.loss(f"the option `{key}` of a case has no equivalent here", (*take.path, "options", key))


def _goal(take: FileEntry, values: Mapping[str, object]) -> str | None:
    goal = take.text("criteria", "expected_outcome", "outcome")
    return None if goal is None else fill(goal, values).strip()


# ----------------------------------------------------------------------------------------------- input and answer


def _messages(take: FileEntry, shared: Shared, values: Mapping[str, object]) -> tuple[Message, ...]:
    key = take.which("input", "input_messages")
    if key is not None:
        own = shared.texts.messages(take, key)
        own = tuple(replace(message, content=fill(message.content, values)) for message in own)
    else:
        own = _prompted(take, shared, values)
    files = [*shared.input_files, *((take, name) for name in take.texts("input_files") or ())]
    return (*shared.messages, *_with_files(own, files, shared.texts))


def _with_files(messages: tuple[Message, ...], files: list[tuple[FileEntry, str]], texts: Texts) -> tuple[Message, ...]:
    """Input files come before the first message of the user."""
    if not files or not messages:
        return messages
    attached = [texts.attached(take.reading, (*take.path, "input_files"), name) for take, name in files]
    at = next((index for index, message in enumerate(messages) if message.role == "user"), 0)
    content = "\n\n".join([*attached, messages[at].content])
    return (*messages[:at], replace(messages[at], content=content), *messages[at + 1 :])


def _prompted(take: FileEntry, shared: Shared, values: Mapping[str, object]) -> tuple[Message, ...]:
    """The first prompt with the case's variables in it; a prompt that is one variable is that variable."""
    prompt, at = _prompt(take, shared)
    if prompt is None:
        if isinstance(take.value.get("vars"), dict) and "input" in take.value["vars"]:
            return shared.texts.messages_at(take.reading, (*take.path, "vars", "input"), take.value["vars"]["input"])
        return ()
    names = placeholders(prompt)
    absent = [name for name in names if name not in values]
    if absent and at is not None:
        take.problem(
            f"the prompt asks for `{absent[0]}`, which `vars` of this case does not have",
            "vars",
            f"give it a value: vars: {{{absent[0]}: ...}}",
        )
        return (Message("user", prompt),)  # harmless: the problem has been noted
    if len(names) == 1 and fill(prompt.strip(), {names[0]: ""}) == "":
        name = names[0]
        mine = isinstance(take.value.get("vars"), dict) and name in take.value["vars"]
        path: Steps = (*take.path, "vars", name)
        return shared.texts.messages_at(take.reading, path, values[name]) if mine else _plain_messages(values[name])
    if "{%" in prompt:
        take.reading.loss("a prompt with template code (`{% ... %}`) is not run", at.path if at else take.path)
    filled = fill(prompt, values)
    return _chat(filled) if prompt.lstrip().startswith("[") else (Message("user", filled),)


def _is_chat(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(m, dict) and {"role", "content"} <= m.keys() for m in value)


def _plain_messages(value: Any) -> tuple[Message, ...]:
    """A list of messages as messages; anything else is what the user says."""
    if value and _is_chat(value):
        return tuple(Message(str(m["role"]), plain(m["content"])) for m in value)
    return (Message("user", plain(value)),)


def _chat(text: str) -> tuple[Message, ...]:
    """A prompt that is written as a JSON list of messages."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return _plain_messages(value if _is_chat(value) and value else text)


def _prompt(take: FileEntry, shared: Shared) -> tuple[str | None, FileEntry | None]:
    """The prompt of a case or its file, and its place."""
    holder = take if "prompts" in take else shared.prompts
    if holder is None:
        return None, None
    listed = holder.value["prompts"]
    several = isinstance(listed, list)
    if several and len(listed) > 1:
        holder.reading.loss(
            "only the first of several prompts is read", (*holder.path, "prompts", 1), "make one file for each prompt"
        )
    path: Steps = (*holder.path, "prompts", 0) if several else (*holder.path, "prompts")
    value = listed[0] if several and listed else listed
    here = FileEntry(holder.reading, path)
    if isinstance(value, dict) and not isinstance(value.get("raw"), str) and isinstance(value.get("path"), str):
        value = "file://" + value["path"].removeprefix("file://")
    if isinstance(value, str) and not names_file(value):
        return value, here
    return shared.texts.prompt(holder.reading, path, value, bare=False), here


_ANSWERS: Final = ("expected_output", "expected_messages")


def _raw_answer(take: FileEntry, values: Mapping[str, object]) -> Any:
    return next((take.value[key] for key in _ANSWERS if key in take), values.get("expected_output"))


def _answer(take: FileEntry, texts: Texts, values: Mapping[str, object]) -> str | None:
    own = texts.reference(take, *_ANSWERS)
    own = None if own is None else fill(own, values)
    if own is not None or "expected_output" not in values:
        return own
    mine = isinstance(take.value.get("vars"), dict) and "expected_output" in take.value["vars"]
    if not mine:
        return plain(values["expected_output"])
    return texts.reference_at(take.reading, (*take.path, "vars", "expected_output"), values["expected_output"])


def _reference(goal: str | None, answer: str | None) -> str | None:
    """What a judge is shown with the criteria: AgentV shows it both."""
    if goal is not None and answer is not None:
        return GOAL_THEN_ANSWER[0] + goal + GOAL_THEN_ANSWER[1] + answer
    return goal if goal is not None else answer


# --------------------------------------------------------------------------------------------------------- graders


def _criteria(
    take: FileEntry, execution: FileEntry | None, shared: Shared, running: Running, frame: Frame
) -> tuple[list[Criterion], bool]:
    """The criteria of a case and whether anything was written to make them of."""
    criteria: list[Criterion] = []
    had = False
    if "rubrics" in take:
        had = True
        children = read_criteria(take, "rubrics", frame.dialect, frame.values)
        if children:
            criteria.append(Criterion(id="rubrics", requirement="rubrics", children=children))
    own = [holder for holder in (take, execution) if holder is not None]
    found, has_own = _lists(own, frame)
    criteria += found
    if running.skip_defaults or (has_own and not shared.merges):
        return criteria, had or has_own
    above, has_above = _lists(list(shared.graders), frame)
    return [*criteria, *above], had or has_own or has_above


def _lists(holders: list[FileEntry], frame: Frame) -> tuple[list[Criterion], bool]:
    found: list[Criterion] = []
    had = False
    for holder in holders:
        for key in GRADER_LISTS:
            had = had or key in holder
            found += read_graders(holder, key, frame)
    return found, had


def _by_goal(take: FileEntry, frame: Frame) -> list[Criterion]:
    """Without a grader, a judge is asked about the goal, else about the reference."""
    if frame.goal is not None:
        return [rated(frame.dialect.judge, frame.goal)]
    if frame.reference is not None:
        return [rated(frame.dialect.judge, "Agrees with the reference in what matters")]
    key = "expected_outcome" if not frame.dialect.required else "assert"
    take.problem("there is nothing to judge this case by", hint=f"say what is expected: {key}: ...")
    return [rated(frame.dialect.judge, "?")]


def _rubric(take: FileEntry, criteria: list[Criterion], threshold: Fraction) -> Rubric | None:
    try:
        return Rubric(criteria=unique_ids(criteria), threshold=threshold, floor=ZERO)
    except RubricError as error:
        take.problem(f"the graders of this case: {error.message}", hint=error.hint)
        return None


# --------------------------------------------------------------------------------------------------------- running


def _running(take: FileEntry, execution: FileEntry | None, targets: Targets) -> Running:
    """How one case is run: its own `threshold`, `run` and `execution`."""
    own = Running(threshold=take.number("threshold", low=0, high=1), timeout=take.seconds("timeout_seconds"))
    if isinstance(take.value.get("run"), dict) and (run := take.mapping("run", TABLES["run"])) is not None:
        bar = run.number("threshold", low=0, high=1)
        own = own.over(_repeat(run, "repeat")).over(Running(threshold=bar, timeout=run.seconds("timeout_seconds")))
    return own if execution is None else own.over(read_execution(execution, targets))


def read_execution(take: FileEntry, targets: Targets) -> Running:
    """An `execution` block, without its lists of graders."""
    targets.take(take, "target", "targets", "provider", "providers")
    bar, skips = take.number("threshold", low=0, high=1), take.flag("skip_defaults") or None
    return replace(_repeat(take, "trials"), threshold=bar, timeout=take.seconds("timeout_seconds"), skip_defaults=skips)


def read_options(take: FileEntry) -> Running:
    """`evaluate_options`, without its concurrency."""
    milliseconds = take.number("timeout_ms", low=0)
    timeout = float(milliseconds / 1000) if milliseconds else take.seconds("timeout_seconds")
    return replace(_repeat(take, "repeat"), timeout=timeout)


def _repeat(take: FileEntry, key: str) -> Running:
    """`repeat: 3` or `{count, strategy}` as attempts and their rule."""
    value, usual = take.raw(key), AttemptRule.PASS_AT_K
    if value is None:
        return Running()
    here = take.below(key)
    if not isinstance(value, dict):
        count = take.number(key, low=1, is_whole=True)
        return Running() if count is None else Running(attempts=int(count), attempt_rule=usual)
    here.read(TABLES["repeat"].named(f"`{key}`"))
    count = here.number("count", low=1, is_whole=True)
    strategy = here.choice("strategy", (*_STRATEGIES, "confidence_interval"))
    stops = here.flag("early_exit")
    if strategy == "confidence_interval":
        message = "attempts scored by the lower bound of a confidence interval"
        here.loss(message, "strategy", "use mean or pass_at_k")
        strategy = "mean"
    rule = _STRATEGIES.get(strategy or "", usual)
    stops = stops if rule is AttemptRule.PASS_AT_K else None
    return Running(attempts=int(count or 1), attempt_rule=rule, stops_at_pass=stops)


# ------------------------------------------------------------------------------------------------------- workspace


def read_place(take: FileEntry) -> Place | None:
    """Where a case runs: its `workspace` or `environment`; None where the file above says it."""
    for key, read in (("workspace", _workspace), ("environment", _environment)):
        value = take.raw(key)
        if isinstance(value, dict):
            return read(take.below(key))
        if value is not None:
            take.loss(f"`{key}` in a file of its own is not read", key, "write it into the eval file")
    return None


def _workspace(take: FileEntry) -> Place:
    take.read(TABLES["workspace"])
    copy = take.text("template")
    git, ref = None, None
    repos = take.each("repos")
    for index, repo in enumerate(repos):
        if index or not repo.is_mapping:
            repo.loss("only one repository can be checked out")
            continue
        repo.read(TABLES["repository"])
        git, ref = repo.text("repo", "source"), repo.text("commit", "base_commit", "ref")
        if repo.text("path") not in (None, ".", "./"):
            repo.loss("a repository is checked out as the workspace itself, not into a folder of it", "path")
    before, after = _hooks(take.below("hooks")) if isinstance(take.value.get("hooks"), dict) else ((), ())
    there = CaseWorkspace(copy=copy, git=git, ref=ref) if copy or git else None
    return Place(workspace=there or (CaseWorkspace() if before or after else None), setup=before, teardown=after)


def _hooks(take: FileEntry) -> tuple[tuple[str, ...], tuple[str, ...]]:
    take.read(TABLES["hooks"])
    before = [line for key in ("before_all", "before_each") for line in _command(take, key)]
    after = [line for key in ("after_each", "after_all") for line in _command(take, key)]
    if "before_all" in take or "after_all" in take:
        take.note("`before_all` and `after_all` run for every case, each in a workspace of its own")
    return tuple(before), tuple(after)


def _command(take: FileEntry, key: MapKey) -> Iterator[str]:
    value = take.raw(str(key))
    if value is None:
        return
    here = take.below(key)
    if isinstance(value, dict):
        here.read(TABLES["command"].named(f"`{key}`"))
        words = here.texts("command") or here.texts("script")
        is_line = isinstance(value.get("command") or value.get("script"), str)
        if here.text("cwd") not in (None, ".", "./", "{{workspace_path}}"):
            here.loss("commands run in the workspace, not in another folder", "cwd")
        if words:
            words = [word.replace("{{workspace_path}}", ".") for word in words]
            yield words[0] if is_line else shlex.join(words)
    elif isinstance(value, str):
        yield value
    else:
        take.reading.problem(f"`{key}` must be a mapping with a `command`, not {shown(value)}", here.path)


def _environment(take: FileEntry) -> Place:
    take.read(TABLES["environment"])
    if take.choice("type", ("host", "docker")) == "docker":
        take.loss("a workspace in a container has no equivalent here")
    copy = take.text("workdir")
    setup = tuple(_command(take, "setup"))
    return Place(workspace=CaseWorkspace(copy=copy) if copy else CaseWorkspace(), setup=setup)


# -------------------------------------------------------------------------------------------------------- metadata


def _metadata(take: FileEntry) -> tuple[tuple[str, ...], Split | None, dict[str, object]]:
    """`metadata`, with the tags and the split in it."""
    known = take.data("metadata")
    tags = take.texts("tags") if not isinstance(take.value.get("tags"), dict) else None
    inner = known.get("tags")
    if isinstance(inner, list) and all(isinstance(tag, str) for tag in inner):
        tags = [*(tags or ()), *inner]
        del known["tags"]
    split = known.get("split")
    if isinstance(split, str) and split in tuple(Split):
        del known["split"]
        return tuple(tags or ()), Split(split), known
    return tuple(tags or ()), None, known


def cases_of_file(
    reading: FileReading, path: Steps, name: str, texts: Texts
) -> tuple[list[FileEntry], FileReading | None]:
    """The cases of another file that a list of tests names: YAML (a list, or under `tests`) or JSON lines."""
    if texts.resolve(name).is_dir():
        return _cases_of_folder(reading, path, name, texts), None
    try:
        document = Document.of(texts.resolve(name))
        if document.is_lines:
            found = [FileEntry(reading_of(row.marked), ()) for row in document.rows]
            texts.files.append(document.path)
            return found, None
        inner = reading_of(document.marked)
    except FileError as error:
        reading.problem(f"the cases of `{name}` cannot be read: {error.message}", path)
        return [], None
    texts.files.append(document.path)
    top = inner.at()
    if isinstance(top.value, list):
        return [FileEntry(inner, (index,)) for index in range(len(top.value))], inner
    return (list(top.each("tests")) if top.is_mapping else []), inner


CASE_FILE: Final = "case.yaml"


def _cases_of_folder(reading: FileReading, path: Steps, name: str, texts: Texts) -> list[FileEntry]:
    """A case for each folder in a folder, by name: what its `case.yaml` says, with the folder's name as the id."""
    found: list[FileEntry] = []
    folder = texts.resolve(name)
    try:
        require_readable(folder)
        inside = sorted(folder.iterdir())
    except OSError as error:
        reading.problem(f"the folder `{name}` cannot be read: {error.strerror}", path)
        return []
    for place in inside:
        if not (place / CASE_FILE).is_file():
            reading.note(f"`{place.name}` in `{name}` has no {CASE_FILE}, so it is left out")
            continue
        try:
            marked = read_marked(place / CASE_FILE)
        except FileError as error:
            reading.elsewhere(error, path)
            continue
        texts.files.append(place / CASE_FILE)
        if isinstance(marked.value, dict) and "id" not in marked.value:
            marked.root.put(Node("id", "id", 1, 1), Node(place.name, place.name, 1, 1))
        take = reading_of(marked).at()
        if (place / "workspace").is_dir():
            take.loss(f"the folder `workspace` next to this {CASE_FILE} is not read", hint="name it: workspace: ...")
        found.append(take)
    if not found:
        reading.problem(f"no folder in `{name}` has a {CASE_FILE}", path)
    return found
