"""AgentV cases: what one case says, with what its file says for all."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from honestone.core.checking.checks import KINDS
from honestone.core.errors import RubricError
from honestone.core.judging.rubric import Check, Criterion, Rubric
from honestone.core.numbers import ZERO
from honestone.core.suite.case import REPLY, AttemptRule, Case, CaseWorkspace, Message, Split
from honestone.formats.syntax.reader import FileEntry, listed
from honestone.interop.agentv.code_graders import Frame, expected_data
from honestone.interop.agentv.dialect import GRADER_LISTS, PASS_MARK, TABLES, Dialect, keys_of
from honestone.interop.agentv.extensions import Extensions
from honestone.interop.agentv.graders import read_graders
from honestone.interop.agentv.places import Place, read_place
from honestone.interop.agentv.prompts import Prompt, id_with, prompted, prompts_of
from honestone.interop.agentv.rubrics import rated, read_criteria
from honestone.interop.agentv.templates import lose_what_is_left
from honestone.interop.agentv.text import NO_VARIABLES, Texts, Variables, fill, plain
from honestone.interop.criteria import check_criterion, unique_ids

# How a goal and a reference answer are put into one text.
GOAL_THEN_ANSWER: Final = ("Goal:\n", "\n\nA good answer:\n")

# The words before a question about one reply of a conversation, and the check of a turn without
# graders.
OF_REPLY: Final = "In the target's reply {}: "
ALWAYS: Final = ("regex", "^")

_STRATEGIES: Final = {
    "pass_at_k": AttemptRule.PASS_AT_K,
    "pass_any": AttemptRule.PASS_AT_K,
    "pass_all": AttemptRule.PASS_HAT_K,
    "mean": AttemptRule.MEAN,
}


class Running(Struct, frozen=True, kw_only=True):
    """How a case is run; None is what the file above says."""

    threshold: Fraction | None = None
    attempts: int | None = None
    attempt_rule: AttemptRule | None = None
    stops_at_pass: bool | None = None
    timeout: float | None = None
    skip_defaults: bool | None = None

    def over(self, above: Running) -> Running:
        """This, and from above what it does not say."""
        own = asdict(self)
        return replace(above, **{name: value for name, value in own.items() if value is not None})


class Shared(Struct, frozen=True, kw_only=True):
    """What a file says for all its cases. `graders` are the mappings that hold lists of graders."""

    dialect: Dialect
    texts: Texts
    merges: bool
    title: str = ""
    concurrency: int | None = None
    running: Running = field(default_factory=Running)
    graders: tuple[FileEntry, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    values: Variables = NO_VARIABLES
    options: FileEntry | None = None
    messages: tuple[Message, ...] = ()
    input_files: tuple[tuple[FileEntry, str], ...] = ()
    place: Place = field(default_factory=Place)
    extensions: Extensions = field(default_factory=Extensions)


class Targets:
    """The targets that a file and its cases name, to be reported once."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def take(self, take: FileEntry, *keys: str) -> None:
        for key in keys:
            value = take.raw(key)
            for one in listed(value):
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


# --------------------------------------------------------------------------------------------------------
# one case


def read_cases(take: FileEntry, shared: Shared, number: int, targets: Targets) -> Iterator[Case]:
    """The cases of one test, one for each prompt that holds for it; none where none can be made,
    which was reported.
    """
    if not take.read(keys_of(take, "case", shared.dialect)):
        return
    id = take.text("id")
    if "id" not in take and shared.dialect.name != "agentv-5":
        take.problem("`id` is missing", hint="give it a text: id: ...")
    id = id or f"test-{number}"
    prompts = prompts_of(take, shared.texts) if "prompts" in take else shared.prompts
    if len(prompts) > 1:
        take.note("several prompts: each makes a case of every test")
    for prompt in prompts or (None,):
        case = _case(
            take,
            id if prompt is None or len(prompts) == 1 else id_with(id, prompt),
            shared,
            prompt,
            targets,
        )
        if case is not None:
            yield case


