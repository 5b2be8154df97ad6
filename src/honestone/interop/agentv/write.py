"""Writing a suite as an AgentV file. What AgentV cannot say is listed; where nothing is, reading
the file back gives the same suite.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

from honestone.core.judging.rubric import Anchors, Check, Criterion, Rubric, as_written
from honestone.core.numbers import exact
from honestone.core.suite.case import REPLY, AttemptRule, Case, Message, Suite
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.source import Loss
from honestone.formats.suite.suite_write import asking_of_judges
from honestone.formats.syntax.yaml_lines import mapping_lines
from honestone.interop.agentv.cases import ALWAYS, GOAL_THEN_ANSWER, OF_REPLY
from honestone.interop.agentv.dialect import FIVE, FOUR, PASS_MARK, SEED, TWO, Dialect
from honestone.interop.agentv.graders import LIMITS
from honestone.interop.agentv.rubrics import TOP, is_rated
from honestone.interop.agentv.targets import use_of
from honestone.interop.agentv.text import names_file, placeholders

Name: TypeAlias = Literal["seed", "2", "4", "5"]
Plain: TypeAlias = dict[Any, Any]


# The words of each dialect: seed, 2, 4 and 5. `judged_by` is the key of a judge's question, `least`
# that of a criterion's floor, `program` the type of a grader that is one and the key of its
# command.
_WORDS: Final = """
cases     evalcases          tests              tests                tests
goal      expected_outcome   criteria           criteria             criteria
graders   evaluators         assert             assertions           assert
text      expected_outcome   outcome            outcome              outcome
judge     llm_judge          llm_judge          llm-grader           llm-rubric
judged_by prompt             prompt             prompt               value
rubric    rubric             rubrics            rubrics              llm-rubric
criteria  rubrics            criteria           criteria             value
group     composite          composite          composite            assert-set
members   evaluators         evaluators         assertions           assert
name      name               name               name                 metric
least     required_min_score required_min_score min_score            min_score
program   -                  code_judge:script  code-grader:command  script:command
"""
_DIALECTS: Final[Mapping[Name, Dialect]] = {"seed": SEED, "2": TWO, "4": FOUR, "5": FIVE}
_ROLES: Final = ("system", "user", "assistant", "tool")


def dump_agentv(suite: Suite, dialect: Name) -> tuple[str, list[Loss]]:
    """The YAML text of a suite in a dialect of AgentV, and what it cannot say."""
    column = list(_DIALECTS).index(dialect) + 1
    words = {row[0]: row[column] for row in map(str.split, _WORDS.strip().splitlines())}
    writer = _Writer(_DIALECTS[dialect], words, suite)
    return "\n".join(mapping_lines(writer.file())) + "\n", writer.losses


@dataclass(slots=True)
class _Writer:
    dialect: Dialect
    word: Mapping[str, str]
    suite: Suite
    losses: list[Loss] = field(default_factory=list)

    @property
    def needs_goal(self) -> bool:
        return self.dialect in (SEED, TWO)

    @property
    def least_top(self) -> int:
        return TOP if self.word["least"] == "required_min_score" else 1

    def lose(self, place: str, message: str) -> None:
        self.losses.append(Loss(place=place, message=message))

    def number(self, place: str, number: Fraction) -> int | float:
        """A number with all its digits, or the nearest one, which is said."""
        plain = as_written(number)
        if exact(plain) != number:
            self.lose(place, f"the number {number} is written as {plain}")
        return plain

    # ------------------------------------------------------------------------------------------------------
    # file

    def file(self) -> Plain:
        out: Plain = {**self._title(), **self._target()}
        if self.dialect is FIVE:
            out["prompts"] = ["{{ input }}"]
        bars = {case.rubric.threshold for case in self.suite.cases}
        shared = bars.pop() if len(bars) == 1 else None
        out = _merged(out, self._threshold("the suite", shared))
        if self.suite.concurrency is not None:
            out = _merged(out, self._concurrency(self.suite.concurrency))
        asking = asking_of_judges(self.suite)
        for name, value in (
            ("artifact", ", ".join(self.suite.artifacts)),
            ("skill_id", self.suite.skill_id),
            ("require_calibration", "true" if asking.require_calibration else None),
            ("require_tier", asking.require_tier),
        ):
            if value:
                self.lose("the suite", f"AgentV has no `{name}` ({value})")
        out[self.word["cases"]] = [self._case(case, shared) for case in self.suite.cases]
        return out

    def _title(self) -> Plain:
        title = self.suite.title
        if not title:
            return {}
        if self.dialect in (SEED, TWO) or re.fullmatch(r"[a-z0-9-]+", title):
            return {"name": title}
        if title != title.strip() or "\n" in title:
            self.lose("the suite", "a title of several lines")
        return {"description": title}

    def _target(self) -> Plain:
        target = self.suite.target
        if self.suite.more_targets:
            self.lose("the suite", "AgentV has no columns: only the first target is written")
        for name, value in (("skill", target.skill), ("timeout", target.timeout)):
            if value is not None:
                self.lose("the suite", f"AgentV has no `{name}` of a target")
        if target.output != "text":
            self.lose(
                "the suite", "AgentV reads JSON and text alike: `output: json` is not written"
            )
        if target.use is None:
            return {}
        if use_of(target.use) != target.use:
            self.lose("the suite", f"AgentV has no target `{target.use}` without a targets file")
            return {}
        return (
            {"providers": [target.use]}
            if self.dialect is FIVE
            else {"execution": {"target": target.use}}
        )

    def _threshold(self, place: str, bar: Fraction | None) -> Plain:
        if bar is None or bar == PASS_MARK:
            return {}
        if self.dialect in (SEED, TWO):
            self.lose(
                place,
                f"in this dialect a case passes at {float(PASS_MARK * 100):g}, not at {float(bar * 100):g}",
            )
            return {}
        value = {"threshold": self.number(place, bar)}
        return value if self.dialect is FIVE else {"execution": value}

    def _concurrency(self, count: int) -> Plain:
        if self.dialect is FIVE:
            return {"evaluate_options": {"max_concurrency": count}}
        if self.dialect is FOUR:
            return {"execution": {"workers": count}}
        self.lose(
            "the suite", f"how many cases run at a time ({count}) is set on AgentV's command line"
        )
        return {}

    # ------------------------------------------------------------------------------------------------------
    # case

    def _case(self, case: Case, shared: Fraction | None) -> Plain:
        place = f"case `{case.id}`"
        out: Plain = {"id": case.id}
        if case.description:
            out["description"] = case.description
        if case.rubric.title:
            self.lose(place, "the title of its rubric")
        if case.images:
            self.lose(place, "the images of its input, which AgentV reads only from files")
        turns, criteria = self._conversation(place, case)
        asked = turns or self._input(place, case.messages)
        fields = {**asked, **self._answer(place, case)}
        goal = fields.pop("goal", None)
        if goal is not None:
            out[self.word["goal"]] = goal
        out = _merged(out, {"vars": fields} if fields and self.dialect is FIVE else fields)
        graders = [g for c in criteria for g in self._grader(place, _with_floor(case.rubric, c))]
        listed = {self.word["graders"]: graders} if graders or not turns else {}
        out = _merged(out, {"execution": listed} if self.dialect is SEED else listed)
        if shared is None:
            out = _merged(out, self._threshold(place, case.rubric.threshold))
        for more in (
            self._attempts(place, case),
            self._timeout(place, case),
            self._place(place, case),
            self._docker(place, case),
        ):
            out = _merged(out, more)
        metadata = self._metadata(place, case)
        if metadata:
            out["metadata"] = metadata
        if case.depends_on and self.dialect in (FOUR, FIVE):
            out["depends_on"] = list(case.depends_on)
        elif case.depends_on:
            self.lose(place, "that it depends on other cases")
        if case.skip is not None:
            self.lose(place, f"a case that is skipped ({case.skip})")
        if case.expect is not None:
            self.lose(place, "`expect` belongs into a file of grader scores")
        return out

    def _conversation(self, place: str, case: Case) -> tuple[Plain, Sequence[Criterion]]:
        """A case in which the target replies in between: its turns, and the criteria that are about
        all that was said.
        """
        if self.dialect is not FOUR or not any(message.role == REPLY for message in case.messages):
            return {}, case.rubric.criteria
        asked: list[list[Message]] = [[]]
        for message in case.messages:
            if message.role == REPLY:
                asked.append([])
            else:
                asked[-1].append(message)
        if asked.pop():
            self.lose(place, "messages after the target's last reply")
        before, asked[0] = asked[0][:-1], asked[0][-1:]
        fields = {"input": [{"role": one.role, "content": one.content} for one in before]}
        turns: list[Plain] = []
        for number, one in enumerate(asked, 1):
            if [message.role for message in one] != ["user"]:
                self.lose(place, f"turn {number} is not one message of the user")
            turns.append({"input": "\n\n".join(message.content for message in one)})
        whole: list[Criterion] = []
        for c in case.rubric.criteria:
            turn = next((n for n in range(1, len(turns) + 1) if c.id == f"turn-{n}"), None)
            if turn is not None and _is_of_turns(c):
                own = [
                    g
                    for part in c.children
                    for g in self._grader(place, self._of_turn(place, part, turn))
                ]
                turns[turn - 1] |= {self.word["graders"]: own} if own else {}
            elif c.id == "conversation" and _is_of_turns(c):
                whole += c.children
            else:
                self.lose(
                    place,
                    f"the criterion `{c.id}` next to turns: AgentV gives the mean of the turns and of all else",
                )
                whole.append(c)
        return {"mode": "conversation", **fields, "turns": turns}, whole

    def _of_turn(self, place: str, c: Criterion, number: int) -> Criterion:
        """A criterion about one reply, as a turn has it."""
        start, items = OF_REPLY.format(number), []
        for item in c.items:
            check = item.check
            if (check is None and not item.requirement.startswith(start)) or (
                check and check.option("in", 0) != number
            ):
                self.lose(place, f"the criterion `{c.id}` of turn {number} is not about that reply")
            if check is not None:
                options = {name: value for name, value in check.options.items() if name != "in"}
                check = replace(check, options=options)
            items.append(
                replace(item, check=check, requirement=item.requirement.removeprefix(start))
            )
        children = tuple(self._of_turn(place, child, number) for child in c.children)
        return replace(
            c, requirement=c.requirement.removeprefix(start), items=tuple(items), children=children
        )

    def _input(self, place: str, messages: tuple[Message, ...]) -> Plain:
        if not messages:
            if self.dialect is SEED:
                return {}
            self.lose(place, "a case without an input")
            return {"input": ""}
        for message in messages:
            if message.role not in _ROLES:
                self.lose(place, f"a message of the role `{message.role}`")
        if len(messages) == 1 and messages[0].role == "user":
            return {"input": messages[0].content}
        return {
            "input": [{"role": message.role, "content": message.content} for message in messages]
        }

    def _answer(self, place: str, case: Case) -> Plain:
        """The reference as the goal and the answer that AgentV knows."""
        text = case.reference
        if text is None:
            if not self.needs_goal:
                return {}
            self.lose(place, "AgentV skips a case without a goal: its id takes its place")
            return {"goal": case.id}
        start, between = GOAL_THEN_ANSWER
        if text.startswith(start) and text.count(between) == 1:
            goal, answer = text.removeprefix(start).split(between)
            if goal.strip() == goal and answer.strip():
                return {"goal": goal, "expected_output": answer}
        if self.needs_goal:
            if text.strip() != text:
                self.lose(place, "white space around the reference")
            return {"goal": text}
        if not text.strip():
            self.lose(place, "an empty reference")
        return {"expected_output": text}

    def _attempts(self, place: str, case: Case) -> Plain:
        if case.attempts == 1:
            return {}
        if case.stops_at_pass:
            self.lose(place, "attempts that stop at the first pass")
        known = {AttemptRule.PASS_AT_K: "pass_at_k", AttemptRule.MEAN: "mean"}
        if self.dialect is FIVE and case.attempt_rule is AttemptRule.PASS_AT_K:
            return {"run": {"repeat": case.attempts}}
        if self.dialect in (SEED, FIVE) or case.attempt_rule not in known:
            self.lose(place, f"{case.attempts} attempts of which the rule is {case.attempt_rule}")
            return {}
        return {
            "execution": {"trials": {"count": case.attempts, "strategy": known[case.attempt_rule]}}
        }

    def _timeout(self, place: str, case: Case) -> Plain:
        if case.timeout is None:
            return {}
        if self.dialect is FIVE and case.timeout > 0:
            return {"run": {"timeout_seconds": as_written(exact(case.timeout))}}
        self.lose(place, f"a time limit of one case ({case.timeout:g} seconds)")
        return {}

    def _metadata(self, place: str, case: Case) -> Plain:
        own = dict(case.metadata)
        for key, value in (("tags", list(case.tags)), ("split", case.split and str(case.split))):
            if key in own:
                self.lose(place, f"`{key}` in its metadata")
            if value:
                own[key] = value
        return own

    # --------------------------------------------------------------------------------------------------
    # workspace

    def _place(self, place: str, case: Case) -> Plain:
        there = case.workspace
        if there is None and not case.setup and not case.teardown:
            return {}
        if self.dialect in (SEED, TWO):
            self.lose(place, "a workspace, its setup and teardown")
            return {}
        if there is not None and there.files:
            self.lose(place, "files written into the workspace")
        if self.dialect is FIVE:
            return {"environment": self._environment(place, case)}
        out: Plain = {}
        if there is not None and there.copy is not None:
            out["template"] = there.copy
        if there is not None and there.git is not None:
            out["repos"] = [{"repo": there.git, **({"commit": there.ref} if there.ref else {})}]
        hooks = {
            **self._hooks(place, case.setup, "before"),
            **self._hooks(place, case.teardown, "after"),
        }
        if hooks:
            out["hooks"] = hooks
        if there is None or not out:
            self.lose(
                place, "commands without a workspace" if there is None else "an empty workspace"
            )
        return {"workspace": out} if out else {}

    def _docker(self, place: str, case: Case) -> Plain:
        """The container that all programs of a case are run in."""
        checks = [item.check for _, item in case.rubric.questions() if item.check is not None]
        found = [_container(check) for check in checks if check.kind == "grader"]
        if not any(found):
            return {}
        if self.dialect is not FOUR or any(one != found[0] for one in found):
            self.lose(
                place,
                "the containers of its programs: AgentV 4 alone has one, for all programs of a case",
            )
            return {}
        return {"workspace": {"docker": found[0]}}

    def _hooks(self, place: str, lines: tuple[str, ...], when: str) -> Plain:
        keys: tuple[str, ...] = (
            ("before_all", "before_each") if when == "before" else ("after_each", "after_all")
        )
        if len(lines) > 2:
            self.lose(place, f"more than two commands {when} a case")
        if len(lines) == 1:
            keys = (f"{when}_each",)
        return {key: {"command": line} for key, line in zip(keys, lines, strict=False)}

    def _environment(self, place: str, case: Case) -> Plain:
        there = case.workspace
        if there is None or there.copy is None or there.git is not None:
            self.lose(place, "a workspace that is not the copy of a folder")
        out: Plain = {"type": "host", "workdir": (there.copy if there is not None else None) or "."}
        if case.setup:
            words = _split(case.setup[0])
            out["setup"] = {"command": words}
            if len(case.setup) > 1 or shlex.join(words) != case.setup[0]:
                self.lose(place, "setup is one command without a shell")
        if case.teardown:
            self.lose(place, "commands after a case")
        return out

    # ---------------------------------------------------------------------------------------------------
    # graders

    def _grader(self, place: str, c: Criterion) -> Iterator[Plain]:
        """A criterion as a grader; none where AgentV has nothing like it."""
        here = f"{place}, criterion `{c.id}`"
        if c.is_penalty:
            self.lose(here, "a penalty (a negative weight)")
            return
        self._extras(here, c)
        if c.children:
            yield self._group(here, c)
        elif len(c.items) != 1 or not c.items[0].whole:
            yield from self._checklist(here, c)
        elif c.items[0].check is not None:
            yield from self._checked(here, c, c.items[0].check)
        elif is_rated(c):
            yield self._rated(here, c)
        else:
            head = self._head(here, c, self.word["rubric"])
            # The bar of a negated criterion is one on the turned score, so it is written at the
            # grader; and later dialects fail a case by the bars of graders alone.
            bars = self._bars(here, c) if c.negate or self.dialect.bars_need_required else {}
            yield {**head, self.word["criteria"]: [self._item(here, c, is_alone=True)], **bars}

    def _extras(self, here: str, c: Criterion) -> None:
        if c.fix is not None or any(item.fix is not None for item in c.items):
            self.lose(here, "`fix` commands")
        if any(item.may_not_apply for item in c.items):
            self.lose(here, "`may_not_apply`")

    def _head(self, here: str, c: Criterion, type: str) -> Plain:
        out: Plain = {self.word["name"]: c.id, "type": type}
        if c.weight != 1:
            out["weight"] = self.number(here, c.weight)
        if c.negate and not (c.items and c.items[0].check is not None):
            out["negate"] = True
        return out

    def _bars(self, here: str, c: Criterion, *, can_require: bool = True) -> Plain:
        """The bar of a grader: `required` where it is a question, `min_score` for a floor."""
        out: Plain = {}
        if c.required and can_require:
            out["required"] = True
        elif c.required:
            self.lose(
                here,
                "`required` of a group, or of a mark from 0 to 1: AgentV asks for the threshold there",
            )
        if c.floor:
            out["min_score"] = self.number(here, c.floor)
            if self.dialect.bars_need_required:
                out["required"] = True
        return out

    def _group(self, here: str, c: Criterion) -> Plain:
        if c.requirement != c.id:
            self.lose(here, f"the words of a group ({c.requirement})")
        bars = self._bars(here, c, can_require=False)
        if all(_is_plain(child) for child in c.children):
            rubric = self._head(here, c, self.word["rubric"])
            return {
                **rubric,
                self.word["criteria"]: [self._inner(here, child) for child in c.children],
                **bars,
            }
        inner = [grader for child in c.children for grader in self._grader(here, child)]
        out = {**self._head(here, c, self.word["group"]), self.word["members"]: inner, **bars}
        if self.word["group"] == "composite":
            weights = {
                child.id: self.number(here, child.weight)
                for child in c.children
                if not child.is_penalty
            }
            out["aggregator"] = {"type": "weighted_average", "weights": weights}
        return out

    def _checklist(self, here: str, c: Criterion) -> Iterator[Plain]:
        self.lose(here, "a checklist is written as a group of criteria")
        named = [(f"{c.id}.{item.id}", item) for item in c.items]
        children = tuple(
            Criterion(
                id=id,
                requirement=item.requirement,
                items=(replace(item, id=id, whole=True, fix=None, may_not_apply=False),),
            )
            for id, item in named
        )
        yield self._group(here, replace(c, requirement=c.id, fix=None, items=(), children=children))

    def _rated(self, here: str, c: Criterion) -> Plain:
        text = self._words(here, c.requirement)
        if names_file(text) or placeholders(text):
            self.lose(here, "a text that AgentV takes for a file or a template")
        return {
            **self._head(here, c, self.word["judge"]),
            self.word["judged_by"]: text,
            **self._bars(here, c, can_require=False),
        }

    def _words(self, here: str, text: str) -> str:
        if text != text.strip():
            self.lose(here, "white space around its words")
        if self.dialect is FIVE and {"input", "expected_output"} & set(placeholders(text)):
            self.lose(here, "words that AgentV takes for a variable")
        return text

    def _inner(self, here: str, c: Criterion) -> Plain:
        """A criterion among others of a rubric."""
        place = f"{here}, criterion `{c.id}`"
        self._extras(place, c)
        return self._item(place, c)

    def _item(self, here: str, c: Criterion, *, is_alone: bool = False) -> Plain:
        """A criterion in a rubric. Alone, its weight is written at the grader, and its bar too when
        it is negated.
        """
        (item,) = c.items
        out: Plain = {"id": c.id, self.word["text"]: self._words(here, c.requirement)}
        if c.weight != 1 and not is_alone:
            out["weight"] = self.number(here, c.weight)
        if item.anchors is not None:
            out["score_ranges"] = self._ranges(here, item.anchors)
        required, floor = (False, None) if c.negate else (c.required, c.floor)
        if item.anchors is None and self.dialect.required:
            out["required"] = required
        elif required and item.anchors is not None and self.dialect.required_means_ten:
            self.lose(here, "a required criterion with a scale: AgentV 2 asks for 10 there")
        elif required:
            out["required"] = True
        if floor and not (is_alone and self.dialect.bars_need_required):
            least = floor * self.least_top
            out[self.word["least"]] = self.number(here, least)
            if self.least_top == TOP and least.denominator != 1:
                self.lose(here, f"a floor of {float(floor * 100):g}: AgentV takes whole tenths")
        return out

    def _ranges(self, here: str, anchors: Anchors) -> Plain:
        """Levels on 0-10, each at a whole number."""
        low, span = anchors.lowest, anchors.highest - anchors.lowest
        if (
            low != 0
            or anchors.highest != TOP
            or any(value.denominator != 1 for value, _ in anchors.levels)
        ):
            self.lose(
                here,
                f"a scale from {as_written(low)} to {as_written(anchors.highest)} is written as 0 to {TOP}",
            )
        if any(text != text.strip() for _, text in anchors.levels):
            self.lose(here, "white space around the words of a level")
        return {round((value - low) / span * TOP): text for value, text in anchors.levels}

    # -----------------------------------------------------------------------------------------------------
    # checks

    def _checked(self, here: str, c: Criterion, check: Check) -> Iterator[Plain]:
        negated = check.negated != c.negate
        written = self._check(check, negated)
        if isinstance(written, str):
            self.lose(here, f"a check that AgentV does not have here: {written}")
            return
        if written.pop("negate", negated):
            written["negate"] = True
        bars = self._bars(here, c)
        if check.kind == "grader":
            bars |= self._bars_of_program(here, c, check)
        shown = Check(kind=check.kind, value=check.value, negated=negated, options=check.options)
        if c.requirement != check_in_words(shown):
            self.lose(here, f"the words of a check ({c.requirement})")
        yield {**self._head(here, c, ""), **written, **bars}

    def _bars_of_program(self, here: str, c: Criterion, check: Check) -> Plain:
        """Its score counts as it is in AgentV, so one that has to be met has to reach what meets
        it.
        """
        if not check.option("scored", False):
            self.lose(here, "a program that is met or not met: AgentV counts its score as it is")
        elif not check.option("takes_text", False):
            self.lose(
                here, "a program whose words could not be judged: AgentV takes its exit code then"
            )
        if c.required and not c.floor:
            return {"required": True, "min_score": check.option("min_score", 1)}
        return {}

    def _check(self, check: Check, negated: bool) -> Plain | str:
        """The grader of a check, or its name where there is none. `negate` in it overrides."""
        kind, value, options = check.kind, check.value, dict(check.options)
        is_five = self.dialect is FIVE
        if self.dialect is SEED:
            return f"{kind} (the page has rubrics only)"
        if kind == "grader":
            type, _, key = self.word["program"].partition(":")
            words = value if isinstance(value, list) else _split(str(value))
            config = {"config": options.pop("config")} if "config" in options else {}
            known = {
                "scored",
                "min_score",
                "takes_text",
                *(_CONTAINED if "container" in options else ()),
            }
            return kind if options.keys() - known else {"type": type, key: words, **config}
        if kind == "tool-calls":
            return self._tool_calls(value, options)
        if options:
            return f"{kind} with {', '.join(f'`{name}`' for name in options)}"
        if kind in LIMITS:
            return {"type": kind, LIMITS[kind]: value}
        match kind:
            case "contains" | "icontains":
                if not isinstance(value, list):
                    return {"type": kind, "value": value}
                return {"type": f"{kind}-any" if negated else f"{kind}-all", "value": value}
            case "contains-any" | "contains-all" | "icontains-any" | "icontains-all":
                return {"type": kind, "value": value if isinstance(value, list) else [value]}
            case "equals" | "starts-with" | "ends-with" if (
                isinstance(value, str) and value == value.strip() and value
            ):
                return {"type": kind, "value": value}
            case "regex":
                return _regex(value)
            case "is-json":
                return {"type": "is-json"}
            case "json-schema" if is_five and isinstance(value, dict):
                return {"type": "is-json", "value": value}
            case "tokens" if isinstance(value, dict):
                return {
                    "type": "token-usage",
                    **{f"max_{name}": most for name, most in value.items()},
                }
            case "model-calls":
                return {"type": "execution-metrics", "max_llm_calls": value}
            case "tool-count" if is_five and isinstance(value, dict) and len(value) == 1:
                ((name, bounds),) = value.items()
                return {"type": "trajectory:tool-used", "value": {"name": name, **bounds}}
            case "skill-loaded" if is_five:
                return {"type": "skill-used", "value": self.suite.skill_id or "skill"}
        return kind

    def _tool_calls(self, value: Any, options: Plain) -> Plain | str:
        calls = [{"tool": call} if isinstance(call, str) else call for call in value]
        mode, args = options.pop("mode", "any_order"), options.pop("args", None)
        if options or any(set(call) - {"tool", "arguments"} for call in calls):
            return "tool-calls with more than names and arguments"
        if self.dialect is FIVE:
            if mode in ("in_order", "exact") and not any("arguments" in call for call in calls):
                return {
                    "type": "trajectory:tool-sequence",
                    "value": {"mode": mode, "steps": [call["tool"] for call in calls]},
                }
            if (
                mode == "any_order"
                and len(calls) == 1
                and "arguments" in calls[0]
                and args in ("exact", "subset")
            ):
                how = "exact" if args == "exact" else "partial"
                return {
                    "type": "trajectory:tool-args-match",
                    "value": {"name": calls[0]["tool"], "args": calls[0]["arguments"], "mode": how},
                }
            return f"tool-calls in mode {mode}"
        expected = [
            {"tool": call["tool"], **({"args": call["arguments"]} if "arguments" in call else {})}
            for call in calls
        ]
        more = {"args_match": {"subset": "superset"}.get(args, args)} if args else {}
        modes = {"any_order": "superset"}
        return {
            "type": "tool-trajectory",
            "mode": modes.get(mode, mode),
            "expected": expected,
            **more,
        }


# ---------------------------------------------------------------------------------------------------------
# helpers


_CONTAINED: Final = ("container", "timeout")


def _container(check: Check) -> Plain:
    limit = {"timeout": check.options["timeout"]} if "timeout" in check.options else {}
    return (
        {**check.option("container", dict[str, Any]()), **limit}
        if "container" in check.options
        else {}
    )


def _with_floor(rubric: Rubric, c: Criterion) -> Criterion:
    """A top-level criterion with the floor that holds for it: AgentV has none for all."""
    floor = rubric.floor_of(c, None)
    return c if c.is_penalty else replace(c, floor=floor or None)


def _is_of_turns(c: Criterion) -> bool:
    """Whether a criterion is a group as a conversation has them: it counts like the others, and
    fails nothing by itself. One that is always met is a turn without graders.
    """
    met = [
        item.check is not None and (item.check.kind, item.check.value) == ALWAYS for item in c.items
    ]
    return (
        (bool(c.children) or met == [True])
        and c.weight == 1
        and not (c.required or c.floor or c.negate)
    )


def _is_plain(c: Criterion) -> bool:
    """Whether a criterion can be part of a rubric: one question for judges, yes/no or on 0-10."""
    if c.children or c.negate or c.is_penalty or len(c.items) != 1 or not c.items[0].whole:
        return False
    return c.items[0].check is None and not is_rated(c)


def _merged(one: Plain, other: Plain) -> Plain:
    """Two mappings, with mappings inside merged too."""
    out = dict(one)
    for key, value in other.items():
        out[key] = (
            _merged(out[key], value)
            if isinstance(value, dict) and isinstance(out.get(key), dict)
            else value
        )
    return out


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return [line]


def _regex(value: Any) -> Plain | str:
    pattern, flags = (
        (value, "") if isinstance(value, str) else (value["pattern"], value.get("flags", ""))
    )
    if set(flags) - set("ims"):
        return f"regex with the flags {flags}"
    pattern = pattern.removeprefix("(?a)")
    inline = re.match(r"\(\?([ims]+)\)", pattern)
    if inline:
        pattern, flags = pattern[inline.end() :], "".join(sorted(set(flags) | set(inline[1])))
    if re.search(r"\\[AZz]|\(\?(?![:=!<P])|\(\?P[=>]", pattern):
        return "regex in Python's own syntax"
    pattern = pattern.replace("(?P<", "(?<")
    return {"type": "regex", "value": pattern, **({"flags": flags} if flags else {})}
