"""What cannot be seen in the artifact: intentions, history and effects. A judge who sees only the text has to guess."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from honestone.core.authoring.lint.remark import Remark, asked, short
from honestone.core.rubric import Rubric


@dataclass(frozen=True, slots=True)
class _Unseen:
    pattern: re.Pattern[str]
    what: str
    instead: str


def _kind(pattern: str, what: str, instead: str) -> _Unseen:
    return _Unseen(re.compile(pattern, re.IGNORECASE), what, instead)


_PEOPLE: Final = (
    r"(?:users?|readers?|customers?|clients?|people|audiences?|stakeholders|developers|students|employees|visitors)"
)
_MAKER: Final = (
    r"(?:authors?|writers?|creators?|developers?|designers?|students?|candidates?|teams?|engineers?|contributors?)"
)
_KINDS: Final = (
    _kind(
        rf"\b(?:the |its )?{_MAKER}(?:'s|s')? (?:intent\w*|goals?|effort|motivation|state of mind)\b"
        rf"|\b{_MAKER} (?:clearly |really |actually |also )?(?:intend(?:s|ed)?|tr(?:y|ies|ied)|thought|thinks?|believe[sd]?|know[s]?|knew|understands?|"
        r"understood|cares?|cared|wants?|wanted|put effort|is aware|was aware|feels?|felt|took care|took the time|spent)\b",
        "what its author intended, knew or tried is not in the artifact",
        'ask for the trace that it leaves: "Says why the other option was not taken"',
    ),
    _kind(
        r"\b(?:was|were|has been|have been|been|is|are|got) (?:\w+ly |thoroughly |already |not )?(?:reviewed|peer[- ]reviewed|approved|signed off|proofread|double[- ]checked|"
        r"discussed|agreed (?:up)?on|consulted|audited|vetted|user[- ]tested|tested (?:by|with|on) (?:real )?(?:users|people|customers|hand))\b(?! (?:if|when|before|by (?:default|the script)))",
        "whether somebody reviewed or approved it cannot be read in it",
        'ask for the record: "Names the reviewer and the date", or check it where it is kept',
    ),
    _kind(
        r"\b(?:was|were|has been|is) (?:written|created|made|produced|developed|designed|built) (?:\w+ )?(?:by (?:an? |the )?(?:experts?|humans?|senior|professional|experienced)|"
        r"without (?:the )?(?:help|use) of|with care|carefully|in (?:less|under)|within|from scratch|on time)\b"
        r"|\b(?:time|hours|days|effort) (?:was |were )?spent\b|\btook (?:less|more|under|over|about)\b",
        "how it came about is not in the artifact",
        "ask about the result, not the way to it",
    ),
    _kind(
        rf"\b{_PEOPLE} (?:will |would |should |can |may |really |generally |mostly )?(?:like[sd]?|love[sd]?|enjoy(?:s|ed)?|prefer(?:s|red)?|appreciate[sd]?|"
        r"(?:be |are |is |feel |feels )(?:happy|satisfied|impressed|convinced|delighted|engaged|interested|inspired|motivated|comfortable|confident)|find it|trust(?:s|ed)?|come back|"
        r"return to it|recommend it)\b",
        "what people will feel about it can be measured with them, not read in it",
        'ask for what would please them, as something to point at: "Shows a result within the first ten lines"',
    ),
    _kind(
        r"\b(?:increases?|improves?|boosts?|raises?|reduces?|drives?|leads? to|results? in|generates?) (?:\w+ ){0,3}?(?:sales|revenue|conversions?|engagement|retention|traffic|"
        r"satisfaction|productivity|adoption|churn|costs|trust|loyalty|morale)\b",
        "its effect in the world is not in the artifact",
        "measure the effect elsewhere; ask here for what brings it about",
    ),
    _kind(
        r"^(?:\w+ly )?(?:understands?|knows?|believes?|realizes?|realises?|is aware of|cares about|intends?|thinks?|wants?)\b"
        r"|\b(?:response|answer|agent|assistant|model|it|output|reply|ai|bot) (?:\w+ly )?(?:understands?|understood|knows?|knew|believes?|realizes?|"
        r"realises?|is aware of|cares about|intends?|intended|wants?|tries|tried)\b(?! (?:the )?(?:its|to be))",
        "what it understands or means to do is not to be seen, only what it says and does",
        'ask for what shows it: "Restates the question\'s two conditions", "Uses the date format that was asked for"',
    ),
    _kind(
        r"(?:작성자|저자|필자|개발자|팀|학생|담당자)(?:가|는|은|이|의)?\s*(?:의도|노력|이해하고|알고|생각|고민|신경|정성)"
        r"|(?:검토|승인|리뷰|감수|교정|합의|논의)(?:를|가|이|을)?\s*(?:받|되었|됐|된|거쳤|거친|완료)",
        "작성자의 의도나 작업 과정은 결과물에 보이지 않습니다",
        '남은 흔적을 물으세요: "선택하지 않은 대안과 그 이유를 적는다"',
    ),
    _kind(
        r"(?:사용자|독자|고객|사람|이용자|읽는 사람)(?:들)?(?:이|가|은|는)\s*\S*\s*(?:좋아|만족|선호|즐기|즐거|느끼|느낀|공감|감동|신뢰|매력)"
        r"|(?:매출|전환율|참여율|만족도|생산성)(?:을|를|이|가)\s*(?:높|올|늘|향상|증가|개선)",
        "사람들의 느낌이나 효과는 결과물에서 읽을 수 없습니다",
        '그것을 낳는 특징을 물으세요: "첫 열 줄 안에 실행 결과를 보여 준다"',
    ),
)


def not_observable(rubric: Rubric) -> Iterator[Remark]:
    """Questions to judges about what the artifact does not show. Code may look elsewhere, so checks are left alone."""
    for question in asked(rubric):
        if not question.by_judges:
            continue
        hit = next(((kind, found) for kind in _KINDS if (found := kind.pattern.search(question.text))), None)
        if hit is not None:
            kind, found = hit
            yield question.remark(
                "not-observable",
                f'"{" ".join(found.group(0).split())}": {kind.what}: {short(question.text)}',
                kind.instead,
            )