def _case(
    take: FileEntry, id: str, shared: Shared, prompt: Prompt | None, targets: Targets
) -> Case | None:
    values = shared.values.with_others(take.data("vars"))
    if prompt is not None and "input" in take:
        values = values.with_others({"input": take.raw("input")})
    execution = take.mapping("execution", TABLES["execution"])
    running = _running(take, execution, shared.dialect, targets).over(shared.running)
    texts = shared.texts
    goal = _goal(take, values)
    messages = _messages(take, shared, prompt, values, skips_defaults=bool(running.skip_defaults))
    answer = _answer(take, texts, values)
    place = read_place(take, texts, shared.place)
    frame = Frame(
        dialect=shared.dialect,
        texts=texts,
        threshold=PASS_MARK if running.threshold is None else running.threshold,
        goal=goal,
        reference=answer,
        values=values,
        expected=expected_data(_raw_answer(take, values)),
        container=place.container,
        options=shared.options,
    )
    criteria, had_graders = _criteria(take, execution, shared, running, frame)
    tags, split, metadata = _metadata(take)
    description = take.text("description")
    _rest(take, targets)
    depends_on = _depends_on(take, criteria)
    skip = None
    if not criteria:
        skip = "nothing that marks it can be read" if had_graders else None
        criteria = _by_goal(take, frame)
    if not messages and shared.dialect.needs_input:
        take.loss(
            "this case has no `input`, so AgentV and honestone leave it out",
            hint="say what the target is asked: input: ...",
        )
        return None
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
        setup=(*place.setup, *shared.extensions.before),
        teardown=(*shared.extensions.after, *place.teardown),
        workspace=place.workspace or (CaseWorkspace() if shared.extensions.are_there else None),
        skip=skip,
        depends_on=depends_on,
        description=description,
        metadata=metadata,
    )
    lose_what_is_left(take, case, values)
    return case


def _depends_on(take: FileEntry, criteria: list[Criterion]) -> tuple[str, ...]:
    """The cases that it waits for; none where it is run whatever becomes of them."""
    names = take.texts("depends_on") or ()
    policy = take.choice("on_dependency_failure", ("skip", "fail", "run"))
    programs = [
        item.check
        for one in criteria
        for node, _ in one.walk()
        for item in node.items
        if item.check is not None
    ]
    if names and any(check.kind == "grader" for check in programs):
        take.loss(
            "a program that grades this case is not given the results of the cases that it depends on",
            "depends_on",
        )
    return () if policy == "run" else tuple(names)


def _rest(take: FileEntry, targets: Targets) -> None:
    """Its targets and their options."""
    targets.take(take, "provider", "providers", "target")
    options = take.raw("options")
    for key in options if isinstance(options, dict) else ():
        if key == "provider":
            take.note("which model judges is chosen with --judge, not by the file")
        else:
            take.reading.loss(
                f"the option `{key}` of a case has no equivalent here", (*take.path, "options", key)
            )


def _goal(take: FileEntry, values: Variables) -> str | None:
    goal = take.text("criteria", "expected_outcome", "outcome")
    return None if goal is None else fill(goal, values).strip()


# -----------------------------------------------------------------------------------------------
# input and answer


def _messages(
    take: FileEntry,
    shared: Shared,
    prompt: Prompt | None,
    values: Variables,
    *,
    skips_defaults: bool,
) -> tuple[Message, ...]:
    """What the target is asked. A case that skips the defaults leaves out the file's input too."""
    texts = shared.texts
    own = _own_messages(take, texts, values) if prompt is None else None
    if own is None and prompt is not None:
        own = prompted(prompt, take, values, texts, is_own="prompts" in take)
    above, above_files = ((), ()) if skips_defaults else (shared.messages, shared.input_files)
    files = [*above_files, *((take, name) for name in take.texts("input_files") or ())]
    reply = Message(REPLY, "(the target's reply)")
    in_turns = (
        message for turn in turns_of(take) for message in (*_turn_input(turn, texts, values), reply)
    )
    asked = (*(own or ()), *in_turns)
    filled = tuple(replace(message, content=fill(message.content, values)) for message in above)
    return (*filled, *_with_files(asked, files, texts))


