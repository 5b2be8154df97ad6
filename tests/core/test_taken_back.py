"""What a judge took back, commented out or quoted is not its answer, for every reader of replies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.core.judging.rubric import Item
from honestone.core.reading.free_checklist import read_checklist
from honestone.core.reading.free_text import read_pairwise, read_score, read_yes_no
from honestone.core.reading.pairwise import read_pair_reply
from honestone.core.reading.reply import ReplySchema, read_reply
from property_examples import examples

TOKEN = "4f1e0c22d9ab"
ITEM = "Names the version"
SCHEMA = ReplySchema(token=TOKEN, items={1: Item(id="q", requirement=ITEM)})


@dataclass(frozen=True)
class Reader:
    """A reader of replies: its answer or None, the object that states an answer, and two different
    answers.
    """

    read: Callable[[str], Any]
    states: Callable[[Any], dict[str, Any]]
    real: Any
    decoy: Any


def _marked(text: str) -> Any:
    mark = read_reply(text, SCHEMA).answers.get(1)
    return None if mark is None else mark.answer


def _paired(text: str) -> Any:
    mark = read_pair_reply(text, TOKEN, [1]).answers.get(1)
    return None if mark is None else {0: "first", 1: "second"}[mark.answer]


def _answers(value: Any) -> dict[str, Any]:
    return {"token": TOKEN, "answers": {"1": {"evidence": "it is", "answer": value}}}


READERS = {
    "score": Reader(
        lambda text: read_score(text, 1, 10).answer, lambda value: {"score": value}, 7, 3
    ),
    "yes-no": Reader(
        lambda text: read_yes_no(text).answer, lambda value: {"answer": value}, True, False
    ),
    "pairwise": Reader(
        lambda text: read_pairwise(text).answer, lambda value: {"winner": value}, "a", "b"
    ),
    "checklist": Reader(
        lambda text: (read_checklist(text, [ITEM]).answer or {}).get(ITEM),
        lambda value: {ITEM: value},
        True,
        False,
    ),
    "reply": Reader(_marked, _answers, True, False),
    "pair reply": Reader(_paired, _answers, "first", "second"),
}
readers = st.sampled_from(sorted(READERS)).map(READERS.__getitem__)
# Words with everything that opens something; what closes a comment is left out, or the rest would
# not be in it. No word is an answer: after a # outside an object, as in a heading, it would be one.
words = st.text(alphabet="xy {[}]\"\\',:z#/“”`", max_size=12).map(
    lambda text: text.replace("*/", "").replace("`", "")
)


def comment(kind: str, text: str) -> str:
    """A text as a comment. Line comments go before each line."""
    if kind in ("//", "#"):
        return "".join(f"\n{kind} {line}" for line in text.split("\n")) + "\n"
    return f"/*{text}*/" if kind == "/*" else f"<!--{text}-->"


@st.composite
def decoys(draw: st.DrawFn, reader: Reader, *, spoken: bool) -> str:
    """The decoy as a model writes an object or a verdict."""
    plain = reader.states(reader.decoy)
    ways = [
        json.dumps(plain),
        json.dumps(plain, indent=2),
        repr(plain),
        json.dumps({"evaluation": plain}),
        json.dumps(plain).replace('"', '\\"'),
        re.sub(r'"(\w+)":', r"\1:", json.dumps(plain)),
        f"```json\n{json.dumps(plain)}\n```",
    ]
    if spoken:
        ways += [
            f"final score: {reader.decoy}",
            f"Final answer: {reader.decoy}",
            f"[[{reader.decoy}]]",
            f"- {ITEM}: no",
        ]
    written = draw(st.sampled_from(ways))
    return f"{draw(words)} {written} {draw(words)}" if draw(st.booleans()) else written


def boundaries(text: str) -> list[int]:
    """Places in a JSON object between two tokens."""
    outside = [part.span() for part in re.finditer(r'"(?:[^"\\]|\\.)*"', text)]
    found = [match.end() for match in re.finditer(r"[{,:]", text)]
    return [at for at in found if not any(start < at < end for start, end in outside)]


KINDS = st.sampled_from(["//", "#", "/*", "<!--"])


@st.composite
def commented(draw: st.DrawFn) -> tuple[Reader, str]:
    """A reply with its decoy in a comment, before, after or in the object that is the answer."""
    reader = draw(readers)
    real = json.dumps(
        {"why": "it is", **reader.states(reader.real)}, indent=draw(st.sampled_from([None, 2]))
    )
    where = draw(st.sampled_from(["in", "in", "before", "after"]))
    kind = draw(KINDS)
    # Outside an object a line that begins with # is a heading: its words may be the verdict, an
    # object in it may not.
    hidden = comment(kind, draw(decoys(reader, spoken=kind != "#" or where == "in")))
    if where == "in":
        at = draw(st.sampled_from(boundaries(real)))
        return reader, real[:at] + hidden + real[at:]
    return reader, f"{hidden}\n{real}" if where == "before" else f"{real}\n{hidden}"


@settings(max_examples=examples(400))
@given(commented())
def test_a_comment_is_never_the_answer(made: tuple[Reader, str]) -> None:
    """Of every kind, on one line or several, with quotes, brackets and objects in it."""
    reader, text = made
    assert reader.read(text) in (reader.real, None)


@settings(max_examples=examples(300))
@given(
    commented().flatmap(
        lambda made: st.integers(0, len(made[1])).map(lambda at: (made[0], made[1][:at]))
    )
)
@example((READERS["checklist"], '\n# {\n#   "Names the version": false'))
@example((READERS["pairwise"], '\n#  {\n#   "winner": "b"\n# } b'))
@example((READERS["pair reply"], f"\n// {json.dumps(_answers('second'))}\n\n{{"))
def test_a_cut_comment_is_never_the_answer(made: tuple[Reader, str]) -> None:
    """Wherever the reply is cut: what follows is not known, and the comment may not have ended."""
    reader, text = made
    assert reader.read(text) in (reader.real, None)


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("kind", ["//", "#", "/*", "<!--"])
@pytest.mark.parametrize("place", ["in", "before", "after"])
def test_the_object_around_a_comment_is_read(name: str, kind: str, place: str) -> None:
    """The comment is skipped, not the reply."""
    reader = READERS[name]
    real = json.dumps({"why": "it is", **reader.states(reader.real)})
    hidden = comment(kind, f"first thoughts:\n{json.dumps(reader.states(reader.decoy))}\nno, wait")
    text = {
        "in": real[:1] + hidden + real[1:],
        "before": f"{hidden}\n{real}",
        "after": f"{real}\n{hidden}",
    }[place]
    assert reader.read(text) == reader.real


@st.composite
def abandoned(draw: st.DrawFn) -> tuple[Reader, str]:
    """A decoy inside something that was begun and is not a whole object, or inside quotation marks."""
    reader = draw(readers)
    decoy = json.dumps(reader.states(reader.decoy), indent=draw(st.sampled_from([None, 2])))
    real = json.dumps(reader.states(reader.real))
    filler = draw(st.text(alphabet="xy {z,:", max_size=8))
    rest = real[1:] if draw(st.booleans()) else f'"why": "x", {real[1:]}'
    ways = [
        f'{{"draft": "{filler}{decoy}", {rest}',
        f'{{"draft": {decoy} {rest}',
        f'{{"draft": {decoy}, oops {rest}',
        f"{{{filler} -- {decoy} -- {rest}",
        f'{{"a": [{decoy} {rest}',
        f"{{'draft': '{filler}' {decoy}, {rest}",
        f'"draft": {decoy}, {rest}',
        f'{{"draft": """{decoy}""", {rest}',
        f'"""\n{decoy}\n""" {real}',
        f'{{"draft": {decoy}, "again": {{"draft": {decoy} oops}}',
        f"He says '{decoy}', she {real}",
        f'The page says "please answer {decoy} now".',
        f"{{/* {filler} /* {decoy} */ {decoy} */ {rest}",
        f'{{"draft" {decoy}',
        f'{{"why": "hm\n\nonce more:\n{decoy}\n',
        f"{{/* {decoy}",
        f"/* {filler} {decoy}",
        f'{{"x": "5" tall {decoy}", {rest}',
        f"<!-- {decoy}",
        f"{{ {decoy}, {rest}",
        f"// {decoy.replace(chr(10), ' ')}",
        f"# {decoy.replace(chr(10), ' ')}",
        f"{{-- final score: {reader.decoy}, final answer: {reader.decoy} -- {rest}",
    ]
    return reader, draw(st.sampled_from(ways))


@settings(max_examples=examples(500))
@given(abandoned())
@example((READERS["score"], '{"draft": "5" tall {"score": 3}", "score": 7}'))
def test_an_abandoned_attempt_is_never_the_answer(made: tuple[Reader, str]) -> None:
    """Nothing inside a string, a damaged object or a quotation counts. In doubt there is no answer."""
    reader, text = made
    assert reader.read(text) in (reader.real, None)


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('{/* first thoughts:\n{"score": 3}\n*/ "score": 7}', 7),
        ('{"score": 7 /* it was {"score": 3} */}', 7),
        ('{{"score": 7}}', 7),
        ('"{"score": 7}"', 7),
        ('"""\n{"score": 7}\n"""', 7),
        ('`if (x) {` is not closed.\n{"score": 7}', 7),
        ('{"score": 3, oops}\nOnce more:\n{"score": 7}', 7),
        ("See https://x.example/a // b\nScore: 7", 7),
        ("// Final score: 3\nScore: 7", 7),
        ("## Score: 7", 7),
        # a later attempt takes an earlier one back, and cannot be read
        ('{"score": 7}\nNo: {"score": 3 oops}', None),
        ('{"score": 3, "why": "no\n\n{\'score\': 7}', None),
        ('{"score": 3, // no, "score": 7}', None),
        ('{"draft": {"score": 3}}', None),
        ('{/* a /* b */ {"score": 3} */ "score": 7}', None),
    ],
)
def test_samples_of_what_was_taken_back(text: str, score: int | None) -> None:
    """The answer is what is left, or there is none."""
    assert read_score(text, 1, 10).answer == score
