"""`honestone stage promote`: a person approves a candidate that the gate parked, or drops it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli.stages.options import show_artifact, stage_files, stage_options
from honestone.core.errors import UsageError
from honestone.core.skill.gate_layers import Decision
from honestone.core.skill.plan import apply_plan
from honestone.core.skill.risk import touched
from honestone.core.skill.stage_file import GATED, LANE

if TYPE_CHECKING:
    from honestone.app.stages.files import StageFiles, Target

PROMOTED = replace(GATED, verb="promote", says="promoted", what="a promotion")


@click.command("promote", short_help="Approve or drop what was parked.")
@click.argument("candidate_id", metavar="[ID]", required=False)
@click.option("--reject", is_flag=True, help="Drop it, and never keep the same bytes for this skill.")
@stage_options
def promote_command(
    candidate_id: str | None, reject: bool, state_root: Path | None, output: Path | None, as_json: bool, quiet: bool
) -> int:
    """Apply the parked candidate ID to the skill, modes too, or drop it. Without ID: list what waits.

    A skill that was edited since is left as it is (exit 2).
    """
    files = stage_files(state_root, output)
    if candidate_id is None:
        if reject:
            raise click.UsageError("--reject needs the ID of a candidate", click.get_current_context())
        _show_pending(files, as_json=as_json)
        return 0
    receipt = promote(candidate_id, files, reject=reject)
    show_artifact(receipt, [f"{receipt['decision']}: {receipt['reason']}"], as_json=as_json)
    return 0


def _show_pending(files: StageFiles, *, as_json: bool) -> None:
    from honestone.app.stages.state import pending
    from honestone.cli.printing import dump, write
    from honestone.report.draw import clean

    waiting = pending(files)
    if as_json:
        write(dump({"pending": waiting}) + "\n")
        return
    for one in waiting:
        write(clean(f"{one.get('candidate_id')}: {one.get('title')} ({one.get('reason')})") + "\n")
        for line in str(one.get("diff") or "").splitlines():
            write(clean(f"    {line}") + "\n")
    if not waiting:
        write("nothing waits for a person\n")


def promote(candidate_id: str, files: StageFiles, *, reject: bool = False) -> dict[str, Any]:
    """Apply a parked candidate to the skill, or drop it; writes a receipt and returns it.

    Raises UsageError, with nothing overwritten, for an id that does not wait and for a skill that was edited since.
    """
    entry = _find(candidate_id, files)
    return _drop(entry, files) if reject else _approve(entry, files)


def _find(name: str, files: StageFiles) -> dict[str, Any]:
    """A candidate by its id; where two runs have one of the same id, by RUN/ID."""
    from honestone.app.stages.state import pending

    waiting = pending(files)
    found = [one for one in waiting if name in (one.get("candidate_id"), _full_name(one))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} runs have a candidate `{name}` that waits",
            hint=f"say which: {', '.join(_full_name(one) for one in found)}",
        )
    known = ", ".join(str(one.get("candidate_id")) for one in waiting)
    raise UsageError(
        f"no candidate `{name}` waits for a person",
        hint=f"waiting: {known}" if known else "nothing waits; `honestone stage gate` says why it parks something",
    )


def _full_name(entry: Mapping[str, Any]) -> str:
    return f"{entry.get('run_id')}/{entry.get('candidate_id')}"


def _approve(entry: dict[str, Any], files: StageFiles) -> dict[str, Any]:
    from honestone.app.stages import files as on_disk
    from honestone.app.stages.state import only_one

    folder = Path(_text(entry, "target", "path"))
    with only_one(folder):
        target = on_disk.target_at(folder, named=str(folder))
        on_disk.refuse_inside(files, target)
        target = on_disk.recover(files, target)
        pointer = None
        # The very bytes already: an earlier `promote` was stopped right after it had put them there.
        if target.version.digest != entry.get("candidate_digest"):
            if target.version.digest != entry.get("base_digest"):
                raise UsageError(
                    f"`{target.named}` was edited since the candidate was parked; nothing was overwritten",
                    hint="propose, evaluate and gate anew on the skill as it is now, or bring the change in by hand: "
                    "`honestone stage promote` lists it",
                )
            pointer = _put_in_place(entry, target, files)
        receipt = _write(entry, files, Decision.KEEP, "a person approved it", {"rollback_pointer": pointer})
        _finish(entry, files, receipt)
    return receipt


def _put_in_place(entry: Mapping[str, Any], target: Target, files: StageFiles) -> dict[str, Any]:
    from honestone.app.stages import files as on_disk

    after = apply_plan(on_disk.plan_of(entry, target), target.version)
    if after.digest != entry.get("candidate_digest"):
        raise UsageError(
            f"the plan of `{entry['candidate_id']}` does not give the bytes that were parked; nothing was written",
            hint="its entry in pending_promote.json was changed: gate the candidate again",
        )
    place = on_disk.new_backup_place(files, str(entry["run_id"]), f"promote-{entry['candidate_id']}")
    pointer = on_disk.back_up(target, touched(target.version, after), place)
    on_disk.require_untouched(target)
    on_disk.announce(files, target, after, pointer)
    on_disk.put_in_place(target, after)
    on_disk.applied(files, target)
    return pointer


def _drop(entry: dict[str, Any], files: StageFiles) -> dict[str, Any]:
    from honestone.app.stages.files import stamp
    from honestone.app.stages.state import veto

    kept = {key: entry.get(key) for key in ("candidate_id", "run_id", "folder", "candidate_digest", "title")}
    veto(files, {**kept, "reason": "a person turned it down", "created_at": stamp()})
    receipt = _write(entry, files, Decision.REJECT, "a person turned it down", {})
    _finish(entry, files, receipt)
    return receipt


def _finish(entry: dict[str, Any], files: StageFiles, receipt: dict[str, Any]) -> None:
    from honestone.app.stages.state import note_state, unpark

    unpark(files, entry)
    note_state(files, receipt, target_path=_text(entry, "target", "path"))


def _write(
    entry: Mapping[str, Any], files: StageFiles, decision: Decision, reason: str, more: Mapping[str, Any]
) -> dict[str, Any]:
    from honestone.app.stages.files import write_stage

    name, run_id = _text(entry, "candidate_id"), _text(entry, "run_id")
    return write_stage(
        PROMOTED,
        {
            "decision": str(decision),
            "reason": reason,
            "decided_by": "person",
            "candidate_id": name,
            "candidate_category": entry.get("category"),
            "risk_level": entry.get("risk_level"),
            "candidate_digest": entry.get("candidate_digest"),
            "target": entry.get("target"),
            "source_gate_receipt": entry.get("receipt_path"),
            **more,
        },
        files,
        run_id=run_id,
        name=f"promote-{run_id}-{name}",
        lane=str(entry.get("lane") or LANE),
    )


def _text(entry: Mapping[str, Any], *steps: str) -> str:
    value: Any = entry
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    if not isinstance(value, str) or not value:
        raise UsageError(
            f"an entry of pending_promote.json has no `{'.'.join(steps)}`", hint="mend it, or gate the candidate again"
        )
    return value
