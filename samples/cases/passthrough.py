"""passthrough: nothing is parsed, and every byte goes on as it came."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import READ_FILE
from samples.cases.upstream import DONE, bursts, event, lines, plain, raw, slices, vllm

READ_MAIN = lines("<read_file>", "<path>src/main.py</path>", "</read_file>")
TASK = [
    {"type": "text", "text": "<task>\nWhat does src/main.py do?\n</task>"},
    {"type": "text", "text": "<environment_details>\n# Visible files\nsrc/main.py\n</environment_details>"},
]
USAGE = {"prompt_tokens": 5210, "completion_tokens": 24, "total_tokens": 5234}

CASES = [
    Case(
        "roo-client",
        "A Roo client that offers no tools and reads the XML itself: the XML reaches it unchanged.",
        asked=TASK,
        request={"temperature": 0, "stream_options": {"include_usage": True}},
        upstream=vllm(lines("I'll read it.", "", READ_MAIN), cut=bursts, usage=USAGE),
        raw=True,
        gets=Outcome(lines("I'll read it.", "", READ_MAIN), usage=USAGE),
    ),
    Case(
        "tools-but-passthrough",
        "Tools are offered and the model writes a Qwen call, but the dialect is passthrough: it stays text.",
        tools=[READ_FILE],
        upstream=plain("<tool_call>\n<function=read_file>\n</function>\n</tool_call>"),
        raw=True,
        gets=Outcome("<tool_call>\n<function=read_file>\n</function>\n</tool_call>"),
    ),
    Case(
        "native-calls",
        "The server sends `tool_calls` itself, later deltas with an empty id: every byte goes on unchanged.",
        tools=[READ_FILE],
        upstream=raw(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_9f",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": ""},
                    }
                ],
            },
            {"tool_calls": [{"index": 0, "id": "", "function": {"arguments": '{"path": "src/'}}]},
            {"tool_calls": [{"index": 0, "id": "", "function": {"arguments": 'main.py"}'}}]},
            event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
            DONE,
        ),
        raw=True,
        gets=Outcome(calls=[("read_file", '{"path": "src/main.py"}')], ids=["call_9f"]),
    ),
    Case(
        "odd-bytes",
        "BOM, CRLF, comments, blanks in the JSON, unknown fields, cut inside a character: not a byte "
        "changes.",
        asked=TASK,
        upstream=raw(
            b"\xef\xbb\xbf: hello\r\n\r\n",
            b"event: delta\r\nid: 1\r\n",
            b'data: { "choices" : [ {"index": 0, "delta": {"content": "na\xc3\xafve \xe4\xbd\xa0"}, '
            b'"x": 1} ] }\r\n\r\n',
            b'data:{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"vendor":{"ms":12}}\n\n',
            DONE,
        ),
        reads=slices(47, 60),
        raw=True,
        gets=Outcome("naïve 你"),
    ),
    Case(
        "hostile-text",
        "Terminal escapes, bidi and Rich markup in the answer: the bytes go on unchanged, showing them "
        "must be safe.",
        asked=TASK,
        upstream=plain("\x1b[2J\x9b31m \u202eevil\u202c [/x] [@click=app.quit]x[/]"),
        raw=True,
        gets=Outcome("\x1b[2J\x9b31m \u202eevil\u202c [/x] [@click=app.quit]x[/]"),
    ),
    Case(
        "error-in-stream",
        "The server reports an error in the stream: it reaches the client as it is, and a finding names it.",
        asked=TASK,
        upstream=raw(
            {"role": "assistant", "content": "One mo"},
            event({"error": {"message": "out of memory", "type": "server_error", "code": 500}}),
            DONE,
        ),
        raw=True,
        gets=Outcome("One mo", error="out of memory"),
        findings=["upstream-error"],
    ),
]
