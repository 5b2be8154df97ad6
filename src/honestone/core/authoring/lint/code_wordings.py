"""Wordings that code answers fully, each with its check."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from honestone.core.authoring.lint.patterns import (
    CHARS_UNIT,
    HAS,
    LEAST,
    LENGTH,
    MOST,
    NO,
    NUMBER,
    OVER,
    QUOTE,
    UNDER,
    WORDS_UNIT,
    A,
)
from honestone.core.json_value import Json
from honestone.core.judging.rubric import Check


class CodeWording(Struct, frozen=True, kw_only=True):
    """The wordings that one check answers. A pattern has to match the whole wording.

    `value`: what the check takes; without it, what the wording quotes, or its number plus `change`.
    `make`: makes the whole check from the match instead; None from it where there is no such check.
    """

    patterns: Sequence[str]
    kind: str = ""
    value: Json = None
    negated: bool = False
    change: int | None = None
    make: Callable[[re.Match[str]], Check | None] | None = None


def section_heading(match: re.Match[str]) -> Check:
    """A heading with the quoted words in it, in any case."""
    name = re.escape(match["quote"].strip().casefold()).replace(r"\ ", " ").replace(r"\-", "-")
    return Check(kind="regex", value={"pattern": f"^#+ .*{name}", "flags": "im"})


def file_exists(match: re.Match[str]) -> Check | None:
    """A file of that name; None for a name that leaves the artifact's folder."""
    name = match["file"].lstrip("/")
    return None if ".." in name else Check(kind="file-exists", value=name)


def no_long_line(match: re.Match[str]) -> Check:
    """No line with more characters than the wording's number."""
    return Check(kind="regex", value=f"(?m)^.{{{int(match['number']) + 1},}}$", negated=True)


def korean_length(match: re.Match[str]) -> Check | None:
    """A length in words (단어) or characters: at least (이상), below (미만), or at most."""
    digits = match["number"].replace(",", "")
    if not 0 < len(digits) <= 9:
        return None
    kind = "words" if match["unit"] == "단어" else "chars"
    if match["side"] == "이상":
        return Check(kind=f"min-{kind}", value=int(digits))
    return Check(kind=f"max-{kind}", value=max(0, int(digits) - (match["side"] == "미만")))


