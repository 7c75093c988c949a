"""llama3-json: `{"name": name, "parameters": {json}}`, perhaps after `<|python_tag|>`, and nothing around it."""

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

OPEN = "<|python_tag|>"
SPELLING = JsonSpelling(
    open=(OPEN,),
    close=("<|eom_id|>", "<|eot_id|>"),
    keys=("parameters", "arguments"),
    bare=True,
)


def _call(name: str, arguments: str) -> str:
    return f'{{"name": {quote(name)}, "parameters": {arguments}}}'


LLAMA3_JSON = Dialect(
    name="llama3-json",
    summary='{"name": "name", "parameters": {json}}, perhaps after <|python_tag|>',
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("llama3-json", _call, "; ".join, "\n"),
    template=packaged_template("llama3_json.jinja", "json_tools.jinja"),
    taught_by=(OPEN, '{"name": function name, "parameters"', '{"name": "example_function", "parameters"'),
    leak_marks=(
        leak_mark(OPEN, r"<\|python_tag\|>(?=\s*[\w{])"),
        leak_mark(
            '{"name"',
            r'\{\s*"name"\s*:\s*"(?P<name>[^"\n]{1,256})"\s*,\s*"(?:parameters|arguments)"\s*:',
            "name and line",
        ),
    ),
    mender=Mender(JsonMending(OPEN, "", SPELLING.keys).ideas),
    openers=lambda tools: (OPEN, "\n{"),
    models=("llama-3.1", "llama-3.2", "llama-3.3", "llama3.1", "llama3.2", "llama3.3", "meta-llama/llama-3"),
)
