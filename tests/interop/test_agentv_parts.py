"""AgentV files that are made of several: prompts, folders, references, workspaces, conversations,
and what is looked for above.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Check, Rubric
from honestone.core.suite.case import CaseWorkspace, Message
from honestone.formats.source import SourceErrors, SuiteSource
from honestone.interop.recognise import read_any_suite


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a folder of evals."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "evals").mkdir()
    return tmp_path


def put(project: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


def read(project: Path, text: str, files: Mapping[str, str] = {}) -> SuiteSource:
    put(project, {**files, "evals/x.eval.yaml": text})
    return read_any_suite(project / "evals" / "x.eval.yaml")


def inputs(source: SuiteSource) -> dict[str, str]:
    return {case.id: case.input for case in source.suite.cases}


def said(source: SuiteSource) -> str:
    return "\n".join(loss.message for loss in source.losses)


# -------------------------------------------------------------------------------------------------------
# prompts


def test_each_prompt_makes_a_case_of_every_test(project: Path) -> None:
    """The ids are AgentV's: `ID__prompt_PROMPT`, with the digest of a prompt that has no name."""
    text = """\
prompts: [file://p.md, 'Shout {{ word }}', {id: polite, prompt: 'Please say {{ vars.word }}'}]
tests:
  - {id: a, vars: {word: moss}, assert: [{type: contains, value: moss}]}
  - {id: b, vars: {word: fern}, assert: [{type: contains, value: fern}]}
"""
    source = read(project, text, {"evals/p.md": "Say {{ word }}\n"})
    digest = hashlib.sha256(json.dumps("Shout {{ word }}").encode()).hexdigest()[:12]
    assert inputs(source) == {
        "a__prompt_p.md": "Say moss\n",
        f"a__prompt_prompt-{digest}": "Shout moss",
        "a__prompt_polite": "Please say moss",
        "b__prompt_p.md": "Say fern\n",
        f"b__prompt_prompt-{digest}": "Shout fern",
        "b__prompt_polite": "Please say fern",
    }
    assert not source.losses and any("several prompts" in note for note in source.notes)


def test_a_prompt_of_messages_is_one_prompt(project: Path) -> None:
    """A list of messages is a conversation, as the whole of `prompts` and as one of them; one
    prompt changes no id.
    """
    chat = "[{role: system, content: Be brief}, {role: user, content: 'Say {{ word }}'}]"
    test = "tests: [{id: a, vars: {word: moss}, assert: [ok]}]\n"
    for written in (chat, f"[{chat}]", f"[{{messages: {chat}}}]"):
        (case,) = read(project, f"prompts: {written}\n{test}").suite.cases
        assert case.id == "a"
        assert case.messages == (Message("system", "Be brief"), Message("user", "Say moss"))


def test_an_input_next_to_prompts_is_their_variable(project: Path) -> None:
    text = "prompts: ['Question: {{ input }}']\ntests: [{id: a, input: why?, assert: [ok]}]\n"
    assert inputs(read(project, text)) == {"a": "Question: why?"}


def test_variables_inside_an_input_that_is_a_variable(project: Path) -> None:
    """AgentV fills in the prompt, and then the input that it became; values inside those stay as
    they are.
    """
    text = "prompts: ['{{ input }}']\ndefault_test: {vars: {who: '{{ input }}'}}\ntests: [{id: a, vars: {input: 'hello {{ who }}'}, assert: [ok]}]\n"
    assert inputs(read(project, text)) == {"a": "hello {{ input }}"}


def test_a_prompt_that_a_program_writes_is_a_loss(project: Path) -> None:
    source = read(
        project,
        "prompts: [{function: ./p.ts}, 'Say {{ w }}']\ntests: [{id: a, vars: {w: x}, assert: [ok]}]\n",
    )
    assert "a program writes" in said(source) and len(source.suite.cases) == 1


# ----------------------------------------------------------------------------------------------
# what is elsewhere