# The first row with a pattern that matches decides.
CODE_WORDINGS: Final = (
    CodeWording(
        kind="regex",
        value=r"(?m)^# \S",
        patterns=(
            (
                f"(?:{HAS}|starts? with |begins? with |opens? with ){A}(?:title|h1|"
                f"top[- ]level heading|main heading|level[- ]?1 heading)(?: at the top)?"
            ),
            "제목(?:이|을)? ?(?:있다|있음|있는가|있나요|포함한다|포함)",
        ),
    ),
    CodeWording(
        kind="regex",
        value=r"(?m)^#{1,6} \S",
        patterns=(f"{HAS}(?:markdown )?(?:headings?|headers?|section headings?)",),
    ),
    CodeWording(
        kind="regex",
        value="(?m)^```",
        patterns=(f"{HAS}{A}(?:fenced )?code (?:block|fence)s?",),
    ),
    CodeWording(
        kind="regex",
        value=r"(?m)^\s*\d+[.)] ",
        patterns=(f"{HAS}{A}numbered (?:steps|list|items|lists)",),
    ),
    CodeWording(
        kind="regex",
        value=r"(?m)^\s*[-*+] ",
        patterns=(
            f"{HAS}{A}(?:bullet(?:ed)?(?: points?| lists?)|bullets)",
            "(?:is |are )?formatted as (?:a )?bullet(?:ed)?(?: points?| list)",
        ),
    ),
    CodeWording(
        kind="regex",
        value=r"(?m)^\|.*\|\s*$",
        patterns=(f"{HAS}{A}(?:markdown )?tables?",),
    ),
    CodeWording(
        kind="regex",
        value=r"!\[[^\]]*\]\([^)]+\)",
        patterns=(f"{HAS}{A}(?:images?|pictures?|screenshots?)",),
    ),
    CodeWording(
        kind="regex",
        value=r"https?://\S",
        patterns=(f"{HAS}{A}(?:urls?|web addresses?|hyperlinks?|web links?|links?)",),
    ),
    CodeWording(
        kind="regex",
        value=r"\b\d{4}-\d{2}-\d{2}\b",
        patterns=(
            (
                f"{HAS}{A}(?:iso(?: 8601)? dates?|dates? (?:in|as) (?:the )?(?:format "
                f")?yyyy-mm-dd(?: format)?)"
            ),
        ),
    ),
    CodeWording(
        kind="regex",
        value=r"[\w.+-]+@[\w-]+\.\w+",
        patterns=(f"{HAS}{A}e-?mail address(?:es)?",),
    ),
    CodeWording(
        kind="regex",
        value=r"\?\s*\Z",
        patterns=("ends? with (?:a )?question(?: mark)?",),
    ),
    CodeWording(
        kind="regex",
        value=r"\b(TODO|FIXME|TBD|XXX)\b",
        negated=True,
        patterns=(
            (
                f"{NO}(?:remaining |open |leftover |unresolved )?(?:todos?|fixmes?|"
                f"tbds?|todo comments?)(?:(?:,| or| and|/|, or| nor) ?(?:todos?|fixmes?|"
                f"tbds?|xxx))*(?: (?:comments?|markers?|notes?|items?))?(?: left| "
                f"remain(?:s|ing)?)?"
            ),
            "todos? (?:are|is) (?:gone|removed|resolved)",
            "(?:todo|fixme|tbd)(?:가|이|나 fixme가)? ?(?:없다|없음|없는가|남아 있지 않다)",
        ),
    ),
    CodeWording(
        kind="icontains",
        value=["lorem ipsum", "your name here", "insert description"],
        negated=True,
        patterns=(
            (
                f"{NO}(?:placeholders?|placeholder text|template text|boilerplate text|"
                f"lorem ipsum)(?: left)?"
            ),
        ),
    ),
    CodeWording(
        kind="is-json",
        patterns=(
            (
                "(?:is|returns?|outputs?|produces?|be|as|parses as) (?:only )?(?:a "
                ")?(?:valid |well[- ]formed |parsable |parseable )json(?: (?:object|"
                "document|value|array))?"
            ),
            "(?:valid|well[- ]formed) json",
            "parses as json",
            "(?:올바른|유효한) json(?:이다|인가|임|이다|입니까|형식이다)?",
        ),
    ),
    CodeWording(
        kind="json-schema",
        value="schema.json",
        patterns=(
            (
                "(?:is (?:valid )?json that )?(?:matches|conforms to|fits|follows|"
                "validates against|is valid against) (?:the |a |its )?json[- ]schema"
            ),
        ),
    ),
    CodeWording(
        kind="links-resolve",
        patterns=(
            (
                "(?:all|every|each) (?:of (?:the|its) )?(?:relative |internal )?links? "
                "(?:work|works|resolve|resolves|are valid|is valid|are working|leads? "
                "somewhere)"
            ),
            "links (?:work|resolve|are valid)",
            f"{NO}(?:broken|dead) links?",
            r"(?:모든 )?링크(?:가|는)? ?(?:작동|동작|유효|열)\S*",
            r"깨진 링크(?:가|는)? ?없\S*",
        ),
    ),
    CodeWording(
        kind="command",
        value="python3 -m pytest -q",
        patterns=(
            "(?:all |the |its |every )?(?:unit )?tests? (?:all )?pass(?:es)?",
            "passes (?:all |the |its )?(?:unit )?tests",
            r"(?:모든 )?테스트(?:가|를|는)? ?(?:모두 )?통과\S*",
        ),
    ),
    CodeWording(
        kind="command",
        value="python3 -m compileall -q .",
        patterns=(
            (
                "(?:all |the |every )?(?:python )?(?:code|files?) (?:compiles?|"
                "parses?)(?: without errors?)?"
            ),
            "compiles(?: without (?:errors?|warnings?))?",
        ),
    ),
    CodeWording(
        kind="regex",
        value=r"[ \t]+(?m:$)",
        negated=True,
        patterns=(f"{NO}trailing (?:white ?space|blanks|spaces)",),
    ),
    CodeWording(
        kind="contains",
        value="\t",
        negated=True,
        patterns=(f"{NO}tabs?(?: characters?)?",),
    ),
    CodeWording(
        kind="contains",
        value="!",
        negated=True,
        patterns=(f"{NO}exclamation (?:marks?|points?)",),
    ),
    CodeWording(
        kind="regex",
        value=r"[\U0001F300-\U0001FAFF\u2600-\u27BF]",
        negated=True,
        patterns=(
            f"{NO}emojis?",
            r"이모지(?:가|를)? ?(?:없|쓰지 않)\S*",
        ),
    ),
    CodeWording(
        kind="regex",
        value="https?://",
        negated=True,
        patterns=(f"{NO}(?:urls?|hyperlinks?|web links?)",),
    ),
    CodeWording(
        kind="regex",
        value="[A-Z]",
        negated=True,
        patterns=("is (?:all |entirely |completely )?(?:in )?lower[- ]?case(?: only)?",),
    ),
    CodeWording(
        kind="regex",
        value="[a-z]",
        negated=True,
        patterns=("is (?:all |entirely |completely )?(?:in )?upper[- ]?case(?: only)?",),
    ),
    CodeWording(
        kind="contains",
        patterns=(
            (
                f"(?:{HAS}|mentions? |names? |says? |quotes? |states? )(?:the "
                f")?(?:exact |literal )?(?:words?|phrases?|text|string|keywords?|term|"
                f"sentence|name|value)? ?{QUOTE}"
            ),
            rf"{QUOTE}(?:을|를|이|가|(?:이)?라는 (?:단어|문구|말)[을를이가]?)? ?(?:포함|언급|들어|나온|쓴)\S*",
        ),
    ),
    CodeWording(
        kind="contains",
        negated=True,
        patterns=(
            (f"{NO}(?:mention(?:s)? )?(?:the )?(?:words?|phrases?|text|string|term)? ?{QUOTE}"),
            f"(?:does|do) not (?:mention|say) (?:the (?:word|phrase) )?{QUOTE}",
            f"never (?:mentions|says) {QUOTE}",
        ),
    ),
    CodeWording(
        kind="starts-with",
        patterns=(
            (f"(?:starts?|begins?|opens?) with (?:the (?:words?|text|phrase|line) )?{QUOTE}"),
        ),
    ),
    CodeWording(
        kind="ends-with",
        patterns=(f"(?:ends?|closes?) with (?:the (?:words?|text|phrase|line) )?{QUOTE}",),
    ),
    CodeWording(
        kind="equals",
        patterns=(
            f"(?:is|equals|says) (?:exactly|only|just) {QUOTE}",
            f"equals {QUOTE}",
        ),
    ),
    CodeWording(
        make=section_heading,
        patterns=(
            f"{HAS}(?:an? |the )?{QUOTE} (?:section|heading|header)",
            (
                f"{HAS}(?:an? |the )?(?:section|heading|header) (?:called|named|titled|"
                f"labelled|labeled) {QUOTE}"
            ),
            (
                rf"{HAS}(?:an? |the )(?P<quote>(?!separate|new|short|single|second|first|"
                rf"clear|dedicated|own|next|final|last|summary of)[\w-]+(?: [\w-]+)?) "
                rf"section"
            ),
            r"(?P<quote>\w+) (?:섹션|절|항목)(?:이|을|가)? ?(?:있|포함)\S*",
        ),
    ),
    CodeWording(
        make=file_exists,
        patterns=(
            (
                rf"{HAS}(?:an? |the )?(?P<file>[\w-]*(?:LICEN[SC]E|README|CHANGELOG|"
                rf"CONTRIBUTING)(?:\.\w+)?) file"
            ),
            (
                rf"{HAS}(?:an? |the )?file (?:called |named "
                rf")?[\"'`]?(?P<file>[\w./-]+\.\w{{1,5}})[\"'`]?"
            ),
            (
                r"(?:the )?(?:file )?[\"'`]?(?P<file>[\w/-]+\.\w{1,5})[\"'`]? (?:file "
                r")?(?:exists|is there|is present)"
            ),
        ),
    ),
    CodeWording(
        kind="max-words",
        change=0,
        patterns=(f"{LENGTH}{MOST} {NUMBER} {WORDS_UNIT}",),
    ),
    CodeWording(
        kind="max-words",
        change=-1,
        patterns=(f"{LENGTH}{UNDER} {NUMBER} {WORDS_UNIT}",),
    ),
    CodeWording(
        kind="min-words",
        change=0,
        patterns=(f"{LENGTH}{LEAST} {NUMBER} {WORDS_UNIT}",),
    ),
    CodeWording(
        kind="min-words",
        change=1,
        patterns=(f"{LENGTH}{OVER} {NUMBER} {WORDS_UNIT}",),
    ),
    CodeWording(
        kind="max-words",
        change=0,
        patterns=(f"(?:does|must|sh(?:ould|all)|do)? ?not exceed {NUMBER} {WORDS_UNIT}",),
    ),
    CodeWording(
        kind="max-chars",
        change=0,
        patterns=(f"{LENGTH}{MOST} {NUMBER} {CHARS_UNIT}",),
    ),
    CodeWording(
        kind="max-chars",
        change=-1,
        patterns=(f"{LENGTH}{UNDER} {NUMBER} {CHARS_UNIT}",),
    ),
    CodeWording(
        kind="min-chars",
        change=0,
        patterns=(f"{LENGTH}{LEAST} {NUMBER} {CHARS_UNIT}",),
    ),
    CodeWording(
        kind="min-chars",
        change=1,
        patterns=(f"{LENGTH}{OVER} {NUMBER} {CHARS_UNIT}",),
    ),
    CodeWording(
        kind="max-chars",
        change=0,
        patterns=(f"(?:does|must|sh(?:ould|all)|do)? ?not exceed {NUMBER} {CHARS_UNIT}",),
    ),
    CodeWording(
        make=no_long_line,
        patterns=(
            (
                r"(?:no line|no lines?) (?:is|are) (?:longer than|over|more than) "
                r"(?P<number>\d{1,4}) (?:characters|chars|columns)"
            ),
            (
                r"(?:every |all |each )?lines? (?:is|are|has|have) (?:at most|no longer "
                r"than|up to|no more than) (?P<number>\d{1,4}) (?:characters|chars|"
                r"columns)(?: long)?"
            ),
        ),
    ),
    CodeWording(
        make=korean_length,
        patterns=(
            r"(?P<number>[\d,]+) ?(?P<unit>자|글자|단어) ?(?P<side>이하|이내|이상|미만)\S*",
            (
                r".{0,6}길이(?:가|는) (?P<number>[\d,]+) ?(?P<unit>자|글자|단어) ?(?P<side>이하|이내|"
                r"이상|미만)\S*"
            ),
        ),
    ),
)
