"""The rubric linter: what it remarks on, and what it leaves alone."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.authoring.lint import Remark, check_for, lint, suggested_id, written
from honestone.core.authoring.lint.code_wordings import CODE_WORDINGS
from honestone.core.authoring.lint.duplicates import _alike_pairs
from honestone.core.authoring.lint.wording import _TWO_NEGATIONS, _UNSEEN
from honestone.core.authoring.lint.words import has, needs
from honestone.core.checking.check_problems import check_problem
from honestone.core.checking.checks import compile_text_check, is_text_check
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric

from .strategies import rubrics

FILLER = (
    "Names the inventor of the device",
    "Gives the year of the first flight",
    "Says which museum keeps it today",
    "Quotes one line of the patent",
    "Lists two later models",
)


def of(*texts: str, **more: Any) -> Rubric:
    """A rubric whose one checklist asks these, beside a criterion that nobody minds."""
    items = tuple(
        Item(id=f"asked-{number}-it", requirement=text, **more) for number, text in enumerate(texts)
    )
    return Rubric(
        criteria=(Criterion(id="subject", requirement="The subject", items=items), _other())
    )


def _other() -> Criterion:
    return Criterion(
        id="history",
        requirement="Its history",
        items=tuple(Item(id=f"told-{at}-here", requirement=text) for at, text in enumerate(FILLER)),
    )


def about_words(rubric: Rubric) -> list[Remark]:
    return [remark for remark in lint(rubric) if not remark.rule.startswith("too-")]


def rules(text: str, **more: Any) -> set[str]:
    return {remark.rule for remark in about_words(of(text, **more))}


# ----------------------------------------------------------------------------------------------------
# good items

GOOD = """\
Names the injection
Says which version of the database is affected
States the exact version of the software
Names the operating system and the browser
Gives the exact error message
Says what was expected instead
The first paragraph says what it is and for whom
No term is used before it is explained
Every claim is backed by an example, a number or a source
Nothing is said twice
Says why the other option was not taken
Cites at least two sources from the last five years
Explains the trade-off between speed and memory
Describes how the cache is filled and emptied
Names a person who owns the change and approves releases
Lists the inputs and outputs of each function
Compares the old and the new interface
Says in which order the steps have to be run
Every public function has a docstring
Names the file and the line that fails
The title says what changed, not how
Says who has to do what, and by when
Shows the input, the command and the output
Includes search and replace examples
Mentions read and write permissions
The example can be run as it stands
Each heading names one topic
Asks the user to confirm before anything is deleted
Restates the question in one sentence
Says how to undo the change
Does not blame a person or a team
No sentence is longer than 30 words
Uses the past tense throughout
The conclusion follows from the three findings above it
Gives a cause and an effect for each incident
Points out the off-by-one error in the loop
Every abbreviation is spelled out where it first stands
Says under which licence it may be used
Names one alternative and one reason against it
The summary mentions the budget, the deadline and the owner
Warns that the operation cannot be undone
Describes the state before and after the migration
States what is out of scope
Every figure equals the one in the input
Says what happens when the network is down
The reply answers both questions of the customer
Uses "you" for the reader
Refuses to give the dosage
The tests named in the text exist in the folder
Shows at least one request and its response
Says where logs are kept and for how long
Names no customer by name
No step depends on a later step
Nothing in it contradicts the input
Each option has a cost next to it
Explains what a mutex is to a reader who has never used threads
주요 위험과 대응 방법을 적는다
오류 메시지를 그대로 인용한다
어떤 버전에서 문제가 생기는지 밝힌다
대안을 두 개 이상 든다
결론이 첫 문단에 있다
데이터의 출처와 날짜를 적는다
변경한 파일의 이름을 모두 나열하고 있다
독자가 다음에 실행할 명령을 적는다
전문 용어를 처음 나올 때 풀이한다
개인 정보를 담지 않는다""".splitlines()


@pytest.mark.parametrize("text", GOOD)
def test_a_good_item_is_left_alone(text: str) -> None:
    """Questions that two readers answer alike, from a text alone, get no remark."""
    assert [(r.rule, r.message) for r in about_words(of(text))] == []


def test_good_items_together_are_no_duplicates() -> None:
    """None of the good items is taken for another one."""
    assert {r.rule for r in about_words(of(*GOOD))} == set()


# ----------------------------------------------------------------------------------------------------
# bad items

BAD = {
    "vague-wording": """\
