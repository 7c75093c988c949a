"""Seed 000, "Tool Calling Transformation Examples": the request direction, and that half of its cycles."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.streams import JSON
from transformer import prompt_for, transform_request


def function(name: str, description: str | None, properties: JSON, required: list[str]) -> JSON:
    parameters = {"type": "object", "properties": properties, "required": required}
    said = {} if description is None else {"description": description}
    return {"type": "function", "function": {"name": name, **said, "parameters": parameters}}


def block(tools: list[JSON]) -> str:
    """The prompt behind its heading."""
    return prompt_for(tools, "roo-xml").split("## Available Tools\n\n")[1]


def masked(text: str) -> str:
    """Usage values are free to differ: docs/spec.md, section 8."""
    return re.sub(r"^<(\w+)>(?!\n<).*?</\1>$", r"<\1>…</\1>", text, flags=re.DOTALL | re.MULTILINE)


EXAMPLES = {
    "1: read": (
        function(
            "read",
            "Read a file from the filesystem with line numbers",
            {
                "filePath": {"type": "string", "description": "Absolute path to the file"},
                "offset": {"type": "number", "description": "Line number to start reading from"},
                "limit": {"type": "number", "description": "Number of lines to read"},
            },
            ["filePath"],
        ),
        """\
## read
Description: Read a file from the filesystem with line numbers
Parameters:
- filePath: (required) string - Absolute path to the file
- offset: (optional) number - Line number to start reading from
- limit: (optional) number - Number of lines to read

Usage:
<read>
<filePath>/path/to/file.js</filePath>
<offset>10</offset>
<limit>50</limit>
</read>""",
    ),
    "2: bash": (
        function(
            "bash",
            "Execute a bash command in a persistent shell session",
            {
                "command": {"type": "string", "description": "The command to execute"},
                "description": {
                    "type": "string",
                    "description": "Clear description of what this command does",
                },
                "timeout": {"type": "number", "description": "Timeout in milliseconds"},
            },
            ["command", "description"],
        ),
        """\
## bash
Description: Execute a bash command in a persistent shell session
Parameters:
- command: (required) string - The command to execute
- description: (required) string - Clear description of what this command does
- timeout: (optional) number - Timeout in milliseconds

Usage:
<bash>
<command>npm install axios</command>
<description>Install axios package for HTTP requests</description>
<timeout>30000</timeout>
</bash>""",
    ),
    "3: write": (
        function(
            "write",
            "Write content to a file, creating it if it doesn't exist",
            {
                "file_path": {"type": "string", "description": "Absolute path to the file"},
                "content": {"type": "string", "description": "Content to write to the file"},
            },
            ["file_path", "content"],
        ),
        """\
## write
Description: Write content to a file, creating it if it doesn't exist
Parameters:
- file_path: (required) string - Absolute path to the file
- content: (required) string - Content to write to the file

Usage:
<write>
<file_path>/src/app.js</file_path>
<content>
console.log('Hello World');
</content>
</write>""",
    ),
}

READ = function(
    "read", "Read a file", {"filePath": {"type": "string", "description": "File path"}}, ["filePath"]
)
BASH = function(
    "bash",
    "Execute command",
    {
        "command": {"type": "string", "description": "Command"},
        "description": {"type": "string", "description": "Description"},
    },
    ["command", "description"],
)
EXAMPLE_4 = """\
You have access to tools that help you accomplish tasks. Use tools by outputting XML-formatted tool calls.

## Tool Use Rules
1. Use exactly one tool per message
2. Format tool calls using XML with the tool name as the tag
3. Include all required parameters within parameter tags

## Tool Call Format
<tool_name>
<parameter1>value1</parameter1>
<parameter2>value2</parameter2>
</tool_name>

## Available Tools

## read
Description: Read a file
Parameters:
- filePath: (required) string - File path

Usage:
<read>
<filePath>/path/to/file</filePath>
</read>