def test_files_are_looked_for_in_the_folders_above(project: Path) -> None:
    """Next to the file first, then in each folder up to the repository, as AgentV does; never above
    that.
    """
    text = "tests: [{id: a, input: q, assertions: [{type: llm-grader, prompt: 'file://graders/g.md'}]}]\n"
    source = read(project, text, {"graders/g.md": "Is it from above?"})
    assert source.suite.cases[0].rubric.criteria[0].requirement == "Is it from above?"
    source = read(project, text, {"evals/graders/g.md": "Is it from here?"})
    assert source.suite.cases[0].rubric.criteria[0].requirement == "Is it from here?"
    (project.parent / "secret.md").write_text("SECRET")
    source = read(project, text.replace("graders/g.md", "secret.md"))
    assert "cannot be read" in said(source) and "SECRET" not in str(source.suite)


def test_a_default_test_by_reference(project: Path) -> None:
    """`ref://NAME` is a name in AgentV's configuration, which a person allows to be read; an
    unknown one is an error.
    """
    text = (
        "prompts: ['{{ input }}']\ndefault_test: ref://shared\ntests: [{id: a, vars: {input: q}}]\n"
    )
    put(
        project,
        {
            ".agentv/config.yaml": "refs: {shared: 'file://shared.yaml'}\n",
            "shared.yaml": "assert: [{type: contains, value: moss}]\n",
            "evals/x.eval.yaml": text,
        },
    )
    file = project / "evals" / "x.eval.yaml"
    with pytest.raises(UsageError, match="out of the project"):
        read_any_suite(file)
    (case,) = read_any_suite(file, [project]).suite.cases
    assert case.rubric.criteria[0].items[0].check == Check(kind="contains", value="moss")
    file.write_text(text.replace("shared", "other"))
    with pytest.raises(SourceErrors, match="no reference `other`"):
        read_any_suite(file, [project])


def test_cases_by_a_pattern(project: Path) -> None:
    """Files come in the order of their names; one case, a list, or cases under `tests`."""
    files = {
        "evals/cases/b.yaml": "- {id: b, input: q, criteria: g}\n",
        "evals/cases/a.yaml": "{id: a, input: q, criteria: g}\n",
        "evals/cases/c.yaml": "tests: [{id: c, input: q, criteria: g}]\n",
        "evals/cases/notes.txt": "x\n",
    }
    source = read(
        project, "name: t\ntests: ['file://cases/*.yaml', {id: z, input: q, criteria: g}]\n", files
    )
    assert [case.id for case in source.suite.cases] == ["a", "b", "c", "z"] and not source.losses
    with pytest.raises(SourceErrors, match="no file is named"):
        read(project, "name: t\ntests: ['file://cases/*.json', {id: z, input: q, criteria: g}]\n")
    with pytest.raises(UsageError, match="out of the project"):
        read(
            project, "name: t\ntests: ['file://../../../*.yaml', {id: z, input: q, criteria: g}]\n"
        )


def test_cases_that_a_program_writes_are_a_loss(project: Path) -> None:
    source = read(
        project, "name: t\ntests: ['file://cases.py:make', {id: z, input: q, criteria: g}]\n"
    )
    assert "written by a program" in said(source) and len(source.suite.cases) == 1


def test_a_folder_of_cases_with_workspaces(project: Path) -> None:
    """A folder `workspace` next to a case's file is its workspace, unless the case says another
    one.
    """
    files = {
        "evals/cases/one/case.yaml": "input: q\ncriteria: g\n",
        "evals/cases/one/workspace/a.txt": "a\n",
        "evals/cases/two/case.yml": "input: q\ncriteria: g\nworkspace: {template: ./other}\n",
        "evals/cases/two/workspace/a.txt": "a\n",
    }
    source = read(project, "name: t\ntests: ./cases\n", files)
    assert {case.id: case.workspace and case.workspace.copy for case in source.suite.cases} == {
        "one": "cases/one/workspace",
        "two": "./other",
    }


