"""A recorded run over the rows of a table, as `honestone.texts/1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from honestone.core.events import EvaluationStarted, judged_in

if TYPE_CHECKING:
    from honestone.ports import RunInfo, Store
    from honestone.report.documents.texts import TextRowDoc, TextsDoc


def recorded_texts(
    store: Store,
    info: RunInfo,
    show: Callable[[TextRowDoc, str | None], None],
    *,
    has_texts: bool = False,
) -> TextsDoc:
    """Hands each row to `show`, with its text where `has_texts` and the record has it. Returns the
    document without the rows.
    """
    from honestone.app import history
    from honestone.core.judging.spend import Spend
    from honestone.report.building.scorecard import judged_document, usage_document
    from honestone.report.building.texts import TextsFacts, TextsWriter

    log = store.iter_events(info.id)
    started = next(log)
    assert isinstance(started, EvaluationStarted)
    scorer = history.scorer_of(started)
    columns = started.table
    writer = TextsWriter(has_groups=columns is not None and columns.group is not None)
    spent = Spend()
    for entry in log:
        for event in judged_in(entry):
            text = None
            if event.digest and (has_texts or scorer.rubric.asks_judges):
                text = event.output or history.text_of(store, event.digest)
            card = judged_document(scorer, started, event, run=info.id, text=text)
            spent.join(event.spend)
            show(writer.row(card, event.group, event.error), text if has_texts else None)
    return writer.document(
        TextsFacts(
            table=columns,
            name=info.subject,
            title=started.rubric.title,
            rubric=started.rubric_path,
            contract=started.contract_id,
            run=info.id,
            least=started.min_pass_rate,
            left_out=started.left_out,
        ),
        usage_document(spent),
    )
