"""Every attack of the corpus (tests/attacks), counted: `N/M held` last, and exit 1 when one falls."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

PROMISES = Path(__file__).parents[1] / "tests/attacks/promises.toml"


def tests_elsewhere() -> list[str]:
    """Tests of promises of SECURITY.md that are no entries of the corpus."""
    promises = tomllib.loads(PROMISES.read_text("utf-8"))["promise"]
    tests = (test for promise in promises for test in promise["tests"])
    return sorted({f"tests/{test}" for test in tests if not test.startswith("attacks/")})


class _Count:
    """A pytest plugin: how many attacks held, and which fell. An attack that could not be tried
    here is left out.
    """

    def __init__(self) -> None:
        self.held, self.tried, self.left_out = 0, 0, 0
        self.fallen: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.failed:
            self.tried += not report.skipped
            self.held += report.passed
        self.left_out += report.skipped
        if report.failed:
            self.fallen.append(report.nodeid)


def main() -> int:
    count = _Count()
    ended = pytest.main(
        [
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            *sys.argv[1:],
            "tests/attacks",
            *tests_elsewhere(),
        ],
        plugins=[count],
    )
    for name in count.fallen:
        print(f"fell: {name}")
    if count.left_out:
        print(f"{count.left_out} left out: what they need is not here")
    print(f"{count.held}/{count.tried} held")
    return 0 if ended == 0 and count.held == count.tried > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
