"""Words that make a question undecidable: vague ones, what cannot be seen in the artifact, two
negations at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from honestone.core.authoring.lint.patterns import (
    MAKER,
    NEGATIVE_ADJECTIVE,
    NEGATIVE_VERB,
    NOT,
    PEOPLE,
    WITHIN,
)
from honestone.core.authoring.lint.remark import Remark, asked
from honestone.core.authoring.lint.words import WORDING, compiled, has, needs
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Rubric


class _Family(Struct, frozen=True):
    """Vague words of one kind. `weak` ones are fine where the wording then says what is meant."""

    pattern: str
    instead: str
    weak: bool = False


def _english(words: str) -> str:
    listed = "|".join(
        re.escape(word.strip()).replace(r"\ ", r"[\s-]+") for word in words.split(",")
    )
    return rf"(?<![\w-])(?:{listed})(?![\w-]|\s+(?:language|logs?\b))"


def _korean(words: str) -> str:
    return "(?:" + "|".join(word.strip() for word in words.split(",")) + r")[가-힣]*"


_FAMILIES: Final = [
    _Family(
        _english(row["words"]) if "words" in row else _korean(row["korean"]),
        row["instead"],
        "weak" in row,
    )
    for row in WORDING["vague"]
]
# Signs that a wording says itself what it means: a number, a quote, an example, a list, a remark in
# brackets.
_CONCRETE: Final = late_pattern(
    r"[0-9]|[\"“”`「『]|(?<!\w)'[^']+'|\be\.g\.|\bi\.e\.|\bsuch as\b|\bfor example\b|"
    r"\bthat is,|\bmeaning\b|: \S|\(|예:|예를 들|즉 "
)
_CODE_NAME: Final = late_pattern(r"\w[_./]\w|\b[a-z]+[A-Z]\w*")
# A wording goes further after a vague word.
_SAYS_MORE: Final = late_pattern(
    (
        r"\b(?:that|which|who|so that|when|where|whether|because|if|until|unless|"
        r"without|than|between|by|about|from|against|one|two|three|each|every|all|no|"
        r"only|none|never|how|what|why)\b"
    ),
    re.IGNORECASE,
)


def vague_wording(rubric: Rubric) -> Iterator[Remark]:
    """Yes/no questions that turn on a word of degree or taste. Anchors are for those; code does not
    read words.
    """
    for question in asked(rubric):
        if question.is_yes_no and (found := _vague(question.text)):
            word, family = found
            yield question.remark(
                "vague-wording", word=" ".join(word.split()), instead=family.instead
            )


def _vague(text: str) -> tuple[str, _Family] | None:
    """The first vague word of a wording that does not say itself what it means."""
    if _CONCRETE.search(text) or _CODE_NAME.search(text):
        return None
    found_in = has(text)
    hits = [
        (match.start(), match.group(0), family)
        for family in _FAMILIES
        if needs(family.pattern) in found_in
        if (match := compiled(family.pattern).search(text))
        and not (family.weak and _says_more(text, match))
    ]
    if not hits:
        return None
    _, word, family = min(hits, key=lambda hit: (hit[0], -len(hit[1])))
    return word, family


def _says_more(text: str, match: re.Match[str]) -> bool:
    """Whether a weak word is only an ornament: the rest of the wording could be decided without it."""
    return bool(_SAYS_MORE.search(text, match.end())) or len(text[match.end() :].split()) >= 7


class _Unseen(Struct, frozen=True):
    """What cannot be seen in an artifact (intentions, history and effects), and what to ask."""

    pattern: str
    what: str
    instead: str


_UNSEEN: Final = (
    _Unseen(
        (
            rf"\b(?:the |its )?{MAKER}(?:'s|s')? (?:intent\w*|goals?|effort|motivation|"
            rf"state of mind)\b|\b{MAKER} (?:clearly |really |actually |also "
            rf")?(?:intend(?:s|ed)?|tr(?:y|ies|ied)|thought|thinks?|believe[sd]?|"
            rf"know[s]?|knew|understands?|understood|cares?|cared|wants?|wanted|put "
            rf"effort|is aware|was aware|feels?|felt|took care|took the time|spent)\b"
        ),
        "what its author intended, knew or tried is not in the artifact",
        ('ask for the trace that it leaves: "Says why the other option was not taken"'),
    ),
    _Unseen(
        (
            r"\b(?:was|were|has been|have been|been|is|are|got) (?:\w+ly |thoroughly |"
            r"already |not )?(?:reviewed|peer[- ]reviewed|approved|signed off|proofread|"
            r"double[- ]checked|discussed|agreed (?:up)?on|consulted|audited|vetted|"
            r"user[- ]tested|tested (?:by|with|on) (?:real )?(?:users|people|customers|"
            r"hand))\b(?! (?:if|when|before|by (?:default|the script)))"
        ),
        "whether somebody reviewed or approved it cannot be read in it",
        ('ask for the record: "Names the reviewer and the date", or check it where it is kept'),
    ),
    _Unseen(
        (
            r"\b(?:was|were|has been|is) (?:written|created|made|produced|developed|"
            r"designed|built) (?:\w+ )?(?:by (?:an? |the )?(?:experts?|humans?|senior|"
            r"professional|experienced)|without (?:the )?(?:help|use) of|with care|"
            r"carefully|in (?:less|under)|within|from scratch|on time)\b|\b(?:time|"
            r"hours|days|effort) (?:was |were )?spent\b|\btook (?:less|more|under|over|"
            r"about)\b"
        ),
        "how it came about is not in the artifact",
        "ask about the result, not the way to it",
    ),
    _Unseen(
        (
            rf"\b{PEOPLE} (?:will |would |should |can |may |really |generally |mostly "
            rf")?(?:like[sd]?|love[sd]?|enjoy(?:s|ed)?|prefer(?:s|red)?|appreciate[sd]?|"
            rf"(?:be |are |is |feel |feels )(?:happy|satisfied|impressed|convinced|"
            rf"delighted|engaged|interested|inspired|motivated|comfortable|confident)|"
            rf"find it|trust(?:s|ed)?|come back|return to it|recommend it)\b"
        ),
        "what people will feel about it can be measured with them, not read in it",
        (
            'ask for what would please them, as something to point at: "Shows a result '
            'within the first ten lines"'
        ),
    ),
    _Unseen(
        (
            r"\b(?:increases?|improves?|boosts?|raises?|reduces?|drives?|leads? to|"
            r"results? in|generates?) (?:\w+ ){0,3}?(?:sales|revenue|conversions?|"
            r"engagement|retention|traffic|satisfaction|productivity|adoption|churn|"
            r"costs|trust|loyalty|morale)\b"
        ),
        "its effect in the world is not in the artifact",
        "measure the effect elsewhere; ask here for what brings it about",
    ),
    _Unseen(
        (
            r"^(?:\w+ly )?(?:understands?|knows?|believes?|realizes?|realises?|is aware "
            r"of|cares about|intends?|thinks?|wants?)\b|\b(?:response|answer|agent|"
            r"assistant|model|it|output|reply|ai|bot) (?:\w+ly )?(?:understands?|"
            r"understood|knows?|knew|believes?|realizes?|realises?|is aware of|cares "
            r"about|intends?|intended|wants?|tries|tried)\b(?! (?:the )?(?:its|to be))"
        ),
        ("what it understands or means to do is not to be seen, only what it says and does"),
        (
            """ask for what shows it: "Restates the question's two conditions", "Uses """
            'the date format that was asked for"'
        ),
    ),
    _Unseen(
        (
            r"(?:작성자|저자|필자|개발자|팀|학생|담당자)(?:가|는|은|이|의)?\s*(?:의도|노력|이해하고|알고|생각|고민|신경|정성)|"
            r"(?:검토|승인|리뷰|감수|교정|합의|논의)(?:를|가|이|을)?\s*(?:받|되었|됐|된|거쳤|거친|완료)"
        ),
        "작성자의 의도나 작업 과정은 결과물에 보이지 않습니다",
        '남은 흔적을 물으세요: "선택하지 않은 대안과 그 이유를 적는다"',
    ),
    _Unseen(
        (
            r"(?:사용자|독자|고객|사람|이용자|읽는 사람)(?:들)?(?:이|가|은|는)\s*\S*\s*(?:좋아|만족|선호|즐기|즐거|느끼|"
            r"느낀|공감|감동|신뢰|매력)|(?:매출|전환율|참여율|만족도|생산성)(?:을|를|이|가)\s*(?:높|올|늘|향상|증가|개선)"
        ),
        "사람들의 느낌이나 효과는 결과물에서 읽을 수 없습니다",
        '그것을 낳는 특징을 물으세요: "첫 열 줄 안에 실행 결과를 보여 준다"',
    ),
)


