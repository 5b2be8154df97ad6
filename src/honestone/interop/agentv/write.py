"""Writing a suite as an AgentV file. What AgentV cannot say is listed; where nothing is, reading
the file back gives the same suite.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from honestone.core.judging.rubric import Check, Criterion, Rubric, as_written
from honestone.core.numbers import exact
from honestone.core.suite.case import REPLY, AttemptRule, Case, Message, Suite
from honestone.formats.source import Loss
from honestone.formats.suite.suite_write import asking_of_judges
from honestone.formats.syntax.yaml_lines import mapping_lines
from honestone.interop.agentv.cases import ALWAYS, GOAL_THEN_ANSWER, OF_REPLY
from honestone.interop.agentv.dialect import FIVE, FOUR, PASS_MARK, SEED, TWO, Dialect
from honestone.interop.agentv.targets import use_of
from honestone.interop.agentv.write_graders import GraderWriter, Plain, split_words

Name: TypeAlias = Literal["seed", "2", "4", "5"]

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
    writer = _SuiteWriter(_DIALECTS[dialect], words, suite)
    return "\n".join(mapping_lines(writer.file())) + "\n", writer.losses


class _SuiteWriter(GraderWriter):
    """A suite as a file of one dialect."""

    @property
    def needs_goal(self) -> bool:
        return self.dialect in (SEED, TWO)

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
        graders = [g for c in criteria for g in self.graders_of(place, _with_floor(case.rubric, c))]
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
                    for g in self.graders_of(place, self._of_turn(place, part, turn))
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
            words = split_words(case.setup[0])
            out["setup"] = {"command": words}
            if len(case.setup) > 1 or shlex.join(words) != case.setup[0]:
                self.lose(place, "setup is one command without a shell")
        if case.teardown:
            self.lose(place, "commands after a case")
        return out


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
