"""What people say of artifacts: labels, the answers that judges are measured against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from honestone.core.judging.ballot import NOT_APPLICABLE, Answer, answer_problem
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorer import is_na, share

# The rater of labels that do not name one.
SOMEBODY: Final = "person"

# The columns of a table of labels that are not about a criterion.
COLUMNS: Final = ("artifact", "rater")
_WORDS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("yes", "y", "true"), True),
    **dict.fromkeys(("no", "n", "false"), False),
}
# Numbers that mean the same: a share, or points.
_YES_OR_NO: Final[Mapping[float, bool]] = {0: False, 1: True, 100: True}


class LabelTarget(Struct, frozen=True, kw_only=True):
    """What one label is about: an item that judges answer, or with `item` None a criterion that has
    several.

    A criterion as a whole is labelled with yes or no, or with points from 0 to 100.
    """

    criterion: Criterion
    item: Item | None

    @property
    def key(self) -> Key:
        """The criterion and the item; the item is empty for a criterion as a whole."""
        return self.criterion.id, "" if self.item is None else self.item.id

    @property
    def name(self) -> str:
        """The column of a table of labels. A criterion that is called like one of the table's own
        is named with its item.
        """
        if self.item is None or (
            len(self.criterion.items) == 1 and self.criterion.id not in COLUMNS
        ):
            return self.criterion.id
        return f"{self.criterion.id}/{self.item.id}"

    @property
    def choices(self) -> str:
        """The values that a label may have, in words."""
        if self.item is None:
            return "yes, no, or points from 0 to 100"
        if self.item.anchors is not None:
            low, high = (
                float(end) for end in (self.item.anchors.lowest, self.item.anchors.highest)
            )
            words = f"a number from {low:g} to {high:g}"
        else:
            words = "yes or no"
        return f'{words}, or "n/a"' if self.item.may_not_apply else words

    @property
    def is_scale(self) -> bool:
        """Whether it has more values than yes and no."""
        return self.item is None or self.item.anchors is not None

    @property
    def is_reversed(self) -> bool:
        """Whether it asks for what should not be: then yes, or the highest level, is bad."""
        return self.item is not None and (self.criterion.is_penalty or self.criterion.negate)

    def share(self, answer: Answer) -> float | None:
        """An answer as 0-1, 1 is good; None where it does not apply."""
        if is_na(answer):
            return None
        if self.item is None:
            return float(answer) / (1 if isinstance(answer, bool) else 100)
        found = float(share(self.item, answer))
        return 1 - found if self.is_reversed else found

    def read(self, value: bool | int | float | str) -> Answer:
        """The answer that was meant. Raises ValueError in words for every other value."""
        if isinstance(value, str) and value.strip().casefold() == NOT_APPLICABLE:
            given: Answer = NOT_APPLICABLE
        else:
            given = self._known(value)
        if self.item is None:
            is_points = not isinstance(given, bool | str) and 0 <= given <= 100
            problem = (
                None if isinstance(given, bool) or is_points else f"{given!r} is not a value for it"
            )
        else:
            problem = answer_problem(self.item, given)
        if problem is not None:
            raise ValueError(problem)
        return given

    def _known(self, value: bool | int | float | str) -> bool | int | float:
        if isinstance(value, str):
            word = value.strip().casefold()
            if word in _WORDS:
                return _WORDS[word]
            number = number_of(word)
            if number is None:
                raise ValueError(f"{value.strip()[:40]!r} is not a value for it")
            value = int(number) if number.is_integer() else number
        if not isinstance(value, bool) and self.item is not None and self.item.anchors is None:
            return _YES_OR_NO.get(value, value)
        return value


class PersonLabel(Struct, frozen=True, kw_only=True):
    """One answer of one person. `artifact` is a path as the labels file has it. `digest` is that of
    the bytes that were labelled, None where the file does not say; `line` is where it is in the
    file, 0 for one that is in no file.
    """

    artifact: str
    rater: str
    key: Key
    answer: Answer
    digest: str | None = None
    line: int = 0


class LabelQuote(Struct, frozen=True, kw_only=True):
    """Words of the text that decided a label. `start`, `end`: code points of the text that was
    labelled, None where it does not hold them.
    """

    quote: str
    start: int | None = None
    end: int | None = None


class GivenLabel(Struct, frozen=True, kw_only=True):
    """One answer as a person gave it, with what was said about it; `answer` None is a skip.

    `rubric`: a digest of what was asked. `run`, `case`, `attempt`: where the text is from, if from
        a run. `at` is a moment in UTC, `seconds` how long the person took, `line` the place in the
        file, 0 for one that is in none yet.
    """

    artifact: str
    rater: str
    key: Key
    answer: Answer | None
    digest: str | None = None
    rubric: str | None = None
    run: str | None = None
    case: str | None = None
    attempt: int | None = None
    evidence: tuple[LabelQuote, ...] = ()
    note: str = ""
    at: str | None = None
    seconds: float | None = None
    line: int = 0


def targets_of(rubric: Rubric) -> dict[str, LabelTarget]:
    """All that can be labelled, by name: each item that judges answer, and each criterion that has
    several.

    A criterion with one item has the criterion's name, and the name with the item too.
    """
    targets: dict[str, LabelTarget] = {}
    for criterion, _ in rubric.walk():
        asked = [item for item in criterion.items if item.check is None]
        if len(criterion.items) == 1 and asked:
            targets[criterion.id] = LabelTarget(criterion=criterion, item=asked[0])
        elif asked:
            targets[criterion.id] = LabelTarget(criterion=criterion, item=None)
        for item in asked:
            targets.setdefault(
                f"{criterion.id}/{item.id}", LabelTarget(criterion=criterion, item=item)
            )
    return targets


def number_of(text: str) -> float | None:
    """A finite number as people and programs write it; None for other text."""
    try:
        number = float(text) if "_" not in text else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None
