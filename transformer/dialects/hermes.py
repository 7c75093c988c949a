"""hermes: `<tool_call>{"name": name, "arguments": {json}}</tool_call>`."""

from __future__ import annotations

from transformer.parser.dialect import Dialect
from transformer.parser.jsongrammar import json_grammar
from transformer.parser.jsonmending import JsonMending
from transformer.parser.jsonspelling import JsonSpelling
from transformer.parser.leakmarks import leak_mark
from transformer.parser.mending import Mender
from transformer.parser.writing import json_writer, packaged_template
from transformer.policy import USUAL, Policy
from transformer.values.literals import quote

SPELLING = JsonSpelling(open=("<tool_call>",), close=("</tool_call>",))


def _call(name: str, arguments: str) -> str:
    """As the chat templates of Hermes and of Qwen write it."""
    return f'<tool_call>\n{{"name": {quote(name)}, "arguments": {arguments}}}\n</tool_call>'


HERMES = Dialect(
    name="hermes",
    summary='<tool_call>{"name": "name", "arguments": {json}}</tool_call>',
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("hermes", _call, "\n".join, "\n"),
    template=packaged_template("hermes.jinja", "json_tools.jinja"),
    taught_by=('{"name": <function-name>', "<tool_call>\n{", "<tools></tools>", "<tools>\n{", "<tools>\n["),
    leak_marks=(
        leak_mark(
            "<tool_call>",
            r'<tool_call>\s*\{\s*"(?:name"\s*:\s*"(?P<name>[^"\n]{1,256})"|\w+"\s*:)',
            "name or line",
        ),
    ),
    mender=Mender(JsonMending("<tool_call>", "</tool_call>", SPELLING.keys).ideas),
    models=(
        *("hermes", "nousresearch/hermes", "qwen2.5", "qwen3-", "qwq"),
        *("granite-4", "ernie-4.5", "smollm3", "trinity"),
    ),
)
