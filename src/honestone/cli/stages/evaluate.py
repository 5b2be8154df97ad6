"""`honestone stage evaluate`, and behind it `python -m honestone.evaluate`: run a skill's tasks and write the evaluation.

With a ranking, the candidate's own edit is applied to a copy, and that runs against the skill as it is. Standalone, the
skill as it is runs against no skill at all. The last line of stdout is the summary, one JSON object.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from honestone.app.stages.files import (
    Artifact,
    StageFiles,
    Target,
    candidate_digest,
    candidates_of,
    find_candidate,
    plan_of,
    read_stage,
    refuse_inside,
    require_base,
    skill_of_artifact,
    state_root,
    target_at,
    target_profile,
    write_stage,
)
from honestone.app.stages.resume import settled
from honestone.app.suites.baseline import Baseline
from honestone.app.suites.subject import WITHOUT
from honestone.cli import options as shared
from honestone.cli.printing import dump_line, write
from honestone.cli.progress import Progress
from honestone.core.artifact import Version
from honestone.core.errors import FileError, UsageError
from honestone.core.numbers import exact
from honestone.core.skill.evaluation import BROKEN_BELOW, EXIT_OF, SkillVerdict
from honestone.core.skill.plan import PlanError, Refusal, apply_plan
from honestone.core.skill.skill_file import Skill
from honestone.core.skill.stage_file import EVALUATED, RANKED
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.formats.source import SuiteSource

DEFAULT_TARGET = DEFAULT_JUDGE = "claude"
DEFAULT_THRESHOLD = 6.0
STANDALONE = "standalone"

_RATES = ("execution_pass_rate", "baseline_pass_rate", "delta", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One evaluation, read and checked as far as it can be before anything is spent.

    `about` is what its artifact says of where it comes from. `after` and `before` are None where there is nothing to run.
    """

    lane: str
    run_id: str
    skill: Target
    after: Version | None
    before: Version | None
    about: Mapping[str, Any]
    skip: str | None = None


def evaluate(
    *,
    task_suite: Path,
    files: StageFiles,
    progress: Progress,
    input: Path | None = None,
    candidate_id: str | None = None,
    standalone: bool = False,
    skill_path: Path | None = None,
    target: str | None = None,
    judges: Sequence[str] = (),
    pass_k: int = 1,
    baseline_cache_dir: Path | None = None,
    eval_threshold: float = DEFAULT_THRESHOLD,
    mock: bool = False,
    fresh: bool = False,
    require_improvement: bool = False,
) -> dict[str, Any]:
    """Run it and write the evaluation artifact; returns it. Raises UsageError before anything is spent.

    A ranking (`input`) with `candidate_id`, or `standalone` with `skill_path`. Without `baseline_cache_dir` a baseline
    of the last seven days is taken from the store.
    """
    suite = _read_suite(task_suite)
    if standalone:
        asked = _standalone(skill_path, suite, files)
    else:
        asked = _candidate(input, candidate_id, exact(eval_threshold), files)
    refuse_inside(files, asked.skill, cache=baseline_cache_dir)
    _require_places(files)
    common = {
        "task_suite": printable(task_suite),
        "task_suite_skill_id": suite.suite.skill_id,
        "pass_k": pass_k,
        "baseline_digest": None if asked.before is None else candidate_digest(asked.before),
        **asked.about,
    }
    if asked.after is None:
        found = _skipped(asked, mock=mock)
    else:
        report = _run(
            asked,
            suite,
            task_suite,
            progress,
            target=target,
            judges=judges,
            pass_k=pass_k,
            mock=mock,
            fresh=fresh,
            baseline_cache_dir=baseline_cache_dir,
            require_improvement=require_improvement,
        )
        found = _found(report, candidate_digest(asked.after), standalone=standalone)
    body = {**common, **found, "target": target_profile(asked.skill)}
    status = "error" if found["verdict"] == SkillVerdict.ERROR else "success"
    return write_stage(EVALUATED, body, files, run_id=asked.run_id, lane=asked.lane, status=status)


