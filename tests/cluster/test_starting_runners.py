"""The page's ways to start runners: files that parse, a query that KEDA may ask, a script of Slurm
that runs.

Not tried here: Kubernetes, KEDA and SkyPilot themselves, whose files are held against what they say
of them. Docker is tried by `make test-containers`; a real Slurm of one node ran the array once, by
hand.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.adapters.models.standin import running
from tests.cli.desk import HONESTONE
from tests.cli.test_telemetry import collecting, needs_sdk

from .server import Server
from .site import Site

PAGE = Path(__file__).parents[2] / "docs/reference/cluster.md"
SUITE = "suite: 1\ncases:\n  - {id: a, input: an apple, checks: [{contains: [apple]}]}\n  - {id: b, input: a pear, checks: [{contains: [apple]}]}\n"


def blocks(section: str, language: str) -> list[str]:
    """The blocks of one way to start runners."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n### {section}\n")[2]
    text = re.split(r"^#{2,3} ", text, maxsplit=1, flags=re.M)[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.S)


def documents(section: str) -> list[dict[str, Any]]:
    return [
        one for text in blocks(section, "yaml") for one in YAML(typ="safe").load_all(StringIO(text))
    ]


def test_compose() -> None:
    """The runners start when the tables are there, and have longer to end than their own grace."""
    (file,) = documents("Compose")
    services = file["services"]
    assert services["migrate"]["command"] == ["store", "migrate"] and services["runner"][
        "command"
    ] == ["runner"]
    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= set(services), name
    mounts = [mount for service in services.values() for mount in service.get("volumes", ())]
    assert set(file["volumes"]) == {mount.partition(":")[0] for mount in mounts}
    stores = [services[name]["environment"]["HONESTONE_STORE"] for name in ("migrate", "runner")]
    assert stores == ["postgresql://honestone@db/honestone"] * 2 and "db" in services
    assert int(services["runner"]["stop_grace_period"].rstrip("s")) > 60


def test_kubernetes() -> None:
    """What names another thing names one that is there."""
    deployment, login, scaled = documents("Kubernetes")
    assert (deployment["kind"], login["kind"], scaled["kind"]) == (
        "Deployment",
        "TriggerAuthentication",
        "ScaledObject",
    )
    pod = deployment["spec"]["template"]
    assert deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
    (container,) = pod["spec"]["containers"]
    words = container["args"]
    assert words[0] == "runner"
    assert int(words[words.index("--grace") + 1]) < pod["spec"]["terminationGracePeriodSeconds"]
    assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    (trigger,) = scaled["spec"]["triggers"]
    assert (
        trigger["type"] == "postgresql"
        and trigger["authenticationRef"]["name"] == login["metadata"]["name"]
    )
    assert all(isinstance(value, str) for value in trigger["metadata"].values()), (
        "KEDA's metadata are texts"
    )
    # A runner is added for as many cases as one has in hand.
    assert trigger["metadata"]["targetQueryValue"] == words[words.index("--concurrency") + 1]


def test_the_query_of_keda_runs(site: Site, server: Server) -> None:
    """On the real view, by the page's role, which may read nothing else: all cases of an order, and
    none after it was done.
    """
    assert site.desk.run("store", "migrate").code == 0
    database = site.desk.extra["HONESTONE_STORE"].rpartition("/")[2]
    (sql,) = blocks("Kubernetes", "sql")
    server.sql(sql, database)
    query = documents("Kubernetes")[2]["spec"]["triggers"][0]["metadata"]["query"]

    def asked(words: str = query) -> str:
        return server.sql(f"set role scaler; {words}", database, check=False).splitlines()[-1]

    assert asked() == "0"
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    ordered = site.order("--target", "cmd:cat")
    site.until_ordered(ordered)
    assert asked() == "2"
    assert "permission denied" in server.sql(
        "set role scaler; select * from honestone.replies", database, check=False
    )
    site.runner()
    ordered.communicate(timeout=120)
    assert ordered.returncode == 1 and asked() == "0"


