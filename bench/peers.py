"""The work of the bench done by other programs, each by its own means: run by `bench/other_tools.py` in
the peer's own environment.

    python peers.py NAME URL FOLDER IN_AIR    # prints a JSON list: a score from 0 to 1, or null, for each text of FOLDER

Every peer is asked for the same: the five criteria, one call a text, so many calls at a time. What
it keeps, checks or asks again is what it does unless it is set otherwise.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from work import CRITERIA, MODEL

Score = float | None
TASK = "What went wrong, and what should be done?"


async def each(
    texts: list[str], in_air: int, judge: Callable[[str], Awaitable[Score]]
) -> list[Score]:
    """The score of each text; what raises is a text without one."""
    turn = asyncio.Semaphore(in_air)

    async def one(text: str) -> Score:
        async with turn:
            try:
                return await judge(text)
            except Exception as problem:
                print(repr(problem)[:300], file=sys.stderr)
                return None

    return await asyncio.gather(*map(one, texts))


async def rubric(url: str, texts: list[str], in_air: int) -> list[Score]:
    from openai import AsyncOpenAI
    from rubric import Criterion, OneShotOutput, Rubric
    from rubric.autograders import PerCriterionOneShotGrader

    client = AsyncOpenAI(base_url=url, api_key="none")
    schema = {"name": "output", "schema": OneShotOutput.model_json_schema()}

    async def ask(system_prompt: str, user_prompt: str, **_: Any) -> Any:
        messages = [
            {"role": "system", "content": system_prompt},
            {"role": "user", "content": user_prompt},
        ]
        form = {"type": "json_schema", "json_schema": schema}
        reply = await client.chat.completions.create(
            model=MODEL, messages=messages, response_format=form
        )
        return OneShotOutput.model_validate_json(reply.choices[0].message.content)

    wanted = Rubric([Criterion(weight=weight, requirement=words) for _, weight, words in CRITERIA])
    grader = PerCriterionOneShotGrader(generate_fn=ask)

    async def judge(text: str) -> Score:
        return float((await wanted.grade(text, autograder=grader, query=TASK)).score)

    return await each(texts, in_air, judge)


async def autorubric(url: str, texts: list[str], in_air: int) -> list[Score]:
    from autorubric import Criterion, DataItem, LLMConfig, Rubric, RubricDataset, evaluate
    from autorubric.graders import CriterionGrader

    wanted = Rubric(
        [Criterion(weight=weight, requirement=words, name=name) for name, weight, words in CRITERIA]
    )
    items = [
        DataItem(submission=text, description=str(number)) for number, text in enumerate(texts)
    ]
    model = LLMConfig(
        model=f"openai/{MODEL}", api_base=url, api_key="none", max_parallel_requests=in_air
    )
    grader = CriterionGrader(judge_model_config=model, llm_calls="per_item")
    data = RubricDataset(prompt=TASK, rubric=wanted, items=items, name="bench")
    found = await evaluate(
        data, grader, show_progress=False, max_concurrent_items=in_air, experiment_name="bench"
    )
    scores: dict[str, Score] = {}
    for result in found.item_results:
        failed = result.error or getattr(result.report, "error", None)
        scores[result.item.description] = None if failed else result.report.score
    return [scores.get(str(number)) for number in range(len(texts))]


async def pydantic_evals(url: str, texts: list[str], in_air: int) -> list[Score]:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import LLMJudge

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key="none"))
    words = "Meets each of these.\n" + "\n".join(
        f"{name} (weight {w}): {words}" for name, w, words in CRITERIA
    )
    judge = LLMJudge(rubric=words, model=model, score={"evaluation_name": "score"}, assertion=False)
    cases = [Case(name=str(number), inputs=number) for number in range(len(texts))]

    async def known(number: int) -> str:
        return texts[number]

    data = Dataset(name="bench", cases=cases, evaluators=[judge])
    report = await data.evaluate(known, max_concurrency=in_air, progress=False)
    for failed in report.failures:
        print(failed.error_message[:300], file=sys.stderr)
    for case in report.cases:
        for failure in case.evaluator_failures:
            print(str(failure.error_message)[:300], file=sys.stderr)
    scores = {
        case.name: case.scores["score"].value for case in report.cases if "score" in case.scores
    }
    return [scores.get(str(number)) for number in range(len(texts))]


PYTHON = {"rubric": rubric, "autorubric": autorubric, "pydantic-evals": pydantic_evals}


def main() -> None:
    name, url, folder, in_air = sys.argv[1:]
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    texts = [path.read_text() for path in sorted(Path(folder).iterdir())]
    print(json.dumps(asyncio.run(PYTHON[name](url, texts, int(in_air)))))


if __name__ == "__main__":
    main()
