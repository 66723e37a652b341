"""What a conversation says, and what a request in a wire format says: both in the same words."""

import json

from handrail.agent.codec import decode_message, encode_message
from handrail.core.ports.models import CallBlock, ResultBlock, TextBlock


def listed(wire, body):
    names = {"openai-responses": "input", "gemini": "contents"}
    return body[names.get(wire, "messages")]


def facts(messages):
    """What a conversation says: texts, calls in order, and results by the number of their call."""
    found, number, open_calls = [], 0, {}
    for message in messages:
        for block in message.blocks:
            match block:
                case TextBlock(text):
                    found.append((message.role, text))
                case CallBlock(id, name, arguments):
                    number += 1
                    open_calls[id] = number
                    found.append(("call", name, json.loads(arguments)))
                case ResultBlock(id, blocks):
                    text = "".join(one.text for one in blocks if isinstance(one, TextBlock))
                    found.append(("result", open_calls[id], text))
    return found


def read_back(wire, body):
    """The same of a request."""
    found, numbers = [], {}

    def call(id, name, arguments):
        numbers[id] = len(numbers) + 1
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
        found.append(("call", name, given))

    def result(id, text):
        found.append(("result", numbers[id], text))

    for item in listed(wire, body):
        READERS[wire](item, found, call, result)
    return found


def read_chat(item, found, call, result):
    if item["role"] == "tool":
        result(item["tool_call_id"], item["content"])
    elif item["role"] != "system" and item["content"]:
        found.append((item["role"], item["content"]))
    for one in item.get("tool_calls", ()):
        call(one["id"], one["function"]["name"], one["function"]["arguments"])


def read_responses(item, found, call, result):
    match item.get("type"):
        case "function_call":
            call(item["call_id"], item["name"], item["arguments"])
        case "function_call_output":
            result(item["call_id"], item["output"])
        case "reasoning":
            pass
        case _:
            texts = [one for one in item["content"] if "text" in one]
            found.extend((item["role"], one["text"]) for one in texts)


def read_anthropic(item, found, call, result):
    for block in item["content"]:
        match block["type"]:
            case "tool_use":
                call(block["id"], block["name"], block["input"])
            case "tool_result":
                result(block["tool_use_id"], block["content"][0]["text"])
            case "text":
                found.append((item["role"], block["text"]))


def read_gemini(item, found, call, result):
    for part in item["parts"]:
        if (one := part.get("functionCall")) is not None:
            call(one["id"], one["name"], one["args"])
        elif (one := part.get("functionResponse")) is not None:
            result(one["id"], one["response"]["output"])
        elif "text" in part and not part.get("thought"):
            role = "assistant" if item["role"] == "model" else "user"
            found.append((role, part["text"]))


READERS = {
    "openai-chat": read_chat,
    "openai-responses": read_responses,
    "anthropic": read_anthropic,
    "gemini": read_gemini,
}


def through_the_store(messages):
    return tuple(
        decode_message(json.loads(json.dumps(encode_message(message)))) for message in messages
    )