def not_observable(rubric: Rubric) -> Iterator[Remark]:
    """Questions to judges about intentions, history and effects. Code may look elsewhere, so checks
    are left alone.
    """
    for question in asked(rubric):
        found_in = has(question.text)
        rows = (row for row in _UNSEEN if needs(row.pattern) in found_in)
        found = (
            (match, row) for row in rows if (match := compiled(row.pattern).search(question.text))
        )
        if question.by_judges and (hit := next(found, None)):
            words, row = " ".join(hit[0].group(0).split()), hit[1]
            yield question.remark("not-observable", words=words, what=row.what, instead=row.instead)


_NEGATION: Final = late_pattern(rf"\b(?:{NOT}|no|without)\b", re.IGNORECASE)
# Two negations in one question.
_TWO_NEGATIONS: Final = (
    rf"\b{NOT}\b (?:\w+ly )?{NEGATIVE_VERB}\b",
    (
        rf"\b(?:is|are|was|were|be|been)(?: not| never|n['’]t) (?:\w+ly "
        rf")?{NEGATIVE_ADJECTIVE}\b"
    ),
    rf"\bnot (?:\w+ly )?{NEGATIVE_ADJECTIVE}\b",
    (
        rf"\b(?:{NOT}|no(?:ne|thing|body)?)\b{WITHIN}\b(?:not|never|\w+n['’]t)\b(?! "
        rf"only)"
    ),
    rf"\b(?:{NOT}|no(?:ne|thing|body)?)\b{WITHIN}\bwithout\b",
    r"\b(?:no|zero) (?:lack|absence)\b|\bfree (?:of|from) (?:missing|omissions)\b",
    r"\bwithout\b(?: \w+){0,2} (?:not|never|lacking|missing|omitting|failing)\b",
    r"\bavoids? not\b",
    (
        "(?:없|않|못하|아니)(?:지|지는|지도) 않|(?:부족|누락|결여|생략|빠뜨리|빠지)(?:하지|되지|지)는? 않|않(?:은|는) "
        "(?:것|곳|부분)[이은]? 없|없는 (?:것|곳|부분)[이은]? 없|아닌 것[이은]? 아니"
    ),
)
_ONLY: Final = late_pattern(
    r"\bnot only\b|\bwhy not\b|\bwhether or not\b|\bif not\b|\bor not\b", re.IGNORECASE
)


def double_negatives(rubric: Rubric) -> Iterator[Remark]:
    """Questions to judges with two negations, and negated criteria whose question is negative
    itself.
    """
    for question in asked(rubric):
        if not question.by_judges:
            continue
        text = _ONLY.sub(" ", question.text)
        found_in = has(text)
        patterns = (one for one in _TWO_NEGATIONS if needs(one) in found_in)
        hit = next(
            (match.group(0) for one in patterns if (match := compiled(one).search(text))), None
        )
        if hit is not None:
            says, advice = (
                f'"{" ".join(hit.split())}" negates twice',
                f"say what should be there: {_positive(hit)}",
            )
            yield question.remark("double-negative", says=says, advice=advice)
        elif question.criterion.negate and _NEGATION.search(text):
            says = "its answer is turned round (negate) and its wording is negative too"
            yield question.remark(
                "double-negative", says=says, advice="drop one of the two negations"
            )


def _positive(phrase: str) -> str:
    """A hint at the positive form."""
    lower = phrase.casefold()
    for sign, instead in WORDING["positive"].items():
        if sign in lower:
            return str(instead)
    return (
        '"is clear" asks the same as "is not unclear"'
        if re.search(r"\bun", lower)
        else "one plain yes"
    )
