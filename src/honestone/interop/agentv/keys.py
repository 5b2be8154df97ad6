"""The keys of AgentV's files and what each becomes. Every dialect's reader knows all of them."""

from __future__ import annotations

from typing import Final

from honestone.formats.reader import Keys, keys

_NO_BUDGET = "budgets are set on the command line (--max-calls, --max-usd), not by the file"
_JUDGE_CHOICE = "which model judges is chosen with --judge, not by the file"

FILE: Final = keys(
    "an AgentV file",
    """
    name dataset | the suite's title; else the first line of `description`
    description | the suite's title without a `name`
    tests evalcases eval_cases | the cases, or files of cases
    threshold | what a case must reach, 0-1; also under `execution`, in a case, and in a case's `run`
    timeout_seconds | the time limit of a run
    execution evaluate_options | how the cases run, see below
    target providers targets | the target when there is one and `--target` can say it, else noted
    defaults default_test | what holds for all cases, see below
    prompts | the first is the input, with the case's `vars` in it; more are lost
    input input_files | messages and files before the input of every case
    assert assertions evaluators | graders of all cases: they come after a case's own (earlier only where a case has none)
    workspace environment | where the cases run, see below
    - $schema version author category license requires tags metadata governance suite evaluator conversation_id | about the file, not about its cases
    - env derived_metrics output_path experiment early_exit on_run_complete policy note notes | how AgentV itself runs
    - budget_usd | budgets are set on the command line
    ! repeat runs | at the top of a file is not read: write `evaluate_options: {repeat: N}`
    ! scenarios | (sets of cases made of others) are not read
    ! extensions | of AgentV cannot be run
    ! preprocessors nunjucks_filters | that change texts are not run
    """,
)
EXECUTION: Final = keys(
    "`execution`",
    f"""
    target targets provider providers | the target when `--target` can say it (an agent, PROVIDER:MODEL), else noted
    threshold timeout_seconds | what a case must reach; the time limit of a run
    trials | `count` attempts; strategy pass_at_k, mean (confidence_interval is lost)
    skip_defaults | the file's graders do not count for this case
    assert assertions evaluators | graders
    - cache fail_on_error failOnError verbose otel_file keep_workspaces | how AgentV itself runs
    ~ budget_usd budgetUsd | {_NO_BUDGET}
    """,
    "execution.",
)
FILE_EXECUTION: Final = EXECUTION + keys("", "workers max_concurrency | how many cases run at a time")
OPTIONS: Final = keys(
    "`evaluate_options`",
    f"""
    repeat | attempts, of which one must pass (strategies pass_all and mean too)
    max_concurrency timeout_ms timeout_seconds | cases at a time; the time limit of a run
    - cache delay generate_suggestions max_eval_time_ms filter_range | how AgentV itself runs
    ~ budget_usd | {_NO_BUDGET}
    """,
    "evaluate_options.",
)
DEFAULTS_OF_FILE: Final = keys(
    "`defaults`",
    f"""
    provider target | the target
    ~ grader | {_JUDGE_CHOICE}
    ! system_message | for all cases is not read: write it into their input
    """,
    "defaults.",
)
DEFAULT_TEST: Final = keys(
    "`default_test`",
    """
    vars assert assertions evaluators | variables and graders of all cases
    provider providers | the target
    - metadata | changes nothing
    ! options assert_scoring_function prompts threshold | of `default_test` is not read
    """,
    "default_test.",
)
CASE: Final = keys(
    "a case",
    """
    id | the case's id; unique in the file
    description | the case's description
    input input_messages input_files | text, messages, messages with text and file blocks; files come before it
    vars prompts | values for `{{ name }}` in a prompt of the case or its file; `input` and `expected_output` are the input and the reference
    criteria expected_outcome outcome | the goal: judged by itself without a grader, else shown to judges
    expected_output expected_messages | the reference answer
    rubrics | the case's own criteria: one group `rubrics`, next to the graders
    assert assertions evaluators | graders, see below; the strings among them are one rubric that counts as much as they are many
    execution run threshold timeout_seconds | how it runs, as in the file
    workspace environment | where it runs, as in the file
    metadata tags | kept; `metadata.tags` are the case's tags too, `metadata.split` its split
    provider providers target | the target
    options | options of a provider: lost
    - conversation_id suite dataset note notes evaluator category governance name | no meaning for scores
    - mode aggregation on_turn_failure window_size on_dependency_failure | no meaning for scores
    ! turns | (a conversation of several turns) cannot be run
    ! depends_on | is not read: cases do not wait for one another
    ! assert_scoring_function | puts scores together by a function, not as a weighted mean
    """,
    "tests[].",
)
RUN: Final = keys(
    "`run`", f"threshold timeout_seconds repeat | as in the file\n~ budget_usd | {_NO_BUDGET}", "tests[].run."
)
REPEAT: Final = keys(
    "`repeat`",
    f"""
    count strategy early_exit | attempts, their rule, and whether they stop at the first pass
    ~ cost_limit_usd costLimitUsd | {_NO_BUDGET}
    """,
    "repeat, trials: ",
)
WORKSPACE: Final = keys(
    "`workspace`",
    """
    template | the folder that is copied for each case
    repos hooks | one repository at a commit (more are lost); commands before and after every case
    ~ isolation mode | each case has a workspace of its own
    ! path docker env | of a workspace has no equivalent here
    """,
    "workspace.",
)
REPOSITORY: Final = keys(
    "a repository",
    """
    repo source commit base_commit ref | its address and what is checked out
    path | the workspace itself; a folder of it is lost
    ! ancestor sparse checkout clone | of a repository has no equivalent here
    """,
    "workspace.repos[].",
)
HOOKS: Final = keys(
    "`hooks`",
    """
    before_all before_each | setup of every case
    after_each after_all | teardown of every case
    - enabled | changes nothing
    """,
    "workspace.hooks.",
)
COMMAND: Final = keys(
    "a command",
    """
    command script cwd | the command line; it runs in the workspace
    - timeout_ms timeoutMs reset | changes nothing
    """,
    "workspace.hooks.before_each.",
)
ENVIRONMENT: Final = keys(
    "`environment`",
    """
    type workdir setup | the folder that is copied for each case, and a command run in it; `docker` is lost
    - context dockerfile image resources mounts secrets | of a container
    ! env | (variables of a workspace) are not set
    """,
    "environment.",
)
MESSAGE: Final = keys(
    "a message",
    """
    role* content | a message: text, or text and file blocks
    - name | changes nothing
    ! tool_calls | of a message have no place in a case
    """,
    "input[].",
)
BLOCK: Final = keys(
    "a content block", "type value* text path | a text or a file; images are lost", "input[].content[]."
)
CRITERION: Final = keys(
    "a criterion",
    """
    id | names it; without one a slug of its text
    expected_outcome outcome description criteria | the question
    weight | relative to the others of its list; 1 without one
    score_ranges | levels on 0-10: a map from lower bounds that starts at 0, or bands that cover 0-10
    operator | `correctness` and `contradiction` become part of the question
    required | score 0 fails the case; with score ranges, AgentV 2 asks for 10
    required_min_score min_score | the criterion's floor: 0-10, and 0-1 later
    """,
    "criterion.",
)
BAND: Final = keys(
    "a score range", "score_range outcome* expected_outcome description | one level", "criterion.score_ranges[]."
)
GRADER: Final = keys(
    "a grader",
    """
    type* | rubrics and LLM judges become criteria for judges, code graders become checks
    name metric id | the criterion's id; without one the type
    weight | relative to the other graders; 1 without one
    required | true: its `min_score`, else the case's threshold, is a floor; a number is the floor itself
    min_score | 0-1: the floor of this grader
    negate | one minus its score (`not-` before a type of code is the same)
    ! transform preprocessors postprocess | changes an output before it is graded
    """,
    "grader.",
)
_CODE: Final[dict[str, str]] = {
    "contains, contains-any, contains-all, icontains, icontains-any, icontains-all, starts-with, ends-with, equals": "value | the check of that name",
    "regex": "value pattern flags | the check `regex`",
    "is-json": "value schema | the checks `is-json` and `json-schema`",
    "field-accuracy": "aggregation fields | one check a field, by weight; `all_or_nothing` is one check",
    "tool-trajectory": "mode args_match argsMatch minimums expected | the checks `tool-calls` and `tool-count`",
    "trajectory:tool-used, trajectory:tool-sequence, trajectory:tool-args-match": "value | the checks `tool-calls` and `tool-count`",
    "skill-used": "value | the check `skill-loaded`",
    "latency": "threshold | the check `latency`",
    "cost": "budget | the check `cost`",
    "token-usage": "max_total maxTotal max_input maxInput max_output maxOutput | the check `tokens`",
    "execution-metrics": """
    max_duration_ms maxDurationMs max_cost_usd maxCostUsd max_tokens maxTokens max_tool_calls maxToolCalls | the checks `latency`, `cost`, `tokens`, `tool-count`
    ! max_llm_calls target_exploration_ratio exploration_tolerance | cannot be checked
    """,
    "script, code, code-judge, code-grader, script-grader": """
    command script cwd | the check `grader`: the command gets JSON and gives a score or an exit code
    ! target provider | gives a grader a model to call, which none gets here
    config ... | settings of the program
    """,
}
CODE_GRADERS: Final[dict[str, Keys]] = {
    kind: (GRADER + keys("", rows + ("" if "config" in rows else "\n- config | changes nothing"))).named(
        f"a grader of type `{kind}`"
    )
    for kinds, rows in _CODE.items()
    for kind in kinds.split(", ")
}
JUDGE: Final = GRADER + keys(
    "",
    f"""
    rubrics criteria value | a list is criteria, a text is marked 0-1
    prompt | what a free-form judge is asked, in place or in a text file; marked 0-1
    score_ranges operator | as in a criterion
    expected_outcome outcome description required_min_score | as in a criterion
    - config | changes nothing
    ~ target provider model temperature max_steps maxSteps grader_target | {_JUDGE_CHOICE}
    """,
)
GROUP: Final = GRADER + keys(
    "",
    """
    evaluators assert assertions | a group of graders
    threshold | the group's floor
    aggregator | `weighted_average` with `weights` by name; put together by code or a model it is lost
    ! config | that a group hands to its graders
    """,
)
AGGREGATOR: Final = keys("`aggregator`", "type* weights | how the group's mean is weighted", "grader.aggregator.")
WEIGHTS: Final = keys("`weights`", "... | a weight by the name of a grader", "grader.aggregator.weights.")
INCLUDE: Final = keys("an `include`", "include | the graders of another file", "grader.")
INCLUDED: Final = keys("a file of graders", "assert | the graders", "included file: ")
FIELD: Final = keys(
    "a field",
    "path* match weight tolerance relative required formats | a field and how it is compared",
    "grader.fields[].",
)
CALL: Final = keys(
    "a tool call",
    """
    tool* args | a call and its arguments
    ! max_duration_ms maxDurationMs | (a time limit of one tool call) cannot be checked
    ! args_match argsMatch | of one tool call cannot be checked: give it to all of them
    """,
    "grader.expected[].",
)
TOOL_USED: Final = keys(
    "`value` of `trajectory:tool-used`",
    "name tool min max | a tool and how often\n! pattern | (tools named by a pattern) cannot be counted",
    "grader trajectory:tool-used: value.",
)
TOOL_SEQUENCE: Final = keys(
    "`value` of `trajectory:tool-sequence`", "steps mode | tools in order", "grader trajectory:tool-sequence: value."
)
TOOL_ARGS: Final = keys(
    "`value` of `trajectory:tool-args-match`",
    "name* tool args mode | a call",
    "grader trajectory:tool-args-match: value.",
)
LOST_GRADERS: Final = keys(
    "", "! similar javascript python webhook | need a model of their own or run code inside AgentV"
)
_BY_ROWS: Final = tuple(keys("", rows, f"grader {kinds}: ") for kinds, rows in _CODE.items())
SUITE_KEYS: Final[tuple[Keys, ...]] = (
    FILE,
    FILE_EXECUTION,
    OPTIONS,
    DEFAULTS_OF_FILE,
    DEFAULT_TEST,
    CASE,
    RUN,
    REPEAT,
    WORKSPACE,
    REPOSITORY,
    HOOKS,
    COMMAND,
    ENVIRONMENT,
    MESSAGE,
    BLOCK,
    CRITERION,
    BAND,
    JUDGE,
    GROUP,
    AGGREGATOR,
    *_BY_ROWS,
    FIELD,
    CALL,
    TOOL_USED,
    TOOL_SEQUENCE,
    TOOL_ARGS,
    LOST_GRADERS,
    INCLUDE,
)

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
