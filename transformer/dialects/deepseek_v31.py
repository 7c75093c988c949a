"""deepseek-v31: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{json}<｜tool▁call▁end｜>`, all calls in a pair of markers."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.parser.dialect import Dialect, beginnings
from transformer.parser.jsongrammar import json_grammar
from transformer.parser.jsonmending import JsonMending
from transformer.parser.jsonspelling import GAP, Header, JsonSpelling
from transformer.parser.leakmarks import leak_mark
from transformer.parser.mending import Mender
from transformer.parser.writing import json_writer, packaged_template
from transformer.policy import USUAL, Policy

CALLS_BEGIN, CALLS_END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
CALL_BEGIN, SEP, CALL_END = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"
_NAME = r"[\w.:/-]{1,256}+"
# V3 writes `function`, then the name and a fence of JSON. Models of one version write the form of the other, so
# both are read; a tool may be called `function`, too, and then its arguments follow.
_KIND = rf"(?:function{GAP}{SEP}{GAP}(?=\w))?"
SPELLING = JsonSpelling(
    open=(CALL_BEGIN, CALLS_BEGIN),
    close=(CALL_END, CALLS_END, "<｜end▁of▁sentence｜>"),
    fence="```",
    header=Header(
        rf"{_KIND}(?P<tool>{_NAME}){GAP}(?:(?:{SEP}{GAP})?```(?:json)?{GAP}(?=[^\s\w`])|{SEP}{GAP}(?=[^\s\w`]))",
        rf"{_KIND}{_NAME}{GAP}(?:{beginnings(SEP)}|(?:{SEP}{GAP})?(?:{beginnings('```json')}|```(?:json)?{GAP})?)",
    ),
    special=True,
)


def _call(name: str, arguments: str) -> str:
    return f"{CALL_BEGIN}{name}{SEP}{arguments}{CALL_END}"


def _calls(calls: Sequence[str]) -> str:
    return f"{CALLS_BEGIN}{''.join(calls)}{CALLS_END}"


DEEPSEEK_V31 = Dialect(
    name="deepseek-v31",
    summary="<｜tool▁call▁begin｜>name<｜tool▁sep｜>{json}<｜tool▁call▁end｜>",
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("deepseek-v31", _call, _calls, ""),
    template=packaged_template("deepseek_v31.jinja", "json_tools.jinja"),
    taught_by=(lambda text: CALL_BEGIN in text and f"{CALL_BEGIN}function{SEP}" not in text,),
    leak_marks=(
        leak_mark(
            "<｜tool",
            rf"<｜tool▁call(?:s▁begin｜>(?=\s*{CALL_BEGIN}(?!function{SEP}))"
            rf"|▁begin｜>(?!function{SEP})(?=(?P<name>[^<\n]{{1,256}}){SEP}))",
        ),
    ),
    mender=Mender(JsonMending(CALL_BEGIN, CALL_END, SPELLING.keys).ideas, leads=(CALLS_BEGIN,)),
    models=("deepseek-v3.1", "deepseek-ai/deepseek-v3.1", "deepseek-chat-v3.1"),
)
