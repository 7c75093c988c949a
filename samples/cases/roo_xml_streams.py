"""roo-xml, streams: servers with habits, broken events, errors, and text that attacks its reader."""

from __future__ import annotations

from collections.abc import Iterator

from samples.cases.case import Case, Outcome
from samples.cases.tools import EXECUTE, READ_FILE, WRITE_TO_FILE
from samples.cases.upstream import (
    DONE,
    JSON,
    Meta,
    Thinks,
    Upstream,
    bursts,
    chunk,
    event,
    inside,
    lines,
    plain,
    qwen_chat,
    raw,
    slices,
    tokens,
    vllm,
)

READ_MAIN = lines("<read_file>", "<path>src/main.py</path>", "</read_file>")
CALL_MAIN = ("read_file", {"path": "src/main.py"})
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'

HOSTILE = lines(
    "\x1b[2J\x1b]0;owned\x07\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
    "\x9b31mC1 \x90q\x9c \x85 NUL \x00 DEL \x7f",
    "bidi \u202etxt.exe\u202c \u2066abc\u2069 zero\u200bwidth \ufeff",
    "[/x] [bold]markup[/bold] [@click=app.quit]quit[/] [link=file:///etc/passwd]here[/link]",
    "{{7*7}} ${HOME} $(reboot) %s %n",
)


def says(text: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}}]})


def native(*deltas: JSON) -> Upstream:
    """A server that parses the calls itself."""
    return lambda meta: [
        *(event(chunk(meta, delta)) for delta in deltas),
        event(chunk(meta, {}, "tool_calls")),
        DONE,
    ]


def in_turn(*answers: str) -> Upstream:
    """Several choices, a token of each in turn."""

    def events(meta: Meta) -> Iterator[bytes]:
        cut = [tokens(answer) for answer in answers]
        for at in range(max(map(len, cut))):
            for index, pieces in enumerate(cut):
                if at < len(pieces):
                    yield event({"choices": [{"index": index, "delta": {"content": pieces[at]}}]})
        for index in range(len(cut)):
            yield event({"choices": [{"index": index, "delta": {}, "finish_reason": "stop"}]})
        yield DONE

    return lambda meta: list(events(meta))


def odd_frames(meta: Meta) -> list[bytes]:
    """Everything SSE allows and hardly any server uses."""
    body = [says(text).replace(b"\n", b"\r\n") for text in tokens(READ_MAIN)]
    body[2] = b": keep-alive\r\n\r\n" + body[2]
    body[4] = b"event: message\r\nid: 7\r\nretry: 3000\r\n" + body[4]
    body[6] = body[6].replace(b"data: ", b"data:").replace(b"\r\n", b"\r")
    body[8] = body[8].replace(b'"choices":', b'\r\ndata: "choices":')
    return [b"\xef\xbb\xbf" + body[0], *body[1:], FINISH, DONE]


