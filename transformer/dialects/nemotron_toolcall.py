"""nemotron-toolcall: `<TOOLCALL>[{"name": name, "arguments": {json}}, …]</TOOLCALL>`."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.parser.dialect import Dialect
from transformer.parser.jsongrammar import json_grammar
from transformer.parser.jsonmending import JsonMending
from transformer.parser.jsonspelling import JsonSpelling
from transformer.parser.leakmarks import leak_mark
from transformer.parser.mending import Mender
from transformer.parser.writing import json_writer, packaged_template
from transformer.policy import USUAL, Policy
from transformer.values.literals import quote

OPEN, CLOSE = "<TOOLCALL>", "</TOOLCALL>"
SPELLING = JsonSpelling(open=(OPEN,), close=(CLOSE,))


def _call(name: str, arguments: str) -> str:
    return f'{{"name": {quote(name)}, "arguments": {arguments}}}'


def _calls(calls: Sequence[str]) -> str:
    """All calls of a message are one list."""
    return f"{OPEN}[{', '.join(calls)}]{CLOSE}"


NEMOTRON_TOOLCALL = Dialect(
    name="nemotron-toolcall",
    summary='<TOOLCALL>[{"name": "name", "arguments": {json}}]</TOOLCALL>',
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("nemotron-toolcall", _call, _calls, "\n"),
    template=packaged_template("nemotron_toolcall.jinja", "json_tools.jinja"),
    taught_by=(OPEN, "<AVAILABLE_TOOLS>"),
    leak_marks=(
        leak_mark(
            OPEN,
            rf'{OPEN}\s*\[?\s*\{{\s*"(?:name"\s*:\s*"(?P<name>[^"\n]{{1,256}})"|\w+"\s*:)',
            "name or line",
        ),
    ),
    mender=Mender(JsonMending(OPEN, f"]{CLOSE}", SPELLING.keys).ideas),
    models=("llama-3.1-nemotron", "llama-3.3-nemotron", "nvidia/llama-3", "nemotron-nano-9b"),
)
