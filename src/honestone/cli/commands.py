"""The commands of each group under their titles: what is typed, where it is in `honestone.cli`, and
what `--help` says of it; and the names that commands had before.

Not TOML as the options are: every start reads it, and reading TOML would be a tenth of `honestone
--help`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

# Commands that `honestone --help` does not list: its first screen is for a user's day.
MORE: Final = "More"
# Where a context keeps that all of the help is asked for.
HELP_ALL: Final = "honestone.help_all"

GROUPS: Final[dict[str, dict[str, dict[str, tuple[str, str]]]]] = {
    "": {
        "Begin": {
            "init": ("init:init", "Write starter files to this folder."),
            "demo": ("demo:demo", "Watch a whole run, offline, on real files."),
            "doctor": ("doctor:doctor", "List the judges, workers and targets that can run here."),
        },
        "Measure and improve": {
            "eval": ("eval:eval_", "Score artifacts against a rubric, or run a suite."),
            "improve": (
                "improve:improve",
                "Improve an artifact until it passes, or say why it does not.",
            ),
            "undo": (
                "recorded.undo:undo",
                "Put a file back as it was before `improve` or `skill run`.",
            ),
        },
        "Say what good looks like": {
            "rubric": ("rubrics.group:rubric", "Write, check, lock, convert and show rubrics."),
            "suite": ("suites.group:suite", "Write, check, lock, convert and show suites."),
            "skill": ("stages.group:skill", "Improve an agent skill by real tasks, and prove it."),
        },
        "Look at results": {
            "show": ("recorded.show:show", "Show a recorded run in any format."),
            "view": ("recorded.view:view", "Look at runs in the browser, on this machine."),
            "compare": ("recorded.compare:compare", "Compare two runs of a suite, case by case."),
            "runs": ("recorded.runs:runs", "List runs; rescore, cancel, delete or import them."),
        },
        "Trust and automate": {
            "judges": ("judges.group:judges", "Find out how far judges can be trusted."),
            "agent": ("agents.agent:agent", "Work inside Claude Code, Codex and Gemini."),
        },
        MORE: {
            "trust": (
                "trust:trust",
                "Trust the settings of a checkout, or a store, as they are now.",
            ),
            "remote": ("remote:remote", "Run the cases of a suite on other machines."),
            "completion": ("completion:completion", "Print the shell completion script."),
            "help": ("help_command:help_", "Show the help of a command, by its new or old name."),
        },
    },
    "skill": {
        "Commands": {
            "run": ("stages.run:run_command", "Run all stages, with up to three attempts."),
            "propose": ("stages.candidates:propose_command", "Candidates: real edits by a worker."),
            "rank": ("stages.candidates:rank_command", "Have a panel score the candidates."),
            "evaluate": (
                "stages.evaluate:evaluate_command",
                "Run a candidate's edit on real tasks.",
            ),
            "apply": ("stages.gate:apply_command", "Apply a candidate, with a backup."),
            "gate": ("stages.gate:gate_command", "Keep it, park it, or put the original back."),
            "promote": ("stages.gate:promote_command", "Approve or drop what was parked."),
            "learn": ("stages.learn:learn_command", "What helped so far, per category."),
            "schema": ("stages.learn:schema_command", "The JSON Schema of an artifact."),
        }
    },
    "rubric": {
        "Commands": {
            "new": (
                "rubrics.new:new",
                "Write a rubric: a conversation, flags, or a template.",
            ),
            "check": ("rubrics.check:check", "Find what is wrong or weak in a rubric."),
            "lock": ("rubrics.lock:lock", "Lock rubric, prompt, judges and bars."),
            "convert": ("convert:convert_rubric", "Write a rubric in another format."),
            "show": ("rubrics.show:show", "Show a rubric as it is understood."),
        }
    },
    "suite": {
        "Commands": {
            "new": ("suites.new:new", "Draft tasks from a skill, a table, transcripts or traces."),
            "check": ("suites.check:check", "Find what is wrong or weak in a suite."),
            "lock": ("suites.lock:lock", "Lock cases, rubrics, prompt, judges and bars."),
            "convert": ("convert:convert_suite", "Write a suite in another format."),
            "show": ("convert:show_suite", "Show a suite as it is run."),
        }
    },
    "runs": {
        "Commands": {
            "list": ("recorded.runs:list_", "List recorded runs, newest first."),
            "trend": (
                "recorded.compare:trend",
                "Show how a suite's results changed over its runs.",
            ),
            "rescore": (
                "recorded.rescore:rescore",
                "Score a run again from its record, without a call.",
            ),
            "cancel": ("recorded.run:cancel", "End a run, so that it is not resumed."),
            "delete": ("recorded.delete:delete", "Delete runs, and give their space back."),
            "import": ("recorded.runs:import_", "Keep a loop of rulph as a run."),
            "store": (
                "recorded.store:store",
                "Check the store, migrate it, copy its runs into another.",
            ),
        }
    },
    "judges": {
        "Commands": {
            "label": (
                "judges.label:label",
                "Ask a person the items of a rubric, and keep the answers.",
            ),
            "calibrate": (
                "judges.calibrate:calibrate",
                "How far judges agree with people who labelled a sample.",
            ),
            "agreement": (
                "judges.agreement:agreement",
                "How far raters agree, from a table of their ratings.",
            ),
            "noise": (
                "judges.noise:noise",
                "How much the same bytes score differently when judged again.",
            ),
            "audit": (
                "judges.audit:audit",
                "Whether judges can be talked round, by probes with known answers.",
            ),
            "pairwise": (
                "judges.judge_pairwise:pairwise",
                "Compare two artifacts by one rubric, in both orders.",
            ),
            "read": ("judges.judge_read:read", "Read judges' replies from stdin."),
        }
    },
    "agent": {
        "Commands": {
            "install": (
                "agents.agent_install:install",
                "Write the skill, the hooks and the MCP server for coding agents.",
            ),
            "uninstall": (
                "agents.agent_install:uninstall",
                "Take out what `agent install` put in.",
            ),
            "status": (
                "agents.agent_install:status",
                "Whether honestone is installed in coding agents.",
            ),
            "step": ("agents.step:step", "A host agent as the worker, one action at a time."),
            "prompt": ("judges.judge_prompt:prompt", "Print what a judge would be asked."),
            "submit": ("judges.judge_prompt:submit", "Record a reply to that prompt."),
            "mcp": ("agents.mcp:mcp", "A server for coding agents (MCP, on stdin and stdout)."),
            "hook": ("agents.agent_hook:hook", "What the hooks of coding agents call."),
        }
    },
    "agent hook": {
        "Commands": {
            "stop": ("agents.agent_hook:stop", "Hold a session whose loop is not finished."),
            "session-start": ("agents.agent_hook:session_start", "Remind a session of its loop."),
        }
    },
    "agent step": {
        "Commands": {
            "next": ("agents.step:next_", "Continue to the next thing to do, and print it."),
            "submit": ("agents.step:submit", "Hand in what was asked for, and continue."),
            "status": ("agents.step:status", "Where the run is."),
        }
    },
    "remote": {
        "Commands": {
            "runner": ("recorded.runner:runner", "Work on the cases of `eval SUITE --remote`."),
            "runners": (
                "recorded.runner:runners",
                "Which runners are at work, and what they refuse.",
            ),
        }
    },
}
# Two groups of before whose commands have moved to more than one place.
GROUPS["judge"] = {
    "Commands": {
        **{name: GROUPS["agent"]["Commands"][name] for name in ("prompt", "submit")},
        **{name: GROUPS["judges"]["Commands"][name] for name in ("pairwise", "read")},
    }
}
GROUPS["run"] = {"Commands": {"cancel": GROUPS["runs"]["Commands"]["cancel"]}}

# What was typed before, and what it is called now.
NEW_NAMES: Final[dict[str, str]] = {
    "stage": "skill",
    "run": "runs",
    "trend": "runs trend",
    "rescore": "runs rescore",
    "store": "runs store",
    "noise": "judges noise",
    "label": "judges label",
    "audit": "judges audit",
    "calibrate": "judges calibrate",
    "agreement": "judges agreement",
    "judge": "judges",
    "judge prompt": "agent prompt",
    "judge submit": "agent submit",
    "step": "agent step",
    "mcp": "agent mcp",
    "runner": "remote runner",
    "runners": "remote runners",
}
# Where the commands of old names are: each still works, and prints what it printed.
OLD: Final[dict[str, str]] = {
    "stage": "stages.group:skill",
    "run": "recorded.run:run",
    "judge": "judges.group:judge",
    **{
        old: GROUPS[group]["Commands"][name][0]
        for old, new in NEW_NAMES.items()
        if " " not in old
        for group, _, name in (new.rpartition(" "),)
        if group
    },
}


def new_name(typed: str) -> str | None:
    """What a command is called now, by its old name with or without commands below it; None for a
    name that is not old.
    """
    words = typed.split()
    for length in range(len(words), 0, -1):
        new = NEW_NAMES.get(" ".join(words[:length]))
        if new is not None:
            return " ".join((new, *words[length:]))
    return None


def paths_of(name: str) -> Iterator[str]:
    """What is typed for each command of that name, old groups apart."""
    for group, titles in GROUPS.items():
        if group not in OLD and any(name in rows for rows in titles.values()):
            yield f"{group} {name}".strip()


def summary(group: str, name: str) -> str | None:
    """What the help of a group says of one of its commands; None where no table has it."""
    for rows in GROUPS.get(group, {}).values():
        if name in rows:
            return rows[name][1]
    return None