## bash
Description: Execute command
Parameters:
- command: (required) string - Command
- description: (required) string - Description

Usage:
<bash>
<command>npm install</command>
<description>Install dependencies</description>
</bash>"""


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_1_to_3_but_for_their_usage_values(name: str):
    tool, expected = EXAMPLES[name]
    assert masked(block([tool])) == masked(expected)
    assert masked(expected) != expected


def test_example_4_byte_for_byte():
    body: JSON = {
        "messages": [{"role": "user", "content": "Read package.json and install dependencies"}],
        "tools": [READ, BASH],
    }
    before = json.dumps(body)
    new, findings = transform_request(body, dialect="roo-xml")
    assert new == {"messages": [{"role": "system", "content": EXAMPLE_4}, *body["messages"]]}
    assert findings == []
    assert json.dumps(body) == before


def test_cycle_1_the_first_request():
    tool = function("read", "Read a file", {"filePath": {"type": "string"}}, ["filePath"])
    question = {"role": "user", "content": "What's in the package.json file?"}
    body: JSON = {"model": "qwen3-max", "messages": [question], "tools": [tool], "stream": True}
    new, findings = transform_request(body, dialect="roo-xml")
    assert list(new) == ["model", "messages", "stream"]
    system, user = new["messages"]
    assert user == question
    assert system["role"] == "system"
    assert system["content"].startswith("You have access to tools")
    assert (
        "\n\n## read\nDescription: Read a file\nParameters:\n- filePath: (required) string\n\n"
        in system["content"]
    )
    assert findings == []


def call(id: str, name: str, arguments: str) -> JSON:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_cycle_1_the_result():
    """Step 3: the seed's client sends no tools with it; the history is text, with or without them."""
    result = '{"dependencies":{"express":"^4.18.0","axios":"^1.4.0"}}'
    body: JSON = {
        "model": "qwen3-max",
        "messages": [
            {"role": "user", "content": "What's in the package.json file?"},
            {
                "role": "assistant",
                "content": "I'll read the package.json file.",
                "tool_calls": [call("call_1", "read", '{"filePath":"/home/user/package.json"}')],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": result},
        ],
        "stream": True,
    }
    history = [
        {"role": "user", "content": "What's in the package.json file?"},
        {
            "role": "assistant",
            "content": "I'll read the package.json file.\n\n"
            "<read>\n<filePath>/home/user/package.json</filePath>\n</read>",
        },
        {"role": "user", "content": f"Tool Result from read:\n{result}"},
    ]
    new, findings = transform_request(body, dialect="roo-xml")
    assert new == {"model": "qwen3-max", "messages": history, "stream": True}
    assert [finding.code for finding in findings] == ["calls-without-tools"]
    new, findings = transform_request(body | {"tools": [READ]}, dialect="roo-xml")
    assert new["messages"][1:] == history
    assert findings == []


def test_cycle_2():
    arguments = '{"command":"npm install lodash","description":"Install lodash utility library"}'
    body: JSON = {
        "messages": [
            {"role": "user", "content": "Install the lodash package"},
            {"role": "assistant", "tool_calls": [call("call_5", "bash", arguments)]},
            {"role": "tool", "tool_call_id": "call_5", "content": "added 1 package in 2.3s"},
        ],
    }
    history = [
        {"role": "user", "content": "Install the lodash package"},
        {
            "role": "assistant",
            "content": "<bash>\n<command>npm install lodash</command>\n"
            "<description>Install lodash utility library</description>\n</bash>",
        },
        {"role": "user", "content": "Tool Result from bash:\nadded 1 package in 2.3s"},
    ]
    new, findings = transform_request(body, dialect="roo-xml")
    assert new == {"messages": history}
    assert [finding.code for finding in findings] == ["calls-without-tools"]
    new, findings = transform_request(body | {"tools": [BASH]}, dialect="roo-xml")
    assert new["messages"][1:] == history
    assert findings == []