def _own_messages(take: FileEntry, texts: Texts, values: Variables) -> tuple[Message, ...]:
    key = take.which("input", "input_messages")
    if key is not None:
        own = texts.messages(take, key)
        return tuple(replace(message, content=fill(message.content, values)) for message in own)
    vars = take.value.get("vars")
    if isinstance(vars, dict) and "input" in vars:
        return texts.messages_at(take.reading, (*take.path, "vars", "input"), vars["input"])
    return ()


def turns_of(take: FileEntry) -> list[FileEntry]:
    """The turns of a conversation. What changes how they are asked or put together is a loss."""
    turns = list(take.mappings("turns", TABLES["turn"]))
    if turns and take.raw("mode") != "conversation":
        take.loss(
            "AgentV leaves out `turns` without `mode: conversation`",
            "turns",
            "write mode: conversation",
        )
    usual = {"aggregation": "mean", "on_turn_failure": "continue", "window_size": None}
    for key in [
        key for key, value in usual.items() if turns and take.raw(key) not in (None, value)
    ]:
        take.loss(
            f"`{key}` of a conversation: here all turns are asked, and their mean counts", key
        )
    return turns


def _turn_input(turn: FileEntry, texts: Texts, values: Variables) -> tuple[Message, ...]:
    if "input" not in turn:
        turn.problem("a turn has no `input`")
        return ()
    return tuple(
        replace(one, content=fill(one.content, values)) for one in texts.messages(turn, "input")
    )


def _with_files(
    messages: tuple[Message, ...], files: list[tuple[FileEntry, str]], texts: Texts
) -> tuple[Message, ...]:
    """Input files come before the first message of the user."""
    if not files or not messages:
        return messages
    attached = [
        texts.attached(take.reading, (*take.path, "input_files"), name) for take, name in files
    ]
    at = next((index for index, message in enumerate(messages) if message.role == "user"), 0)
    content = "\n\n".join(part for part in (*attached, messages[at].content) if part)
    return (*messages[:at], replace(messages[at], content=content), *messages[at + 1 :])


_ANSWERS: Final = ("expected_output", "expected_messages")


def _raw_answer(take: FileEntry, values: Variables) -> Any:
    return next((take.value[key] for key in _ANSWERS if key in take), values.get("expected_output"))


def _answer(take: FileEntry, texts: Texts, values: Variables) -> str | None:
    own = texts.reference(take, *_ANSWERS)
    own = None if own is None else fill(own, values)
    if own is not None or "expected_output" not in values:
        return own
    mine = isinstance(take.value.get("vars"), dict) and "expected_output" in take.value["vars"]
    if not mine:
        return plain(values.get("expected_output"))
    return texts.reference_at(
        take.reading, (*take.path, "vars", "expected_output"), values.get("expected_output")
    )


def _reference(goal: str | None, answer: str | None) -> str | None:
    """What a judge is shown with the criteria: AgentV shows it both."""
    if goal is not None and answer is not None:
        return GOAL_THEN_ANSWER[0] + goal + GOAL_THEN_ANSWER[1] + answer
    return goal if goal is not None else answer


# ---------------------------------------------------------------------------------------------------------
# graders


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
    had = had or has_own
    if not running.skip_defaults and (shared.merges or not has_own):
        above, has_above = _lists(list(shared.graders), frame)
        criteria, had = [*criteria, *above], had or has_above
    turns = [_of_turn(turn, number, frame) for number, turn in enumerate(turns_of(take), 1)]
    if turns and criteria:
        turns.append(_group("conversation", criteria))
    return turns or criteria, had or bool(turns)


