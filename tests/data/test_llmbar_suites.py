"""LLMBar: five models pick the better of two outputs, each pair in both orders, in five ways of
asking.

The verdict is a yes or no to "Output (a) is better than Output (b)". A pair is a case in each
order, with the label as what is expected of the judge; or one case with an attempt in each order,
so that a verdict that turns with the order makes the case unstable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from as_suites import Evaluator, Report, alpha, fleiss, json_lines, kappa

JUDGES = ("GPT-4", "ChatGPT", "LLaMA2", "PaLM2", "Falcon")
STRATEGIES = ("Vanilla_NoRules", "Vanilla", "CoT", "Metrics_Reference", "Swap_CoT")
SUBSETS = ("GPTInst", "Natural", "ALL")
GIVEN, SWAPPED = "given", "swapped"
FIRST = {"id": "first", "requirement": "Output (a) is better than Output (b)"}

Winners: TypeAlias = Mapping[tuple[str, str, bool], int | None]
"""Which output a judge picked (1 or 2), by judge, pair and whether the pair was shown swapped."""


@pytest.fixture(scope="module")
def pairs(shared_data: Any) -> dict[str, dict[str, Any]]:
    found = json_lines(shared_data("llmbar") / "items.jsonl")
    return {f"{pair['subset']}/{pair['item']}": pair for pair in found}


@pytest.fixture(scope="module")
def calls(shared_data: Any) -> list[dict[str, Any]]:
    rows = json_lines(shared_data("llmbar") / "judgments.jsonl.gz")
    return [row for row in rows if row["kind"] == "pairwise" and row["judge"] in JUDGES]


def winners(calls: list[dict[str, Any]], strategy: str) -> Winners:
    """The verdict stands in the last step of each exchange."""
    last: dict[tuple[str, str, bool], tuple[int, int | None]] = {}
    for call in calls:
        if call["strategy"] == strategy:
            place = (call["judge"], f"{call['subset']}/{call['item']}", call["swapped"])
            winner = int(call["winner"]) if call["winner"] else None
            last[place] = max(
                last.get(place, (-1, None)), (call["step"], winner), key=lambda seen: seen[0]
            )
    return {place: winner for place, (_, winner) in last.items()}


def shown(pair: Mapping[str, Any], swapped: bool) -> str:
    a, b = (pair["output_2"], pair["output_1"]) if swapped else (pair["output_1"], pair["output_2"])
    return f"Output (a):\n{a}\n\nOutput (b):\n{b}\n"


def picks_first(winner: int | None, swapped: bool) -> bool | None:
    return None if winner is None else (winner == 2) == swapped


def name(judge: str) -> str:
    return f"record:{judge}.jsonl"


# ------------------------------------------------------------------------------------------------ a
# case in each order


def make(bench: Evaluator, pairs: Mapping[str, Any], won: Winners) -> list[str]:
    cases, outputs = [], {}
    for pair, row in pairs.items():
        for order, swapped in ((GIVEN, False), (SWAPPED, True)):
            id = f"{pair}/{order}"
            is_first = picks_first(int(row["label"]), swapped)
            # More than half of the votes; a tie meets neither.
            wanted = [51, 100] if is_first else [0, 49]
            cases.append(
                {
                    "id": id,
                    "input": row["input"],
                    "tags": [row["subset"], order],
                    "expect": {"first": wanted},
                }
            )
            outputs[id] = shown(row, swapped)
    bench.suite([FIRST], cases, outputs)
    return [
        bench.judge(
            judge,
            {
                f"{pair}/{order}": {"first": picks_first(won[judge, pair, swapped], swapped)}
                for pair in pairs
                for order, swapped in ((GIVEN, False), (SWAPPED, True))
            },
        )
        for judge in JUDGES
    ]


@pytest.fixture(scope="module", params=STRATEGIES)
def ran(
    request: Any,
    pairs: dict[str, Any],
    calls: list[dict[str, Any]],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Report]:
    """One way of asking: all pairs in both orders before the panel of five."""
    bench = Evaluator(tmp_path_factory.mktemp(request.param))
    return request.param, bench.run(*make(bench, pairs, winners(calls, request.param)))


def picked(report: Report, judge: str, pair: str) -> tuple[int | None, int | None]:
    """Which output the report says a judge picked in the given and in the swapped order."""
    found = []
    for order, first, second in ((GIVEN, 1, 2), (SWAPPED, 2, 1)):
        share = report.cases[f"{pair}/{order}"]["criteria"][0]["by_judge"].get(name(judge))
        found.append(None if share is None else first if share == 100 else second)
    return found[0], found[1]


def in_subset(pairs: Mapping[str, Any], subset: str) -> list[str]:
    return [pair for pair, row in pairs.items() if subset in (row["subset"], "ALL")]


@pytest.mark.parametrize("subset", SUBSETS)
def test_each_judge(
    ran: tuple[str, Report], pairs: dict[str, Any], expected: Any, subset: str
) -> None:
    """Right in the given order, in both and on average; the same in both orders; how often the
    first place wins.
    """
    strategy, report = ran
    for judge in JUDGES:
        wanted = expected("llmbar")[strategy][subset][judge]
        chosen = in_subset(pairs, subset)
        both = [picked(report, judge, pair) for pair in chosen]
        labels = [int(pairs[pair]["label"]) for pair in chosen]
        right = [
            (one == label, other == label) for (one, other), label in zip(both, labels, strict=True)
        ]
        count = len(chosen)
        found = {
            "accuracy_unswapped": sum(one for one, _ in right) / count,
            "accuracy_average": sum(one + other for one, other in right) / (2 * count),
            "both_orders_correct": sum(one and other for one, other in right) / count,
            "position_agreement": sum(one == other for one, other in both) / count,
            "first_position_rate": sum((one == 1) + (other == 2) for one, other in both)
            / (2 * count),
            "kappa_between_orders": kappa(both),
        }
        assert found.keys() == wanted.keys()
        assert {key for key in wanted if abs(found[key] - wanted[key]) > 1e-9} == set(), judge


@pytest.mark.parametrize("subset", SUBSETS)
def test_the_panel(
    ran: tuple[str, Report], pairs: dict[str, Any], expected: Any, subset: str
) -> None:
    """A case passes when most judges picked the right output: five votes in one order, ten in both."""
    strategy, report = ran
    wanted = expected("llmbar")[strategy][subset]
    chosen = in_subset(pairs, subset)
    given = [report.cases[f"{pair}/{GIVEN}"] for pair in chosen]
    assert wanted["panel_majority_5_unswapped"] == {
        "n": len(given),
        "correct": sum(case["status"] == "passed" for case in given),
        "ties": sum(case["score"] == 50 for case in given),
    }
    ten = Counter[str]()
    for pair in chosen:
        votes = Counter(
            one for judge in JUDGES for one in picked(report, judge, pair) if one is not None
        )
        ten["ties"] += votes[1] == votes[2]
        ten["correct"] += (
            max((1, 2), key=votes.__getitem__) == int(pairs[pair]["label"]) and votes[1] != votes[2]
        )
    assert wanted["panel_majority_10_both_orders"] == {"n": len(chosen), **ten}
    units = [
        [p for judge in JUDGES if (p := picked(report, judge, pair)[0]) is not None]
        for pair in chosen
    ]
    assert abs(alpha(units) - wanted["krippendorff_nominal_5_judges_unswapped"]) < 1e-9
    complete = [unit for unit in units if len(unit) == len(JUDGES)]
    assert wanted["fleiss_kappa_5_judges_unswapped_complete"]["n"] == len(complete)
    assert (
        abs(fleiss(complete) - wanted["fleiss_kappa_5_judges_unswapped_complete"]["kappa"]) < 1e-9
    )


def test_no_verdict_is_no_vote(
    ran: tuple[str, Report], calls: list[dict[str, Any]], pairs: dict[str, Any]
) -> None:
    """A text without a verdict leaves its judge DEGRADED at that case; the rest decide."""
    strategy, report = ran
    won = winners(calls, strategy)
    for judge in JUDGES:
        without = sum(
            won[judge, pair, swapped] is None for pair in pairs for swapped in (False, True)
        )
        left = Counter({"AVAILABLE": 2 * len(pairs) - without, "DEGRADED": without})
        assert report.states(name(judge)) == left
    assert report.document["counts"]["inconclusive"] == 0


@pytest.mark.parametrize("judge", ["GPT-4", "PaLM2"])
def test_accuracy_is_the_pass_rate(
    judge: str, pairs: dict[str, Any], calls: list[dict[str, Any]], expected: Any, tmp_path: Path
) -> None:
    """One judge, one order chosen by its tag: the lower end of the pass rate is the published
    accuracy.
    """
    bench = Evaluator(tmp_path)
    make(bench, pairs, winners(calls, "Vanilla"))
    wanted = expected("llmbar")["Vanilla"]["ALL"][judge]
    rates = {}
    for order, swapped in ((GIVEN, False), (SWAPPED, True)):
        report = bench.run(name(judge), options=("--tag", order))
        missing = sum(winners(calls, "Vanilla")[judge, pair, swapped] is None for pair in pairs)
        low, high = report.document["pass_rate_interval"]
        assert len(report.cases) == len(pairs)
        assert report.document["counts"]["inconclusive"] == missing
        assert abs(high - low - missing / len(pairs)) < 1e-9
        assert report.document["pass_rate"] == (None if missing else low)
        rates[order] = low
    assert abs(rates[GIVEN] - wanted["accuracy_unswapped"]) < 1e-9
    assert abs((rates[GIVEN] + rates[SWAPPED]) / 2 - wanted["accuracy_average"]) < 1e-9


# --------------------------------------------------------------------------------------------- an
# attempt in each order


@pytest.mark.parametrize("judge", ["GPT-4", "Falcon"])
def test_orders_as_attempts(
    judge: str, pairs: dict[str, Any], calls: list[dict[str, Any]], expected: Any, tmp_path: Path
) -> None:
    """With pass^k a case passes when both orders were right; where only one was, the case is
    unstable.
    """
    won = winners(calls, "Vanilla")
    bench = Evaluator(tmp_path)
    orders = ((1, False), (2, True))
    bench.suite(
        [{"id": "picks-1", "requirement": "The text listed first in the set is the better one"}],
        [
            {
                "id": pair,
                "input": row["input"],
                "expect": {"picks-1": [100, 100] if row["label"] in (1, "1") else [0, 0]},
            }
            for pair, row in pairs.items()
        ],
        {
            (pair, attempt): shown(row, swapped)
            for pair, row in pairs.items()
            for attempt, swapped in orders
        },
        attempts=2,
        attempt_rule="pass^k",
    )
    said = {
        (pair, attempt): {"picks-1": won[judge, pair, swapped] == 1}
        for pair in pairs
        for attempt, swapped in orders
    }
    report = bench.run(bench.judge("one", said))
    wanted = expected("llmbar")["Vanilla"]["ALL"][judge]
    assert all(won[judge, pair, swapped] is not None for pair in pairs for _, swapped in orders)
    assert report.document["pass_rate"] == wanted["both_orders_correct"]
    assert (
        abs(1 - len(report.document["unstable"]) / len(pairs) - wanted["position_agreement"]) < 1e-9
    )
    per_order = Counter(
        attempt["attempt"]
        for case in report.cases.values()
        for attempt in case["attempts"]
        if attempt["status"] == "passed"
    )
    assert abs(per_order[1] / len(pairs) - wanted["accuracy_unswapped"]) < 1e-9
    assert abs((per_order[1] + per_order[2]) / (2 * len(pairs)) - wanted["accuracy_average"]) < 1e-9
    assert json.dumps(sorted(report.document["unstable"])) == json.dumps(
        sorted(pair for pair in pairs if won[judge, pair, False] != won[judge, pair, True])
    )
