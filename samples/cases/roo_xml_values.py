"""roo-xml, good calls: every kind of value, and values that try to end too early."""

from __future__ import annotations

from samples.cases.case import Case, Outcome
from samples.cases.tools import (
    BOOLEAN,
    EXECUTE,
    INTEGER,
    NUMBER,
    READ_FILE,
    STRING,
    STRINGS,
    TODOS,
    WRITE_TO_FILE,
    offer,
    with_defs,
)
from samples.cases.upstream import Thinks, bursts, every, lines, plain, slices, vllm

RUN = offer(
    "run",
    "Run a command",
    ["command"],
    command=STRING,
    timeout=NUMBER,
    retries=INTEGER,
    background=BOOLEAN,
    shell={"type": "string", "enum": ["bash", "sh"]},
)
SET_LIMIT = offer(
    "set_limit",
    "Set an account's limit",
    account=INTEGER,
    limit={"type": ["number", "null"]},
    note={"type": "string", "nullable": True},
    label=STRING,
)
TAG_FILES = offer(
    "tag_files",
    "Tag files",
    paths=STRINGS,
    skip=STRINGS,
    lines={"type": "array", "items": INTEGER},
    label=STRINGS,
)
REQUEST = with_defs(
    offer(
        "http_request",
        "Send a request",
        url=STRING,
        options={"type": "object"},
        auth={"$ref": "#/$defs/auth"},
        body={"anyOf": [{"type": "object"}, STRING]},
        tag={"type": ["integer", "string"]},
    ),
    auth={"type": "object", "properties": {"user": STRING, "pin": STRING, "port": INTEGER}},
)
LIST_WINDOWS = offer("list_windows", "List the open windows")

# Longer than the 10 KB that one known parser keeps of an open call.
LONG_FILE = "".join(f"{n:04d};measurement {n};{n * 37 % 1000};ok\n" for n in range(320))

