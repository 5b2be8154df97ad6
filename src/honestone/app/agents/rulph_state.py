"""The stop hook for rulph's own loop: decided by its state.json, where holds are counted as rulph
does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from honestone.app.agents.holds import alone_in
from honestone.app.agents.hook_call import HookCall
from honestone.app.agents.stop import StopAnswer, may_hold
from honestone.interop.rulph.state import NAMESPACE, read_state
from honestone.system.files import write_atomically

# In the file's name: the id of the session, as rulph keeps a state for each.
SESSION = "{session_id}"


def answer_by_state(call: HookCall, file: str, here: Path) -> StopAnswer:
    """What the hook answers. A hold adds 1 to `iteration` in the file; nothing else in it changes.

    Raises OSError and ValueError for a state that is damaged, which lets go.
    """
    session = call.session
    is_name = session is not None and re.fullmatch(r"[\w-][\w.-]*", session) is not None
    if not may_hold(call) or (SESSION in file and not is_name):
        return StopAnswer()
    path = (here / Path(file.replace(SESSION, str(session))).expanduser()).resolve()
    if not path.exists():
        return StopAnswer()
    with alone_in(path.parent):
        text = path.read_bytes().decode()
        try:
            state = read_state(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from None
        if state is None or state.is_over or state.session_id not in ("", session):
            return StopAnswer()
        write_atomically(path, _counted(text, state.iteration + 1).encode(), through_links=True)
    return StopAnswer(
        reason=f"The rulph loop is not finished: {state}. Continue it to its final report "
        f"(held {state.iteration + 1} of at most {state.max_iterations} times)."
    )


def _counted(text: str, iteration: int) -> str:
    """The text with this count. Its bytes stay as they are but for the number, where it has one."""
    wanted = json.loads(text)
    wanted[NAMESPACE]["iteration"] = iteration
    for match in re.finditer(r'"iteration"\s*:\s*(\d+)', text):
        edited = f"{text[: match.start(1)]}{iteration}{text[match.end(1) :]}"
        if json.loads(edited) == wanted:
            return edited
    return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
