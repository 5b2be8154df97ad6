"""Whether a text is HTML or XML, or holds some. Nothing is fetched and no entity is expanded. What
a text can take is bounded: every character is looked at a few times, and `contains-xml` gives up
after `_MOST_PARSED`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from xml.parsers import expat

from honestone.core.checking.gave_up import GaveUp
from honestone.core.json_value import late_pattern

# A quoted attribute may hold `>`, but not `<`: XML forbids it, and a search ends at the next one.
_TAG: Final = late_pattern(
    r"""<(/?)([^\W\d][\w.:-]*)(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*+)?>|<[^\W\d][\w.:-]*/>"""
)
_VOID: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()
)
# What is in these is not HTML.
_RAW: Final = frozenset(["script", "style", "textarea", "title"])
# Names that nothing but HTML has; others (`output`, `data`, `code`) stand for something else as
# often.
_PLAIN: Final = frozenset(
    "html head body div span p a img h1 h2 h3 h4 h5 h6 ul ol li table tr td th form input button script style link meta "
    "br hr".split()
)
_ELEMENTS: Final = (
    _VOID
    | _RAW
    | _PLAIN
    | frozenset(
        "abbr address article aside audio b bdi bdo blockquote canvas caption cite code colgroup data datalist dd del "
        "details dfn dialog dl dt em fieldset figcaption figure footer header i iframe ins kbd label legend main map mark "
        "math menu meter nav noscript object optgroup option output picture pre progress q rp rt ruby s samp section "
        "select slot small strong sub summary sup svg tbody template tfoot thead time u var video".split()
    )
)
_DOCTYPE: Final = late_pattern(r"<!doctype\s+html[^<>]*>", re.IGNORECASE)
TOO_MANY: Final = "it has too many elements to look at all of them"
# Characters that are parsed to find an element with the paths asked for. Starting a parser costs as
# much as this many.
_MOST_PARSED: Final = 2_000_000
_START: Final = 100


def markup_problem(kind: str, text: str, needed: Sequence[str] = ()) -> str | None:
    """Why a text does not meet `is-html`, `contains-html`, `is-xml` or `contains-xml`; None when it
    does. `needed`: elements that the XML must have, by their path (`root.child`). Raises GaveUp
    where a bound is met.
    """
    match kind:
        case "is-html":
            return _html_problem(text)
        case "contains-html":
            return None if _has_html(text) else "no HTML in it"
        case "is-xml":
            return _xml_problem(text, needed)
    return _contains_xml_problem(text, needed)


# ------------------------------------------------------------------------------------------------------------
# HTML


def _html_problem(text: str) -> str | None:
    """An end tag ends all elements inside its own; one without a start is passed over, as browsers
    do.
    """
    text = text.strip().removeprefix("\ufeff")
    if text.startswith("<?xml"):
        return "it is XML, not HTML"
    text = _DOCTYPE.sub("", _blanked(text, "<!--", "-->"))
    path: list[str] = []
    is_open: Counter[str] = Counter()
    end, is_html = 0, False
    for tag, name, is_start in _tags(text):
        if path and path[-1] in _RAW and (is_start or name != path[-1]):
            continue
        if not path and text[end : tag.start()].strip():
            return _TEXT_OUTSIDE
        is_html = is_html or name in _ELEMENTS or "-" in name
        if is_start and name not in _VOID and not tag[0].endswith("/>"):
            path.append(name)
            is_open[name] += 1
        elif not is_start and is_open[name]:
            while (ended := path.pop()) != name:
                is_open[ended] -= 1
            is_open[name] -= 1
        end = tag.end()
    if not is_html:
        return "no element of HTML in it"
    return _TEXT_OUTSIDE if not path and text[end:].strip() else None


_TEXT_OUTSIDE: Final = "there is text outside its elements"


def _has_html(text: str) -> bool:
    """A doctype, a tag that nothing else has, or the start and the end of an element."""
    if _DOCTYPE.search(text):
        return True
    started: set[str] = set()
    for _, name, is_start in _tags(text):
        if name in _PLAIN or (not is_start and name in started):
            return True
        if is_start:
            started.add(name)
    return False


def _tags(text: str) -> Iterator[tuple[re.Match[str], str, bool]]:
    """Each tag, with the name of its element in small letters, and whether it starts it."""
    for tag in _TAG.finditer(text):
        yield tag, (tag[2] or tag[0][1:-2]).lower(), not tag[1]


def _blanked(text: str, start: str, end: str) -> str:
    """The text with spaces in the place of all that is between two marks, and of the marks."""
    parts, at = [], 0
    while (begin := text.find(start, at)) >= 0 and (
        close := text.find(end, begin + len(start))
    ) >= 0:
        parts += [text[at:begin], " " * (close + len(end) - begin)]
        at = close + len(end)
    return "".join([*parts, text[at:]])


# -------------------------------------------------------------------------------------------------------------
# XML


def _xml_problem(text: str, needed: Sequence[str]) -> str | None:
    """Why a text is not well-formed XML; None when it is, and has the elements of these paths."""
    deepest = max((path.count(".") + 1 for path in needed), default=0)
    seen: set[str] = set()
    path: list[str] = []

    def start(name: str, _attributes: object) -> None:
        path.append(name)
        if len(path) <= deepest:
            seen.add(".".join(path))

    def declared(*_: object) -> None:
        raise _EntityDeclared

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, lambda _name: path.pop()
    parser.EntityDeclHandler = declared
    try:
        parser.Parse(text.strip().encode("utf-8", "replace"), True)
    except _EntityDeclared:
        raise GaveUp("it declares entities, which are not read") from None
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code)
        return f"not XML: {why} at line {error.lineno}, column {error.offset + 1}"
    missing = [one for one in needed if one not in seen]
    return f"it has no element {', '.join(f'`{one}`' for one in missing)}" if missing else None


class _EntityDeclared(Exception):
    """Entities can make a small text a very large one."""


def _contains_xml_problem(text: str, needed: Sequence[str]) -> str | None:
    """Why no element in a text is well-formed XML; with paths, why there is not one for each root
    that has all of its own.
    """
    why_not_whole = None
    try:
        if _xml_problem(text, needed) is None:
            return None
    except GaveUp as why:
        why_not_whole = why
    wanted: dict[str, list[str]] = {} if needed else {"": []}
    for path in needed:
        wanted.setdefault(path.partition(".")[0], []).append(path)
    started: dict[str, list[int]] = {}
    problems: dict[str, str] = {}
    left = _MOST_PARSED
    for tag in _TAG.finditer(_blanked(_blanked(text, "<!--", "-->"), "<![CDATA[", "]]>")):
        name = tag[2]
        root = name if needed else ""
        if name is None or tag[0].endswith("/>") or root not in wanted:
            continue
        places = started.setdefault(name, [])
        if not tag[1]:
            places.append(tag.start())
        elif places:
            element = text[places.pop() : tag.end()]
            left -= len(element) + _START
            if left < 0:
                raise GaveUp(TOO_MANY)
            problem = _xml_problem(element, wanted[root])
            if problem is not None:
                problems[root] = problem
                continue
            del wanted[root]
            if not wanted:
                return None
    if why_not_whole is not None:
        raise why_not_whole
    root = next(iter(wanted))
    return problems.get(root, f"it has no element `{root}`" if root else "no XML element in it")