CASES = [
    Case(
        "good-read",
        "A well-formed call of `read_file`: the client gets the text before it and one tool call.",
        tools=[READ_FILE],
        upstream=vllm(
            lines(
                "I'll read the entry point first.",
                "",
                "<read_file>",
                "<path>src/main.py</path>",
                "</read_file>",
            )
        ),
        gets=Outcome("I'll read the entry point first.", [("read_file", {"path": "src/main.py"})]),
    ),
    Case(
        "good-no-call",
        "Prose without any call: it goes on as it is, and the answer ends with `stop`.",
        tools=[READ_FILE],
        upstream=plain("It prints 3 lines: a header, the total and a rule. No call is needed."),
        gets=Outcome("It prints 3 lines: a header, the total and a rule. No call is needed."),
    ),
    Case(
        "good-multi-line",
        "Writes a JSON file: its text stays a string of several lines, without the newline next to each tag.",
        tools=[WRITE_TO_FILE],
        asked="Set the port to 8080.",
        upstream=plain(
            lines(
                "I'll write the settings.",
                "",
                "<write_to_file>",
                "<path>config/app.json</path>",
                "<content>",
                "{",
                '  "port": 8080',
                "}",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(
            "I'll write the settings.",
            [("write_to_file", {"path": "config/app.json", "content": '{\n  "port": 8080\n}'})],
        ),
    ),
    Case(
        "good-typed-values",
        "Number, integer, boolean `True` and an enum beside a string: typed by the schema, numbers as "
        "written.",
        tools=[RUN],
        asked="Run the tests in the background.",
        upstream=plain(
            lines(
                "<run>",
                '<command>npm test -- --grep "001"</command>',
                "<timeout>2.5e1</timeout>",
                "<retries> -3 </retries>",
                "<background>True</background>",
                "<shell>bash</shell>",
                "</run>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "run",
                    '{"command":"npm test -- --grep \\"001\\"","timeout":2.5e1,"retries":-3,'
                    '"background":true,"shell":"bash"}',
                )
            ]
        ),
    ),
    Case(
        "good-huge-integer-and-null",
        "An integer of 30 digits stays exact, `None` and `null` become null where allowed, else stay text.",
        tools=[SET_LIMIT],
        asked="Lift the limit of the big account.",
        upstream=plain(
            lines(
                "<set_limit>",
                "<account>123456789012345678901234567890</account>",
                "<limit>None</limit>",
                "<note>null</note>",
                "<label>null</label>",
                "</set_limit>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "set_limit",
                    '{"account":123456789012345678901234567890,"limit":null,"note":null,"label":"null"}',
                )
            ]
        ),
    ),
    Case(
        "good-arrays-four-ways",
        "Arrays as JSON, as a Python tuple, as `<item>` children and as a repeated tag: all become arrays.",
        failure=[28],
        tools=[TAG_FILES],
        asked="Tag the two files.",
        upstream=plain(
            lines(
                "<tag_files>",
                '<paths>["a.py", "b.py"]</paths>',
                "<skip>('build', 'dist')</skip>",
                "<lines>",
                "  <item>3</item>",
                "  <item>14</item>",
                "</lines>",
                "<label>bug</label>",
                "<label>ui</label>",
                "</tag_files>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "tag_files",
                    {
                        "paths": ["a.py", "b.py"],
                        "skip": ["build", "dist"],
                        "lines": [3, 14],
                        "label": ["bug", "ui"],
                    },
                )
            ]
        ),
    ),
    Case(
        "good-nested-list",
        "A list written as `<todos><todo>…`: the children become the items of the array.",
        failure=[28],
        tools=[TODOS],
        asked="Plan it.",
        upstream=plain(
            lines(
                "<update_todo_list>",
                "<todos>",
                "<todo>Read the parser</todo>",
                "<todo>Fix the cut & test it</todo>",
                "</todos>",
                "</update_todo_list>",
            )
        ),
        gets=Outcome(
            calls=[("update_todo_list", {"todos": ["Read the parser", "Fix the cut & test it"]})],
        ),
    ),
    Case(
        "good-objects",
        "Objects as nested tags and as JSON, with `$ref`, `anyOf` and a type list: each typed by its schema.",
        tools=[REQUEST],
        asked="Call the API.",
        upstream=plain(
            lines(
                "<http_request>",
                "<url>https://api.example/v1</url>",
                "<options>",
                "  <timeout>5000</timeout>",
                "  <verbose>true</verbose>",
                "</options>",
                "<auth><user>ann</user><pin>0042</pin><port>8080</port></auth>",
                '<body>{"q": [1, 2]}</body>',
                "<tag>5</tag>",
                "</http_request>",
            ),
            cut=bursts,
        ),
        gets=Outcome(
            calls=[
                (
                    "http_request",
                    {
                        "url": "https://api.example/v1",
                        "options": {"timeout": 5000, "verbose": True},
                        "auth": {"user": "ann", "pin": "0042", "port": 8080},
                        "body": {"q": [1, 2]},
                        "tag": "5",
                    },
                )
            ]
        ),
    ),
    Case(
        "good-unicode",
        "Chinese, emoji, Hebrew and combining marks, in reads cut inside characters: all arrive unchanged.",
        failure=[57, 59],
        tools=[WRITE_TO_FILE],
        asked="Greet everybody.",
        upstream=plain(
            lines(
                "Gern – 好的 👩‍💻",
                "",
                "<write_to_file>",
                "<path>grüße/你好.txt</path>",
                "<content>שלום 🇺🇳 e\u0301\u2028𝒳</content>",
                "</write_to_file>",
            ),
            cut=every(5),
        ),
        reads=slices(31, 58, 7),
        gets=Outcome(
            "Gern – 好的 👩‍💻",
            [("write_to_file", {"path": "grüße/你好.txt", "content": "שלום 🇺🇳 e\u0301\u2028𝒳"})],
        ),
    ),
    Case(
        "good-html-entities",
        "HTML with `&amp;` and `&lt;` in a written file: nothing is decoded, the file arrives as the model "
        "wrote it.",
        failure=[24],
        tools=[WRITE_TO_FILE],
        asked="Write the menu page.",
        upstream=plain(
            lines(
                "<write_to_file>",
                "<path>menu.html</path>",
                "<content>",
                '<p title="&quot;now&quot;">Fish &amp; chips &lt; 5 &#8364;</p>',
                "",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_to_file",
                    {
                        "path": "menu.html",
                        "content": '<p title="&quot;now&quot;">Fish &amp; chips &lt; 5 &#8364;</p>\n',
                    },
                )
            ]
        ),
    ),
    Case(
        "good-crlf-and-quotes",
        "Windows line ends, quotes and backslashes in a value: kept, but for the one line end next to each "
        "tag.",
        tools=[WRITE_TO_FILE],
        asked="Write the batch file.",
        upstream=plain(
            "<write_to_file>\r\n<path>run.bat</path>\r\n<content>\r\n"
            '@echo "it\'s C:\\new\\table"\r\n\r\n</content>\r\n</write_to_file>\r\n'
        ),
        gets=Outcome(
            calls=[
                ("write_to_file", {"path": "run.bat", "content": '@echo "it\'s C:\\new\\table"\r\n'}),
            ]
        ),
    ),
    Case(
        "good-empty-values",
        "A parameter without text and one with a single newline: both are the empty string.",
        tools=[WRITE_TO_FILE],
        asked="Make it a package, and clear the path.",
        upstream=plain(
            lines(
                "<write_to_file>",
                "<path></path>",
                "<content>",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(calls=[("write_to_file", {"path": "", "content": ""})]),
    ),
    Case(
        "good-no-parameters",
        "A tool without parameters: a complete call with the arguments `{}`.",
        tools=[LIST_WINDOWS],
        asked="Which windows are open?",
        upstream=plain("Let me see.\n\n<list_windows>\n</list_windows>"),
        gets=Outcome("Let me see.", [("list_windows", "{}")]),
    ),
    Case(
        "good-own-closing-tag",
        "`</content>` twice inside the file it writes: only the one before the call's end closes the value.",
        failure=[25],
        tools=[WRITE_TO_FILE],
        asked="Write the feed's template.",
        upstream=plain(
            lines(
                "<write_to_file>",
                "<path>feed.xml</path>",
                "<content>",
                "<content>news</content>",
                "<!-- a </content> more -->",
                "<content>old",
                "</content>",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_to_file",
                    {
                        "path": "feed.xml",
                        "content": "<content>news</content>\n<!-- a </content> more -->\n"
                        "<content>old\n</content>",
                    },
                )
            ]
        ),
    ),
    Case(
        "good-example-in-value",
        "The file it writes shows a whole call of the same tool: that example is data, one call comes out.",
        failure=[25],
        tools=[WRITE_TO_FILE],
        asked="Document the tool.",
        upstream=plain(
            lines(
                "<write_to_file>",
                "<path>docs/tools.md</path>",
                "<content>",
                "Write it so:",
                "",
                "<write_to_file>",
                "<path>a.txt</path>",
                "<content>hi</content>",
                "</write_to_file>",
                "",
                "That is all.",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_to_file",
                    {
                        "path": "docs/tools.md",
                        "content": "Write it so:\n\n<write_to_file>\n<path>a.txt</path>\n"
                        "<content>hi</content>\n</write_to_file>\n\nThat is all.",
                    },
                )
            ]
        ),
    ),
    Case(
        "good-foreign-call-in-value",
        "The file it writes holds a Qwen call and a call of another offered tool: both are data.",
        failure=[2, 25],
        tools=[WRITE_TO_FILE, READ_FILE],
        asked="Note down both formats.",
        upstream=plain(
            lines(
                "<write_to_file>",
                "<path>formats.md</path>",
                "<content>",
                "<tool_call><function=read_file></function></tool_call>",
                "<read_file>",
                "<path>x</path>",
                "</read_file>",
                "</content>",
                "</write_to_file>",
            )
        ),
        gets=Outcome(
            calls=[
                (
                    "write_to_file",
                    {
                        "path": "formats.md",
                        "content": "<tool_call><function=read_file></function></tool_call>\n"
                        "<read_file>\n<path>x</path>\n</read_file>",
                    },
                )
            ]
        ),
    ),
    Case(
        "good-long-file",
        "A file of 10 KB in one value, larger than some parsers keep: it arrives whole, in one call.",
        failure=[26],
        tools=[WRITE_TO_FILE],
        asked="Write the table of measurements.",
        upstream=plain(
            "<write_to_file>\n<path>table.csv</path>\n<content>\n" + LONG_FILE,
            "</content>\n</write_to_file>",
            cut=every(700),
        ),
        gets=Outcome(
            calls=[("write_to_file", {"path": "table.csv", "content": LONG_FILE.removesuffix("\n")})],
        ),
    ),
    Case(
        "good-think-block",
        "A `<think>` block in the content names the tool, then a call: the block stays text, the call is "
        "one.",
        failure=[27],
        tools=[READ_FILE],
        upstream=plain(
            lines(
                "<think>",
                "The <read_file> tool will do.",
                "</think>",
                "",
                "<read_file>",
                "<path>src/main.py</path>",
                "</read_file>",
            )
        ),
        gets=Outcome(
            "<think>\nThe <read_file> tool will do.\n</think>", [("read_file", {"path": "src/main.py"})]
        ),
    ),
    Case(
        "good-thinks-first",
        "Reasoning in its own field, then the call: the reasoning goes on as reasoning, the call is "
        "converted.",
        tools=[EXECUTE],
        asked="Do the tests pass?",
        upstream=plain(
            Thinks("Running them is quickest."),
            lines("", "", "<execute_command>", "<command>pytest -q</command>", "</execute_command>", ""),
        ),
        gets=Outcome(
            reasoning="Running them is quickest.", calls=[("execute_command", {"command": "pytest -q"})]
        ),
    ),
]
