"""The quotes of the judges marked in a text, and how much text a page may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup
from msgspec import Struct, field

from honestone.core.reading.evidence import find_quote
from honestone.report.documents.scorecard import QuoteDoc
from honestone.report.pages.judged_texts.exact_text import exact_markup
from honestone.report.pages.part_of import PartOf

LONGEST: Final = 200_000  # characters of one text
ALL_TEXTS: Final = (
    48_000_000  # characters of all of them: more is not a page that a browser can use
)
MOST_MARKS: Final = 400  # in one text


def longest_text(sizes: Iterable[int]) -> int:
    """How long one text may be, so that all of them together fit: short ones whole, long ones cut
    to one length.
    """
    ordered = sorted(min(size, LONGEST) for size in sizes)
    left_over = ALL_TEXTS
    for index, size in enumerate(ordered):
        left = len(ordered) - index
        if size * left > left_over:
            return max(left_over // left, 1)
        left_over -= size
    return LONGEST


class _Span(Struct):
    """Words of a text that judges quote, by their numbers; `id` is where a link to it goes."""

    start: int
    end: int
    id: str
    judges: set[int] = field(default_factory=set)


class Piece(Struct, frozen=True, kw_only=True):
    """`text[start:end]` of a marked text: `look` is empty where no judge quotes it; the spans of
    `ids`
    begin here.

    `shown`: the text as a page shows it, code point for code point. `ended`: judges whose quote
        ends here. `back`: the span whose quote it leads back to.
    """

    text: str
    start: int
    end: int
    look: str = ""
    title: str = ""
    ids: tuple[str, ...] = ()
    ended: tuple[int, ...] = ()
    back: str = ""

    @property
    def shown(self) -> Markup:
        return exact_markup(self.text)

    @property
    def signature(self) -> str:
        """The numbers of the judges whose quote ends here: `1 3`."""
        return " ".join(map(str, self.ended))


class Marks:
    """The quotes found in one text, which begins at `offset` in the whole of it. The same words
    quoted twice are one span.
    """

    def __init__(self, text: str, prefix: str, offset: int = 0) -> None:
        self.text = text
        self._offset = offset
        self._prefix = prefix
        self._spans: dict[tuple[int, int], _Span] = {}

    def add(self, words: str, judge: int) -> str | None:
        """The id of the place that holds the words, exactly or but for white space and signs; None
        when there is none.
        """
        found = find_quote(words, self.text)
        if found is None:
            return None
        place = (found.start, found.end)
        if place not in self._spans:
            if len(self._spans) >= MOST_MARKS:
                return None
            self._spans[place] = _Span(*place, f"{self._prefix}-{len(self._spans) + 1}")
        self._spans[place].judges.add(judge)
        return self._spans[place].id

    def pieces(self, name_of: Callable[[int], str]) -> list[Piece]:
        """The text from its beginning to its end, cut wherever a span begins or ends."""
        spans = sorted(self._spans.values(), key=lambda span: (span.start, -span.end))
        cuts = sorted(
            {0, len(self.text), *(end for span in spans for end in (span.start, span.end))}
        )
        return [
            self._piece(
                start,
                end,
                [span for span in spans if span.start <= start and end <= span.end],
                name_of,
            )
            for start, end in pairwise(cuts)
        ]

    def _piece(
        self, start: int, end: int, over: list[_Span], name_of: Callable[[int], str]
    ) -> Piece:
        if not over:
            return Piece(
                text=self.text[start:end], start=self._offset + start, end=self._offset + end
            )
        judges = sorted(set().union(*(span.judges for span in over)))
        return Piece(
            text=self.text[start:end],
            start=self._offset + start,
            end=self._offset + end,
            look=f"j{color(judges[0])}" if len(judges) == 1 else "many",
            title="quoted by " + ", ".join(map(name_of, judges)),
            ids=tuple(span.id for span in over if span.start == start),
            ended=tuple(sorted(set().union(*(span.judges for span in over if span.end == end)))),
            back=over[-1].id,
        )


class MarkedText:
    """A text in which the quotes of judges are marked as the answers are drawn; so these are drawn
    first.

    `names` are the judges, numbered from 1 on; `longest`: how much of the text the page holds,
    `part`: which part of it.
    """

    def __init__(
        self,
        text: str,
        prefix: str,
        *,
        names: Sequence[str],
        longest: int,
        of: str = "output",
        part: PartOf | None = None,
    ) -> None:
        self.text = text
        self._names = names
        self.numbers = {name: number for number, name in enumerate(names, 1)}
        self.of = of
        start, end = part.span(len(text), longest) if part else (0, longest)
        self._longest, self._has_parts = longest, part is not None
        self._marks = Marks(text[start:end], prefix, start)
        self._linked: set[str] = set()

    def find(self, one: QuoteDoc) -> tuple[int | None, str | None, str, str]:
        """(number of the judge, place in the text, else what is known of it, class) of a quote."""
        number = self.numbers.get(one.judge)
        place = self._marks.add(one.quote, number) if number else None
        if number and place is None:
            if (where := self._elsewhere(one)) is not None:
                return number, None, where, "soft"
            if one.found is False:
                return number, None, f"not in the {self.of}", "absent"
        return number, place, "", "soft"

    def find_shared(self, quotes: Sequence[QuoteDoc]) -> tuple[list[int], str | None, str, str]:
        """The same of equal quotes: (numbers of the judges, place, else what is known, class)."""
        found = [self.find(one) for one in quotes]
        numbers = [number for number, *_ in found if number is not None]
        best = next((one for one in found if one[1] is not None), found[0])
        return list(dict.fromkeys(numbers)), *best[1:]

    def _elsewhere(self, one: QuoteDoc) -> str | None:
        """Where in the text a quote is that is not in this part of it; None where it is not in the
        text.
        """
        found = find_quote(one.quote, self.text) if len(self.text) > len(self._marks.text) else None
        if found is not None and self._has_parts:
            return f"in part {found.start // self._longest + 1} of the {self.of}"
        return "in what is not marked here" if found is not None or one.found else None

    def is_first(self, place: str) -> bool:
        """Whether no quote of that place was asked about before: it is the one that the mark leads
        back to.
        """
        is_new = place not in self._linked
        self._linked.add(place)
        return is_new

    @property
    def pieces(self) -> list[Piece]:
        return self._marks.pieces(lambda number: self._names[number - 1])


def color(judge: int) -> int:
    """One of six; the number of the judge tells them apart where the colours repeat or cannot be
    seen.
    """
    return (judge - 1) % 6 + 1