# ------------------------------------------------------------------------------------------------------ what is asked


def _read_suite(path: Path) -> SuiteSource:
    from honestone.interop.recognise import read_any_suite

    if not path.exists():
        raise FileError(
            f"Task suite not found: {printable(path)}",
            hint="name a task_suite.yaml; `honestone suite new --from SKILL` drafts one",
        )
    return read_any_suite(path)


def _standalone(skill_path: Path | None, suite: SuiteSource, files: StageFiles) -> _Asked:
    """The skill as it is, against no skill at all."""
    if skill_path is None:
        raise UsageError("--standalone needs the skill", hint="--skill-path FOLDER, or its SKILL.md")
    skill = settled(files, target_at(skill_path))
    skill_id = suite.suite.skill_id or skill.skill.name
    return _Asked(
        lane=STANDALONE,
        run_id=f"{STANDALONE}-{skill_id}",
        skill=skill,
        after=skill.version,
        before=None,
        about={"skill_id": skill_id},
    )


def _candidate(ranking: Path | None, candidate_id: str | None, threshold: Fraction, files: StageFiles) -> _Asked:
    """The candidate's edit, applied to a copy of the skill that the ranking names."""
    if ranking is None or candidate_id is None:
        raise UsageError(
            "name a candidate of a ranking: --input RANKING --candidate-id ID",
            hint="or evaluate a skill by itself: --standalone --skill-path SKILL",
        )
    artifact = read_stage(ranking, RANKED)
    candidate = find_candidate(artifact, candidate_id)
    at = candidates_of(artifact).index(candidate)
    score = _score_of(artifact, candidate, at)
    skill = settled(files, skill_of_artifact(artifact))
    asked = _Asked(
        lane=artifact.lane,
        run_id=artifact.run_id,
        skill=skill,
        after=None,
        before=None,
        about={
            "source_ranking_artifact": printable(ranking),
            "candidate_id": candidate_id,
            "candidate_score": candidate.get("score"),
            "eval_threshold": float(threshold),
        },
    )
    if score is None:
        return replace(asked, skip="the candidate has no score, so there is no reason to run it")
    if score < threshold:
        return replace(asked, skip=f"score {float(score):g} is below --eval-threshold {float(threshold):g}")
    require_base(candidate, skill)
    try:
        after = apply_plan(plan_of(candidate, skill), skill.version)
    except PlanError as error:
        error.place = error.place or artifact.at("scored_candidates", at, "execution_plan")
        raise
    return replace(asked, after=after, before=skill.version)


def _score_of(artifact: Artifact, candidate: Mapping[str, Any], at: int) -> Fraction | None:
    """The discriminator's score as it was written; None when it gave none."""
    if candidate.get("score") is None:
        return None
    try:
        return artifact.marked.number(("scored_candidates", at, "score"))
    except ValueError:
        raise UsageError(
            f"the score of `{candidate['id']}` is {candidate['score']!r}, which is no number",
            place=artifact.at("scored_candidates", at, "score"),
        ) from None


def _require_places(files: StageFiles) -> None:
    """What cannot be written must be known before the agent runs, not after."""
    if files.output is not None and files.output.is_dir():
        raise UsageError(
            f"--output `{printable(files.output)}` is a folder", hint="name the file: --output evaluation.json"
        )
    option, folder = ("--state-root", files.root / EVALUATED.folder)
    if files.output is not None:
        option, folder = ("--output", Path(os.path.realpath(files.output)).parent)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{option}: `{printable(folder)}` cannot be made: {error.strerror or error}",
            hint="name a place that can be written",
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"{option}: `{printable(folder)}` cannot be written", hint="name a place that can be written")


# ----------------------------------------------------------------------------------------------------------- running


