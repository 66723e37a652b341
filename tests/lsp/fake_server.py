"""A language server of one file, for what real servers do not do; its behaviour is chosen by a word.

Run as `python -c TEXT WORD`, because a sandbox need not show this file.
"""

import json
import os
import signal
import sys

HOW = sys.argv[1]
# It is asked for diagnostics; "busy" answers only the third time, "failing" never.
PULLED = ("busy", "failing")
texts = {}


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    os.write(1, b"Content-Length: %d\r\n\r\n" % len(body) + body)


def receive():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def diagnose(version, text):
    message = f"saw {len(text)} characters of version {version}"
    span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    return [{"range": span, "message": message, "severity": 2}]


def publish(uri, version, text):
    if HOW in PULLED:
        return
    params = {"uri": uri, "diagnostics": diagnose(version, text)}
    if HOW != "unversioned":
        params["version"] = version - 1 if HOW == "old" else version
    send({"method": "textDocument/publishDiagnostics", "params": params})


def find(uri, word):
    """Every place of a word, in units of UTF-16."""
    found = []
    for number, line in enumerate(texts[uri].replace("\r\n", "\n").split("\n")):
        at = line.find(word)
        while at >= 0:
            start = len(line[:at].encode("utf-16-le")) // 2
            end = start + len(word)
            span = {
                "start": {"line": number, "character": start},
                "end": {"line": number, "character": end},
            }
            found.append({"uri": uri, "range": span})
            at = line.find(word, at + 1)
    return found


def secret():
    """What the server can read of a file that holds secrets."""
    try:
        with open(os.getcwd() + "/.env") as file:
            return file.read()
    except OSError as error:
        return type(error).__name__


def answer(method, params):  # noqa: PLR0911, C901 - one per request
    if method == "initialize":
        if HOW == "silent":
            return None
        offers = (
            "definition",
            "references",
            "hover",
            "documentSymbol",
            "workspaceSymbol",
            "rename",
        )
        if HOW == "acting":
            ask_to_act()
        if HOW == "asking":
            items = [
                {"section": one} for one in ("", "a", "a.b", "a.b.c", "a.on", "none", "none.b")
            ]
            send({"id": "c", "method": "workspace/configuration", "params": {"items": [*items, 7]}})
        offered = {f"{one}Provider": True for one in offers}
        return {"capabilities": offered | ({"diagnosticProvider": True} if HOW in PULLED else {})}
    if method == "workspace/symbol":
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        place = {"uri": next(iter(texts)), "range": span}
        return [{"name": secret(), "kind": 13, "location": place}]
    uri = params["textDocument"]["uri"]
    if method == "textDocument/definition":
        if HOW == "elsewhere":
            span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 9}}
            paths = ("/etc/passwd", os.getcwd() + "/.env", os.getcwd() + "/withheld.txt")
            return [{"uri": f"file://{path}", "range": span} for path in paths]
        return find(uri, "needle")[:1]
    if method == "textDocument/diagnostic":
        return {"kind": "full", "items": diagnose("any", texts[uri])}
    if method == "textDocument/references":
        return find(uri, "needle")
    if method == "textDocument/hover":
        return {
            "contents": secret() if HOW == "quoting" else json.dumps([params["position"], seen])
        }
    if method == "textDocument/rename":
        text = params["newName"] + (f" {secret()}" if HOW == "quoting" else "")
        edits = [{"range": one["range"], "newText": text} for one in find(uri, "needle")]
        return {"changes": {uri: edits}}
    return []


seen = []


def ask_to_act():
    """Requests that would change something or run something."""
    asked = ("workspace/applyEdit", "window/showDocument", "workspace/executeCommand")
    for number, method in enumerate(asked):
        send({"id": f"s{number}", "method": method, "params": {"edit": {}, "uri": "file:///x"}})


refusals = 0
while (message := receive()) is not None:
    method = message.get("method")
    if method is None:
        seen.append(message.get("result", message.get("error")))
    elif method == "textDocument/didOpen":
        item = message["params"]["textDocument"]
        texts[item["uri"]] = item["text"]
        publish(item["uri"], item["version"], item["text"])
    elif method == "textDocument/didChange":
        item, text = (
            message["params"]["textDocument"],
            message["params"]["contentChanges"][0]["text"],
        )
        texts[item["uri"]] = text
        publish(item["uri"], item["version"], text)
    elif "id" in message:
        if HOW == "crash" and method != "initialize":
            sys.exit("it crashed on purpose")
        if HOW == "garbage" and method != "initialize":
            os.write(1, b"this is no header\r\n\r\n")
            continue
        if HOW == "endless" and method != "initialize":
            while True:
                os.write(1, b"x" * 65536)
        if HOW in PULLED and method != "initialize":
            refusals += 1
            if HOW == "failing" or refusals < 3:
                error = {
                    "code": -32603 if HOW == "failing" else -32801,
                    "message": "not now\x1b[31m",
                }
                send({"id": message["id"], "error": error})
                continue
        result = answer(method, message["params"])
        if HOW == "untidy" and method != "initialize":
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            rest = b"this is no header\r\n\r\n"
            os.write(1, b"Content-Length: %d\r\n\r\n" % len(body) + body + rest)
            continue
        if not (HOW == "silent" or (HOW == "hang" and method != "initialize")):
            send({"id": message["id"], "result": result})
        if HOW == "deaf" and method != "initialize":
            signal.pause()
