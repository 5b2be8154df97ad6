"""What each key of AgentV's files becomes: the material of the reference page. Every dialect's reader knows all of them."""

from __future__ import annotations

from typing import Final

from honestone.formats.reader import Keys, keys

_FILE: Final = keys(
    "",
    """
    name | the suite's title (`dataset` earlier; else the first line of `description`)
    threshold | what a case must reach, 0-1; also under `execution`, in a case, and in a case's `run`
    execution.target | the target when `--target` can say it (an agent, PROVIDER:MODEL), else noted
    execution.trials | `count` attempts; strategy pass_at_k, mean (confidence_interval is lost)
    execution.workers | how many cases run at a time
    execution.skip_defaults | the file's graders do not count for this case
    - execution.budget_usd | budgets are set on the command line
    - version author category license requires tags governance | about the file, not about its cases
    """,
)
_CASE: Final = keys(
    "",
    """
    id | the case's id; unique in the file
    rubrics | the case's own criteria: one group `rubrics`, next to the graders
    metadata | kept; `metadata.tags` are the case's tags, `metadata.split` its split
    - conversation_id | no meaning for scores
    """,
)
_CRITERION: Final = keys(
    "",
    """
    criterion.id | names it; without one a slug of its text
    criterion.weight | relative to the others of its list; 1 without one
    criterion.score_ranges | levels on 0-10: a map from lower bounds that starts at 0, or bands that cover 0-10
    criterion.operator | `correctness` and `contradiction` become part of the question
    """,
)
_GRADER: Final = keys(
    "",
    """
    grader.type | rubrics and LLM judges become criteria for judges, code graders become checks
    grader.name | the criterion's id (`metric` or `id` later); without one the type
    grader.weight | relative to the other graders; 1 without one
    grader.required | true: its `min_score`, else the case's threshold, is a floor; a number is the floor itself
    grader.min_score | 0-1: the floor of this grader
    grader.negate | one minus its score (`not-` before a type of code is the same)
    grader.prompt | what a free-form judge is asked, in place or in a text file; marked 0-1
    - grader.target provider model temperature | which model judges is chosen with --judge
    contains contains-any contains-all icontains icontains-any icontains-all starts-with ends-with equals regex is-json | the checks of those names
    script code-grader code_judge | the check `grader`: the command gets JSON and gives a score or an exit code
    field-accuracy | one check a field, by weight; `all_or_nothing` is one check
    tool-trajectory trajectory:tool-used trajectory:tool-sequence trajectory:tool-args-match skill-used | the checks `tool-calls`, `tool-count`, `skill-loaded`
    latency cost token-usage execution-metrics | the checks `latency`, `cost`, `tokens` (and `tool-count` for all calls)
    ! similar javascript python webhook | need a model of their own or run code inside AgentV
    ! grader.transform preprocessors | change an output before it is graded
    """,
)
_COMPOSITE: Final = keys(
    "",
    """
    composite.evaluators | a group of graders
    composite.aggregator | `weighted_average` with `weights` by name; put together by code or a model it is lost
    """,
)
_PLACE: Final = keys(
    "",
    """
    workspace.template | the folder that is copied for each case
    workspace.hooks | `before_*` commands are setup, `after_*` commands teardown, for every case
    workspace.repos | one repository at a commit; more are lost
    ! workspace.docker | a container
    """,
)

KEYS: Final[dict[str, tuple[Keys, ...]]] = {
    "agentv-seed": (
        _FILE,
        keys(
            "",
            """
    execution.evaluators | graders of every case that has none of its own
    evalcases | the cases
    """,
        ),
        _CASE,
        keys(
            "",
            """
    evalcases[].expected_outcome | the goal: judged by itself where there is no grader, else shown to judges
    evalcases[].input | text or messages; a case without one is judged as it is
    evalcases[].expected_output | the reference answer
    """,
        ),
        _CRITERION,
        keys(
            "",
            """
    criterion.expected_outcome | the question (also `description`)
    criterion.required | score 0 fails the case; false unless written
    criterion.required_min_score | 0-10: the criterion's floor
    """,
        ),
        _GRADER,
        _COMPOSITE,
    ),
    "agentv-2": (
        _FILE,
        keys(
            "",
            """
    evalcases tests | the cases
    """,
        ),
        _CASE,
        keys(
            "",
            """
    input_messages input | text, messages, messages with text and file blocks
    expected_messages expected_output | the reference answer
    expected_outcome criteria | the goal
    execution.evaluators assert | graders; in `tests` the file's come after the case's, in `evalcases` the case's alone count
    """,
        ),
        _CRITERION,
        keys(
            "",
            """
    criterion.expected_outcome outcome | the question
    criterion.required | true unless written: score 0 fails the case; with score ranges true asks for 10
    criterion.required_min_score | 0-10: the criterion's floor
    """,
        ),
        _GRADER,
        _COMPOSITE,
    ),
    "agentv-4": (
        _FILE,
        keys(
            "",
            """
    tests | the cases, or files of cases
    """,
        ),
        _CASE,
        keys(
            "",
            """
    criteria | the goal
    input input_files | text or messages; files come before it
    expected_output | the reference answer
    assertions | graders: the case's, then the file's
    """,
        ),
        _CRITERION,
        keys(
            "",
            """
    criterion.outcome | the question
    criterion.required | true unless written: score 0 fails the case
    criterion.min_score | 0-1: the criterion's floor
    """,
        ),
        _GRADER,
        _COMPOSITE,
        _PLACE,
        keys(
            "",
            """
    ! turns | conversations of several turns
    ! depends_on | cases that wait for others
    """,
        ),
    ),
    "agentv-5": (
        keys(
            "",
            """
    name | the suite's title
    threshold | what a case must reach, 0-1
    prompts | the first is the input, with the case's `vars` in it; more are lost
    providers defaults.provider | the target when there is one and `--target` can say it, else noted
    - defaults.grader | which model judges is chosen with --judge
    default_test | variables and graders of all cases
    evaluate_options.repeat | attempts, of which one must pass (strategies pass_all and mean too)
    evaluate_options.max_concurrency timeout_ms | cases at a time; the time limit of a run
    environment.workdir setup | the folder that is copied for each case, and a command run in it
    tests | the cases, or files of cases
    """,
        ),
        _CASE,
        keys(
            "",
            """
    vars | values for `{{ name }}`; `input` and `expected_output` are the input and the reference
    assert | graders: the case's, then the file's; the strings among them are one rubric that counts as much as they are many
    assert-set | a group of graders; its `threshold` is the group's floor
    llm-rubric.value | a list is criteria, a text is marked 0-1
    """,
        ),
        _CRITERION,
        keys(
            "",
            """
    criterion.outcome | the question
    criterion.required | true unless written: score 0 fails the case
    criterion.min_score | 0-1: the criterion's floor
    """,
        ),
        _GRADER,
        keys(
            "",
            """
    ! scenarios extensions | sets of cases made of others; code of AgentV
    """,
        ),
    ),
    "agentv-jsonl": (
        keys(
            "",
            """
    (each_row) | one case, with the keys of a case in the YAML dialects
    (NAME.yaml,_next_to_NAME.jsonl) | what holds for all rows: the keys of a file
    """,
        ),
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
