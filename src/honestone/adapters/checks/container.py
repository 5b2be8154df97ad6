"""A grading program in a container of its own: `docker run` of an image, removed whatever becomes
of the program.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from honestone.adapters.checks.check_input import Setting
from honestone.core.judging.rubric import Check
from honestone.system.processes.commands import find_program
from honestone.system.processes.environment import base_environment
from honestone.system.processes.process import OUTPUT_LIMIT, Ended, run

# What names the daemon that docker talks to.
_DAEMON = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR")


async def run_contained(check: Check, setting: Setting, stdin: bytes) -> Ended:
    """The program of a check in a fresh container, which sees nothing of this machine but what it
    is asked.

    Raises NotStarted.
    """
    options: Mapping[str, str | int | float] = check.option("container", {})
    name = f"honestone-{secrets.token_hex(8)}"
    limits = [f"--{key}={options[key]}" for key in ("memory", "cpus") if key in options]
    program, *rest = check.words
    words = [
        "run",
        "--rm",
        "-i",
        "--name",
        name,
        *limits,
        "--entrypoint",
        program,
        str(options["image"]),
        *rest,
    ]
    env = base_environment(pass_names=(*_DAEMON, *setting.pass_env))
    docker = find_program("docker", cwd=setting.base, env=env)
    seconds = float(check.option("timeout", setting.timeout))
    ended: Ended | None = None
    try:
        ended = await run(
            [docker, *words],
            cwd=setting.base,
            env=env,
            stdin=stdin,
            timeout=seconds,
            output_limit=OUTPUT_LIMIT,
        )
        return ended
    finally:
        if (
            ended is None or ended.exit is None or ended.exit < 0
        ):  # the client was ended, which leaves the container
            await run([docker, "rm", "--force", name], cwd=setting.base, env=env, timeout=30)
