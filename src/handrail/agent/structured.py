"""An answer of a requested type: what the model is told, and how its answer is read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pydantic import TypeAdapter, ValidationError

from handrail.core.ports.models import Message, TextBlock

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.DOTALL)
_MAX_ERRORS: Final = 10


@dataclass(frozen=True, slots=True)
class StructuredOutput:
    """Reads the last message of a task as JSON of a type."""

    REPAIRS: ClassVar[int] = 2

    type: Any

    def extend(self, task: Message) -> Message:
        """The task with the form of the answer."""
        schema = json.dumps(TypeAdapter(self.type).json_schema(), ensure_ascii=False)
        text = (
            "\n\nWhen the work is done, your last message must be one JSON value and nothing else, "
            f"valid against this JSON Schema:\n{schema}"
        )
        return Message(task.role, (*task.blocks, TextBlock(text)), task.raw)

    def read(self, text: str) -> tuple[Any, str | None]:
        """The value and None, or None and what is wrong with the answer, for the model."""
        fenced = _FENCE.match(text)
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(self.type)
            return adapter.validate_json(fenced[1] if fenced else text.strip()), None
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[:_MAX_ERRORS]
            lines = [
                f"- {'.'.join(map(str, one['loc'])) or 'value'}: {one['msg']}" for one in wrong
            ]
            listed = "\n".join(lines)
            return None, f"Your last message is not valid JSON of the requested form:\n{listed}"
