"""Lists whose entries are made when they are asked for: they behave as the list that they stand for,
or say that they do not change.
"""

from __future__ import annotations

import pytest

from honestone.formats.syntax.json_nodes import _Drawn


def test_a_drawn_list_is_read_like_a_list() -> None:
    drawn, plain = _Drawn(3, lambda number: number * 2), [0, 2, 4]
    assert list(reversed(drawn)) == [4, 2, 0]
    more = [6]
    assert drawn + more == plain + more and more + drawn == more + plain
    assert drawn * 2 == plain * 2
    assert drawn.copy() == plain and repr(drawn) == repr(plain)
    assert drawn.count(2) == 1 and drawn.index(4) == 2


def test_a_drawn_list_is_not_changed() -> None:
    drawn = _Drawn(3, lambda number: number)
    for change in (lambda: drawn.append(1), drawn.sort, drawn.clear, lambda: drawn.pop()):
        with pytest.raises(TypeError, match="never changed"):
            change()