Is well written
The writing is clear
The tone is appropriate
Uses good examples
Explains the issues clearly
Has a nice structure
Is easy to understand
The design is user-friendly
The answer is helpful
Professional and clear writing
Gives sufficient detail
Follows best practices
The text flows well
Is concise
Covers the topic thoroughly
Handles errors properly
Names the causes, the effects, etc.
The code is robust
글이 자연스럽다
적절한 예시를 든다
내용이 충분하다
문장이 간결하고 명확하다
설득력이 있다""",
    "two-questions": """\
Names the injection and suggests parameters
Explains the cause and gives a fix
Lists the inputs and names each output
The report describes the failure and explains its cause
Identifies the bug, and proposes a patch
Should name the file and explain the error
Does the answer cite a source and explain the method?
Is the claim supported by a source and does it name the author?
Names the file; explains the change
The loss is summed over a batch, and their mean is taken
Cites a source or gives an example
States the risk but does not say who is hit
원인을 설명하고 해결책을 제시한다
버전을 밝히며 운영체제를 적는다""",
    "code-could-answer": """\
Has a title
Contains the word "warranty"
Mentions 'pip install'
Is under 200 words
The summary is at most 50 words
Has at least 300 words
No TODO
Contains no TODOs or FIXMEs
Is valid JSON
Is the output valid JSON?
All links work
Has no broken links
All tests pass
Includes an installation section
Has a "Usage" section
Contains a code block
Uses bullet points
Has a LICENSE file
Contains no exclamation marks
Starts with "Dear"
Ends with a question
The response does not exceed 120 words
No line is longer than 100 characters
'환불'이라는 단어를 포함한다
500자 이내
모든 링크가 작동한다
제목이 있다
TODO가 없다""",
    "not-observable": """\
The author intended to inform the reader
The document was reviewed by a senior engineer
Users like the new layout
Readers will enjoy the story
The author tried several designs
Was written with care
Increases user engagement
Understands the customer's problem
The team agreed on it and the author understands the risk
It was approved by management
작성자가 노력한 흔적
팀의 검토를 받았다
사용자가 만족한다""",
    "double-negative": """\
