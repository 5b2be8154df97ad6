"""The criteria and checks of a suite as graders of AgentV."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.judging.rubric import Anchors, Check, Criterion, as_written
from honestone.core.numbers import exact
from honestone.core.suite.case import Suite
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.source import Loss
from honestone.interop.agentv.code_graders import LIMITS
from honestone.interop.agentv.dialect import FIVE, SEED, Dialect
from honestone.interop.agentv.rubrics import TOP, is_rated
from honestone.interop.agentv.text import names_file, placeholders

Plain: TypeAlias = dict[Any, Any]


class GraderWriter(Struct):
    """Criteria as the graders of one dialect. `word` has its names of things; `losses` gathers what
    AgentV cannot say.
    """

    dialect: Dialect
    word: Mapping[str, str]
    suite: Suite
    losses: list[Loss] = field(default_factory=list)

    def lose(self, place: str, message: str) -> None:
        self.losses.append(Loss(place=place, message=message))

    def number(self, place: str, number: Fraction) -> int | float:
        """A number with all its digits, or the nearest one, which is said."""
        plain = as_written(number)
        if exact(plain) != number:
            self.lose(place, f"the number {number} is written as {plain}")
        return plain

    @property
    def least_top(self) -> int:
        return TOP if self.word["least"] == "required_min_score" else 1

    def graders_of(self, place: str, c: Criterion) -> Iterator[Plain]:
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
        inner = [grader for child in c.children for grader in self.graders_of(here, child)]
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

    def _checked(self, here: str, c: Criterion, check: Check) -> Iterator[Plain]:
        negated = check.negated != c.negate
        as_text = {name: value for name, value in check.options.items() if name != _EXACT}
        written = self._check(replace(check, options=as_text), negated, check.options.get(_EXACT))
        if isinstance(written, str):
            self.lose(here, f"a check that AgentV does not have here: {written}")
            return
        if _EXACT in check.options:
            self.lose(
                here,
                f"`{_EXACT}: {check.options[_EXACT]}`: texts are compared as AgentV compares them",
            )
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

    def _check(self, check: Check, negated: bool, exactness: object) -> Plain | str:
        """The grader of a check, or its name where there is none. `negate` in it overrides.
        `exactness`: how its texts are compared, which says in whose language patterns are.
        """
        kind, value, options = check.kind, check.value, dict(check.options)
        is_five = self.dialect is FIVE
        if self.dialect is SEED:
            return f"{kind} (the page has rubrics only)"
        if kind == "grader":
            type, _, key = self.word["program"].partition(":")
            words = value if isinstance(value, list) else split_words(str(value))
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
                return _regex(value, is_javascript=exactness == "javascript")
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


def _is_plain(c: Criterion) -> bool:
    """Whether a criterion can be part of a rubric: one question for judges, yes/no or on 0-10."""
    if c.children or c.negate or c.is_penalty or len(c.items) != 1 or not c.items[0].whole:
        return False
    return c.items[0].check is None and not is_rated(c)


def split_words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return [line]


def _regex(value: Any, *, is_javascript: bool) -> Plain | str:
    """The grader of a pattern: AgentV's are JavaScript's."""
    pattern, flags = (
        (value, "") if isinstance(value, str) else (value["pattern"], value.get("flags", ""))
    )
    if set(flags) - set("ims"):
        return f"regex with the flags {flags}"
    if is_javascript:
        return {"type": "regex", "value": pattern, **({"flags": flags} if flags else {})}
    pattern = pattern.removeprefix("(?a)")
    inline = re.match(r"\(\?([ims]+)\)", pattern)
    if inline:
        pattern, flags = pattern[inline.end() :], "".join(sorted(set(flags) | set(inline[1])))
    if re.search(r"\\[AZz]|\(\?(?![:=!<P])|\(\?P[=>]", pattern):
        return "regex in Python's own syntax"
    pattern = pattern.replace("(?P<", "(?<")
    return {"type": "regex", "value": pattern, **({"flags": flags} if flags else {})}


_EXACT: Final = "exact"
_CONTAINED: Final = ("container", "timeout")
