"""SkillOpt (the package `skillopt`) in the world of the optimisers: its own training loop, reflecting,
merging, editing and gate. The text is its skill, one task is a look of each steering judge at it, and
the model that reflects is answered by the world's worker.
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path
from typing import Any, Final

import skillopt.model
import skillopt.prompts
from optimiser_world import (
    CERTIFYING,
    ITEMS,
    LOOKS,
    STEERING,
    WANTED,
    Ended,
    World,
    lines_of,
    unmet,
)
from skillopt.engine.trainer import ReflACTTrainer
from skillopt.envs.base import EnvAdapter

# One task a step; the loop ends earlier, where the looks are spent.
_SETTINGS: Final[dict[str, Any]] = {
    "optimizer_model": "worker",
    "target_model": "none",
    "train_size": LOOKS,
    "batch_size": 1,
    "num_epochs": 1,
    "accumulation": 1,
    "merge_batch_size": 8,
    "edit_budget": 4,
    "analyst_workers": 1,
    "sel_env_num": 1,
    "test_env_num": 1,
    "eval_test": False,
    # SkillOpt's advice where the tasks that select are few.
    "gate_metric": "soft",
}
# The wheel of 0.2.0 has no prompts: its loop fails at the first merge without them. The worker reads
# what is asked about, not how.
_PROMPTS: Final = (
    "analyst_error",
    "analyst_success",
    "merge_failure",
    "merge_success",
    "merge_final",
    "ranking",
)


class Spent(Exception):
    """No looks are left; SkillOpt itself ends after its number of steps alone."""


class TextTask(EnvAdapter):  # type: ignore[misc]
    """The one task: three judges look at the text. A text that was looked at has its marks on record,
    as GEPA's cache has them.
    """

    analyst_workers = 1
    failure_only = True
    minibatch_size = 8
    edit_budget = 4

    def __init__(self, world: World, looks: int) -> None:
        self.world, self.looks = world, looks
        self.on_record: dict[str, list[float]] = {}

    def build_train_env(self, batch_size: int, seed: int, **_: Any) -> list[str]:
        return ["text"]

    def build_eval_env(self, env_num: int, split: str, seed: int, **_: Any) -> list[str]:
        return ["text"]

    def get_task_types(self) -> list[str]:
        return ["text"]

    def rollout(
        self, env_manager: list[str], skill_content: str, out_dir: str, **_: Any
    ) -> list[dict[str, Any]]:
        """Its shape is `skillopt.types.RolloutResult`; what reflecting reads is in a file."""
        shares = self.shares(skill_content)
        feedback = unmet(shares)
        file = Path(out_dir) / "predictions" / "text" / "conversation.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps([{"role": "judges", "content": feedback}]))
        return [
            {
                "id": "text",
                # A task is done where nothing is unmet, so that looks that are left are used.
                "hard": int(not feedback),
                "soft": sum(shares) / ITEMS,
                "fail_reason": feedback,
            }
        ]

    def shares(self, text: str) -> list[float]:
        text = "\n".join(lines_of(text))
        if text not in self.on_record:
            if self.world.looks + len(STEERING) > self.looks:
                raise Spent
            self.on_record[text] = self.world.shares(text)
        return self.on_record[text]


def worker_of(world: World) -> Any:
    """The worker as SkillOpt's optimizer model: an edit of the text as its JSON of replaced lines."""

    def chat(*, user: str, **_: Any) -> tuple[str, dict[str, Any]]:
        text, feedback = user.split("## Failed Trajectories", 1)
        before = lines_of(text)
        after = lines_of(world.edit(text, feedback))
        edits = [
            {"op": "replace", "target": old, "content": new}
            for old, new in zip(before, after, strict=True)
            if old != new
        ]
        reply = {"patch": {"reasoning": "what the judges see unmet", "edits": edits}}
        return json.dumps(reply), {}

    return chat


def trained(world: World, looks: int) -> tuple[str, float]:
    """SkillOpt's best_skill.md after at most so many looks, and its score of it (0 to 1)."""
    folder = Path(skillopt.prompts.__file__).parent
    skillopt.prompts._cache.update({str(folder / f"{name}.md"): name for name in _PROMPTS})
    skillopt.model._openai.chat_optimizer = worker_of(world)
    with tempfile.TemporaryDirectory() as out:
        first = Path(out) / "first.md"
        first.write_text(world.first)
        settings = {"out_root": out, "skill_init": str(first), "seed": world.seed, **_SETTINGS}
        with contextlib.suppress(Spent), contextlib.redirect_stdout(io.StringIO()):
            ReflACTTrainer(settings, TextTask(world, looks)).train()
        best = Path(out) / "best_skill.md"
        state = json.loads((Path(out) / "runtime_state.json").read_text())
        return (best if best.exists() else first).read_text(), float(state["best_score"])


def skillopt_by_mean(world: World) -> Ended:
    """SkillOpt with all looks; what its own score says."""
    best, score = trained(world, LOOKS)
    return Ended(best, score * ITEMS >= WANTED)


def skillopt_certified(world: World) -> Ended:
    """SkillOpt, and other judges certify its best skill by the looks that are left for that."""
    best, _ = trained(world, LOOKS - CERTIFYING)
    return Ended(best, world.certifies(best))