def _run(
    asked: _Asked,
    suite: SuiteSource,
    path: Path,
    progress: Progress,
    *,
    target: str | None,
    judges: Sequence[str],
    pass_k: int,
    mock: bool,
    fresh: bool,
    baseline_cache_dir: Path | None,
    require_improvement: bool,
) -> dict[str, Any]:
    from honestone.app.setup import judging_defaults
    from honestone.app.suites.baseline_cache import BaselineFiles
    from honestone.app.suites.plan import SuiteRequest
    from honestone.app.suites.run import evaluate_suite
    from honestone.app.suites.subject import SuiteSubject
    from honestone.cli.workspace import here

    assert asked.after is not None
    subject = SuiteSubject.of_skill(_named(asked), _installed(asked.after, asked.skill, suite))
    against = Baseline(name=WITHOUT, subject=SuiteSubject.without_skill(), is_without=True)
    if asked.before is not None:
        before = SuiteSubject.of_skill(asked.skill.named, _installed(asked.before, asked.skill, suite), "baseline")
        against = Baseline(name=asked.skill.named, subject=before)
        if before.version == subject.version:
            raise PlanError(
                Refusal.NO_CHANGE, "the plan changes nothing that an agent is given: both sides would be the same"
            )
    named = ("mock",) if mock else tuple(judges) or _default_judges(suite)
    request = SuiteRequest(
        suite=path,
        judging=replace(judging_defaults(judges=named), fresh=fresh),
        subject=subject,
        against=against,
        target="mock" if mock else target or DEFAULT_TARGET,
        attempts=pass_k,
        attempt_rule="pass@k",
        mock=mock,
        require_improvement=require_improvement,
        cache=None if baseline_cache_dir is None else BaselineFiles(baseline_cache_dir, note=progress.note),
    )
    return evaluate_suite(here(), request, progress).document


def _named(asked: _Asked) -> str:
    candidate = asked.about.get("candidate_id")
    return asked.skill.named if candidate is None else f"{asked.skill.named} with {candidate}"


def _installed(version: Version, skill: Target, suite: SuiteSource) -> Skill:
    """What an agent is given of a version: never the files that judge it."""
    from honestone.app.suites.skill_loading import skill_of

    root = skill.folder.resolve()
    judging = {file.resolve() for file in suite.files}
    hidden = {
        file.relative_to(root).as_posix()
        for file in (*judging, suite.base.resolve() / "fixtures")
        if file.is_relative_to(root) and file != root
    }
    return skill_of(version, printable(root.name), leave_out=hidden)


def _default_judges(suite: SuiteSource) -> tuple[str, ...]:
    """The default agent judges too, where it can; else nobody is named, and whoever is found is asked."""
    from honestone.app.readiness import ready_judges
    from honestone.app.setup import settings_here

    if not any(case.rubric.asks_judges for case in suite.suite.cases):
        return ()
    ready = ready_judges(settings_here(), limit=100)
    return (DEFAULT_JUDGE,) if DEFAULT_JUDGE in ready else ()


# --------------------------------------------------------------------------------------------------------- artifacts


def _found(report: Mapping[str, Any], digest: str, *, standalone: bool) -> dict[str, Any]:
    """What an evaluation says of a run: the seed's fields at the top and, as in the original, inside `evaluation`."""
    rates = {name: report[name] for name in _RATES}
    health = _health(report)
    reason = "; ".join(report["reasons"]) or None
    evaluation = {**rates, "interval": report["interval"], "baseline_health": health}
    if standalone:
        evaluation |= _counts(report)
    return {
        **rates,
        "interval": report["interval"],
        "reason": reason,
        "mock": report["mock"],
        "candidate_digest": digest,
        "regressions": report["regressions"],
        "evaluation": evaluation,
        "candidate_results": report["candidate_results"],
        "baseline_results": report["baseline_results"],
        **({"task_results": report["candidate_results"]} if standalone else {}),
        "baseline_cached": report["baseline_cached"],
        "warnings": [*report["flags"], *([health["reason"]] if health["reason"] else [])],
        "agent": report["target"],
        "judges": report["judges"],
        "runs": {"candidate": report["run"], "baseline": report["baseline"]["run"]},
        "usage": added(report["usage"], report["baseline"]["usage"]),
    }