CASES = [
    Case(
        "qwen-chat",
        "Qwen's web chat: phases, growing usage, no [DONE]. The client gets a call, usage and [DONE] as "
        "OpenAI has it.",
        tools=[READ_FILE],
        request={"stream_options": {"include_usage": True}},
        upstream=qwen_chat(
            "I'll ",
            "read ",
            "it.\n\n",
            "<read",
            "_file>\n<path>",
            "src/main.py",
            "</path>\n</read_file>",
            cut=lambda text: [text],
        ),
        gets=Outcome(
            "I'll read it.",
            [CALL_MAIN],
            usage={"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
        ),
    ),
    Case(
        "qwen-chat-thinking",
        "Qwen's web chat with a `think` phase: it becomes reasoning, and its own `finished` does not end "
        "the answer.",
        tools=[READ_FILE],
        upstream=qwen_chat(Thinks("First the file."), READ_MAIN, cut=bursts),
        gets=Outcome(reasoning="First the file.", calls=[CALL_MAIN]),
    ),
    Case(
        "sse-oddities",
        "BOM, CRLF, comments, `event:`, `id:`, `retry:`, an event of two data lines: the same call as ever.",
        failure=[59],
        tools=[READ_FILE],
        upstream=odd_frames,
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "no-done",
        "No finish_reason, no [DONE], and the last event lacks its blank line: end of file is the end.",
        failure=[59],
        tools=[READ_FILE],
        upstream=lambda meta: [*map(says, tokens(READ_MAIN)[:-1]), says(tokens(READ_MAIN)[-1])[:-2]],
        gets=Outcome(calls=[CALL_MAIN]),
    ),
    Case(
        "reads-cut-anywhere",
        "Reads of 9 to 40 bytes, cut inside events, escapes and tags: the same call as ever.",
        failure=[10, 59],
        tools=[EXECUTE],
        asked="Say hi.",
        upstream=vllm(
            'Sure: "你好"\n\n<execute_command>\n<command>echo "你好"</command>\n</execute_command>',
            cut=bursts,
            ascii=True,
        ),
        reads=slices(40, 9, 23, 17),
        gets=Outcome('Sure: "你好"', [("execute_command", {"command": 'echo "你好"'})]),
    ),
    Case(
        "surrogate-halves",
        "An emoji cut in two halves over two events is joined; a half that stays alone is replaced, with a "
        "warning.",
        failure=[57],
        tools=[READ_FILE],
        asked="Are you happy?",
        upstream=raw(
            b'data: {"choices":[{"index":0,"delta":{"content":"Yes \\ud83d"}}]}\n\n',
            b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00 and \\ud83d"}}]}\n\n',
            b'data: {"choices":[{"index":0,"delta":{"content":" no."}}]}\n\n',
            FINISH,
            DONE,
        ),
        reads=inside(b"ud83d", b"ude00"),
        gets=Outcome("Yes \U0001f600 and \ufffd no."),
        findings=["lone-surrogate"],
    ),
    Case(
        "invalid-utf8",
        "A server sends Latin-1 in one event: the bad byte is replaced, with a warning, and the call still "
        "goes out.",
        tools=[READ_FILE],
        asked="Read the café menu.",
        upstream=raw(
            b'data: {"choices":[{"index":0,"delta":{"content":"The caf\xe9 menu:\\n"}}]}\n\n',
            says("<read_file>\n<path>"),
            says("menu.txt</path>\n"),
            says("</read_file>"),
            FINISH,
            DONE,
        ),
        gets=Outcome("The caf\ufffd menu:", [("read_file", {"path": "menu.txt"})]),
        findings=["invalid-utf8"],
    ),
    Case(
        "bad-json-event",
        "One event is cut off and no JSON: it is named and left out, everything around it goes on.",
        tools=[READ_FILE],
        upstream=raw(
            says("One moment"),
            b'data: {"choices":[{"index":0,"delta":{"content":"brok\n\n',
            says(", please.\n"),
            says(READ_MAIN),
            FINISH,
            DONE,
        ),
        gets=Outcome("One moment, please.", [CALL_MAIN]),
        findings=["bad-json-event"],
    ),
    Case(
        "events-of-other-kinds",
        "A ping before the answer and `true` after its end, as some servers send: named and left out.",
        tools=[READ_FILE],
        upstream=raw(event({"type": "ping"}), says(READ_MAIN), FINISH, DONE, b"data: true\n\n"),
        gets=Outcome(calls=[CALL_MAIN]),
        findings=["unknown-event", "event-after-end"],
    ),
    Case(
        "error-in-stream",
        "After some text the server sends an error object: the client gets the text, then an error event.",
        tools=[READ_FILE],
        upstream=raw(
            says("Let me"),
            says(" see"),
            event({"error": {"message": "model is overloaded", "type": "server_error", "code": 503}}),
        ),
        gets=Outcome("Let me see", error="model is overloaded"),
        findings=["upstream-error"],
    ),
    Case(
        "broke-after-call",
        "The connection breaks after a complete call: the answer ends with that call, so no tool runs twice.",
        tools=[READ_FILE],
        upstream=lambda meta: [*map(says, tokens(f"Reading.\n{READ_MAIN}\n"))],
        broke="the connection was reset",
        gets=Outcome("Reading.", [CALL_MAIN]),
        findings=["broke-after-call"],
    ),
    Case(
        "broke-inside-call",
        "The connection breaks inside a call: what came is text, then the client gets an error event.",
        tools=[READ_FILE],
        upstream=lambda meta: [*map(says, tokens("Reading.\n<read_file>\n<path>src/ma"))],
        broke="the connection was reset",
        gets=Outcome("Reading.\n<read_file>\n<path>src/ma", error="the connection was reset"),
        findings=["truncated-call", "upstream-broke"],
    ),
    Case(
        "empty-turn",
        "The model says nothing at all: an empty turn that ends with `stop`, with a warning.",
        tools=[READ_FILE],
        upstream=vllm(),
        gets=Outcome(),
        findings=["empty-turn"],
    ),
    Case(
        "finish-without-call",
        "The server says `tool_calls` but there is no call: the client gets `stop`, or it would wait for "
        "ever.",
        tools=[READ_FILE],
        upstream=plain("It is done already.", finish="tool_calls"),
        gets=Outcome("It is done already."),
        findings=["finish-contradicts"],
    ),
    Case(
        "two-choices",
        "n = 2, the two answers interleaved: each has its own machine, one calls a tool, the other does not.",
        failure=[59],
        tools=[READ_FILE],
        request={"n": 2},
        upstream=in_turn(f"A:\n{READ_MAIN}", "B: I know that <read_file> exists."),
        gets=[Outcome("A:", [CALL_MAIN]), Outcome("B: I know that <read_file> exists.")],
    ),
    Case(
        "native-calls",
        "The server parses calls itself and sends `tool_calls`: they pass through unchanged.",
        tools=[READ_FILE],
        upstream=native(
            {"role": "assistant", "content": "Reading."},
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "call_up1",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": ""},
                    }
                ]
            },
            {"tool_calls": [{"index": 0, "function": {"arguments": '{"path": '}}]},
            {"tool_calls": [{"index": 0, "function": {"arguments": '"src/main.py"}'}}]},
        ),
        gets=Outcome("Reading.", [("read_file", '{"path": "src/main.py"}')], ids=["call_up1"]),
        findings=["native-calls"],
    ),
    Case(
        "no-tools-offered",
        "A side request for a title, without tools: nothing is converted, every byte goes on unchanged.",
        asked="A title for: What does src/main.py do?",
        upstream=vllm("<title>\n<text>Reading main.py</text>\n</title>", cut=bursts),
        raw=True,
        gets=Outcome("<title>\n<text>Reading main.py</text>\n</title>"),
    ),
    Case(
        "tool-choice-none",
        "`tool_choice` is none: the XML of a call reaches the client as it is, byte for byte.",
        tools=[READ_FILE],
        request={"tool_choice": "none"},
        upstream=plain(READ_MAIN),
        raw=True,
        gets=Outcome(READ_MAIN),
    ),
    Case(
        "hostile-text",
        "Terminal escapes, C1, bidi, Rich markup and a path out of the folder: data, it must arrive and do "
        "nothing.",
        tools=[WRITE_TO_FILE],
        asked="Write the [/x] file \x1b[31mnow\x1b[0m.",
        upstream=plain(
            "\x1b]0;owned\x07[/x] [@click=app.quit]\u202eok",
            lines(
                "",
                "<write_to_file>",
                "<path>../../../etc/cron.d/x\x00.txt</path>",
                "<content>",
                HOSTILE,
                "</content>",
                "</write_to_file>",
            ),
            cut=bursts,
        ),
        gets=Outcome(
            "\x1b]0;owned\x07[/x] [@click=app.quit]\u202eok",
            [("write_to_file", {"path": "../../../etc/cron.d/x\x00.txt", "content": HOSTILE})],
        ),
    ),
    Case(
        "hostile-names",
        "A tool's name made of markup and escapes, called without being offered: no name of a tool, so it "
        "is text.",
        tools=[READ_FILE],
        asked="Go on.",
        upstream=plain("<[@click=quit]>\n<\x1b[31m>x</\x1b[31m>\n</[@click=quit]>"),
        gets=Outcome("<[@click=quit]>\n<\x1b[31m>x</\x1b[31m>\n</[@click=quit]>"),
    ),
]
