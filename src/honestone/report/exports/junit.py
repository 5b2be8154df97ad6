"""Reports as JUnit XML, for the test tab of a CI.

Of artifacts: one suite an artifact, one testcase an item, and one for the gate. Of a suite's run:
one testcase a case, and one for the gate where a baseline, a pass rate or `sure` decides; when that
passes, a case that did not is `skipped`. `failure` is what failed or is not met, `error` what could not be
judged, `skipped` what does not apply or was not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, TypeAlias

from jinja2 import Environment
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from honestone.core.json_value import late_pattern
from honestone.report.building.table import column_reports
from honestone.report.case_text import case_lines
from honestone.report.documents import scorecard
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.findings import with_all_looks
from honestone.report.documents.improvement import ImprovementDoc
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.documents.table import TableDoc
from honestone.report.misses import why as words_of
from honestone.report.templates import environment, in_pieces
from honestone.system.drawing import clean, count, line

_Outcome: TypeAlias = Literal["passed", "failure", "error", "skipped"]

# Of verdicts, statuses of cases and results of loops.
_OUTCOMES: Final[dict[str, _Outcome]] = {
    **dict.fromkeys(("pass", "passed", "PASSED"), "passed"),
    **dict.fromkeys(("fail", "failed"), "failure"),
    **dict.fromkeys(
        ("inconclusive", "target-error", "UNCONFIRMED", "COULD_NOT_JUDGE", "INTERRUPTED"), "error"
    ),
    "skipped": "skipped",
}

LONGEST_OUTPUT: Final = 4000


class _Test(Struct, frozen=True, kw_only=True):
    """One testcase: `message` says in a line why it did not pass, `details` the rest; `known` are
    properties.
    """

    classname: str
    name: str
    outcome: _Outcome
    message: str = ""
    details: str = ""
    seconds: float = 0.0
    known: Sequence[tuple[str, str]] = ()


class _Suite(Struct, frozen=True):
    """A testsuite. `outline` has what is counted of its tests, which come one at a time; `known`
    are properties.
    """

    name: str
    outline: Sequence[_Test]
    tests: Iterable[_Test]
    known: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, name: str, tests: Sequence[_Test], known: Sequence[tuple[str, str]] = ()) -> _Suite:
        return cls(name, tests, tests, known)

    @property
    def forgiven(self) -> _Suite:
        """The same in a run that passed: what did not pass is `skipped`, and a CI that counts
        failures agrees with the exit code.
        """
        return replace(
            self, outline=[_forgiven(one) for one in self.outline], tests=map(_forgiven, self.tests)
        )

    def ending_with(self, test: _Test) -> _Suite:
        return replace(self, outline=[*self.outline, test], tests=chain(self.tests, [test]))


def scorecards_junit(docs: Sequence[scorecard.ScorecardDoc]) -> str:
    """Scorecards as XML: `failure` for unmet, `error` for what could not be judged, `skipped` for
    not applicable.
    """
    return _suites_xml(
        [
            _Suite.of(
                doc.artifact.name,
                _scorecard_tests(doc),
                [*_sure(doc.belief), *_known(doc.flags, doc.judges, doc.warnings)],
            )
            for doc in docs
        ]
    )


def improvement_junit(doc: ImprovementDoc) -> str:
    """A loop as XML: its final scorecard, and a case `result` that fails when a limit ended it."""
    path = doc.artifact.name
    tests = _scorecard_tests(replace(doc.last_card, artifact=doc.artifact)) if doc.last_card else []
    result = _Test(
        classname=path,
        name="result",
        outcome=_OUTCOMES.get(doc.result, "failure"),
        message=doc.result_words + (f": {line(doc.reason)}" if doc.reason else ""),
    )
    card = doc.last_card
    known = _known(doc.last_flags, card.judges, card.warnings) if card else _known(doc.last_flags)
    known = [*_sure(doc.belief), *known]
    return _suites_xml([_Suite.of(path, [*tests, result], known)])


def suite_junit(doc: SuiteReportDoc) -> str:
    """One run of a suite (`honestone.report/1`)."""
    return "".join(junit_parts(SuiteReport.of(doc)))


def junit_parts(report: SuiteReport) -> Iterator[str]:
    """The same case by case."""
    return _xml_parts([_suite_tests(report)])


def table_junit(doc: TableDoc) -> str:
    """A suite for each column (`honestone.table/1`). Where one is to be picked, a gate passes when
    a column does, and what the others failed is `skipped`.
    """
    suites = [_suite_tests(SuiteReport.of(one)) for one in column_reports(doc)]
    if doc.pick is not None:
        suites = [one.forgiven for one in suites]
    if doc.picks:
        message = f"picked {line(doc.pick)}" if doc.pick is not None else "no column passes"
        outcome = _OUTCOMES.get(doc.verdict, "error")
        suites.append(
            _Suite.of(
                doc.name, [_Test(classname=doc.name, name="gate", outcome=outcome, message=message)]
            )
        )
    return _suites_xml(suites)


def _suite_tests(report: SuiteReport) -> _Suite:
    doc = report.brief()
    known = [*_sure(doc.belief), *_known(doc.shared_flags, doc.judge_states, doc.warnings)]
    known += [("left-out", str(doc.left_out))] if doc.left_out else []
    outline = [
        _Test(classname="", name="", outcome=_OUTCOMES[case.status], seconds=_seconds(case))
        for case in doc.cases
    ]
    suite = _Suite(doc.name, outline, (_case_test(case, doc.name) for case in report.cases), known)
    is_asked_on = doc.belief is not None and doc.belief.target is not None
    if doc.compared is None and doc.least_rate in (None, 1) and not is_asked_on:
        return suite
    gate = _suite_gate(doc)
    return (suite.forgiven if gate.outcome == "passed" else suite).ending_with(gate)


def _suite_gate(doc: SuiteReportDoc) -> _Test:
    """The verdict as a case, where a baseline, a rate or a probability decides and not each case by
    itself.
    """
    reasons = [line(one) for one in doc.reasons]
    lost = doc.compared.regressions if doc.compared is not None else []
    if lost:
        reasons.append(f"{count(len(lost), 'regression')}: {', '.join(map(line, lost))}")
    outcome = _OUTCOMES.get(doc.verdict, "error")
    message = f"{doc.verdict_words}: {'; '.join(reasons) or doc.rate_words}"
    return _Test(
        classname=doc.name,
        name="gate",
        outcome=outcome,
        message=message,
        details="\n".join(reasons),
    )


def _forgiven(test: _Test) -> _Test:
    """Its message is all that it has, with the probability in it."""
    if test.outcome not in ("failure", "error"):
        return test
    message = "; ".join([test.message, *(f"{name} {value}" for name, value in test.known)])
    return replace(test, outcome="skipped", message=message, known=())


def _sure(belief: BeliefDoc | None) -> list[tuple[str, str]]:
    """How sure a verdict is, as properties; with a baseline also that this side is better."""
    if belief is None:
        return []
    found = {"better": belief.better, "worse": belief.worse}
    sides = [(name, repr(one)) for name, one in found.items() if isinstance(one, float)]
    return [*_probability(belief.probability), *sides]


def _known(
    flags: Iterable[str],
    judges: Iterable[scorecard.JudgeDoc] = (),
    warnings: Iterable[tuple[str, str]] = (),
) -> list[tuple[str, str]]:
    """What a reader has to know of a run, as properties: flags, judges that did not take part, and
    warnings.
    """
    known = list(judges)
    absent = [
        (f"judge {line(one.id)}", f"{one.state}: {line(one.reason or '')}")
        for one in known
        if one.is_absent
    ]
    absent += [
        (f"judge {line(one.id)}", line(one.unanswered_words))
        for one in with_all_looks(known)
        if one.unanswered and not one.is_absent
    ]
    before = [(name.lower().replace(" ", "-"), why) for name, why in warnings]
    return [*(("flag", line(flag)) for flag in flags), *absent, *before]


def _scorecard_tests(doc: scorecard.ScorecardDoc) -> list[_Test]:
    path = doc.artifact.name
    tests: list[_Test] = []
    taken: set[tuple[str, str]] = set()
    for criterion, item in scorecard.items_of(doc.criteria):
        classname, name = f"{path}/{line(criterion.id)}", item.asked
        if (classname, name) in taken:
            name = f"{name} ({line(item.id)})"
        taken.add((classname, name))
        tests.append(_item_test(classname, name, criterion, item))
    reasons = [line(one) for one in doc.reasons]
    outcome = _OUTCOMES.get(doc.verdict, "error")
    message = f"{doc.verdict_words}: {'; '.join(reasons) or doc.score_words}"
    return [
        *tests,
        _Test(
            classname=path,
            name="gate",
            outcome=outcome,
            message=message,
            details="\n".join(reasons),
        ),
    ]


def _item_test(
    classname: str, name: str, criterion: scorecard.CriterionDoc, item: scorecard.ItemDoc
) -> _Test:
    outcome: _Outcome = "passed"
    message = ""
    if not item.applies or not criterion.applies:
        outcome, message = "skipped", "does not apply"
    elif item.is_problem:
        votes = f" ({item.vote_words})" if item.votes else ""
        outcome, message = (
            "failure",
            ("penalty incurred" if criterion.is_penalty else "not met") + votes,
        )
    elif item.is_unanswered:
        outcome, message = "error", line(item.note or "no answer")
    details = "\n".join(_item_details(item)) if outcome in ("failure", "error") else ""
    return _Test(classname=classname, name=name, outcome=outcome, message=message, details=details)


def _item_details(item: scorecard.ItemDoc) -> Iterable[str]:
    if item.votes:
        yield item.vote_words + (f" (on {item.scale_words})" if item.scale else "")
    yield from _item_notes(item, "artifact")


def _item_notes(item: scorecard.ItemDoc, of: str) -> Iterable[str]:
    """The note, quotes and suggestions of an item. `of`: where the quotes come from."""
    if item.note:
        yield line(item.note)
    for quote in item.evidence:
        where = quote.source_words(of)
        yield f'"{line(quote.quote, 400)}"' + (f" ({where})" if where else "")
    for one in item.advice:
        yield f"suggestion: {line(one.text)}" + (f" ({one.source_words})" if one.judges else "")


def _case_test(case: CaseDoc, suite: str) -> _Test:
    outcome = _OUTCOMES[case.status]
    why = next(iter(words_of(case)), f"score {scorecard.span_words(case.score, case.interval)}")
    messages = {"passed": "", "skipped": why}
    return _Test(
        classname=suite,
        name=case.name,
        outcome=outcome,
        message=messages.get(outcome, f"{case.status}: {why}"),
        details="\n".join(_case_details(case)) if outcome in ("failure", "error") else "",
        seconds=_seconds(case),
        known=_probability(case.probability),
    )


def _probability(known: float | None) -> list[tuple[str, str]]:
    return [] if known is None else [("probability", repr(float(known)))]


def _seconds(case: CaseDoc) -> float:
    return max(float(case.duration_ms or 0), 0.0) / 1000


def _case_details(case: CaseDoc) -> Iterable[str]:
    """Input, output and misses; then the beginning of the output as it is, where only a part of it
    was shown.
    """
    yield from case_lines(case)
    output = text_of(case.output)
    if "\n" in output.strip() or len(output) > 80:
        cut = len(output) > LONGEST_OUTPUT
        yield f"output{f' (the first {LONGEST_OUTPUT:,} of {len(output):,} characters)' if cut else ''}:"
        yield clean(output[:LONGEST_OUTPUT])


# ----------------------------------------------------------------------------------------------------------------
# XML


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return environment(
        lambda value: value if isinstance(value, Markup) else Markup(xml_text(str(value)))
    )


def _suites_xml(suites: Sequence[_Suite]) -> str:
    return "".join(_xml_parts(suites))


def _xml_parts(suites: Sequence[_Suite]) -> Iterator[str]:
    """The document in pieces, with counts that add up."""
    every = [test for one in suites for test in one.outline]
    yield from in_pieces(
        _environment().get_template("junit.xml.j2").generate(suites=suites, every=every)
    )
    yield "\n"


_IMPOSSIBLE: Final = late_pattern("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Text for an element or attribute. What XML cannot hold was made visible by `clean`, or
    becomes U+FFFD.
    """
    safe = _IMPOSSIBLE.sub("\ufffd", clean(text))
    for char, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        safe = safe.replace(char, name)
    return safe