def test_skypilot() -> None:
    """Every variable that a job needs is passed on the command line."""
    pool, job = documents("SkyPilot")
    (commands,) = blocks("SkyPilot", "sh")
    assert pool["pool"]["workers"] >= 1 and "honestone[cluster]" in pool["setup"]
    assert job["run"].split() == ["honestone", "remote", "runner", "--drain"]
    assert all(f"--secret {name}" in commands for name in job["secrets"])
    assert f"--num-jobs {pool['pool']['workers']}" in commands


def test_the_script_of_slurm_works(site: Site, server: Server) -> None:
    """Run as Slurm does, with the address of the tests' server in place of the page's; the suite
    was ordered before.
    """
    (script,) = blocks("Slurm", "bash")
    assert (
        subprocess.run(["bash", "-n"], input=script, text=True, timeout=60, check=False).returncode
        == 0
    )
    options = dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?$", script, re.M))
    before = int(options["signal"].removeprefix("B:TERM@"))
    assert before > int(re.findall(r"--grace (\d+)", script)[0])
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    ordered = site.order("--target", "cmd:cat")
    site.until_ordered(ordered)
    text, count = re.subn(r"postgresql://[^']*", site.desk.extra["HONESTONE_STORE"], script)
    assert count == 1
    env = {"PATH": f"{os.path.dirname(HONESTONE)}:/usr/bin:/bin", "HOME": str(site.desk.home)}
    done = subprocess.run(
        ["bash", "-s"],
        input=text,
        cwd=site.folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out, err = ordered.communicate(timeout=120)
    assert ordered.returncode == 1 and json.loads(out)["counts"]["passed"] == 1, err


@pytest.mark.parametrize("section", ["Compose", "SkyPilot"])
def test_commands_of_the_page_parse(section: str) -> None:
    for text in blocks(section, "sh"):
        assert (
            subprocess.run(
                ["bash", "-n"], input=text, text=True, timeout=60, check=False
            ).returncode
            == 0
        )


def test_a_backup_is_restored(site: Site, server: Server) -> None:
    """`pg_dump --schema honestone`, into an empty database: the same runs and the same report."""
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    assert site.desk.run("eval", "suite.yaml", "--target", "cmd:cat").code == 1
    where = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "honestone")
    dump = server.run(
        "pg_dump",
        *where,
        "--schema",
        "honestone",
        site.desk.extra["HONESTONE_STORE"].rpartition("/")[2],
    )
    shown = site.desk.run("show", "last", "--json").out
    copy = server.database()
    (server.folder / "dump.sql").write_text(dump)
    server.run(
        "psql",
        *where,
        "-q",
        "-v",
        "ON_ERROR_STOP=1",
        "-d",
        copy.rpartition("/")[2],
        "-f",
        str(server.folder / "dump.sql"),
    )
    assert site.desk.run("show", "last", "--json", env={"HONESTONE_STORE": copy}).out == shown != ""


def test_a_runner_sends_spans(site: Site) -> None:
    """By OTLP to a collector on this machine: the calls of target and judge, and no key."""
    needs_sdk()
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    site.desk.file(
        "suite.yaml", "suite: 1\ncases:\n  - {id: a, input: an apple, rubric: [it says apple]}\n"
    )
    with running() as api, collecting() as collector:
        table = f'provider = "compatible"\nmodel = "m"\nbase_url = "{api.root}/v1"\napi_key_env = "DESK_KEY"\n'
        site.desk.file("honestone.toml", f"[judges.desk]\n{table}")
        assert site.desk.run("trust").code == 0
        ordered = site.order("--target", "cmd:cat", "--judge", "desk")
        site.until_ordered(ordered)
        key = "sk-loopback-0123456789-secret"
        runner = site.runner("--drain", DESK_KEY=key, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
        _, err = runner.communicate(timeout=120)
        assert runner.returncode == 0, err
        ordered.communicate(timeout=120)
        bodies = [body for path, body in collector.bodies if path == "/v1/traces"]
    spans = [
        span
        for body in bodies
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    found = {span.name: span for span in spans}
    assert set(found) == {"attempt", "chat m", "target"}
    assert (
        found["chat m"].parent_span_id == found["target"].parent_span_id == found["attempt"].span_id
    )
    assert not any(key.encode() in body for _, body in collector.bodies)
