"""The observer: calls that leaked are seen, and what merely looks like one is not."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cost import calls_made, grows_evenly
from tests.support.streams import message, tool
from tests.support.tiers import each_row, exhaustive
from transformer.answer.leaks import MARKS, hits
from transformer.answer.observations import OBSERVED
from transformer.answer.review import observed

TEXT = {"type": "string"}
TOOLS = [
    tool("read_file", {"path": TEXT}),
    tool("bash", {"command": TEXT, "timeout": {"type": "integer"}}, ["command"]),
    tool("now"),
]
REQUEST = {"model": "m", "tools": TOOLS, "messages": [{"role": "user", "content": "What is in src?"}]}
ASKING = {
    **REQUEST,
    "messages": [{"role": "user", "content": "What does <tool_call> mean, and <|channel|>?"}],
}
NO_TOOLS = {"model": "m", "messages": [{"role": "user", "content": "A title?"}]}
SUMMARY = {
    "model": "m",
    "messages": [
        {"role": "tool", "tool_call_id": "a", "content": "x"},
        {"role": "user", "content": "Sum up."},
    ],
}

QWEN = "<tool_call>\n<function=bash>\n<parameter=command>\nls -la\n</parameter>\n</function>\n</tool_call>"
BARE_QWEN = "<function=read_file><parameter=path>a.md</parameter></function></tool_call>"
KIMI = (
    "<|tool_calls_section_begin|> <|tool_call_begin|> functions.bash:0 <|tool_call_argument_begin|> "
    '{"command": "ls"} <|tool_call_end|> <|tool_calls_section_end|>'
)
ROO = "<read_file>\n<path>a.md</path>\n</read_file>"
HERMES = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'


def codes(content: str | None, dialect: str = "roo-xml", request: Any = REQUEST, **more: Any) -> list[str]:
    answer = message(content)
    answer["choices"][0]["message"] |= more
    return [seen.code for seen in observed(answer, request, dialect)]


LEAK, OTHER, THOUGHT = "leaked-markers", "other-dialect", "call-in-reasoning"

# (text, dialect that is set, dialect that is named, whether another one of ours reads it)
LEAKS = [
    (QWEN, "roo-xml", "qwen3-coder", True),
    (f"Let me look.\n\n{QWEN}", "kimi-k2", "qwen3-coder", True),
    (BARE_QWEN, "passthrough", "qwen3-coder", True),
    (f"I will read it: {BARE_QWEN}", "roo-xml", "qwen3-coder", True),
    (" <function=bash>\n <parameter=command>\n ls\n </parameter>\n", "roo-xml", "qwen3-coder", False),
    ("<tool_call>\n<function=deploy>\n</function>\n</tool_call>", "qwen3-coder", "qwen3-coder", False),
    (f"I'll look at the files. {KIMI}", "qwen3-coder", "kimi-k2", True),
    ('x <|tool_call_begin|>functions.bash:3<|tool_call_argument_begin|>{"comm', "roo-xml", "kimi-k2", True),
    (ROO, "qwen3-coder", "roo-xml", True),
    (f"Sure.\n  {ROO}", "kimi-k2", "roo-xml", True),
    ("<now>\n</now>", "qwen3-coder", "roo-xml", True),
    ("<tool_use>\n<bash><command>ls</command></bash>", "qwen3-coder", "roo-xml", True),
    (HERMES, "qwen3-coder", "hermes", True),
    (f"<think>\n\n</think>\n\n{HERMES}", "roo-xml", "hermes", True),
    (f"Running {HERMES}", "kimi-k2", "hermes", True),
    ('<tool_call>\n{"arguments": {}, "name": "bash"}\n</tool_call>', "roo-xml", "hermes", True),
    ("<tool_call>bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>", "roo-xml", "glm", False),
    ("<tool_call>now</tool_call>", "roo-xml", "glm", True),
    ('[TOOL_CALLS][{"name": "bash", "arguments": {}}]', "roo-xml", "mistral", True),
    ('[TOOL_CALLS]bash[ARGS]{"command": "ls"}', "roo-xml", "mistral", True),
    ('<|python_tag|>{"name": "bash", "parameters": {}}', "roo-xml", "llama3-json", True),
    ('{"name": "bash", "parameters": {"command": "ls"}}', "roo-xml", "llama3-json", True),
    ("[bash(command='ls'), now()]", "roo-xml", "pythonic", True),
    (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{"command": "ls"}<｜tool▁call▁end｜>',
        "roo-xml",
        "deepseek-v31",
        True,
    ),
    (
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>bash\n```json\n{"command": 1}\n```',
        "roo-xml",
        "deepseek-v3",
        True,
    ),
    (
        '<longcat_tool_call>\n{"name": "bash", "arguments": {}}\n</longcat_tool_call>',
        "roo-xml",
        "longcat",
        True,
    ),
    ('<TOOLCALL>[{"name": "bash", "arguments": {}}]</TOOLCALL>', "roo-xml", "nemotron-toolcall", True),
    ('<｜DSML｜function_calls>\n<｜DSML｜invoke name="bash">', "roo-xml", "deepseek-dsml", False),
    ('<minimax:tool_call>\n<invoke name="bash">\n', "roo-xml", "minimax-m2", False),
    (
        '<invoke name="bash">\n  <command>bun test</command>\n</invoke>',
        "qwen3-coder",
        "functions-invoke",
        False,
    ),
    ('<function_calls>\n<invoke name="bash">\n', "roo-xml", "functions-invoke", False),
    ("<toolbridge_calls>\n<bash>\n<command>ls", "qwen3-coder", "toolbridge", False),
    ("<seed:tool_call>\n<function=bash>\n", "roo-xml", "seed-oss", False),
    (
        '<|start|>assistant<|channel|>commentary to=functions.bash <|constrain|>json<|message|>{"com',
        "roo-xml",
        "harmony",
        True,
    ),
    ('text<|open|>toolscall tool="Shell" index="1"<|sep|>', "roo-xml", "kimi-k3", False),
    ('[TOOL_CALL]\n{tool => "bash", args => {}}\n[/TOOL_CALL]', "roo-xml", "bracketed", False),
]


@each_row(("text", "dialect", "found", "ours"), LEAKS)
def test_a_call_that_reached_the_client_as_text(text, dialect, found, ours):
    seen = observed(message(text), REQUEST, dialect)
    assert [one.code for one in seen] == ([LEAK, OTHER] if ours else [LEAK])
    assert all(found in one.message for one in seen)
    assert any(hit.start == seen[0].start and hit.end == seen[0].end for hit in hits(text))


PROSE = [
    "",
    "All done.",
    "The `<tool_call>` tag opens a call, <function=NAME> names it and </tool_call> ends it.",
    "Use `<tool_call><function=bash><parameter=command>` for that.",
    f"A call looks like this:\n```xml\n{QWEN}\n```\nClear?",
    f"So:\n~~~\n{KIMI}\n~~~",
    f"So:\n```\n{ROO}\n",
    "I use the <read_file> tag with a <path>:\n<read_file> is all it takes.",
    f"Roo would write `{ROO.replace(chr(10), '')}` in a line.",
    "<read_file>\n<name>x</name>\n</read_file>",
    "<ul>\n<li>bash</li>\n</ul>",
    "<config>\n<path>a</path>\n</config>",
    "The token <|tool_call_begin|> opens a call.\nThen comes its id.",
    "Mistral writes [TOOL_CALLS] before its calls.",
    "gpt-oss has <|channel|> and <|message|>.",
    'The package is {"name": "bash", "version": "1"}.',
    '{"name": "left-pad", "parameters": {}}',
    'See {"name": "bash", "parameters": {}} in the schema.',
    "[bash(1)] is the manual page, and [read_file] a tool.",
    "[link(x)](http://example.com)",
    "Write <tool_call>\n<function=example_function_name>\n<parameter=x> and so on.",
    "<think>\nI could write\n<read_file>\n<path>a.md</path>, maybe\n</think>\nNo, I know it.",
]


@each_row("dialect", ["roo-xml", "qwen3-coder", "kimi-k2", "passthrough"])
@each_row("text", PROSE)
def test_what_is_no_call_is_no_leak(text, dialect):
    assert {LEAK, OTHER, THOUGHT}.isdisjoint(codes(text, dialect))


FOREIGN = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>"
)
HARMONY = "<|channel|>commentary to=functions.get_weather<|message|>{}"


@each_row("text", [FOREIGN, HARMONY])
def test_whoever_asks_about_a_format_is_shown_it(text):
    assert LEAK in codes(text, request=REQUEST)
    assert LEAK not in codes(text, request=ASKING)
    assert LEAK in codes(QWEN, request=ASKING), "a call of an offered tool is one, whatever was asked"


@each_row(
    ("request_", "expected"),
    [
        (REQUEST, [LEAK, OTHER]),
        (None, [LEAK, OTHER]),
        (NO_TOOLS, ["nothing-offered"]),
        (SUMMARY, ["nothing-offered", LEAK, OTHER]),
        ({**REQUEST, "tool_choice": "none"}, [LEAK, OTHER]),
    ],
)
def test_it_depends_on_who_reads_the_text(request_, expected):
    assert codes(QWEN, "roo-xml", request_) == expected


def test_a_leak_says_why_nothing_was_converted():
    def why(text: str, dialect: str, request: Any = REQUEST) -> str:
        return observed(message(text), request, dialect)[0].message.partition(": ")[2]

    assert why(QWEN, "passthrough") == "the dialect is passthrough, which converts nothing"
    assert "tool_choice none" in why(ROO, "roo-xml", {**REQUEST, "tool_choice": "none"})
    assert why(HERMES, "qwen3-coder") == "qwen3-coder does not read it as one"
    assert why(FOREIGN, "qwen3-coder") == "the tool get_weather was not offered"


@each_row(
    ("reasoning", "content", "dialect", "expected"),
    [
        (f"I should read it.\n{ROO}", None, "roo-xml", [THOUGHT, "only-reasoning"]),
        (f"Hm.\n{QWEN}", "Done.", "qwen3-coder", [THOUGHT]),
        (KIMI, "", "qwen3-coder", [THOUGHT, "only-reasoning"]),
        (HERMES, "Well.", "qwen3-coder", [THOUGHT]),
        (
            'Lint passes<|open|>toolscall tool="Shell" index="1"<|sep|>',
            None,
            "kimi-k2",
            [LEAK, "only-reasoning"],
        ),
        ('Lint passes<|open|>toolscall tool="Shell" index="1"<|sep|>', "Done.", "kimi-k2", []),
        ("<function=bash>\n<parameter=command>\nls", "Done.", "qwen3-coder", []),
        ("I'd use `<read_file>` here.", "Done.", "roo-xml", []),
        ("Only a thought.", "  ", "roo-xml", ["only-reasoning"]),
    ],
)
def test_calls_in_the_reasoning(reasoning, content, dialect, expected):
    assert codes(content, dialect, reasoning_content=reasoning) == expected
    assert codes(content, dialect, reasoning=reasoning, reasoning_content=reasoning) == expected


def test_a_thought_that_became_a_call_is_nothing_special():
    made = [
        {"id": "a", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.md"}'}}
    ]
    answer = message(None, finish="tool_calls")
    answer["choices"][0]["message"] |= {"reasoning": ROO, "tool_calls": made}
    assert observed(answer, REQUEST, "roo-xml") == ()


def test_a_whole_call_in_a_think_block_of_the_content():
    assert codes(f"<think>\n{QWEN}\n</think>\nDone.", "passthrough") == [THOUGHT]


@each_row(
    ("finish", "content", "calls", "dialect", "expected"),
    [
        ("length", "half a sen", [], "roo-xml", ["cut-by-length"]),
        ("content_filter", "", [], "roo-xml", ["content-filter"]),
        ("stop", "", [], "passthrough", ["silent-turn"]),
        ("stop", "", [], "roo-xml", []),  # the transformer says so itself
        (None, "", [], "passthrough", []),
        ("tool_calls", "Hi", [], "passthrough", ["finish-mismatch"]),
        ("stop", None, [("a", "bash", "{}")], "passthrough", ["finish-mismatch"]),
        ("tool_calls", None, [("a", "bash", "{}")], "passthrough", []),
        ("tool_calls", None, [("a", "bash", '{"x"')], "passthrough", ["bad-arguments"]),
        ("tool_calls", None, [("a", "bash", '{"x"')], "roo-xml", ["bad-arguments"]),
        ("tool_calls", None, [("a", "bash", '{"x"')], "kimi-k2", []),
        (None, None, [("a", "bash", '{"x"')], "passthrough", []),
        ("tool_calls", None, [("a", "bash", "")], "passthrough", ["bad-arguments"]),
        ("tool_calls", None, [("a", "bash", "[1]")], "passthrough", ["bad-arguments"]),
        ("tool_calls", None, [("", "bash", "{}")], "passthrough", ["incomplete-call"]),
        ("tool_calls", None, [("a", "", "{}")], "passthrough", ["incomplete-call"]),
        ("tool_calls", None, [("a", "bash", "{}"), ("a", "now", "{}")], "passthrough", ["repeated-id"]),
    ],
)
def test_what_the_end_and_the_calls_show(finish, content, calls, dialect, expected):
    answer = message(content, finish=finish)
    answer["choices"][0]["message"]["tool_calls"] = [
        {"id": id, "function": {"name": name, "arguments": arguments}} for id, name, arguments in calls
    ]
    assert [seen.code for seen in observed(answer, REQUEST, dialect)] == expected


def test_each_choice_is_looked_at():
    answer = message("Hi")
    answer["choices"].append({"index": 3, "message": {"content": f"So:\n{QWEN}"}, "finish_reason": "stop"})
    seen = observed(answer, REQUEST, "roo-xml")
    assert [(one.code, one.choice, one.channel, one.start) for one in seen] == [
        (LEAK, 3, "content", 4),
        (OTHER, 3, "content", 4),
    ]


def test_the_first_leak_of_a_dialect_speaks_for_the_others():
    assert codes(f"{QWEN}\n{QWEN}\n{HERMES}\n{HERMES}", "roo-xml") == [LEAK, OTHER, LEAK, OTHER]


RARE = [
    '<function=bash>{"command": "ls"}</function>',
    "<tool_calls><tool_call>bash<tool_sep>",
    ']<]minimax[>[<tool_call><invoke name="bash">',
    "<|tool_call>call:bash{}<tool_call|>",
    "<start_function_call>call:bash{}",
    '<|START_ACTION|>[{"tool_name": "bash"}]',
    '<|tool_call|>[{"name": "bash"}]\n<function_call> {"name": "bash"}',
    "<|action_start|> <|plugin|>{}",
    "<|tools_prefix|>[{}]",
    "<|tool_call_start|>[now()]\n<|python_start|>[now()]",
]


@each_row("mark", MARKS, ids=lambda mark: mark.dialect)
def test_every_mark_can_be_found(mark):
    texts = [text for text, *_ in LEAKS] + RARE
    assert any(hit.mark is mark for text in texts for hit in hits(text))


@each_row("text", RARE)
def test_rare_dialects_leak_as_well(text):
    assert LEAK in codes(text)


HOSTILE: list[Any] = [
    None, 3, [], "x", {}, {"choices": None}, {"choices": 3}, {"choices": [None, 3, {}, {"message": 1}]},
    {"choices": [{"message": {"content": 3, "reasoning": [], "tool_calls": {}}, "finish_reason": []}]},
    {"choices": [{"index": "x", "message": {"content": [{"text": 3}, 4, {"text": QWEN}], "tool_calls": 1}}]},
    {"choices": [{"message": {"tool_calls": [{"id": 3, "function": {"name": [], "arguments": {}}}]}}]},
]  # fmt: skip


@each_row("answer", HOSTILE)
@each_row("request_", [None, 3, {}, {"tools": 3, "messages": 3}, {"tools": [3, {}], "messages": [3]}])
def test_odd_types_do_no_harm(answer, request_):
    dialects: list[Any] = ["roo-xml", "passthrough", "no-such-dialect", 3]
    for dialect in dialects:
        assert all(one.code in OBSERVED for one in observed(answer, request_, dialect))


def test_an_unknown_dialect_says_nothing():
    assert observed(message(QWEN), REQUEST, "no-such-dialect") == ()


PIECES = [
    QWEN,
    KIMI,
    ROO,
    HERMES,
    "```",
    "\n",
    "`",
    "<think>",
    "</think>",
    " ",
    "<",
    "|",
    "x",
    "[bash(",
    "\ud800",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_mixture_has_its_places_inside_the_text(text):
    for seen in observed(message(text), REQUEST, "qwen3-coder"):
        assert 0 <= seen.start <= seen.end <= len(text)


@each_row(
    "unit",
    [
        "word ", "<", "<tool_call>", "<tool_call> ", "`", "` ", "```\n", "<think>", "{ ", "[a(",
        "<ul>\n<li>x</li></ul>\n", "<|tool_call_begin|>", "<read_file>\n<path>", QWEN, ROO,
        "<function=bash>\n", "<tool_call>" + " " * 1000, '{"name": "bash", ',
    ],
)  # fmt: skip
def test_the_work_is_linear(unit):
    """Calls are counted; what one search of a pattern takes is compared with itself."""

    def look(size: int) -> None:
        observed(message(unit * (size // len(unit))), REQUEST, "kimi-k2")

    assert calls_made(lambda: look(16_000)) < 4.8 * calls_made(lambda: look(4_000)) + 1000
    if exhaustive():
        assert grows_evenly(look, 12_000)
