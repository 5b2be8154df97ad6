"""Ctrl-C and SIGTERM while the server is away: coordinator and runner end soon, and say what is
still at work.
"""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest
from tests.cli.desk import until
from tests.cluster.test_postgres import opened

from .server import Server
from .site import Site

SUITE = "suite: 1\ncases:\n  - {id: a, input: an apple, checks: [{contains: [apple]}]}\n"


def test_cases_in_hand_of_a_run_that_is_cancelled_are_dropped(site: Site) -> None:
    """Their targets are ended, whether or not the coordinator is there, and the runner is free for
    other runs.
    """
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    started = site.folder / "started"
    site.desk.file("target.sh", f"touch {started}\nsleep 600\n")
    ordered = site.order("--target", "cmd:sh target.sh")
    site.until_ordered(ordered)
    ordered.kill()
    runner = site.runner("--concurrency", "1")
    assert until(started.exists) and until(lambda: len(site.in_hand()) == 1)
    (run,) = site.runs()
    assert site.desk.run("run", "cancel", str(run["id"])).code == 0
    assert until(lambda: site.in_hand() == []) and runner.poll() is None
    site.desk.file("target.sh", "cat\n")
    again = site.order("--target", "cmd:sh target.sh")
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err


@pytest.mark.parametrize("is_away", [True, False])
def test_what_is_told_to_stop_does_not_wait_for_the_server(
    site: Site, server: Server, is_away: bool
) -> None:
    """Not for its patience of ten minutes. Runners of a run whose pause did not reach the store may
    continue, so that is not denied.
    """
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    ordered = site.order("--target", "cmd:sleep 600")
    site.until_ordered(ordered)
    runner = site.runner("--grace", "0.1")
    site.heard(runner, "takes cases of run")
    if is_away:
        server.stop()
    try:
        ordered.send_signal(signal.SIGINT)
        runner.send_signal(signal.SIGTERM)
        _, said = ordered.communicate(timeout=120)
        _, _ = runner.communicate(timeout=120)
    finally:
        if is_away:
            server.start()
    assert ordered.returncode == 130 and "the same command resumes run" in said
    assert (
        ("so runners continue" in said) == is_away != ("runners take no more of its cases" in said)
    )
    assert runner.returncode == 0


def test_a_reply_waits_in_memory_where_the_disk_is_full(
    server: Server, url: str, tmp_path: Path
) -> None:
    """While the server is away; here the folder for such replies cannot be made. It is delivered
    when the server is back.
    """
    (tmp_path / "undelivered").write_text("not a folder")
    store = opened(url, tmp_path)
    server.stop()
    with ThreadPoolExecutor(1) as thread:
        try:
            kept = thread.submit(store.keep_reply, "key", "judge", {"text": "paid"})
            wait([kept], timeout=2)
        finally:
            server.start()
        kept.result(timeout=120)
    assert store.reply("key") == {"text": "paid"}
    store.close()
