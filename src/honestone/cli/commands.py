"""The commands of each group under their titles: what is typed, where it is in `honestone.cli`, and
what `--help` says of it.

Not TOML as the options are: every start reads it, and reading TOML would be a tenth of `honestone
--help`.
"""

from __future__ import annotations

from typing import Final

GROUPS: Final[dict[str, dict[str, dict[str, tuple[str, str]]]]] = {
    "honestone": {
        "Begin": {
            "demo": ("demo:demo", "A whole run, offline, on real files."),
            "init": ("init:init", "Write starter files to this folder."),
            "doctor": ("doctor:doctor", "Which judges, workers and targets can run here."),
            "trust": (
                "trust:trust",
                "Trust the settings of a checkout, or a store, as they are now.",
            ),
            "completion": ("completion:completion", "Print the shell completion script."),
        },
        "Measure and improve": {
            "eval": ("eval:eval_", "Score artifacts against a rubric, or run a suite."),
            "improve": (
                "improve:improve",
                "Improve an artifact until it passes, or say why it does not.",
            ),
            "undo": ("recorded.undo:undo", "Put a file back as it was before `improve`."),
            "stage": ("stages.group:stage", "The skill pipeline, stage by stage."),
        },
        "Say what good looks like": {
            "rubric": ("rubrics.group:rubric", "Write, check, lock, convert and show rubrics."),
            "suite": ("suites.group:suite", "Write, check, lock, convert and show suites."),
        },
        "Look at what came out": {
            "runs": ("recorded.runs:runs", "List recorded runs."),
            "run": ("recorded.run:run", "Cancel a run that is not finished."),
            "runner": ("recorded.runner:runner", "Work on the cases of `eval SUITE --remote`."),
            "runners": (
                "recorded.runner:runners",
                "Which runners are at work, and what they refuse.",
            ),
            "show": ("recorded.show:show", "Show a recorded run in any format."),
            "view": (
                "recorded.view:view",
                "Look at runs in the browser, read-only, on this machine.",
            ),
            "compare": ("recorded.compare:compare", "Compare two runs of a suite, case by case."),
            "trend": (
                "recorded.compare:trend",
                "Show how a suite's results changed over its runs.",
            ),
            "rescore": (
                "recorded.rescore:rescore",
                "Score a run again from its record, without a call.",
            ),
            "store": (
                "recorded.store:store",
                "Check the store, migrate it, copy its runs into another.",
            ),
        },
        "How far judges can be trusted": {
            "noise": (
                "judges.noise:noise",
                "How much the same bytes score differently when judged again.",
            ),
            "label": (
                "judges.label:label",
                "Ask a person the items of a rubric, and keep the answers.",
            ),
            "audit": (
                "judges.audit:audit",
                "Whether judges can be talked round, by probes with known answers.",
            ),
            "calibrate": (
                "judges.calibrate:calibrate",
                "How far judges agree with people who labelled a sample.",
            ),
            "agreement": (
                "judges.agreement:agreement",
                "How far raters agree, from a table of their ratings.",
            ),
            "judge": ("judges.judge:judge", "A host agent as a judge; how a reply is read."),
        },
        "Coding agents": {
            "agent": (
                "agents.agent:agent",
                "Inside coding agents: installed in their settings, and their hooks.",
            ),
            "step": ("agents.step:step", "A host agent as the worker, one action at a time."),
            "mcp": ("agents.mcp:mcp", "A server for coding agents (MCP, on stdin and stdout)."),
        },
    },
    "stage": {
        "Commands": {
            "propose": ("stages.candidates:propose_command", "Candidates: real edits by a worker."),
            "rank": ("stages.candidates:rank_command", "Have a panel score the candidates."),
            "evaluate": (
                "stages.evaluate:evaluate_command",
                "Run a candidate's edit on real tasks.",
            ),
            "apply": ("stages.gate:apply_command", "Apply a candidate, with a backup."),
            "gate": ("stages.gate:gate_command", "Keep it, park it, or put the original back."),
            "promote": ("stages.gate:promote_command", "Approve or drop what was parked."),
            "run": ("stages.run:run_command", "Run all stages, with up to three attempts."),
            "learn": ("stages.learn:learn_command", "What helped so far, per category."),
            "schema": ("stages.learn:schema_command", "The JSON Schema of an artifact."),
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
    "judge": {
        "Commands": {
            "prompt": ("judges.judge_prompt:prompt", "Print what a judge would be asked."),
            "submit": ("judges.judge_prompt:submit", "Record a reply to that prompt."),
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
            "hook": ("agents.agent_hook:hook", "What the hooks of coding agents call."),
        }
    },
    "hook": {
        "Commands": {
            "stop": ("agents.agent_hook:stop", "Hold a session whose loop is not finished."),
            "session-start": ("agents.agent_hook:session_start", "Remind a session of its loop."),
        }
    },
    "step": {
        "Commands": {
            "next": ("agents.step:next_", "Continue to the next thing to do, and print it."),
            "submit": ("agents.step:submit", "Hand in what was asked for, and continue."),
            "status": ("agents.step:status", "Where the run is."),
        }
    },
}
