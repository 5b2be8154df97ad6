"""Vague wording: words that two readers take differently, each with a wording that can be measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from honestone.core.authoring.lint.remark import PlacedQuestion, Remark, asked, short
from honestone.core.rubric import Rubric


@dataclass(frozen=True, slots=True)
class _Family:
    """Words of one kind. `weak` ones are fine where the wording then says what is meant."""

    pattern: re.Pattern[str]
    instead: str
    weak: bool = False


def _english(words: str, instead: str, *, weak: bool = False) -> _Family:
    listed = "|".join(re.escape(word.strip()).replace(r"\ ", r"[\s-]+") for word in words.split(","))
    return _Family(
        re.compile(rf"(?<![\w-])(?:{listed})(?![\w-]|\s+(?:language|logs?\b))", re.IGNORECASE), instead, weak
    )


def _korean(words: str, instead: str) -> _Family:
    return _Family(re.compile("(?:" + "|".join(word.strip() for word in words.split(",")) + r")[가-힣]*"), instead)


FAMILIES: Final = (
    _english(
        "clear, clearly, understandable, easy to understand, easily understood, easy to follow, easy to read, readable, legible, lucid",
        'say what a reader finds: "Defines each technical term where it is first used", "Each section answers the question in its heading"',
        weak=True,
    ),
    _english(
        "concise, concisely, succinct, succinctly, brief, short, not too long, right length, appropriate length",
        'give the number: "Has at most 200 words", "No sentence is longer than 30 words"',
        weak=True,
    ),
    _english(
        "comprehensive, comprehensively, thorough, thoroughly, in depth, detailed, exhaustive, extensive, extensively, sufficient detail, enough detail",
        'list what has to be covered, one item each: "Names the cause", "Names every file that changes"',
        weak=True,
    ),
    _english(
        "sufficient, sufficiently, enough, adequate, adequately, reasonable, reasonably, acceptable, acceptably, decent, satisfactory",
        'say how much is enough: a number, a list, or the case that must work ("Names at least two alternatives")',
    ),
    _english(
        "good, great, nice, nicely, excellent, bad, poor, poorly, high quality, top quality, quality is, of quality, well written, "
        "well structured, well organized, well organised, well designed, well documented, well formatted, well crafted, well done, superb, outstanding, best practices, best practice, "
        "state of the art",
        'say what makes it good, as something to point at: "Every public function has a docstring", "Every claim names its source"',
    ),
    _english(
        "appropriate, appropriately, proper, properly, suitable, suitably, fitting, as needed, as necessary, if needed, as appropriate, "
        "where appropriate, when appropriate, if appropriate, correct format",
        'name the rule that decides: "Uses the headings Summary, Steps and Result", "Addresses the reader as \'you\'"',
    ),
    _english(
        "helpful, helpfully, useful, usefully, valuable, effective, effectively, meaningful, meaningfully, impactful, compelling, convincing, convincingly, persuasive, insightful",
        'say what a reader can do with it: "Gives the command to run next", "Names one thing to change and where"',
        weak=True,
    ),
    _english(
        "user friendly, intuitive, intuitively, easy to use, usable, convenient, seamless, seamlessly, smooth, smoothly, simple, simply, straightforward",
        'say what a person does and how many steps it takes: "A new user gets a result with at most three commands"',
        weak=True,
    ),
    _english(
        "engaging, interesting, attractive, beautiful, beautifully, elegant, elegantly, appealing, pleasant, exciting, fun, lively, inspiring, "
        "looks good, look good, feels right, feel right",
        'name what shows it: "Opens with a question, a number or a scene", "Each page has one picture"; or use five described anchors',
    ),
    _english(
        "natural, naturally, fluent, fluently, flows well, flow well, good flow, smooth flow, coherent, coherently, logical flow, logically organized, well reasoned, logical, logically",
        'name the flaw to look for: "Every paragraph starts with its main point", "No sentence refers to something not yet introduced"; or use five described anchors',
        weak=True,
    ),
    _english(
        "professional, professionally, friendly, polite, politely, respectful, respectfully, empathetic, warm, constructive",
        'name what such a tone has or lacks: "Holds no exclamation mark, slang or blame"; or use five described anchors',
        weak=True,
    ),
    _english(
        "robust, robustly, scalable, maintainable, flexible, clean code, cleanly, efficient, efficiently, fast, quick, quickly, performant, reliable, reliably, idiomatic",
        'name a test that decides: "Handles an empty input", "Answers within 200 ms for 1000 rows", "No function has more than 40 lines"',
        weak=True,
    ),
    _english(
        "relevant, relevance, important, key points, main points, significant, significantly, critical points, essential",
        'name the points that count, one item each: "Says who is hit", "Says from which version on"',
        weak=True,
    ),
    _english(
        "etc, etc., and so on, and so forth, and the like, among others",
        "list all that is meant; a judge will guess at the rest",
    ),
    _english(
        "as much as possible, as far as possible, where possible, if possible, generally, mostly, usually, somewhat, fairly, rather, quite, very",
        'say how much: all, at least N, or none ("Every public function", "At most one")',
        weak=True,
    ),
    _english(
        "correctly formatted, correct, correctly, accurate, accurately, complete, completely",
        'say against what it is compared: "Every figure equals the one in the input", "Names the off-by-one error in line 12"',
        weak=True,
    ),
    _korean(
        "좋은, 좋다, 좋게, 훌륭, 우수, 뛰어난, 뛰어나, 높은 품질, 고품질, 품질이, 완성도, 잘 (?:작성|쓰여|쓰였|정리|구성|설명|드러|표현|정돈)",
        '무엇이 보이면 충족인지 쓰세요: "모든 주장에 출처가 있다", "각 절에 예시가 하나 이상 있다"',
    ),
    _korean(
        "적절, 적당, 알맞, 올바르게, 제대로, 합리적, 바람직",
        '판단할 규칙을 쓰세요: "존댓말만 쓴다", "제목, 요약, 결론 순서로 되어 있다"',
    ),
    _korean(
        "충분, 풍부, 상세하, 자세하, 자세히, 꼼꼼, 철저",
        '수나 목록으로 쓰세요: "대안을 두 개 이상 든다", "원인과 영향을 각각 한 문장으로 쓴다"',
    ),
    _korean(
        "명확, 분명하, 명료, 이해하기 쉬, 이해하기 쉽, 알기 쉬, 알기 쉽, 읽기 쉬, 읽기 쉽, 가독성, 간결, 깔끔, 매끄러, 매끄럽, 자연스",
        '눈으로 확인할 수 있게 쓰세요: "전문 용어를 처음 나올 때 풀이한다", "한 문장이 60자를 넘지 않는다"',
    ),
    _korean(
        "유용, 효과적, 효율적, 도움이 되, 의미 있는, 가치 있는, 설득력, 통찰",
        '읽는 사람이 무엇을 할 수 있는지 쓰세요: "다음에 실행할 명령을 적는다"',
    ),
    _korean(
        "직관적, 사용자 친화, 편리, 전문적, 친절, 세련, 매력적, 흥미로, 창의적, 체계적, 논리적",
        '무엇이 있거나 없어야 하는지 쓰거나, 다섯 단계 기준(anchors)을 쓰세요: "느낌표와 속어가 없다"',
    ),
)

_CONCRETE: Final = re.compile(
    r"[0-9]|[\"“”`「『]|(?<!\w)'[^']+'|\be\.g\.|\bi\.e\.|\bsuch as\b|\bfor example\b|\bthat is,|\bmeaning\b|: \S|\(|예:|예를 들|즉 "
)
"""Signs that a wording says itself what it means: a number, a quote, an example, a list, a remark in brackets."""
_CODE_NAME: Final = re.compile(r"\w[_./]\w|\b[a-z]+[A-Z]\w*")
_GOES_ON: Final = re.compile(
    r"\b(?:that|which|who|so that|when|where|whether|because|if|until|unless|without|than|between|by|about|from|against|"
    r"one|two|three|each|every|all|no|only|none|never|how|what|why)\b",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(r"\b(?:no|not|never|without|nothing|avoids?|free (?:of|from))\b", re.IGNORECASE)


def vague_wording(rubric: Rubric) -> Iterator[Remark]:
    """Yes/no questions that turn on a word of degree or taste. Anchors are for those; code does not read words."""
    for question in asked(rubric):
        if question.is_yes_no and (found := _vague(question.text)):
            yield _remark(question, *found)


def _vague(text: str) -> tuple[str, _Family] | None:
    """The first vague word of a wording that does not say itself what it means."""
    if _CONCRETE.search(text) or _CODE_NAME.search(text):
        return None
    hits = [
        (match.start(), match.group(0), family)
        for family in FAMILIES
        if (match := family.pattern.search(text)) and not (family.weak and _says_more(text, match))
    ]
    if not hits:
        return None
    _, word, family = min(hits, key=lambda hit: (hit[0], -len(hit[1])))
    return word, family


def _says_more(text: str, match: re.Match[str]) -> bool:
    """Whether a weak word is only an ornament: the rest of the wording could be decided without it."""
    return bool(_GOES_ON.search(text, match.end())) or len(text[match.end() :].split()) >= 7


def _remark(question: PlacedQuestion, word: str, family: _Family) -> Remark:
    return question.remark(
        "vague-wording",
        f'"{" ".join(word.split())}" means different things to different judges: {short(question.text)}',
        family.instead,
    )