def _skipped(asked: _Asked, *, mock: bool) -> dict[str, Any]:
    rates = {**dict.fromkeys(_RATES), "verdict": str(SkillVerdict.SKIPPED)}
    return {
        **rates,
        "interval": None,
        "reason": asked.skip,
        "mock": mock,
        "candidate_digest": None,
        "regressions": [],
        "evaluation": {**rates, "interval": None},
        "candidate_results": [],
        "baseline_results": [],
        "baseline_cached": False,
        "warnings": [],
        "usage": {},
    }


def _health(report: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the baseline passes enough to show anything. Without a skill a low rate is as it should be."""
    rate, is_without = report["baseline_pass_rate"], report["baseline"]["name"] == WITHOUT
    is_low = rate is not None and exact(rate) < BROKEN_BELOW and not is_without
    return {
        "status": "warning" if is_low else "healthy" if rate is not None else "unknown",
        "threshold": float(BROKEN_BELOW),
        "reason": f"baseline pass rate {rate:.3g} < 0.2" if is_low else "",
    }


def _counts(report: Mapping[str, Any]) -> dict[str, Any]:
    results = report["candidate_results"]
    return {
        "total_tasks": len(results),
        "passed": sum(1 for one in results if one["passed"] is True),
        "failed": sum(1 for one in results if one["passed"] is False),
        "pass_rate": report["execution_pass_rate"],
    }


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What two runs cost together. What one of them does not know is not known of both."""
    if not other:
        return dict(one)
    both: dict[str, Any] = {}
    for name in dict.fromkeys((*one, *other)):
        first, second = one.get(name), other.get(name)
        both[name] = None if first is None or second is None else first + second
    return both


def summary(artifact: Mapping[str, Any]) -> dict[str, Any]:
    """What the last line of stdout says."""
    told = {name: artifact[name] for name in (*_RATES, "truth_anchor")}
    return told | ({"reason": artifact["reason"]} if artifact["reason"] else {})


# --------------------------------------------------------------------------------------------------------- commands

F = TypeVar("F", bound=Callable[..., Any])


def _evaluate_options(*, root_required: bool) -> Callable[[F], F]:
    options = [
        click.option("--input", type=shared.PATH, help="The ranking artifact (pipeline mode)."),
        click.option("--candidate-id", metavar="ID", help="The candidate of the ranking to evaluate."),
        click.option("--standalone", is_flag=True, help="Evaluate a skill by itself, without a ranking."),
        click.option("--task-suite", type=shared.PATH, required=True, help="The task suite (YAML)."),
        click.option(
            "--state-root", type=shared.PATH, required=root_required, help="The folder for evaluation state and output."
        ),
        click.option("--skill-path", type=shared.PATH, help="SKILL.md or its folder (standalone mode)."),
        click.option(
            "--pass-k",
            type=click.IntRange(1, 100),
            default=1,
            show_default=True,
            help="Attempts at each task; it passes if any of them does.",
        ),
        click.option("--baseline-cache-dir", type=shared.PATH, help="Keep baselines here for 7 days. [the store]"),
        click.option(
            "--eval-threshold",
            type=shared.Amount(min=0),
            default=DEFAULT_THRESHOLD,
            show_default=True,
            help="The least score of a ranking that is worth running.",
        ),
        click.option("--mock", is_flag=True, help="Run no agent and ask no judge, for a dry run."),
        click.option(
            "--output", type=shared.PATH, help="The artifact's file, instead of one in STATE_ROOT/evaluations."
        ),
        click.option("--target", metavar="TARGET", help=f"The agent that does the tasks. [{DEFAULT_TARGET}]"),
        click.option(
            "--judge", "judges", multiple=True, metavar="JUDGE", help="Who judges llm-rubric tasks; repeat for a panel."
        ),
        click.option("--fresh", is_flag=True, help="Ask the baseline and every judge anew."),
        click.option("--require-improvement", is_flag=True, help="Pass only if the interval's lower end is above 0."),
        click.option("--json", "as_json", is_flag=True, help="The whole artifact on the last line, not its summary."),
        shared.quiet_option,
    ]

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _evaluate(*, as_json: bool, quiet: bool, state_root_given: Path | None, **asked: Any) -> int:
    _require_one_mode(asked)
    files = StageFiles(root=state_root(state_root_given), output=asked.pop("output"))
    with Progress(quiet=quiet) as progress:
        artifact = evaluate(files=files, progress=progress, **asked)
        _say(artifact, progress)
    write(dump_line(artifact if as_json else summary(artifact)) + "\n")
    return EXIT_OF[SkillVerdict(artifact["verdict"])]


def _require_one_mode(asked: Mapping[str, Any]) -> None:
    """Raises a usage error for flags of both modes, or of neither."""
    ranked = {"--input": asked["input"], "--candidate-id": asked["candidate_id"]}
    ctx = click.get_current_context()
    if asked["standalone"]:
        extra = [flag for flag, value in ranked.items() if value is not None]
        if extra:
            raise click.UsageError(f"--standalone takes no {' and no '.join(extra)}", ctx)
        if asked["skill_path"] is None:
            raise click.UsageError("--standalone needs --skill-path", ctx)
        return
    missing = [flag for flag, value in ranked.items() if value is None]
    if missing:
        raise click.UsageError(
            f"{' and '.join(missing)} missing: name a ranking and a candidate, or --standalone with --skill-path", ctx
        )
    if asked["skill_path"] is not None:
        raise click.UsageError("--skill-path is for --standalone; the ranking names its skill", ctx)


def _say(artifact: Mapping[str, Any], progress: Progress) -> None:
    """On stderr, for people: what lost, what could not be told, what is not to be trusted."""
    if artifact["interval"] is not None:
        low, high = artifact["interval"]
        progress.note(
            f"{artifact['verdict']}: {artifact['execution_pass_rate']:.3g} against {artifact['baseline_pass_rate']:.3g}"
            f" (delta {artifact['delta']:+.3g}, 95% interval {low:+.3g} to {high:+.3g})"
        )
    if artifact["reason"]:
        progress.note(f"{artifact['verdict']}: {artifact['reason']}")
    if artifact["regressions"]:
        progress.note(f"passed before and fails now: {', '.join(artifact['regressions'])}")
    for warning in artifact["warnings"]:
        progress.note(warning)


@click.command("evaluate", short_help="Run a candidate's edit on real tasks.")
@_evaluate_options(root_required=False)
def evaluate_command(state_root: Path | None, **asked: Any) -> int:
    """Run a skill's tasks on two sides and write the evaluation artifact.

    With --input and --candidate-id: the candidate's edit against the skill as it is. With --standalone: the skill against
    no skill at all.

    \b
    Exit codes: 0 pass, 1 fail, 3 error or skipped (nothing was judged), 2 usage.
    """
    return _evaluate(state_root_given=state_root, **asked)


@click.command("evaluate")
@_evaluate_options(root_required=True)
def compat_command(state_root: Path, **asked: Any) -> int:
    """Whether a skill makes an agent do better on real tasks.

    \b
    Pipeline:    --input RANKING --candidate-id ID --task-suite SUITE --state-root DIR
    Standalone:  --standalone --skill-path SKILL --task-suite SUITE --state-root DIR

    \b
    The last line of stdout is the summary. Exit codes: 0 pass, 1 fail, 3 error or skipped, 2 usage.
    """
    return _evaluate(state_root_given=state_root, **asked)
