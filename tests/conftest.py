"""What all tests share."""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from property_examples import AT_MOST, PROFILE

# A busy machine is not a defect: what is slow is measured in bench/, and no test is timed.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "database": None}
# One outcome on one commit: the examples follow from the test alone, and no earlier run adds any.
settings.register_profile("quick", **_UNTIMED, max_examples=AT_MOST, derandomize=True)
settings.register_profile("fixed", **_UNTIMED, max_examples=AT_MOST, derandomize=True)
# What `make test-deep` runs: other examples for each seed, and a line that reproduces what fails.
settings.register_profile("deep", **_UNTIMED, max_examples=AT_MOST, print_blob=True)
settings.load_profile(PROFILE)

# What a shell starts in the background ignores Ctrl-C, and so would every command that the tests
# start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What an account keeps for itself (keys of stores, trust) is the tests' own: in processes that get
# no home of theirs, too.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="honestone-tests-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)


# ------------------------------------------------------------------------- which loop runs a test

_TESTS = Path(__file__).parent

# `make quick` leaves these out. A test in it that starts a process fails by name, so the list is
# whole.
_START_PROCESSES = frozenset(
    {
        "adapters/agent_clis/test_cli_custom.py",
        "adapters/agent_clis/test_cli_detect.py",
        "adapters/agent_clis/test_cli_judge.py",
        "adapters/agent_clis/test_cli_worker.py",
        "adapters/checks/test_case_checks.py",
        "adapters/checks/test_code_checks.py",
        "adapters/checks/test_computing.py",
        "adapters/checks/test_scripts.py",
        "adapters/judges/test_script.py",
        "adapters/stores/test_sqlite.py",
        "adapters/targets/test_agent_cli.py",
        "adapters/targets/test_command.py",
        "adapters/targets/test_isolation.py",
        "adapters/targets/test_python.py",
        "adapters/workers/test_command.py",
        "adapters/workers/test_fix.py",
        "interop/test_agentv_containers.py",
        "interop/test_agentv_extensions.py",
        "report/test_progress.py",
    }
)
# A test has one of these markers at most, and a target of the Makefile for each runs what has it.
GROUPS = {
    "slow": "half a second of processor time or more; `make test-slow`",
    "kills": "kills a run at every write; `make test-kills`",
    "pages_run": "runs the commands of a page of the docs or of an example; `make test-docs`",
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "starts_processes: starts other processes; not in `make quick`"
    )
    for name, meaning in GROUPS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path
        name = path.relative_to(_TESTS).as_posix() if path.is_relative_to(_TESTS) else ""
        if name in _START_PROCESSES:
            item.add_marker("starts_processes")
        if name.startswith("engine/test_kill_"):
            item.add_marker("kills")
        if name == "test_examples.py":
            item.add_marker("pages_run")
        groups = [one for one in GROUPS if item.get_closest_marker(one)]
        if len(groups) > 1:
            raise pytest.UsageError(f"{item.nodeid} is in several groups: {', '.join(groups)}")


# ------------------------------------------------------------------------------ what a test costs

# Seconds of processor time, its processes included. What is not `slow` takes less than half a
# second on an idle machine, and a busy one does not make twenty times as much of it.
_AT_MOST = 10.0


def _processor_time() -> float:
    """Of this process, of those that it started and that have ended, and of those that still run
    (the server of `tools/warm.py` among them) with theirs.
    """
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(one.ru_utime + one.ru_stime for one in used)
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    for child in children.read_text().split() if children.exists() else ():
        try:
            times = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:15]
        except OSError:
            continue
        seconds += sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    return seconds


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that costs seconds without being `slow` is named at the end, so that `make test` stays
    short. It does not fail: how much a test costs depends on what else the machine does.
    """
    if PROFILE != "fixed" or any(item.get_closest_marker(one) for one in GROUPS):
        return (yield)
    before = _processor_time()
    result = yield
    used = _processor_time() - before
    if used > _AT_MOST:
        item.warn(
            pytest.PytestWarning(
                f"it took {used:.1f} s of processor time: let it do less, or mark it with `slow`"
            )
        )
    return result


if PROFILE == "quick":
    _running: list[str] = []

    def _refuse_processes(event: str, arguments: tuple[object, ...]) -> None:
        if event in ("subprocess.Popen", "os.fork", "os.posix_spawn") and _running:
            raise AssertionError(
                f"{_running[-1]} starts a process, so it is not for `make quick`: mark it with "
                "`starts_processes`, or name its file in tests/conftest.py"
            )

    sys.addaudithook(_refuse_processes)

    @pytest.fixture(autouse=True)
    def _without_processes(request: pytest.FixtureRequest) -> Iterator[None]:
        _running.append(request.node.nodeid)
        yield
        _running.pop()
