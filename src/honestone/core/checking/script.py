"""Code of a check: what is written of it, and what its reply says of an output. Where it is run is
an adapter's affair.

The rules of replies are promptfoo's, whose assertions `javascript` and `python` these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.json_value import Json, JsonObject, is_number, late_pattern
from honestone.core.judging.rubric import Check
from honestone.core.numbers import ONE, ZERO, exact

Language: TypeAlias = Literal["javascript", "python"]


class Script(Struct, frozen=True, kw_only=True):
    """Code as text, or a function in a file. Exactly one of `code` and `file` is given.

    `code` of one line is an expression, of several the body of a function; both see `output` and
    `context`. `file` is relative to the rubric or suite; without `function` it is what a JavaScript
    module exports. `evaluator` is a class of pydantic-evals in a Python file, made with
    `arguments`: named ones, or a list.
    """

    language: Language
    code: str | None = None
    file: str | None = None
    function: str | None = None
    evaluator: str | None = None
    arguments: Json = None

    @classmethod
    def of(cls, plain: Json) -> Script:
        """Make it from the argument of a check that fits its schema."""
        return cls(**cast("Mapping[str, Language]", plain))

    def to_plain(self) -> dict[str, Json]:
        parts: dict[str, Json] = {"language": self.language, "code": self.code}
        parts |= {"file": self.file, "function": self.function}
        parts |= {"evaluator": self.evaluator, "arguments": self.arguments}
        return {key: value for key, value in parts.items() if value is not None}


def transforms_of(check: Check) -> tuple[Script, ...]:
    """What changes the output before a check looks at it, in order."""
    written = check.options.get("transform")
    if written is None:
        return ()
    return tuple(
        Script.of(one) for one in (written if isinstance(written, list | tuple) else [written])
    )


def scripts_of(check: Check) -> tuple[Script, ...]:
    """All code of a check, in the order in which it is run."""
    return (*transforms_of(check), *([Script.of(check.value)] if check.kind == "script" else []))


def with_files(check: Check, moved: Callable[[str], str]) -> Check:
    """The same check with the path of each file of code as `moved` gives it."""

    def there(script: Script) -> dict[str, Json]:
        return (
            replace(script, file=moved(script.file)) if script.file is not None else script
        ).to_plain()

    options = dict(check.options)
    if transforms := transforms_of(check):
        options["transform"] = [there(one) for one in transforms]
    value = there(Script.of(check.value)) if check.kind == "script" else check.value
    return replace(check, value=value, options=options)


_IN_A_FILE: Final = frozenset({"function", "evaluator", "arguments"})


def script_problems(
    name: str, value: JsonObject | Sequence[JsonObject]
) -> Iterator[tuple[str, str | None]]:
    """(message, hint) of what the schema of a script cannot say."""
    for one in [value] if isinstance(value, Mapping) else value:
        if ("code" in one) == ("file" in one):
            yield (
                f"`{name}` needs either `code` or `file`",
                "{language: javascript, code: output.length < 20}",
            )
        elif "file" not in one and (named := _IN_A_FILE & one.keys()):
            yield f"`{min(named)}` of `{name}` is for a `file`", "leave it out, or name the file"
        elif "evaluator" in one and (one["language"] != "python" or "function" in one):
            yield (
                f"`evaluator` of `{name}` is a class of a Python file, instead of a `function`",
                None,
            )
        elif (
            one["language"] == "python"
            and "file" in one
            and not {"function", "evaluator"} & one.keys()
        ):
            yield f"`{name}` needs the `function` of its Python file", "function: get_assert"


# ------------------------------------------------------------------------------------------------------
# replies


class ScriptGrade(NamedTuple):
    """What a reply says: whether the check is met, its score from 0 to 1, and the reason."""

    met: bool
    score: Fraction
    note: str


class OddReply(ValueError):
    """A reply that is neither a boolean, a number nor a grading result. Not met, negated or not."""


def grade(
    reply: Json, language: Language, threshold: Fraction | None, *, negated: bool = False
) -> ScriptGrade:
    """A reply as promptfoo reads it. `threshold`: the bar of a number; without one it must be above
    0. Negated, the bar is turned round and the score of a number stays. Raises OddReply.
    """
    if language == "python" and isinstance(reply, str):
        reply = _spelled(reply)
    if isinstance(reply, bool):
        met = reply is not negated
        return ScriptGrade(met, ONE if met else ZERO, f"returned {str(reply).lower()}")
    if isinstance(reply, int | float):
        score = exact(reply)
        reached = score > 0 if threshold is None else score >= threshold
        bar = "" if threshold is None else f", threshold {float(threshold):g}"
        return ScriptGrade(
            reached is not negated, _cut(score), f"returned {reply:g}{bar}{_beyond(score)}"
        )
    if not isinstance(reply, Mapping):
        raise OddReply(
            _EXPECTED.format("nothing" if reply is None else f"a {type(reply).__name__}")
        )
    return _of_grading(reply, language, threshold, negated)


_EXPECTED: Final = "it must return a boolean, a number or {{pass, score, reason}}, but returned {}"
_SNAKE: Final = {"pass_": "pass"}
_NUMBER: Final = late_pattern(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _spelled(text: str) -> Json:
    """A text of Python that spells a boolean or begins with a number. Raises OddReply."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if number := _NUMBER.match(text):
        return float(number[0])
    raise OddReply(_EXPECTED.format(f"the text {text[:60]!r}"))


def _of_grading(
    reply: JsonObject, language: Language, threshold: Fraction | None, negated: bool
) -> ScriptGrade:
    given = {_SNAKE.get(key, key): value for key, value in reply.items()}
    passed, written, reason = given.get("pass"), given.get("score"), given.get("reason")
    if not isinstance(passed, bool) or not is_number(written) or not isinstance(reason, str):
        raise OddReply(
            _EXPECTED.format(
                "an object without a boolean `pass`, a number `score` and a text `reason`"
            )
        )
    score = exact(written)
    if language == "python" and threshold is not None and score < threshold:
        passed = False
        reason = f"score {written:g}, threshold {float(threshold):g}: {reason}"
    return ScriptGrade(
        passed is not negated,
        _cut(score),
        f"{reason or f'pass: {str(passed).lower()}'}{_beyond(score)}",
    )


def _cut(score: Fraction) -> Fraction:
    return min(max(score, ZERO), ONE)


def _beyond(score: Fraction) -> str:
    """A score that a scale from 0 to 1 does not hold is cut, and says so."""
    cut = _cut(score)
    return "" if cut == score else f" ({float(score):g} counts as {int(cut)})"
