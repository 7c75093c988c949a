"""deepseek-dsml: `<｜DSML｜tool_calls><｜DSML｜invoke name="tool"><｜DSML｜parameter name="key" string="true">value…`.

DeepSeek V3.2 calls the wrapper function_calls, V4 tool_calls.
"""

from __future__ import annotations

from itertools import product

from transformer.parser.dialect import Dialect
from transformer.parser.invoketags import invoke_tags
from transformer.parser.leakmarks import leak_mark
from transformer.parser.markers import SPACE, Marker, Part, joined, marker, word
from transformer.parser.writing import packaged_template
from transformer.policy import USUAL, Policy

# The bar is one character of the model's vocabulary. Servers replace it, double it, and add blanks.
_BARS = ("｜｜", "||", "‖", "｜", "|")
_BLANKS = Part(" {0,2}")
_BAR = word(*_BARS)
_DSML = joined(_BLANKS, _BAR, _BLANKS, "DSML", _BLANKS, _BAR, _BLANKS)
_WRAPPERS = word("tool_calls", "function_calls", "tool_use", "calls")
_WRITTEN = "｜DSML｜"


def _wrapper(start: str) -> Marker:
    return marker(start, _DSML, _WRAPPERS, SPACE, ">", shown=f"{start}{_WRITTEN}tool_calls>")


DEEPSEEK_DSML = Dialect(
    name="deepseek-dsml",
    summary='<｜DSML｜tool_calls><｜DSML｜invoke name="tool"><｜DSML｜parameter name="key" string="true">value'
    "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>",
    policy=Policy(
        channels=("content", "reasoning"),  # the model begins calls before its thoughts are over
    ).over(USUAL),
    **invoke_tags(
        "deepseek-dsml",
        f"{_WRITTEN}tool_calls",
        opened=_wrapper("<"),
        closed=_wrapper("</"),
        prefix=_DSML,
        written_prefix=_WRITTEN,
        typed=True,
    ),
    template=packaged_template("deepseek_dsml.jinja"),
    taught_by=("<｜DSML｜",),
    leak_marks=(leak_mark("DSML", f"<{_DSML.whole}(?:invoke name=|{_WRAPPERS.whole}>)"),),
    openers=lambda tools: tuple(f"<{blank}{bar}{blank}DSML" for bar, blank in product(_BARS, ("", " "))),
    models=("deepseek-v3.2", "deepseek-v4"),
)
