"""mistral: `[TOOL_CALLS]name[ARGS]{json}`, and in older models `[TOOL_CALLS] [{"name": name, "arguments": {json}}]`."""

from __future__ import annotations

from transformer.parser.dialect import Dialect, beginnings
from transformer.parser.jsongrammar import json_grammar
from transformer.parser.jsonmending import JsonMending
from transformer.parser.jsonspelling import GAP, Header, JsonSpelling
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.mending import Mender
from transformer.parser.writing import json_writer, packaged_template
from transformer.policy import USUAL, Policy

OPEN, CALL_ID, ARGS = "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]"
_NAME = r"[\w.:/-]{1,256}+"
_ID = r"[\w-]{1,64}+"
_BEFORE_ID = rf"{_NAME}{GAP}\[CALL_ID\]{GAP}"
SPELLING = JsonSpelling(
    open=(OPEN,),
    # Without [ARGS] the brace of the arguments shows where the name ends.
    header=Header(
        rf"(?P<tool>{_NAME}){GAP}(?:\[CALL_ID\]{GAP}(?P<id>{_ID}){GAP})?(?:\[ARGS\]|(?=\{{))",
        rf"(?:{_NAME}{GAP}(?:{beginnings(CALL_ID)}|{beginnings(ARGS)})?"
        rf"|{_BEFORE_ID}(?:{_ID}{GAP}(?:{beginnings(ARGS)})?)?)",
    ),
)


def _call(name: str, arguments: str) -> str:
    """As the newer models write it."""
    return f"{OPEN}{name}{ARGS}{arguments}"


MISTRAL = Dialect(
    name="mistral",
    summary="[TOOL_CALLS]name[ARGS]{json}",
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("mistral", _call, "".join, ""),
    template=packaged_template("mistral.jinja", "json_tools.jinja"),
    taught_by=(OPEN, "[AVAILABLE_TOOLS]"),
    leak_marks=(
        leak_mark(
            OPEN,
            rf"\[TOOL_CALLS\](?=\s*(?:\[\s*\{{|(?P<name>{WORD})\s*(?:\[ARGS\]|\[CALL_ID\]|\{{)))",
        ),
    ),
    mender=Mender(JsonMending(OPEN, "", SPELLING.keys).ideas),
    models=(
        "mistral",
        "mistralai/",
        "devstral",
        "magistral",
        "ministral",
        "codestral",
        "mixtral",
        "open-mistral",
    ),
)
