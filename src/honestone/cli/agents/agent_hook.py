"""`honestone agent hook`: what Claude Code, Codex and Gemini CLI call when a session stops or
starts.

The exit code is 0 whatever happens: hosts take others for a block. What goes wrong is one line on
stderr.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import click

from honestone.app.agents.hook_call import HookCall
from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.cli.main import LazyGroup
from honestone.core.json_value import Json, visible


class HookGroup(LazyGroup):
    """A group whose commands never fail."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except Exception as error:
            _say(
                f"honestone: the hook let go: {error.format_message() if isinstance(error, click.ClickException) else error}"
            )
            return 0


@click.group(
    "hook", cls=HookGroup, table="agent hook", short_help="What the hooks of coding agents call."
)
def hook() -> None:
    """What the hooks of coding agents call: the host's JSON on stdin, the answer on stdout, exit
    code 0 always.
    """


@click.command("stop")
@shared.from_parameters
def stop(
    *,
    state: Annotated[
        str | None,
        Option(
            "Decide by the state.json of a rulph loop; {session_id} in the name is filled in.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Hold a session that owns an unfinished run of steps; let go otherwise.

    For `Stop` (Claude Code, Codex) and `AfterAgent` (Gemini). Held is {"decision": "block",
    "reason"}; let go is nothing, or {"systemMessage"} where an unfinished run is given up: after 15
    holds, or 5 with nothing new on record.
    """
    call = _call()
    if state is not None:
        from honestone.app.agents.rulph_state import answer_by_state

        answer = answer_by_state(call, state, Path().resolve())
    else:
        from honestone.app.agents.stop import answer_stop

        answer = answer_stop(call, _places(call))
    if answer.reason is not None:
        _print({"decision": "block", "reason": answer.reason})
    elif answer.word is not None:
        _print({"systemMessage": answer.word})
        _say(answer.word)


@click.command("session-start")
def session_start() -> None:
    """Remind a session that was resumed or compacted of its unfinished run: contract and next
    command.

    In Gemini CLI, whose shell does not know the session, it gives the id for --session too.
    """
    from honestone.app.agents.session_start import answer_start

    call = _call()
    text = answer_start(call, _places(call), os.environ.get("GEMINI_SESSION_ID"))
    if text is not None:
        _print({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}})


def _call() -> HookCall:
    plain = json.loads(sys.stdin.buffer.read())
    if not isinstance(plain, dict):
        raise ValueError("stdin holds no JSON object")
    return HookCall.of(plain)


def _places(call: HookCall) -> list[Path]:
    """Where the session works: the host's folder first, then the project's."""
    named = (
        call.folder,
        os.environ.get("CLAUDE_PROJECT_DIR"),
        os.environ.get("GEMINI_PROJECT_DIR"),
    )
    return [Path(place).resolve() for place in named if place] or [Path().resolve()]


def _print(answer: Json) -> None:
    with suppress(OSError):  # at once, so that nothing is left to fail when the command ends
        os.write(sys.stdout.fileno(), json.dumps(answer).encode() + b"\n")


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        print(visible(text, 1000), file=sys.stderr)
