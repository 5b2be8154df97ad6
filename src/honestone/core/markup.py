"""Whether a text is HTML or XML, or holds some. Nothing is fetched and no entity is expanded, and the time that it takes
grows with the length of the text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from xml.parsers import expat

_TAG: Final = re.compile(r"""<(/?)([A-Za-z][\w.:-]*)(?:\s(?:[^<>"']|"[^"<]*"|'[^'<]*')*+)?>|<[A-Za-z][\w.:-]*/>""")
_VOID: Final = frozenset("area base br col embed hr img input link meta param source track wbr".split())
# Names that nothing but HTML has; others (`output`, `data`, `code`) stand for something else as often.
_PLAIN: Final = frozenset(
    "html head body div span p a img h1 h2 h3 h4 h5 h6 ul ol li table tr td th form input button script style link meta "
    "br hr".split()
)
_ELEMENTS: Final = (
    _VOID
    | _PLAIN
    | frozenset(
        "abbr address article aside audio b bdi bdo blockquote canvas caption cite code colgroup data datalist dd del "
        "details dfn dialog dl dt em fieldset figcaption figure footer header i iframe ins kbd label legend main map mark "
        "math menu meter nav noscript object optgroup option output picture pre progress q rp rt ruby s samp section "
        "select slot small strong sub summary sup svg tbody template textarea tfoot thead time title u var video".split()
    )
)
_DOCTYPE: Final = re.compile(r"<!doctype\s+html[^<>]*>", re.IGNORECASE)
TOO_MANY: Final = "it has too many elements to look at all of them"
# Characters of elements that are looked at in search of one that has what is asked for.
_MOST_LOOKED_AT: Final = 20_000_000


def markup_problem(kind: str, text: str, needed: Sequence[str] = ()) -> str | None:
    """Why a text does not meet `is-html`, `contains-html`, `is-xml` or `contains-xml`; None when it does. `needed`: elements
    that the XML must have, by their path (`root.child`)."""
    match kind:
        case "is-html":
            return _html_problem(text)
        case "contains-html":
            return None if _has_html(text) else "no HTML in it"
        case "is-xml":
            return _xml_problem(text, needed)
    return _contains_xml_problem(text, needed)


def _html_problem(text: str) -> str | None:
    """Why a text is not HTML; None when it is: an element of HTML at least, and no words outside of elements."""
    if text.lstrip().startswith("<?xml"):
        return "it is XML, not HTML"
    text = _DOCTYPE.sub("", _without_comments(text))
    depth, end, is_html = 0, 0, False
    for tag, name, is_start in _tags(text):
        if depth == 0 and text[end : tag.start()].strip():
            return "words stand outside of its elements"
        is_html = is_html or name in _ELEMENTS or "-" in name
        if name not in _VOID and not tag[0].endswith("/>"):
            depth = depth + 1 if is_start else max(0, depth - 1)
        end = tag.end()
    if not is_html:
        return "no element of HTML in it"
    return "words stand outside of its elements" if depth == 0 and text[end:].strip() else None


def _has_html(text: str) -> bool:
    """Whether a text holds HTML: a doctype, a tag that nothing else has, or the start and the end of an element."""
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


def _without_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join(parts) + text[at:]


def _xml_problem(text: str, needed: Sequence[str]) -> str | None:
    """Why a text is not well-formed XML; None when it is, and has the elements of these paths (`root.child`)."""
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
        return "it declares entities, which are not read"
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code)
        return f"not XML: {why} at line {error.lineno}, column {error.offset + 1}"
    missing = [one for one in needed if one not in seen]
    return f"it has no element {', '.join(f'`{one}`' for one in missing)}" if missing else None


class _EntityDeclared(Exception):
    """Entities can make a small text a very large one."""


def _contains_xml_problem(text: str, needed: Sequence[str]) -> str | None:
    """Why no element in a text is well-formed XML with these elements; None when one is."""
    started: dict[str, list[int]] = {}
    roots = {path.partition(".")[0] for path in needed}
    problem, left = "no XML element in it", _MOST_LOOKED_AT
    for tag in _TAG.finditer(text):
        name = tag[2]
        if name is None or tag[0].endswith("/>") or (roots and name not in roots):
            continue
        places = started.setdefault(name, [])
        if not tag[1]:
            places.append(tag.start())
        elif places:
            element = text[places.pop() : tag.end()]
            left -= len(element)
            if left < 0:
                return TOO_MANY
            found = _xml_problem(element, needed)
            if found is None:
                return None
            problem = found
    return problem
