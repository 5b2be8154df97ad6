"""The rubric linter: what it remarks on, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from honestone.core.lint import Remark, lint
from honestone.core.rubric import Criterion, Item, Rubric

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
    return Rubric(criteria=(Criterion(id="subject", requirement="The subject", items=items), _other()))


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


# ---------------------------------------------------------------------------------------------------- good items

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


# ---------------------------------------------------------------------------------------------------- bad items

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
)  # fmt: skip
def test_a_bad_item_is_remarked_on(rule: str, text: str) -> None:
    """Each weakness is found under its own name, with the wording and something to do about it."""
    found = [remark for remark in about_words(of(text)) if remark.rule == rule]
    assert len(found) == 1, rules(text)
    assert found[0].text == text
    assert found[0].path == ("criteria", 0, "items", 0)
    assert found[0].suggestion
