"""promptfoo's assertions that measure: likeness by arithmetic or embeddings, and what judges say of
a retrieved context.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final, cast

from honestone.core.checking.javascript.schemas import schema_problem
from honestone.core.errors import FileError
from honestone.core.json_value import plain_value
from honestone.core.judging.rubric import Criterion, as_written
from honestone.core.numbers import ZERO
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.reader import shown, words
from honestone.interop.criteria import as_text
from honestone.interop.promptfoo.assertion import AS_JAVASCRIPT, Assertion

# promptfoo's own pass mark of `answer-relevance`; the other questions about a context have none.
ANSWER_RELEVANCE: Final = Fraction(7, 10)


def _schema_of(a: Assertion) -> Mapping[str, Any] | None:
    """The JSON Schema of a value, which may be written as text. None, with a problem, where it is
    something else.
    """
    value = a.value()
    if isinstance(value, str):
        try:
            value = parse_marked(value, "schema").value
        except FileError as error:
            a.problem(f"has a schema that cannot be read: {error.message}")
            return None
    if not isinstance(value, dict):
        if value is not None:
            a.problem(f"takes a JSON Schema, not {shown(value)}")
        return None
    return cast(dict[str, Any], plain_value(value))


def schema_check(a: Assertion, kind: str) -> Criterion | None:
    """`is-json` and `contains-json` with a schema, as Ajv reads it."""
    schema = _schema_of(a)
    if schema is None:
        return None
    if a.negated:
        a.loss(f"`not-{a.type}` with a schema does not mean in promptfoo what it says")
        return None
    if (problem := schema_problem(schema)) is not None:
        a.loss(f"the schema of `{a.type}` is not read as promptfoo reads it: {problem}")
        return None
    return a.check(kind, schema, **AS_JAVASCRIPT)


def _contains_json(a: Assertion) -> Criterion | None:
    if not a.at.raw("value"):  # promptfoo looks for no schema where the value is false or empty
        return a.check("contains-json", True, **AS_JAVASCRIPT)
    return schema_check(a, "contains-json")


def _is_refusal(a: Assertion) -> Criterion | None:
    return a.check("is-refusal", True)


def _levenshtein(a: Assertion) -> Criterion | None:
    most = a.at.number("threshold", low=0)
    text = a.text()
    if text is None:
        return None
    return a.check("levenshtein", text, **({} if not most else {"max": int(most)}))


def _likeness(a: Assertion) -> Criterion | None:
    """`rouge-n`, `bleu`, `gleu` and `similar`: a score from 0 to 1 against a pass mark."""
    kind = a.type.removesuffix(":cosine")
    value = a.value()
    if isinstance(value, list) and value and kind != "rouge-n":
        against: Any = [as_text(one) for one in value]
    else:
        against = a.text()
    bar = a.at.number("threshold", low=0, high=1)
    if against is None:
        return None
    return a.check(kind, against, **({} if bar is None else {"min_score": as_written(bar)}))


def _answer_relevance(a: Assertion) -> Criterion | None:
    asked = a.variable("query")
    about = "the input" if asked is None else f"this question: {asked}"
    return _graded(
        a, f"Answers {about}, and says nothing that does not belong to the answer", ANSWER_RELEVANCE
    )


def _conversation_relevance(a: Assertion) -> Criterion | None:
    return _graded(a, "Is relevant to the last message of the conversation that it answers", ZERO)


def _context_faithfulness(a: Assertion) -> Criterion | None:
    return _about_context(a, "Everything that it states follows from this context: {context}")


def _context_relevance(a: Assertion) -> Criterion | None:
    asked = a.variable("query")
    question = "the input" if asked is None else f"the question {asked!r}"
    return _about_context(
        a, f"This context holds what is needed to answer {question}, and little else: {{context}}"
    )


def _context_recall(a: Assertion) -> Criterion | None:
    fact = a.text()
    return (
        None
        if fact is None
        else _about_context(a, f"This context: {{context}}\nholds all of this: {fact}")
    )


def _about_context(a: Assertion, requirement: str) -> Criterion | None:
    context = a.variable("context")
    if context is None and a.type == "context-recall":
        context = "(the input)"
    if context is None:
        a.loss(
            f"`{a.type}` needs the context as the variable `context`",
            "give the test a variable `context`",
        )
        return None
    return _graded(a, requirement.replace("{context}", context), ZERO)


def _graded(a: Assertion, requirement: str, usual: Fraction) -> Criterion | None:
    """A judge's score from 0 to 1. promptfoo asks its own questions about it, so the figures are
    not the same.
    """
    threshold = a.at.number("threshold", low=0, high=1)
    if threshold is None and not usual:
        a.at.note(f"promptfoo: `{a.type}` without a `threshold` is shown and always passes")
    a.at.note(f"promptfoo: `{a.type}` is one question to the judges, who give a score from 0 to 1")
    return a.grade(requirement, usual if threshold is None else threshold)


READ: Final[Mapping[str, Callable[[Assertion], Criterion | None]]] = {
    **dict.fromkeys(words("rouge-n bleu gleu similar similar:cosine"), _likeness),
    "levenshtein": _levenshtein,
    "contains-json": _contains_json,
    "is-refusal": _is_refusal,
    "answer-relevance": _answer_relevance,
    "conversation-relevance": _conversation_relevance,
    "context-faithfulness": _context_faithfulness,
    "context-relevance": _context_relevance,
    "context-recall": _context_recall,
}
