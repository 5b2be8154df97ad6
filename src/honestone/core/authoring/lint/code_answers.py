"""Items that code could answer: for nothing, always alike. Each is shown with the check that does it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from honestone.core.authoring.lint.remark import Remark, asked, short
from honestone.core.rubric import Check, Rubric

Build: TypeAlias = Callable[[re.Match[str]], Check | None]


def code_could_answer(rubric: Rubric) -> Iterator[Remark]:
    """Yes/no questions to judges that are about the letters of the text."""
    for question in asked(rubric):
        check = check_for(question.text) if question.is_yes_no else None
        if check is not None:
            yield question.remark(
                "code-could-answer",
                f"code could answer this: {short(question.text)}",
                f"let it: `check: {written(check)}` costs nothing and is always the same",
                check=check,
            )


def check_for(text: str) -> Check | None:
    """The check that answers this wording, if it is one of those that code answers fully."""
    plain = _plain(text)
    for pattern, build in _RULES:
        match = pattern.fullmatch(plain)
        check = build(match) if match else None
        if check is not None:
            return check
    return None


def written(check: Check) -> str:
    """A check as it is written in a rubric file, on one line."""
    return _flow({check.name: check.value, **check.options})


# ---------------------------------------------------------------------------------------------------- reading

_OPENING: Final = re.compile(
    r"^(?:(?:the|this|its|your) )?(?:it|text|response|answer|output|document|summary|report|readme(?:\.md)?|file|artifact|post|essay|e-?mail|message|article|"
    r"letter|page|reply|code|skill(?:\.md)?|prompt|description|note|content)\b\s*(?:(?:must|should|shall|may|can|does)\s+)?",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(
    r"^(?:does|do|is|are|has|have)\s+(?:the |this |its )?(?:it|text|response|answer|output|document|summary|report|readme|file|artifact|post|essay|e-?mail|"
    r"message|article|letter|page|reply|code|skill|prompt|description|note|content)\s+",
    re.IGNORECASE,
)


def _plain(text: str) -> str:
    """A wording without its question form, its subject and its full stop: "contain 'x'"."""
    line = " ".join(text.split()).rstrip(".?! ")
    asks = _QUESTION.match(line)
    if asks is not None:
        auxiliary = asks.group(0).split()[0].casefold()
        rest = line[asks.end() :]
        return f"is {rest}" if auxiliary in ("is", "are") else f"has {rest}" if auxiliary in ("has", "have") else rest
    return line[_OPENING.match(line).end() :] if _OPENING.match(line) else line  # type: ignore[union-attr]


_RULES: list[tuple[re.Pattern[str], Build]] = []


def _rule(*patterns: str) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        _RULES.extend((re.compile(pattern, re.IGNORECASE), build) for pattern in patterns)
        return build

    return add


def _always(check: Check, *patterns: str) -> None:
    _rule(*patterns)(lambda match: check)


def _check(kind: str, value: object = True, *, negated: bool = False, **options: object) -> Check:
    return Check(kind=kind, value=value, negated=negated, options=options)


# ---------------------------------------------------------------------------------------------------- the rules

_HAS: Final = r"(?:(?:it |there )?(?:has|have|contains?|includes?|holds?|shows?|gives?|provides?|uses?|there (?:is|are)|is there|comes with|features?)(?: at least one)?) "
_NO: Final = (
    r"(?:(?:(?:has|have|contains?|includes?|holds?|leaves?|there (?:is|are)|uses?|is|are)\s+)?"
    r"(?:no|not contain(?:s|ing)?(?: any)?|free (?:of|from)(?: any)?|without(?: any)?|zero)|"
    r"(?:(?:does|do) not|doesn['’]t|don['’]t|not) (?:contain|have|include|hold|use)(?: any)?|"
    r"avoids?(?: any)?|never (?:uses?|contains?|includes?)(?: any)?) "
)
_QUOTE: Final = r"[\"“'`「](?P<quote>[^\"”'`」]+)[\"”'`」]"
_A: Final = r"(?:an? |the |one |some )?"
_WORDS_UNIT: Final = r"words?(?: long| in total| or (?:less|fewer))?"
_CHARS_UNIT: Final = r"(?:characters?|chars?)(?: long| in total| or (?:less|fewer))?"
_LENGTH: Final = r"(?:is |are |be |stays? |keeps? |remains? |has |have |contains? |uses? |the length is |length is )?(?:kept |limited to |about )?"

_always(
    _check("regex", r"(?m)^# \S"),
    rf"(?:{_HAS}|starts? with |begins? with |opens? with ){_A}(?:title|h1|top[- ]level heading|main heading|level[- ]?1 heading)(?: at the top)?",
    r"제목(?:이|을)? ?(?:있다|있음|있는가|있나요|포함한다|포함)",
)
_always(_check("regex", r"(?m)^#{1,6} \S"), rf"{_HAS}(?:markdown )?(?:headings?|headers?|section headings?)")
_always(_check("regex", "(?m)^```"), rf"{_HAS}{_A}(?:fenced )?code (?:block|fence)s?")
_always(_check("regex", r"(?m)^\s*\d+[.)] "), rf"{_HAS}{_A}numbered (?:steps|list|items|lists)")
_always(
    _check("regex", r"(?m)^\s*[-*+] "),
    rf"{_HAS}{_A}(?:bullet(?:ed)?(?: points?| lists?)|bullets)",
    r"(?:is |are )?formatted as (?:a )?bullet(?:ed)?(?: points?| list)",
)
_always(_check("regex", r"(?m)^\|.*\|\s*$"), rf"{_HAS}{_A}(?:markdown )?tables?")
_always(_check("regex", r"!\[[^\]]*\]\([^)]+\)"), rf"{_HAS}{_A}(?:images?|pictures?|screenshots?)")
_always(_check("regex", r"https?://\S"), rf"{_HAS}{_A}(?:urls?|web addresses?|hyperlinks?|web links?|links?)")
_always(
    _check("regex", r"\b\d{4}-\d{2}-\d{2}\b"),
    rf"{_HAS}{_A}(?:iso(?: 8601)? dates?|dates? (?:in|as) (?:the )?(?:format )?yyyy-mm-dd(?: format)?)",
)
_always(_check("regex", r"[\w.+-]+@[\w-]+\.\w+"), rf"{_HAS}{_A}e-?mail address(?:es)?")
_always(_check("regex", r"\?\s*\Z"), r"ends? with (?:a )?question(?: mark)?")
_always(
    _check("regex", r"\b(TODO|FIXME|TBD|XXX)\b", negated=True),
    rf"{_NO}(?:remaining |open |leftover |unresolved )?(?:todos?|fixmes?|tbds?|todo comments?)(?:(?:,| or| and|/|, or| nor) ?(?:todos?|fixmes?|tbds?|xxx))*(?: (?:comments?|markers?|notes?|items?))?(?: left| remain(?:s|ing)?)?",
    r"todos? (?:are|is) (?:gone|removed|resolved)",
    r"(?:todo|fixme|tbd)(?:가|이|나 fixme가)? ?(?:없다|없음|없는가|남아 있지 않다)",
)
_always(
    _check("icontains", ["lorem ipsum", "your name here", "insert description"], negated=True),
    rf"{_NO}(?:placeholders?|placeholder text|template text|boilerplate text|lorem ipsum)(?: left)?",
)
_always(
    _check("is-json"),
    r"(?:is|returns?|outputs?|produces?|be|as|parses as) (?:only )?(?:a )?(?:valid |well[- ]formed |parsable |parseable )json(?: (?:object|document|value|array))?",
    r"(?:valid|well[- ]formed) json",
    r"parses as json",
    r"(?:올바른|유효한) json(?:이다|인가|임|이다|입니까|형식이다)?",
)
_always(
    _check("json-schema", "schema.json"),
    r"(?:is (?:valid )?json that )?(?:matches|conforms to|fits|follows|validates against|is valid against) (?:the |a |its )?json[- ]schema",
)
_always(
    _check("links-resolve"),
    r"(?:all|every|each) (?:of (?:the|its) )?(?:relative |internal )?links? (?:work|works|resolve|resolves|are valid|is valid|are working|leads? somewhere)",
    r"links (?:work|resolve|are valid)",
    rf"{_NO}(?:broken|dead) links?",
    r"(?:모든 )?링크(?:가|는)? ?(?:작동|동작|유효|열)\S*",
    r"깨진 링크(?:가|는)? ?없\S*",
)
_always(
    _check("command", "python3 -m pytest -q"),
    r"(?:all |the |its |every )?(?:unit )?tests? (?:all )?pass(?:es)?",
    r"passes (?:all |the |its )?(?:unit )?tests",
    r"(?:모든 )?테스트(?:가|를|는)? ?(?:모두 )?통과\S*",
)
_always(
    _check("command", "python3 -m compileall -q ."),
    r"(?:all |the |every )?(?:python )?(?:code|files?) (?:compiles?|parses?)(?: without errors?)?",
    r"compiles(?: without (?:errors?|warnings?))?",
)
_always(_check("regex", r"[ \t]+(?m:$)", negated=True), rf"{_NO}trailing (?:white ?space|blanks|spaces)")
_always(_check("contains", "\t", negated=True), rf"{_NO}tabs?(?: characters?)?")
_always(_check("contains", "!", negated=True), rf"{_NO}exclamation (?:marks?|points?)")
_always(
    _check("regex", r"[\U0001F300-\U0001FAFF\u2600-\u27BF]", negated=True),
    rf"{_NO}emojis?",
    r"이모지(?:가|를)? ?(?:없|쓰지 않)\S*",
)
_always(_check("regex", r"https?://", negated=True), rf"{_NO}(?:urls?|hyperlinks?|web links?)")
_always(_check("regex", r"[A-Z]", negated=True), r"is (?:all |entirely |completely )?(?:in )?lower[- ]?case(?: only)?")
_always(_check("regex", r"[a-z]", negated=True), r"is (?:all |entirely |completely )?(?:in )?upper[- ]?case(?: only)?")


@_rule(
    rf"(?:{_HAS}|mentions? |names? |says? |quotes? |states? )(?:the )?(?:exact |literal )?(?:words?|phrases?|text|string|keywords?|term|sentence|name|value)? ?{_QUOTE}",
    rf"{_QUOTE}(?:을|를|이|가|(?:이)?라는 (?:단어|문구|말)[을를이가]?)? ?(?:포함|언급|들어|나온|쓴)\S*",
)
def _contains(match: re.Match[str]) -> Check | None:
    return _check("contains", match["quote"])


@_rule(
    rf"{_NO}(?:mention(?:s)? )?(?:the )?(?:words?|phrases?|text|string|term)? ?{_QUOTE}",
    rf"(?:does|do) not (?:mention|say) (?:the (?:word|phrase) )?{_QUOTE}",
    rf"never (?:mentions|says) {_QUOTE}",
)
def _contains_not(match: re.Match[str]) -> Check | None:
    return _check("contains", match["quote"], negated=True)


@_rule(rf"(?:starts?|begins?|opens?) with (?:the (?:words?|text|phrase|line) )?{_QUOTE}")
def _starts(match: re.Match[str]) -> Check | None:
    return _check("starts-with", match["quote"])


@_rule(rf"(?:ends?|closes?) with (?:the (?:words?|text|phrase|line) )?{_QUOTE}")
def _ends(match: re.Match[str]) -> Check | None:
    return _check("ends-with", match["quote"])


@_rule(rf"(?:is|equals|says) (?:exactly|only|just) {_QUOTE}", rf"equals {_QUOTE}")
def _equals(match: re.Match[str]) -> Check | None:
    return _check("equals", match["quote"])


@_rule(
    rf"{_HAS}(?:an? |the )?{_QUOTE} (?:section|heading|header)",
    rf"{_HAS}(?:an? |the )?(?:section|heading|header) (?:called|named|titled|labelled|labeled) {_QUOTE}",
    rf"{_HAS}(?:an? |the )(?P<quote>(?!separate|new|short|single|second|first|clear|dedicated|own|next|final|last|summary of)[\w-]+(?: [\w-]+)?) section",
    r"(?P<quote>\w+) (?:섹션|절|항목)(?:이|을|가)? ?(?:있|포함)\S*",
)
def _section(match: re.Match[str]) -> Check | None:
    name = re.escape(match["quote"].strip().casefold()).replace(r"\ ", " ").replace(r"\-", "-")
    return _check("regex", {"pattern": f"^#+ .*{name}", "flags": "im"})


@_rule(
    rf"{_HAS}(?:an? |the )?(?P<file>[\w-]*(?:LICEN[SC]E|README|CHANGELOG|CONTRIBUTING)(?:\.\w+)?) file",
    rf"{_HAS}(?:an? |the )?file (?:called |named )?[\"'`]?(?P<file>[\w./-]+\.\w{{1,5}})[\"'`]?",
    r"(?:the )?(?:file )?[\"'`]?(?P<file>[\w/-]+\.\w{1,5})[\"'`]? (?:file )?(?:exists|is there|is present)",
)
def _file(match: re.Match[str]) -> Check | None:
    name = match["file"].lstrip("/")
    return None if ".." in name or name.startswith("/") else _check("file-exists", name)


def _counts(unit: str, kind: str) -> None:
    most = r"(?:at most|no more than|not more than|up to|a maximum of|maximum|max\.?|<=|within)"
    under = r"(?:under|fewer than|less than|below|shorter than|<)"
    least = r"(?:at least|no fewer than|no less than|a minimum of|minimum|min\.?|>=)"
    over = r"(?:over|more than|longer than|above|>)"
    number = r"(?P<number>\d[\d,]*)"
    for words, side, change in ((most, "max", 0), (under, "max", -1), (least, "min", 0), (over, "min", 1)):
        _RULES.append(
            (re.compile(rf"{_LENGTH}{words} {number} {unit}", re.IGNORECASE), _bound(f"{side}-{kind}", change))
        )
    exceeds = rf"(?:does|must|should|shall|do)? ?not exceed {number} {unit}"
    _RULES.append((re.compile(exceeds, re.IGNORECASE), _bound(f"max-{kind}", 0)))


def _bound(kind: str, change: int) -> Build:
    def build(match: re.Match[str]) -> Check | None:
        digits = match["number"]
        count = int(digits.replace(",", "")) + change if 0 < len(digits) <= 9 else -1
        return _check(kind, count) if count >= 0 else None

    return build


_counts(_WORDS_UNIT, "words")
_counts(_CHARS_UNIT, "chars")


@_rule(
    r"(?:no line|no lines?) (?:is|are) (?:longer than|over|more than) (?P<number>\d{1,4}) (?:characters|chars|columns)",
    r"(?:every |all |each )?lines? (?:is|are|has|have) (?:at most|no longer than|up to|no more than) (?P<number>\d{1,4}) (?:characters|chars|columns)(?: long)?",
)
def _long_lines(match: re.Match[str]) -> Check | None:
    return _check("regex", f"(?m)^.{{{int(match['number']) + 1},}}$", negated=True)


@_rule(
    r"(?P<number>[\d,]+) ?(?P<unit>자|글자|단어) ?(?P<side>이하|이내|이상|미만)\S*",
    r".{0,6}길이(?:가|는) (?P<number>[\d,]+) ?(?P<unit>자|글자|단어) ?(?P<side>이하|이내|이상|미만)\S*",
)
def _korean_length(match: re.Match[str]) -> Check | None:
    digits = match["number"].replace(",", "")
    if not 0 < len(digits) <= 9:
        return None
    kind = "words" if match["unit"] == "단어" else "chars"
    if match["side"] == "이상":
        return _check(f"min-{kind}", int(digits))
    return _check(f"max-{kind}", max(0, int(digits) - (match["side"] == "미만")))


# ---------------------------------------------------------------------------------------------------- writing

_BARE: Final = re.compile(r"(?!(?:true|false|null|yes|no|on|off)$)[A-Za-z][\w./ -]*[\w./]|[A-Za-z]", re.IGNORECASE)


def _flow(value: object) -> str:
    """A value in YAML's inline form, so that it can be pasted as it is."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    if _BARE.fullmatch(value):
        return value
    if any(sign in value for sign in "\t\n\r") or not value.isprintable():
        return (
            '"'
            + value.replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\t", "\\t")
            .replace("\n", "\\n")
            .replace("\r", "\\r")
            + '"'
        )
    return "'" + value.replace("'", "''") + "'"