# -----------------------------------------------------------------------------------------------------
# workspaces


def test_a_case_s_workspace_adds_to_the_file_s(project: Path) -> None:
    """Hooks of both run, and a case's hook of the same name stands in for the file's."""
    text = """\
workspace: {template: ./seed, hooks: {before_all: {command: all}, before_each: {command: each}}}
tests:
  - {id: a, input: q, criteria: g}
  - {id: b, input: q, criteria: g, workspace: {hooks: {before_each: {command: mine}, after_each: {command: away}}}}
"""
    a, b = read(project, text).suite.cases
    assert (a.workspace, a.setup, a.teardown) == (CaseWorkspace(copy="./seed"), ("all", "each"), ())
    assert (b.workspace, b.setup, b.teardown) == (
        CaseWorkspace(copy="./seed"),
        ("all", "mine"),
        ("away",),
    )


def test_a_workspace_in_a_file_of_its_own(project: Path) -> None:
    """Its paths start at its own folder. A file that is missing is an error at the key."""
    text = "workspace: ./rooms/w.yaml\ntests: [{id: a, input: q, criteria: g}]\n"
    (case,) = read(project, text, {"evals/rooms/w.yaml": "template: ./seed\n"}).suite.cases
    assert case.workspace == CaseWorkspace(copy="rooms/seed")
    with pytest.raises(SourceErrors, match="file of `workspace` cannot be read") as caught:
        read(project, text.replace("w.yaml", "none.yaml"))
    assert "x.eval.yaml:1:12" in str(caught.value.errors[0].place)


def test_repositories_in_folders_of_the_workspace(project: Path) -> None:
    """The first one for the workspace itself is it; others are checked out by commands of the
    setup, quoted.
    """
    text = """\
workspace:
  repos:
    - {path: ., repo: https://git.example/a.git, commit: abc}
    - {path: ./libs/b c, repo: owner/b, base_commit: def, ancestor: 2}
    - {path: ./d, source: {type: git, url: https://git.example/d.git}, checkout: {ref: main}, clone: {depth: 1}}
    - {path: ../away, repo: owner/e}
    - {path: ./f, repo: /tmp/here}
tests: [{id: a, input: q, criteria: g}]
"""
    source = read(project, text)
    (case,) = source.suite.cases
    assert case.workspace == CaseWorkspace(git="https://git.example/a.git", ref="abc")
    assert case.setup == (
        "git clone --quiet -- https://github.com/owner/b.git 'libs/b c'",
        "git -C 'libs/b c' checkout --quiet --detach 'def~2'",
        "git clone --quiet -- https://git.example/d.git d",
        "git -C d checkout --quiet --detach main",
    )
    assert [loss.message for loss in source.losses] == [
        "a repository is checked out into the workspace or a folder of its own in it",
        "the repository `/tmp/here` of this machine cannot be checked out into a folder of the workspace",
    ]


def test_a_container_for_the_target_is_a_loss_that_says_what_to_do(project: Path) -> None:
    place = "environment: {type: docker, image: x, workdir: /w}"
    (loss,) = read(project, f"{place}\ntests: [{{id: a, input: q, criteria: g}}]\n").losses
    assert "container" in loss.message and "--target" in (loss.hint or "")


# ------------------------------------------------------------------------------------------------
# prompts of rubrics


def asked_of(source: SuiteSource) -> list[str]:
    (case,) = source.suite.cases
    return [item.requirement for _, item in case.rubric.questions()]


def test_a_prompt_of_a_rubric_is_asked_with_each_criterion(project: Path) -> None:
    """In the place of `{{ rubrics }}`; what a judge sees anyway is named."""
    text = """\
tests:
  - id: a
    input: q
    assertions:
      - {type: rubrics, prompt: "Be strict with {{ output }}. Does it hold: {{ rubrics }}?", criteria: [Is short, Is kind]}
"""
    source = read(project, text)
    assert source.losses == ()
    assert asked_of(source) == [
        f"Be strict with (the output). Does it hold: {said}?" for said in ("Is short", "Is kind")
    ]
    assert any("once for each criterion" in note for note in source.notes)
    blind = read(project, text.replace("{{ rubrics }}", "all of it"))
    assert ["without `{{ rubrics }}`" in loss.message for loss in blind.losses] == [True]
    assert asked_of(blind) == ["Is short", "Is kind"]


