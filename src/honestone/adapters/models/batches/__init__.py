"""Calls of models in batches: the providers take many requests at once, answer within a day, and
ask half the price.

A request is known by the digest of what it asks. Which batches are under way is kept on disk before
anything is sent, so that a run that was killed takes its batches up again and pays nothing twice.
"""

from __future__ import annotations

from honestone.adapters.models.batches.options import PROVIDERS, BatchOptions
from honestone.ports import Model


def ask_in_batches(model: Model, options: BatchOptions) -> bool:
    """Send the model's calls in batches from now on. Returns False, and changes nothing, where its
    API has no batches.
    """
    from honestone.adapters.models.api_model import ApiModel

    if not isinstance(model, ApiModel) or model.endpoint.provider not in PROVIDERS:
        return False
    from honestone.adapters.models.batches.api import AnthropicBatches, OpenAIBatches
    from honestone.adapters.models.batches.ledger import BatchLedger
    from honestone.adapters.models.batches.queue import BatchQueue

    make = AnthropicBatches if model.api == "messages" else OpenAIBatches
    model.sender = BatchQueue(
        make(model.endpoint, model.model, model.path()), BatchLedger(options.folder), options
    )
    return True
