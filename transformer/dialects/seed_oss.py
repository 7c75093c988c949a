"""seed-oss: `<seed:tool_call><function=name><parameter=key>value</parameter></function></seed:tool_call>`."""

from __future__ import annotations

from transformer.parser.dialect import Dialect
from transformer.parser.functiontags import function_tags
from transformer.parser.leakmarks import NAME, leak_mark
from transformer.parser.writing import packaged_template
from transformer.policy import USUAL


def _parameter(key: str, text: str) -> str:
    # The model's own chat template puts a value directly between its tags.
    return f"<parameter={key}>{text}</parameter>"


SEED_OSS = Dialect(
    name="seed-oss",
    summary="<seed:tool_call><function=name><parameter=key>value</parameter></function></seed:tool_call>",
    policy=USUAL,
    **function_tags("seed-oss", "seed:tool_call", _parameter, on_one_line=True),
    template=packaged_template("seed_oss.jinja"),
    taught_by=("<seed:tool_call>",),
    leak_marks=(
        leak_mark("<seed:tool_call>", rf"<seed:tool_call>\s*<function=(?P<name>{NAME})>", "name or line"),
    ),
    models=("seed-oss",),
)