def _group(name: str, children: list[Criterion]) -> Criterion:
    return Criterion(id=name, requirement=name, children=unique_ids(children))


def _of_turn(turn: FileEntry, number: int, frame: Frame) -> Criterion:
    """What one turn asks for: its graders, else agreement with its expected output, else nothing,
    which is met.
    """
    found, had = _lists([turn], frame)
    answer = frame.texts.reference(turn, "expected_output")
    if not had and answer is not None:
        found = [
            rated(
                "expected-output", f"Agrees with this in what matters: {fill(answer, frame.values)}"
            )
        ]
    if any(grader.required or grader.floor for grader in found):
        turn.loss("a grader of a turn that must be met: AgentV gives the turn the score 0")
    name = f"turn-{number}"
    if not found:
        return check_criterion(Check(kind=ALWAYS[0], value=ALWAYS[1]), id=name)
    return _group(name, [_of_reply(turn, grader, number) for grader in found])


def _of_reply(turn: FileEntry, one: Criterion, number: int) -> Criterion:
    """A criterion about one reply of a conversation. By itself it fails nothing: the mean of the
    turns decides.
    """
    items = []
    for item in one.items:
        if item.check is None:
            items.append(replace(item, requirement=OF_REPLY.format(number) + item.requirement))
            continue
        if "in" not in KINDS[item.check.kind].options:
            turn.loss(f"the check `{item.check.kind}` of a turn looks at the whole conversation")
            return one
        items.append(
            replace(item, check=replace(item.check, options={**item.check.options, "in": number}))
        )
    children = tuple(_of_reply(turn, child, number) for child in one.children)
    words = items[0].requirement if len(items) == 1 else one.requirement
    return replace(
        one, requirement=words, items=tuple(items), children=children, required=False, floor=None
    )


def _lists(holders: list[FileEntry], frame: Frame) -> tuple[list[Criterion], bool]:
    found: list[Criterion] = []
    had = False
    for holder in holders:
        for key in GRADER_LISTS:
            had = had or key in holder
            found += read_graders(holder, key, frame)
    return found, had


def _by_goal(take: FileEntry, frame: Frame) -> list[Criterion]:
    """The rubric of a case without a grader: a judge is asked about the goal, else about the
    reference.
    """
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


# ---------------------------------------------------------------------------------------------------------
# running


def top_threshold(take: FileEntry, dialect: Dialect) -> Fraction | None:
    """`threshold` of a file or a case itself, where its dialect has that."""
    bar = take.number("threshold", low=0, high=1)
    if bar is None or dialect.top_threshold:
        return bar
    take.note(
        "`threshold` counts under `execution` only, as in AgentV 4: write `execution: {threshold: ...}`"
    )
    return None


def _running(
    take: FileEntry, execution: FileEntry | None, dialect: Dialect, targets: Targets
) -> Running:
    """How one case is run: its own `threshold`, `run` and `execution`."""
    own = Running(threshold=top_threshold(take, dialect), timeout=take.seconds("timeout_seconds"))
    if (run := take.mapping("run", TABLES["run"])) is not None:
        bar = run.number("threshold", low=0, high=1)
        own = own.over(_repeat(run, "repeat")).over(
            Running(threshold=bar, timeout=run.seconds("timeout_seconds"))
        )
    return own if execution is None else own.over(read_execution(execution, targets))


def read_execution(take: FileEntry, targets: Targets) -> Running:
    """An `execution` block, without its lists of graders."""
    targets.take(take, "target", "targets", "provider", "providers")
    bar, skips = take.number("threshold", low=0, high=1), take.flag("skip_defaults") or None
    return replace(
        _repeat(take, "trials"),
        threshold=bar,
        timeout=take.seconds("timeout_seconds"),
        skip_defaults=skips,
    )


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


# --------------------------------------------------------------------------------------------------------
# metadata


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
