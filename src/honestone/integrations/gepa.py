"""An evaluator for GEPA (`pip install "honestone[gepa]"`): candidates are scored by a rubric.

    from gepa.optimize_anything import EngineConfig, GEPAConfig, optimize_anything
    from honestone.integrations.gepa import RubricEvaluator

    evaluator = RubricEvaluator("rubric.yaml", judges=["claude:haiku"], max_calls=200)
    found = optimize_anything(
        seed_candidate=text,
        evaluator=evaluator,
        config=GEPAConfig(engine=EngineConfig(parallel=False), stop_callbacks=[evaluator.is_spent]),
    )

GEPA chooses the highest of many noisy scores, which is too high for that reason alone. So the
winner is certified by judges that it was not optimised against: `honestone eval best.md -r
rubric.yaml --judge claude:haiku --holdout OTHER --sure 95`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final, NamedTuple, Unpack

from msgspec import Struct

from honestone.api import evaluate
from honestone.app.doors.given import GivenRubric, Judges
from honestone.app.judging.evaluated import Evaluated
from honestone.app.keywords import JudgingKeywords
from honestone.core.errors import CouldNotJudge
from honestone.core.judging.rubric import LEAST_LOOKS
from honestone.report.documents.scorecard import CriterionDoc, UsageDoc

# What an optimiser needs to know of a candidate is less than what a certificate needs.
SURE: Final = 80.0
MAX_LOOKS: Final = 6


class CandidateScore(NamedTuple):
    """What `gepa.optimize` asks of an evaluator: score and objectives from 0 to 1, and reasons."""

    score: float
    feedback: str
    objective_scores: dict[str, float]


class _Asked(NamedTuple):
    """What is judged; equal ones are judged once."""

    text: str
    input: str | None
    reference: str | None


class _Grant(NamedTuple):
    """What one text may cost: calls, and US dollars where these are limited. `is_part`: more money was
    left, which other texts may need meanwhile.
    """

    calls: int
    usd: float | None
    is_part: bool = False


class _Budget(Struct):
    """Judge calls and US dollars of all candidates together; None: not limited. What is granted to
    texts under way (`granted` of them) counts as used until it is known what they took. `dearest`:
    the most that a call of a text cost on average, None before the first one with a price.
    """

    max_calls: int | None
    max_usd: float | None
    calls: int = 0
    usd: float = 0.0
    granted: int = 0
    held_usd: float = 0.0
    dearest: float | None = None

    @property
    def calls_left(self) -> int | None:
        return None if self.max_calls is None else self.max_calls - self.calls

    @property
    def usd_left(self) -> float | None:
        return None if self.max_usd is None else self.max_usd - self.usd - self.held_usd

    def has(self, calls: int) -> bool:
        """Whether so many calls, and any money, are left."""
        calls_left, usd_left = self.calls_left, self.usd_left
        return (calls_left is None or calls_left >= calls) and (usd_left is None or usd_left > 0.0)

    def grant(self, most_calls: int) -> _Grant:
        """For one text at most so many calls, and what they cost by the dearest text so far; all
        the money that is left before a price is known.
        """
        calls = most_calls if self.calls_left is None else min(most_calls, self.calls_left)
        left = usd = self.usd_left
        if usd is not None and self.dearest is not None:
            usd = min(usd, self.dearest * calls)
        self.granted += 1
        self.calls += calls
        self.held_usd += usd or 0.0
        return _Grant(calls, usd, is_part=usd != left)

    def settle(self, grant: _Grant, calls: int, usd: float) -> None:
        """What a text took of its grant."""
        self.granted -= 1
        self.calls += calls - grant.calls
        self.held_usd -= grant.usd or 0.0
        self.usd += usd
        if calls and usd:
            self.dearest = max(self.dearest or 0.0, usd / calls)


class RubricEvaluator:
    """Scores candidates by a rubric. Give it to `optimize_anything` as `evaluator`, its
    `of_response` to `gepa.optimize`, and its `is_spent` to either as a stop callback.

    `rubric`, `judges`, `folder`, `store` and the other options are those of `honestone.evaluate`.
    Of each text two judges are asked, and then more, one look at a time, until it is `sure` percent
    certain whether the contract is met (80), or `max_looks` (6) are used. `max_calls` and `max_usd`
    limit all candidates together. A text that was judged before costs nothing.
    """

    def __init__(
        self,
        rubric: GivenRubric,
        *,
        judges: Judges,
        folder: str | PathLike[str] | None = None,
        store: str | PathLike[str] | None = None,
        **options: Unpack[JudgingKeywords],
    ) -> None:
        self._rubric, self._judges = rubric, judges
        self._folder, self._store = folder, store
        self._budget = _Budget(options.pop("max_calls", None), options.pop("max_usd", None))
        options.setdefault("sure", SURE)
        self._max_looks = options.setdefault("max_looks", MAX_LOOKS) or MAX_LOOKS
        self._options = options
        self._known: dict[_Asked, Evaluated] = {}
        self._inputs: set[tuple[str | None, str | None]] = set()
        self._lock = threading.Condition()

    @property
    def calls(self) -> int:
        """Judge calls so far."""
        return self._budget.calls

    @property
    def usd(self) -> float:
        """US dollars so far, as far as prices are known."""
        return self._budget.usd

    def __call__(
        self, candidate: str | Mapping[str, str], example: object = None
    ) -> tuple[float, dict[str, Any]]:
        """The expected score (0-1) of a candidate, and what a reflecting model reads about it.
        `example` is what the text answers: a text, or a mapping with `input` and `answer`.

        Raises CouldNotJudge where no judge or a check gave no answer, or the budget is used up.
        """
        found = self._evaluation(_Asked(_text_of(candidate), *_input_of(example)))
        return found.score, {"scores": found.objective_scores, "Feedback": found.feedback}

    def of_response(self, data: Mapping[str, Any], response: str) -> CandidateScore:
        """The same of what a model replied to an example of `gepa.optimize`."""
        return self._evaluation(_Asked(response, *_input_of(data)))

    def is_spent(self, state: object = None) -> bool:
        """Whether less is left than one more candidate may need."""
        return not self._budget.has(self._max_looks * max(len(self._inputs), 1))

    def _evaluation(self, asked: _Asked) -> CandidateScore:
        found = self._judged(asked)
        expected = found.expected
        if expected is None:
            raise CouldNotJudge(
                f"the candidate could not be judged: {found.error or found.verdict}"
            )
        return CandidateScore(
            score=expected.overall / 100.0,
            feedback="\n".join([*found.report.belief_words, *_reasons(found.report.criteria)]),
            objective_scores=_objectives(found.report.criteria, expected.criteria),
        )

    def _judged(self, asked: _Asked) -> Evaluated:
        with self._lock:
            self._inputs.add((asked.input, asked.reference))
            if asked in self._known:
                return self._known[asked]
            grant = self._take()
        found, calls = self._evaluated(asked, grant)
        # A text that costs more than those before it: its looks are on record, so that what is
        # granted again pays for the missing ones alone.
        while self._was_cut_off(found, grant, calls):
            with self._lock:
                grant = self._take()
            found, calls = self._evaluated(asked, grant)
        with self._lock:
            # What no judge answered is asked again: the reason may have passed.
            if found.expected is not None:
                self._known[asked] = found
        return found

    def _was_cut_off(self, found: Evaluated, grant: _Grant, calls: int) -> bool:
        """Whether a text is open because its part of the money was used up."""
        is_open = found.verdict == "inconclusive" and 0 < calls < grant.calls
        return is_open and grant.is_part and not self._options.get("fresh")

    def _evaluated(self, asked: _Asked, grant: _Grant) -> tuple[Evaluated, int]:
        """What is found for a grant, and how many calls it took."""
        usage = UsageDoc(judge_calls=grant.calls)
        try:
            found = evaluate(
                asked.text,
                self._rubric,
                judges=self._judges,
                input=asked.input,
                reference=asked.reference,
                folder=self._folder,
                store=self._store,
                **self._limited(grant),
            )
            usage = found.report.usage or UsageDoc()
        finally:
            with self._lock:
                self._budget.settle(grant, usage.judge_calls, usage.usd or 0.0)
                self._lock.notify_all()
        return found, usage.judge_calls

    def _take(self) -> _Grant:
        """What one text may cost. Waits where texts under way hold what is left: most of it comes
        back.
        """
        while not self._budget.has(LEAST_LOOKS):
            if not self._budget.granted:
                raise CouldNotJudge(
                    "the budget of the evaluator is used up",
                    hint="give its `is_spent` to GEPA as a stop callback, or raise max_calls or max_usd",
                )
            self._lock.wait()
        return self._budget.grant(self._max_looks)

    def _limited(self, grant: _Grant) -> JudgingKeywords:
        limits = self._options.copy()
        limits["max_calls"] = grant.calls
        if grant.usd is not None:
            limits["max_usd"] = grant.usd
        return limits


def _text_of(candidate: str | Mapping[str, str]) -> str:
    """A candidate of several parts is judged as one text, each under its name."""
    if isinstance(candidate, str):
        return candidate
    if len(candidate) == 1:
        return next(iter(candidate.values()))
    return "\n\n".join(f"# {name}\n\n{text}" for name, text in candidate.items())


def _input_of(example: object) -> tuple[str | None, str | None]:
    """What a text answers, and the answer that is known to be right."""
    if isinstance(example, Mapping):
        input, answer = example.get("input"), example.get("answer")
        return (None if input is None else str(input)), (None if answer is None else str(answer))
    return (None if example is None else str(example)), None


def _objectives(
    criteria: Sequence[CriterionDoc], expected: Mapping[str, float]
) -> dict[str, float]:
    """Each criterion's expected score (0-1), higher is better: a penalty's is turned round."""
    penalties = {one.id for one in criteria if one.is_penalty}
    return {
        id: 1.0 - points / 100.0 if id in penalties else points / 100.0
        for id, points in expected.items()
    }


def _reasons(criteria: Sequence[CriterionDoc]) -> list[str]:
    """What lowers the score, with what a judge suggests."""
    return [
        f"{'incurred' if one.is_penalty else 'not met'}: {item.asked}"
        + (f" ({item.suggestion})" if item.suggestion else "")
        for one in criteria
        for item in one.items
        if item.is_problem
    ]
