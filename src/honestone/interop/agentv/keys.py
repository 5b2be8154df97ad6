"""What each key of AgentV's files becomes: the material of the reference page. Every dialect's reader knows all of them."""

from __future__ import annotations

from typing import Final

from honestone.interop.base import KnownKey as K

_FILE: Final = (
    K(key="name", meaning="the suite's title (`dataset` earlier; else the first line of `description`)"),
    K(
        key="threshold",
        meaning="what a case has to reach, 0-1; also under `execution`, in a case, and in a case's `run`",
    ),
    K(key="execution.target", meaning="the target when `--target` can say it (an agent, PROVIDER:MODEL), else noted"),
    K(key="execution.trials", meaning="`count` attempts; strategy pass_at_k, mean (confidence_interval is lost)"),
    K(key="execution.workers", meaning="how many cases run at a time"),
    K(key="execution.skip_defaults", meaning="the file's graders do not count for this case"),
    K(key="execution.budget_usd", meaning="budgets are set on the command line", how="ignored"),
    K(
        key="version, author, category, license, requires, tags, governance",
        meaning="about the file, not about its cases",
        how="ignored",
    ),
)
_CASE: Final = (
    K(key="id", meaning="the case's id; unique in the file"),
    K(key="rubrics", meaning="the case's own criteria: one group `rubrics`, beside the graders"),
    K(key="metadata", meaning="kept; `metadata.tags` are the case's tags, `metadata.split` its split"),
    K(key="conversation_id", meaning="no meaning for scores", how="ignored"),
)
_CRITERION: Final = (
    K(key="criterion.id", meaning="names it; without one a slug of its text"),
    K(key="criterion.weight", meaning="relative to the others of its list; 1 without one"),
    K(
        key="criterion.score_ranges",
        meaning="levels on 0-10: a map from lower bounds that starts at 0, or bands that cover 0-10",
    ),
    K(key="criterion.operator", meaning="`correctness` and `contradiction` become part of the question"),
)
_GRADER: Final = (
    K(key="grader.type", meaning="rubrics and LLM judges become criteria for judges, code graders become checks"),
    K(key="grader.name", meaning="the criterion's id (`metric` or `id` later); without one the type"),
    K(key="grader.weight", meaning="relative to the other graders; 1 without one"),
    K(
        key="grader.required",
        meaning="true: its `min_score`, else the case's threshold, is a floor; a number is the floor itself",
    ),
    K(key="grader.min_score", meaning="0-1: the floor of this grader"),
    K(key="grader.negate", meaning="one minus its score (`not-` before a type of code is the same)"),
    K(key="grader.prompt", meaning="what a free-form judge is asked, in place or in a text file; marked 0-1"),
    K(
        key="grader.target, provider, model, temperature",
        meaning="which model judges is chosen with --judge",
        how="ignored",
    ),
    K(
        key="contains, contains-any, contains-all, icontains..., starts-with, ends-with, equals, regex, is-json",
        meaning="the checks of those names",
    ),
    K(
        key="script, code-grader, code_judge",
        meaning="the check `grader`: the command gets JSON and gives a score or an exit code",
    ),
    K(key="field-accuracy", meaning="one check a field, by weight; `all_or_nothing` is one check"),
    K(key="tool-trajectory, trajectory:*, skill-used", meaning="the checks `tool-calls`, `tool-count`, `skill-loaded`"),
    K(
        key="latency, cost, token-usage, execution-metrics",
        meaning="the checks `latency`, `cost`, `tokens` (and `tool-count` for all calls)",
    ),
    K(
        key="similar, javascript, python, webhook",
        meaning="need a model of their own or run code inside AgentV",
        how="lost",
    ),
    K(key="grader.transform, preprocessors", meaning="change an output before it is graded", how="lost"),
)
_COMPOSITE: Final = (
    K(key="composite.evaluators", meaning="a group of graders"),
    K(
        key="composite.aggregator",
        meaning="`weighted_average` with `weights` by name; put together by code or a model it is lost",
    ),
)
_PLACE: Final = (
    K(key="workspace.template", meaning="the folder that is copied for each case"),
    K(key="workspace.hooks", meaning="`before_*` commands are setup, `after_*` commands teardown, for every case"),
    K(key="workspace.repos", meaning="one repository at a commit; more are lost"),
    K(key="workspace.docker", meaning="a container", how="lost"),
)