Does not lack a summary
Is not unclear
Doesn't fail to name the author
No claim is without a source
Does not omit the date
It is not impossible to follow the steps
No step is not numbered
Avoids not naming the author
출처가 없지 않다
필수 항목이 누락되지 않았다""",
}


@pytest.mark.parametrize(
    ("rule", "text"), [(rule, text) for rule, texts in BAD.items() for text in texts.splitlines()]
)
def test_a_bad_item_is_remarked_on(rule: str, text: str) -> None:
    """Each weakness is found under its own name, with the wording and something to do about it."""
    found = [remark for remark in about_words(of(text)) if remark.rule == rule]
    assert len(found) == 1, rules(text)
    assert found[0].text == text
    assert found[0].path == ("criteria", 0, "items", 0)
    assert found[0].suggestion


# ----------------------------------------------------------------------------------------------------
# what code answers

ANSWERED = [
    ("Is under 200 words", "max-words", 199, "one two", None),
    ("Has at least 3 words", "min-words", 3, "one two three", "one two"),
    ("No TODO", "not-regex", r"\b(TODO|FIXME|TBD|XXX)\b", "done", "TODO: more"),
    ("Has a title", "regex", r"(?m)^# \S", "# A title", "no title"),
    ('Contains the word "warranty"', "contains", "warranty", "a warranty of", "nothing"),
    ('Does not mention "price"', "not-contains", "price", "nothing", "the price"),
    (
        "Includes an installation section",
        "regex",
        {"pattern": "^#+ .*installation", "flags": "im"},
        "## Installation",
        "install it",
    ),
    ("Is valid JSON", "is-json", True, "{}", "{"),
    ('Starts with "Dear"', "starts-with", "Dear", "Dear you", "Hello"),
    ("500자 이내", "max-chars", 500, "짧다", "길" * 501),
    (
        "No line is longer than 10 characters",
        "not-regex",
        "(?m)^.{11,}$",
        "short\nlines",
        "a line that is long",
    ),
]


@pytest.mark.parametrize(("text", "name", "value", "good", "bad"), ANSWERED)
def test_the_check_shown_answers_the_item(
    text: str, name: str, value: Any, good: str, bad: str | None
) -> None:
    """The check is the right one, is valid, and says yes and no where it should."""
    check = check_for(text)
    assert check is not None
    assert (check.name, check.value) == (name, value)
    evaluate = compile_text_check(check)
    assert evaluate(good)[0]
    assert bad is None or not evaluate(bad)[0]


@pytest.mark.parametrize("text", BAD["code-could-answer"].splitlines())
def test_the_check_shown_can_be_pasted(text: str) -> None:
    """What is printed reads back as the very check, by the rubric reader itself."""
    from honestone.formats.rubric.rubric_file import parse_rubric

    check = check_for(text)
    assert check is not None
    assert check_problem(check) is None
    source = parse_rubric(f"rubric: 1\ncriteria:\n  - id: one\n    check: {written(check)}\n", "r")
    read = source.rubric.criteria[0].items[0].check
    assert read is not None
    assert (read.name, read.value or True) == (check.name, check.value)


@pytest.mark.parametrize(
    "text",
    [
        "Each paragraph has at most 60 words",
        "The title is under 10 words",
        "Contains the right dose for a child",
        "Has a section that explains the risks",
        "Mentions the price of each option",
        "Starts with the most important finding",
        "Every link is explained",
        "The JSON in the second block is valid and matches the first",
        "Contains no claim that the input contradicts",
    ],
)
def test_code_is_not_offered_where_it_cannot_answer(text: str) -> None:
    """A check of the whole text answers no question about a part of it, or about meaning."""
    assert check_for(text) is None


def test_what_code_answers_already_is_not_judged_by_its_words() -> None:
    """With a check the words are only a label."""
    check = Check(kind="max-words", value=100)
    assert about_words(of("Is concise and clear", "Does not lack brevity", check=check)) == []


# ----------------------------------------------------------------------------------------------------
# near-duplicates


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Names the author of the report", "States the author of the report"),
        ("Gives the date of the incident", "The date of the incident is given"),
        ("Names the operating system", "Names the operating system version"),
        ("Explains the cause of the error", "Describes the cause of the errors"),
        ("오류의 원인을 적는다", "오류의 원인을 적는다."),
    ],
)
def test_near_duplicates_are_found(one: str, other: str) -> None:
    """Other words for the same count as the same, in one criterion and across two."""
    inside = [remark for remark in lint(of(one, other)) if remark.rule == "near-duplicate"]
    assert [remark.path for remark in inside] == [("criteria", 0, "items", 1)]
    across = Rubric(
        criteria=(
            Criterion(
                id="first-one",
                requirement=one,
                items=(Item(id="first-one", requirement=one, whole=True),),
            ),
            Criterion(
                id="second-one",
                requirement=other,
                items=(Item(id="second-one", requirement=other, whole=True),),
            ),
        )
    )
    (found,) = [remark for remark in lint(across) if remark.rule == "near-duplicate"]
    assert "of criterion `first-one`" in found.message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Every module has a docstring", "Every function has a docstring"),
        ("Names the input file", "Does not name the input file"),
        ("Has at least 200 words in the body", "Has at least 300 words in the body"),
        ('Mentions "apple" in the text', 'Mentions "pear" in the text'),
        ("Says what happens before the release", "Says what happens after the release"),
    ],
)
def test_parallel_questions_are_no_duplicates(one: str, other: str) -> None:
    """One word swapped, one number, one negation: another question."""
    assert "near-duplicate" not in {remark.rule for remark in lint(of(one, other))}


# ----------------------------------------------------------------------------------------------------
# numbers, anchors


def found(rubric: Rubric) -> list[str]:
    return [remark.rule for remark in lint(rubric)]


@pytest.mark.parametrize(
    ("count", "by_code", "rule"),
    [
        (4, False, "too-few-items"),
        (5, False, None),
        (10, False, None),
        (11, False, "too-many-items"),
        (2, True, "too-few-items"),
        (4, True, None),
        (15, True, None),
        (16, True, "too-many-items"),
    ],
)
def test_checklists_have_5_to_10_items(count: int, by_code: bool, rule: str | None) -> None:
    """Code may be asked fewer or more: it neither guesses nor tires."""
    check = Check(kind="max-words", value=1) if by_code else None
    items = tuple(
        Item(
            id=f"asks-{at}-thing",
            requirement=f"Names person {at}",
            check=check and Check(kind="max-words", value=at),
        )
        for at in range(count)
    )
    rubric = Rubric(criteria=(Criterion(id="people", requirement="People", items=items), _other()))
    assert [name for name in found(rubric) if name.startswith("too-")] == ([rule] if rule else [])


def anchored(*levels: str) -> Rubric:
    """A scale of 0-100 with these levels, equally far apart."""
    step = Fraction(100, len(levels) - 1)
    scale = Anchors(levels=tuple((step * at, text) for at, text in enumerate(levels)))
    item = Item(id="tone", requirement="Calm tone", anchors=scale, whole=True)
    return Rubric(criteria=(Criterion(id="tone", requirement="Calm tone", items=(item,)), _other()))


FIVE = (
    "insults somebody",
    "blames a person",
    "blames a team",
    "names only the fault",
    "names the fault and the way out",
)


def test_anchors_need_five_levels_that_can_be_told_apart() -> None:
    """Three levels are coarse; a bare degree, the same words twice and overlapping ranges are each
    remarked on.
    """
    assert found(anchored(*FIVE)) == []
    assert found(anchored(FIVE[0], FIVE[2], FIVE[4])) == ["coarse-anchors"]
    assert found(anchored("bad", *FIVE[1:])) == ["empty-anchors"]
    assert found(anchored("poor", "fair", "average", "good", "excellent")) == ["empty-anchors"]
    assert found(anchored(FIVE[0], FIVE[1], "Blames a person", *FIVE[3:])) == ["anchors-alike"]
    ranges = ("over 9 errors", "6-9 errors", "3-6 errors", "1-2 errors", "no error")
    assert found(anchored(*ranges)) == ["anchors-overlap"]
    assert found(anchored(ranges[0], ranges[1], "3-5 errors", *ranges[3:])) == []


def test_taste_is_fine_where_levels_describe_it() -> None:
    """A vague word is what anchors are for."""
    item = Item(
        id="tone",
        requirement="Professional tone",
        whole=True,
        anchors=anchored(*FIVE).criteria[0].items[0].anchors,
    )
    assert (
        found(
            Rubric(
                criteria=(
                    Criterion(id="tone", requirement="Professional tone", items=(item,)),
                    _other(),
                )
            )
        )
        == []
    )


def test_a_negated_criterion_with_a_negative_question_is_confusing() -> None:
    """Its yes would be a no of a no."""
    item = Item(id="quiet", requirement="Holds no insult", whole=True)
    rubric = Rubric(
        criteria=(
            Criterion(id="quiet", requirement="Holds no insult", items=(item,), negate=True),
            _other(),
        )
    )
    assert found(rubric) == ["double-negative"]


def test_ids_say_something() -> None:
    """What could be any id is remarked on, in tree and items; short words are words."""
    assert suggested_id("Names the author") == "names-the-author"
    for id in ("check1", "r2", "c1", "item-3", "criterion_4", "q7", "1", "a", "test", "Rule2b"):
        rubric = of("Names the inventor's teacher")
        named = Criterion(
            id="subject", requirement="S", items=(Item(id=id, requirement="Names a teacher"),)
        )
        assert "id-says-nothing" in found(Rubric(criteria=(named, rubric.criteria[1]))), id
    for id in ("ui", "api", "tests", "no-todo", "identifies-sql-injection", "py3", "정확성"):
        named = Criterion(
            id=id, requirement="S", items=(Item(id="teacher", requirement="Names a teacher"),)
        )
        assert "id-says-nothing" not in found(Rubric(criteria=(named, _other()))), id


def test_remarks_come_in_the_order_of_the_file() -> None:
    """Whatever rule they are of."""
    texts = ("Is well written", "Names the cause and explains the fix", "Is well structured")
    paths = [remark.path for remark in about_words(of(*texts))]
    assert paths == [("criteria", 0, "items", at) for at in range(3)]


# ----------------------------------------------------------------------------------------------------
# any rubric


@given(rubrics())
def test_any_rubric_can_be_linted(rubric: Rubric) -> None:
    """No rubric is too odd, each rule is explained, and linting twice says the same."""
    remarks = lint(rubric)
    assert remarks == lint(rubric)
    assert all(remark.why and remark.message and remark.suggestion for remark in remarks)


@given(st.text(max_size=200))
def test_any_wording_can_be_linted(text: str) -> None:
    """Control characters, half quotes and scripts of all kinds: a check that is shown is always a
    valid one.
    """
    if text.strip():
        for remark in lint(of(text)):
            assert remark.check is None or check_problem(remark.check) is None
            assert (
                remark.check is None
                or not is_text_check(remark.check)
                or compile_text_check(remark.check)
            )


@pytest.mark.parametrize(
    "text",
    [
        "not " * 3000,
        "and " * 3000,
        "a" * 20_000,
        "no " * 3000 + "not",
        "has " * 3000,
        '"' * 5000,
        "is not un" * 2000,
        "the author " * 2000,
    ],
)
def test_a_hostile_wording_is_linted_at_once(text: str) -> None:
    """No pattern runs away on long repetitions."""
    lint(of(text))


def test_two_thousand_items_are_compared_quickly() -> None:
    """A tree of 2,000 questions ends; near-duplicates among them are still found."""
    subjects = [f"thing{at % 97} part{at % 89} of machine{at}" for at in range(2000)]
    criteria = tuple(
        Criterion(
            id=f"machine-{at}",
            requirement=text,
            items=(Item(id=f"machine-{at}", requirement=f"Names {text}", whole=True),),
        )
        for at, text in enumerate([*subjects, "thing0 part0 of machine0"])
    )
    doubled = [
        remark for remark in lint(Rubric(criteria=criteria)) if remark.rule == "near-duplicate"
    ]
    assert [remark.path for remark in doubled] == [("criteria", 2000)]


TRIED_SELDOM = [
    pattern
    for pattern in (
        *(pattern for wording in CODE_WORDINGS for pattern in wording.patterns),
        *(row.pattern for row in _UNSEEN),
        *_TWO_NEGATIONS,
    )
    if "(?P<number>" in pattern or re.search("[가-힣]", pattern)
]


@given(st.data())
def test_a_pattern_that_is_left_out_could_not_have_matched(data: st.DataObject) -> None:
    """What a pattern with a number or in Korean matches has a digit, or Korean letters: it is
    compiled for such a text alone.
    """
    pattern = data.draw(st.sampled_from(TRIED_SELDOM))
    text = data.draw(st.from_regex(re.compile(pattern, re.IGNORECASE), fullmatch=True))
    assert needs(pattern) in has(text)
    assert needs(pattern) not in has("contains no such thing")


STEMS = st.frozensets(st.sampled_from("abcdefg") | st.sampled_from(["not", "k2"]), max_size=10)


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    small, large = sorted((one, other), key=len)
    more = large - small
    return one == other or (
        small < large and len(more) == 1 and 3 <= len(small) <= 8 and not more & {"not", "k2"}
    )


@given(st.lists(STEMS, max_size=12))
def test_wordings_that_overlap_are_found_by_their_words(said: list[frozenset[str]]) -> None:
    """As if every wording were compared with every earlier one: equal, or one word more that is not
    a negation or a number.
    """
    compared = [
        (later, earlier)
        for later, words in enumerate(said)
        if len(words) > 1
        if (
            earlier := next(
                (at for at in range(later) if len(said[at]) > 1 and _overlap(words, said[at])), None
            )
        )
        is not None
    ]
    assert list(_alike_pairs(said)) == compared
