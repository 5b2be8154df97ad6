"""From which probabilities on the policies by belief ask for looks, and say PASSED."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from honestone.core.editing.result import LEAST_STATED
from honestone.core.judging.rubric import Rubric


class Bars(msgspec.Struct, frozen=True):
    """Probabilities. From `consult` it is worth asking a held-out judge, and from `open_at_end` it is
    worth any further look when no edit follows. A version is PASSED from `sure`; from `end` when
    neither an edit nor a further look follows. `looks`: how many certify one version. `is_modest`: further looks
    tell too little to be asked for above `end`.
    """

    consult: float
    open_at_end: float
    sure: float
    end: float
    looks: int
    is_modest: bool = False

    @property
    def enough_at_end(self) -> float:
        """From where on no further look is bought when no edit follows."""
        return self.end if self.is_modest else self.sure

    def asked(self, rubric: Rubric) -> Bars:
        """With what the rubric asks for in place of the defaults."""
        if rubric.sure is None:
            return self
        sure = float(rubric.sure)
        return replace(self, sure=sure, end=sure, looks=rubric.max_looks or self.looks)


# Half of what a judge is wrong by on a scale stays when it is asked again, so that a version of which
# no edit follows is PASSED as soon as that may be said. Before an edit 95 % takes a call more a run and
# brings nothing (decision 46).
ON_A_SCALE: Final = Bars(
    consult=0.15, open_at_end=0.15, sure=0.93, end=LEAST_STATED, looks=9, is_modest=True
)
YES_OR_NO: Final = Bars(consult=0.15, open_at_end=0.01, sure=0.95, end=LEAST_STATED, looks=16)
