"""deepagents in a workspace of Handrail: files and commands of the agent are calls of the runtime. The
model is scripted; what it may not read is denied, and its change is undone.

Usage: python with_deepagents.py DIRECTORY
"""

import sys
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

import handrail.sync
from handrail.adapters.deepagents import HandrailBackend

NOTES = str(Path(sys.argv[1]).resolve() / "notes.txt")
EDIT = {"file_path": NOTES, "old_string": "teh", "new_string": "the"}
SCRIPT = [
    AIMessage("", tool_calls=[{"name": "edit_file", "args": EDIT, "id": "1"}]),
    AIMessage(
        "", tool_calls=[{"name": "read_file", "args": {"file_path": "/etc/passwd"}, "id": "2"}]
    ),
    AIMessage("The spelling is fixed."),
]


class ScriptedModel(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedModel":
        return self


with handrail.sync.open(sys.argv[1], mode="accept-edits") as rt:
    model = ScriptedModel(messages=iter(SCRIPT))
    agent = create_deep_agent(model, backend=HandrailBackend(rt))
    state = agent.invoke({"messages": [("user", "Fix the spelling in notes.txt")]})
    print(*(f"{one.type}: {one.content}" for one in state["messages"][2:]), sep="\n")
    print(rt.undo().text)