def test_the_rubric_prompt_of_a_file_holds_where_a_rubric_has_none(project: Path) -> None:
    """Also for texts among the graders; its other options are losses with a name."""
    text = """\
prompts: ["{{ input }}"]
default_test: {options: {rubric_prompt: "Strictly: {{ rubrics }}", provider: openai:gpt-5}}
tests:
  - vars: {input: q}
    assert:
      - Is short
      - {type: llm-rubric, metric: m, value: [{outcome: Is kind}]}
      - {type: llm-rubric, metric: n, prompt: "Mildly: {{ rubrics }}", value: [{outcome: Is warm}]}
"""
    source = read(project, text)
    assert source.losses == ()
    assert asked_of(source) == ["Strictly: Is short", "Strictly: Is kind", "Mildly: Is warm"]
    lost = read(project, text.replace("provider: openai:gpt-5", "transform: x")).losses
    assert ["`transform` of `default_test` is not read" in loss.message for loss in lost] == [True]


# -------------------------------------------------------------------------------------------------
# strangers' keys


def test_keys_that_agentv_ignores_are_notes(project: Path) -> None:
    """Of a file and of a case; one that is nearly a known key was meant to judge, and one of a
    grader may be.
    """
    text = "owner: me\ntests: [{id: a, input: q, mustMention: [x], task: t, assertions: [{type: contains, value: x}]}]\n"
    source = read(project, text)
    assert source.losses == ()
    for key in ("owner", "mustMention", "task"):
        assert [f"`{key}`" in note for note in source.notes].count(True) == 1
    for old, new in (
        ("mustMention", "rubrisc"),
        ("owner", "asertions"),
        ("value: x", "value: x, valeus: y"),
    ):
        lost = read(project, text.replace(old, new, 1)).losses
        assert ["unknown key" in loss.message for loss in lost] == [True]


def test_keys_that_agentv_refuses_stay_losses(project: Path) -> None:
    """The program of dialect 5 refuses a file with keys that it does not know, and the page of the
    first dialect has none.
    """
    for text in (
        "prompts: ['{{ input }}']\ntests: [{vars: {input: q}, owner: me, assert: [x]}]\n",
        "evalcases: [{id: a, expected_outcome: g, input: q, owner: me}]\n",
    ):
        assert ["`owner`" in loss.message for loss in read(project, text).losses] == [True]


# ---------------------------------------------------------------------------------------------------
# conversations


def test_tool_calls_of_a_message_are_shown(project: Path) -> None:
    """In every form that AgentV and the APIs write them."""
    text = """\
tests:
  - id: a
    criteria: g
    input:
      - {role: user, content: Look}
      - role: assistant
        content: I look.
        tool_calls: [{tool: read, input: {path: a.txt}}, {function: {name: grep, arguments: '{"x": 1}'}}, {odd: 1}]
      - {role: user, content: And?}
"""
    source = read(project, text)
    assert source.suite.cases[0].messages[1] == Message(
        "assistant",
        'I look.\n\n(tool call: read {"path": "a.txt"})\n\n(tool call: grep {"x": 1})\n\n(tool call: {\n  "odd": 1\n})',
    )
    assert not source.losses


TURNS = """\
tests:
  - id: a
    mode: conversation
    input: [{role: system, content: Be brief}]
    turns:
      - {input: 'Say {{ w }}', assertions: [{type: contains, value: moss}, Is kind]}
      - {input: Hello}
      - {input: Bye, expected_output: Bye}
    vars: {w: moss}
    assertions: [{type: contains, value: fern}]
"""


