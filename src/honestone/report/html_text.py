"""Outside text inside an HTML page: escaped, bounded, and with the quotes of the judges marked in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from honestone.core.reading.evidence import find_quote
from honestone.report.draw import clean, line

LONGEST: Final = 200_000  # characters of one text
ALL_TEXTS: Final = 48_000_000  # characters of all of them: more is no page that a browser can use
MOST_MARKS: Final = 400  # in one text


def esc(text: object) -> str:
    """Text for an element or a quoted attribute: no markup, and nothing that a reader cannot see."""
    return escape(clean(text), quote=True)


def esc_line(text: object, limit: int | None = None) -> str:
    return escape(line(text, limit), quote=True)


def anchor_of(case_id: object) -> str:
    """The name by which a page links to a case, the same in `id` and `href`: `case-fine`, `case-two%20words`."""
    return "case-" + quote(str(case_id), safe="", errors="backslashreplace")


def longest_text(sizes: Iterable[int]) -> int:
    """How long one text may be, so that all of them together fit: short ones whole, long ones cut to one length."""
    ordered = sorted(min(size, LONGEST) for size in sizes)
    room = ALL_TEXTS
    for index, size in enumerate(ordered):
        left = len(ordered) - index
        if size * left > room:
            return max(room // left, 1)
        room -= size
    return LONGEST


# --------------------------------------------------------------------------------------------------------------- marks


@dataclass(slots=True)
class Span:
    """A part of a text that judges quote, by their numbers; `id` is where a link to it goes."""

    start: int
    end: int
    id: str
    judges: set[int] = field(default_factory=set)


class Marks:
    """The quotes found in one text. The same words quoted twice are one span."""

    def __init__(self, text: str, prefix: str) -> None:
        self.text = text
        self._prefix = prefix
        self._spans: dict[tuple[int, int], Span] = {}

    def add(self, words: str, judge: int) -> str | None:
        """The id of the place where the words stand, exactly or but for white space and signs; None when nowhere."""
        found = find_quote(words, self.text)
        if found is None:
            return None
        place = (found.start, found.end)
        if place not in self._spans:
            if len(self._spans) >= MOST_MARKS:
                return None
            self._spans[place] = Span(*place, f"{self._prefix}-{len(self._spans) + 1}")
        self._spans[place].judges.add(judge)
        return self._spans[place].id

    def html(self, name_of: Callable[[int], str]) -> str:
        """The text with its spans in `<mark>`, each followed by the number of its judges."""
        if not self._spans:
            return esc(self.text)
        spans = sorted(self._spans.values(), key=lambda span: (span.start, -span.end))
        cuts = sorted({0, len(self.text), *(end for span in spans for end in (span.start, span.end))})
        out = []
        for start, end in pairwise(cuts):
            over = [span for span in spans if span.start <= start and end <= span.end]
            piece = esc(self.text[start:end])
            out.append(self._marked(piece, over, start, end, name_of) if over else piece)
        return "".join(out)

    @staticmethod
    def _marked(piece: str, over: Sequence[Span], start: int, end: int, name_of: Callable[[int], str]) -> str:
        judges = sorted(set().union(*(span.judges for span in over)))
        beginning = [span.id for span in over if span.start == start]
        ended = sorted(set().union(*(span.judges for span in over if span.end == end)))
        look = f"j{color(judges[0])}" if len(judges) == 1 else "many"
        id_of = f' id="{beginning[0]}"' if beginning else ""
        others = "".join(f'<span id="{one}"></span>' for one in beginning[1:])
        title = esc_line("quoted by " + ", ".join(map(name_of, judges)))
        tail = "".join(who(one) for one in ended)
        return f'{others}<mark{id_of} class="{look}" title="{title}">{piece}</mark>{tail}'


def color(judge: int) -> int:
    """One of six; the number beside it tells judges apart where the colours repeat or cannot be seen."""
    return (judge - 1) % 6 + 1


def who(judge: int) -> str:
    """The little number of a judge, for the eye only: its name stands in a title or beside it."""
    return f'<span class="who j{color(judge)}" aria-hidden="true">{judge}</span>'
