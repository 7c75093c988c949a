"""deepseek-v3: the markers of deepseek-v31 around `function`, the name, and the arguments in a fence of JSON.

DeepSeek-V3 and R1 write it so. Both dialects read both forms; they differ in what is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from transformer.dialects.deepseek_v31 import CALL_BEGIN, CALL_END, CALLS_BEGIN, CALLS_END, SEP, SPELLING
from transformer.parser.dialect import Dialect
from transformer.parser.jsongrammar import json_grammar
from transformer.parser.jsonmending import JsonMending
from transformer.parser.leakmarks import leak_mark
from transformer.parser.mending import Mender
from transformer.parser.writing import json_writer, packaged_template
from transformer.policy import USUAL, Policy


def _call(name: str, arguments: str) -> str:
    return f"{CALL_BEGIN}function{SEP}{name}\n```json\n{arguments}\n```{CALL_END}"


def _calls(calls: Sequence[str]) -> str:
    joined = "\n".join(calls)
    return f"{CALLS_BEGIN}{joined}{CALLS_END}"


DEEPSEEK_V3 = Dialect(
    name="deepseek-v3",
    summary="<｜tool▁call▁begin｜>function<｜tool▁sep｜>name, {json} in a fence, <｜tool▁call▁end｜>",
    policy=Policy(arguments="stream").over(USUAL),
    **json_grammar(SPELLING),
    writer=json_writer("deepseek-v3", _call, _calls, ""),
    template=packaged_template("deepseek_v3.jinja", "json_tools.jinja"),
    taught_by=(f"{CALL_BEGIN}function{SEP}",),
    leak_marks=(
        leak_mark(
            "<｜tool",
            rf"<｜tool▁call(?:s▁begin｜>(?=\s*{CALL_BEGIN}function{SEP})"
            rf"|▁begin｜>(?=function{SEP}(?P<name>[^<\s]{{1,256}})\s))",
        ),
    ),
    mender=Mender(JsonMending(CALL_BEGIN, f"\n```{CALL_END}", SPELLING.keys).ideas, leads=(CALLS_BEGIN,)),
    models=(
        "deepseek-v3",
        "deepseek-ai/deepseek-v3",
        "deepseek-r1",
        "deepseek-ai/deepseek-r1",
        "deepseek-reasoner",
    ),
)