def test_turns_are_a_conversation(project: Path) -> None:
    """The target replies after each; graders of a turn are about its reply, those of the case about
    all of them.
    """
    source = read(project, TURNS)
    (case,) = source.suite.cases
    assert source.losses == ()
    assert [message.role for message in case.messages] == ["system", *("user", "target") * 3]
    assert [c.id for c in case.rubric.criteria] == ["turn-1", "turn-2", "turn-3", "conversation"]
    first = [
        item
        for one in case.rubric.criteria[0].children
        for _, item in Rubric(criteria=(one,)).questions()
    ]
    assert [item.requirement for item in first if item.check is None] == [
        "In the target's reply 1: Is kind"
    ]
    checks = [item.check for _, item in case.rubric.questions() if item.check is not None]
    assert [(check.kind, check.options.get("in")) for check in checks] == [
        ("contains", 1),
        ("regex", None),
        ("contains", None),
    ]
    assert not any(
        one.required or one.floor for top in case.rubric.criteria for one, _ in top.walk()
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mode: conversation", "tags: [x]", "without `mode: conversation`"),
        ("mode: conversation", "mode: conversation\n    aggregation: min", "`aggregation`"),
        (
            "mode: conversation",
            "mode: conversation\n    on_turn_failure: stop",
            "`on_turn_failure`",
        ),
        ("mode: conversation", "mode: conversation\n    window_size: 2", "`window_size`"),
        ("value: moss}", "value: moss, required: true}", "must be met"),
        (
            "{type: contains, value: moss}",
            "{type: code-grader, command: [p]}",
            "the check `grader`",
        ),
    ],
)
def test_what_a_conversation_cannot_be_is_a_loss(
    project: Path, old: str, new: str, said: str
) -> None:
    losses = read(project, TURNS.replace(old, new)).losses
    assert [said in loss.message for loss in losses] == [True]


def test_a_system_message_for_all_cases(project: Path) -> None:
    text = "defaults: {system_message: Be brief}\nprompts: ['{{ q }}']\ntests: [{id: a, vars: {q: why}, assert: [ok]}]\n"
    (case,) = read(project, text).suite.cases
    assert case.messages == (Message("system", "Be brief"), Message("user", "why"))


def test_a_case_that_skips_the_defaults_is_not_given_the_file_s_input(project: Path) -> None:
    text = """\
input: [{role: system, content: Be brief}]
tests:
  - {id: a, input: q, criteria: g}
  - {id: b, input: q, criteria: g, execution: {skip_defaults: true}}
"""
    assert [len(case.messages) for case in read(project, text).suite.cases] == [2, 1]


def test_a_case_without_an_input_is_left_out_with_a_loss(project: Path) -> None:
    """AgentV skips it and goes through the rest; here a person accepts that."""
    source = read(
        project, "name: t\ntests: [{id: a, criteria: g}, {id: b, input: q, criteria: g}]\n"
    )
    assert list(inputs(source)) == ["b"] and "no `input`" in said(source)
    with pytest.raises(UsageError, match="no case of this file can be read"):
        read(project, "name: t\ntests: [{id: a, criteria: g}]\n")


# ---------------------------------------------------------------------------------------------------------
# graders


def test_a_group_with_a_share_of_yes_no_graders(project: Path) -> None:
    """`threshold` of yes/no graders is their share; of marks it is lost."""
    group = "{name: g, type: composite, aggregator: {type: threshold, threshold: 0.5}, assertions: [%s]}"
    members = "{type: contains, value: x, weight: 3}, {name: n, type: icontains, value: y}"
    text = "tests: [{id: a, input: q, assertions: [%s]}]\n"
    source = read(project, text % (group % members))
    (criterion,) = source.suite.cases[0].rubric.criteria
    assert [child.weight for child in criterion.children] == [1, 1] and criterion.floor is None
    assert not source.losses
    source = read(
        project, text % (group % (members + ", {name: m, type: llm-grader, prompt: Is it good}"))
    )
    assert "`threshold`" in said(source)