KEYS: Final[dict[str, tuple[K, ...]]] = {
    "agentv-seed": (
        *_FILE,
        K(key="execution.evaluators", meaning="graders of every case that has none of its own"),
        K(key="evalcases", meaning="the cases"),
        *_CASE,
        K(
            key="evalcases[].expected_outcome",
            meaning="the goal: judged by itself where there is no grader, else shown to judges",
        ),
        K(key="evalcases[].input", meaning="text or messages; a case without one is judged as it is"),
        K(key="evalcases[].expected_output", meaning="the reference answer"),
        *_CRITERION,
        K(key="criterion.expected_outcome", meaning="the question (also `description`)"),
        K(key="criterion.required", meaning="score 0 fails the case; false unless written"),
        K(key="criterion.required_min_score", meaning="0-10: the criterion's floor"),
        *_GRADER,
        *_COMPOSITE,
    ),
    "agentv-2": (
        *_FILE,
        K(key="evalcases, tests", meaning="the cases"),
        *_CASE,
        K(key="input_messages, input", meaning="text, messages, messages with text and file blocks"),
        K(key="expected_messages, expected_output", meaning="the reference answer"),
        K(key="expected_outcome, criteria", meaning="the goal"),
        K(
            key="execution.evaluators, assert",
            meaning="graders; in `tests` the file's come after the case's, in `evalcases` the case's alone count",
        ),
        *_CRITERION,
        K(key="criterion.expected_outcome, outcome", meaning="the question"),
        K(
            key="criterion.required",
            meaning="true unless written: score 0 fails the case; with score ranges true asks for 10",
        ),
        K(key="criterion.required_min_score", meaning="0-10: the criterion's floor"),
        *_GRADER,
        *_COMPOSITE,
    ),
    "agentv-4": (
        *_FILE,
        K(key="tests", meaning="the cases, or files of cases"),
        *_CASE,
        K(key="criteria", meaning="the goal"),
        K(key="input, input_files", meaning="text or messages; files stand before it"),
        K(key="expected_output", meaning="the reference answer"),
        K(key="assertions", meaning="graders: the case's, then the file's"),
        *_CRITERION,
        K(key="criterion.outcome", meaning="the question"),
        K(key="criterion.required", meaning="true unless written: score 0 fails the case"),
        K(key="criterion.min_score", meaning="0-1: the criterion's floor"),
        *_GRADER,
        *_COMPOSITE,
        *_PLACE,
        K(key="turns", meaning="conversations of several turns", how="lost"),
        K(key="depends_on", meaning="cases that wait for others", how="lost"),
    ),
    "agentv-5": (
        K(key="name", meaning="the suite's title"),
        K(key="threshold", meaning="what a case has to reach, 0-1"),
        K(key="prompts", meaning="the first is the input, with the case's `vars` in it; more are lost"),
        K(
            key="providers, defaults.provider",
            meaning="the target when there is one and `--target` can say it, else noted",
        ),
        K(key="defaults.grader", meaning="which model judges is chosen with --judge", how="ignored"),
        K(key="default_test", meaning="variables and graders of all cases"),
        K(
            key="evaluate_options.repeat",
            meaning="attempts, of which one has to pass (strategies pass_all and mean too)",
        ),
        K(key="evaluate_options.max_concurrency, timeout_ms", meaning="cases at a time; the time limit of a run"),
        K(key="environment.workdir, setup", meaning="the folder that is copied for each case, and a command run in it"),
        K(key="tests", meaning="the cases, or files of cases"),
        *_CASE,
        K(key="vars", meaning="values for `{{ name }}`; `input` and `expected_output` are the input and the reference"),
        K(
            key="assert",
            meaning="graders: the case's, then the file's; the strings among them are one rubric that counts as much as they are many",
        ),
        K(key="assert-set", meaning="a group of graders; its `threshold` is the group's floor"),
        K(key="llm-rubric.value", meaning="a list is criteria, a text is marked 0-1"),
        *_CRITERION,
        K(key="criterion.outcome", meaning="the question"),
        K(key="criterion.required", meaning="true unless written: score 0 fails the case"),
        K(key="criterion.min_score", meaning="0-1: the criterion's floor"),
        *_GRADER,
        K(key="scenarios, extensions", meaning="sets of cases made of others; code of AgentV", how="lost"),
    ),
    "agentv-jsonl": (
        K(key="(a row)", meaning="one case, with the keys of a case in the YAML dialects"),
        K(key="(NAME.yaml beside NAME.jsonl)", meaning="what holds for all rows: the keys of a file"),
    ),
}

_BAR: Final = "a case passes at 80 unless the file says otherwise; no floor"
DEFAULTS: Final[dict[str, tuple[str, ...]]] = {
    "agentv-seed": (_BAR, "`required` is false unless it is written; a required criterion fails the case at score 0"),
    "agentv-2": (_BAR, "`required` is true for yes/no criteria unless it is written; with score ranges it asks for 10"),
    "agentv-4": (_BAR, "`required` is true for yes/no criteria unless it is written"),
    "agentv-5": (_BAR, "`required` is true for yes/no criteria unless it is written"),
    "agentv-jsonl": (_BAR, "`required` as in the dialect of the first row"),
}

EXAMPLES: Final[dict[str, str]] = {
    "agentv-seed": """\
execution:
  evaluators:
    - name: advice
      type: rubric
      rubrics:
        - {id: names-risk, expected_outcome: Names the risk, weight: 2, required: true}
        - {id: tone, expected_outcome: Friendly, score_ranges: {0: rude, 5: dry, 10: warm}}
evalcases:
  - id: lend-money
    expected_outcome: Sound advice about lending to a friend
    input: Should I lend my friend a month's pay?
""",
    "agentv-2": """\
evalcases:
  - id: packing
    expected_outcome: A packing list for three days of rain
    input_messages:
      - {role: user, content: What do I pack for a wet weekend?}
    rubrics: [Has a raincoat, Has spare socks]
""",
    "agentv-4": """\
tests:
  - id: packing
    criteria: A packing list for three days of rain
    input: What do I pack for a wet weekend?
    assertions:
      - {type: icontains, value: raincoat}
      - type: rubrics
        criteria: [{id: short, outcome: At most ten things, required: false}]
""",
    "agentv-5": """\
prompts: ["Pack for {{ days }} days of {{ weather }}."]
tests:
  - id: packing
    vars: {days: 3, weather: rain}
    assert:
      - {type: icontains, value: raincoat, required: true}
      - At most ten things
""",
    "agentv-jsonl": '{"id": "packing", "criteria": "A list of things", "input": "What do I pack?", "rubrics": ["Has socks"]}\n',
}
