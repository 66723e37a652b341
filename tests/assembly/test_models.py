"""The models of a runtime, by the names in its settings."""

import pytest

from handrail.assembly.models import ModelSource
from handrail.config.model import ModelPrice, ModelTable, Settings
from handrail.core.ports.agents import PricePerMillion


@pytest.mark.parametrize(
    ("price", "known"),
    [
        (None, None),
        (ModelPrice(1.5, 6.0, cache_read=0.1), PricePerMillion(1.5, 6.0, 0.1, None)),
    ],
)
async def test_a_model_costs_what_the_settings_say(price, known):
    table = ModelTable("openai-chat", "http://127.0.0.1:9/v1", "m1", price=price)
    source = ModelSource(Settings(models={"mine": table}, model="mine"), None)

    resolved = source.resolve()
    await source.aclose()

    assert resolved.price == known
    assert not resolved.scripted