def test_members_of_a_composite_without_an_aggregator_count_alike(project: Path) -> None:
    group = "{name: g, type: composite, assertions: [{type: contains, value: x, weight: 3}, {type: equals, value: y}]}"
    (criterion,) = (
        read(project, f"tests: [{{id: a, input: q, assertions: [{group}]}}]\n")
        .suite.cases[0]
        .rubric.criteria
    )
    assert [child.weight for child in criterion.children] == [1, 1]


def test_skill_triggers_are_checks(project: Path) -> None:
    text = "tests: [{id: a, input: q, assertions: [{type: skill-trigger, skill: s, should_trigger: %s}]}]\n"
    for should, negated in (("true", False), ("false", True)):
        (criterion,) = read(project, text % should).suite.cases[0].rubric.criteria
        assert criterion.items[0].check == Check(kind="skill-loaded", value=True, negated=negated)


def test_an_included_file_of_the_fourth_dialect(project: Path) -> None:
    """It lists `assertions`, and is found above the eval file."""
    text = "tests: [{id: a, input: q, assertions: [{include: shared/safe.yaml}]}]\n"
    files = {"shared/safe.yaml": "assertions: [{type: contains, value: moss}]\n"}
    (criterion,) = read(project, text, files).suite.cases[0].rubric.criteria
    assert criterion.items[0].check == Check(kind="contains", value="moss")


# ------------------------------------------------------------------------------------- as the
# published AgentV runs them


def test_a_least_score_is_a_bar_with_required_only(project: Path) -> None:
    """Without `required` a grader's `min_score` decides nothing in AgentV 4 and 5, which a note
    says.
    """
    text = "tests: [{id: a, input: q, assertions: [{name: j, type: llm-grader, prompt: Good?, min_score: 0.6%s}]}]\n"
    source = read(project, text % "")
    assert source.suite.cases[0].rubric.criteria[0].floor is None
    assert any("`min_score`" in note for note in source.notes)
    source = read(project, text % ", required: true")
    assert source.suite.cases[0].rubric.criteria[0].floor == Fraction(6, 10)


def test_a_threshold_at_the_top_counts_in_the_fifth_dialect_only(project: Path) -> None:
    """AgentV 4 reads it under `execution`, and 0.8 holds without it."""
    four = "threshold: 0.5\ntests: [{id: a, input: q, threshold: 0.4, assertions: [{type: contains, value: x}]}]\n"
    source = read(project, four)
    assert source.suite.cases[0].rubric.threshold == Fraction(8, 10)
    assert any("`execution: {threshold: ...}`" in note for note in source.notes)
    five = "threshold: 0.5\nprompts: ['{{ w }}']\ntests: [{id: a, vars: {w: q}, assert: [{type: contains, value: x}]}]\n"
    assert read(project, five).suite.cases[0].rubric.threshold == Fraction(1, 2)


def test_a_value_inside_a_variable(project: Path) -> None:
    """`{{ who.name }}` is a value in a mapping; one that is missing is a loss with its name."""
    text = "tests: [{id: a, vars: {who: {name: moss}}, input: 'say {{ who.name }}{{ vars.who.name }}', criteria: g}]\n"
    assert inputs(read(project, text)) == {"a": "say mossmoss"}
    assert "`{{ who.age }}`" in said(read(project, text.replace("{{ who.name }}", "{{ who.age }}")))


def test_patterns_have_the_letters_of_javascript(project: Path) -> None:
    """`\\w` is a letter of ASCII there; a pattern without such a class, or in any case, is kept."""
    for written, ours in ((r"^\w+$", r"(?a)^\w+$"), ("^a+$", "^a+$")):
        text = f"tests: [{{id: a, input: q, assertions: [{{type: regex, value: '{written}'}}]}}]\n"
        (criterion,) = read(project, text).suite.cases[0].rubric.criteria
        assert criterion.items[0].check == Check(kind="regex", value=ours)
