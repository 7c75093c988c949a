"""longcat: the calls of hermes between `<longcat_tool_call>` and `</longcat_tool_call>`."""

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

OPEN, CLOSE = "<longcat_tool_call>", "</longcat_tool_call>"
SPELLING = JsonSpelling(open=(OPEN,), close=(CLOSE,))


def _call(name: str, arguments: str) -> str:
    return f'{OPEN}\n{{"name": {quote(name)}, "arguments": {arguments}}}\n{CLOSE}'


LONGCAT = Dialect(
    name="longcat",
    summary='<longcat_tool_call>{"name": "name", "arguments": {json}}</longcat_tool_call>',
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("longcat", _call, "\n".join, "\n"),
    template=packaged_template("longcat.jinja", "json_tools.jinja"),
    taught_by=(OPEN,),
    leak_marks=(
        leak_mark(
            OPEN,
            rf'{OPEN}\s*\{{\s*"(?:name"\s*:\s*"(?P<name>[^"\n]{{1,256}})"|\w+"\s*:)',
            "name or line",
        ),
    ),
    mender=Mender(JsonMending(OPEN, CLOSE, SPELLING.keys).ideas),
    models=("longcat", "meituan-longcat/"),
)
