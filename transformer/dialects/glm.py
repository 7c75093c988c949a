"""glm: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, GLM 4.5 and later."""

from __future__ import annotations

import re

from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import Dialect
from transformer.parser.mending import Mender
from transformer.parser.taggrammar import Opening, Spelling, tag_grammar
from transformer.parser.tagmending import TagMending
from transformer.parser.writing import TagSyntax, packaged_template, tag_writer
from transformer.policy import USUAL, Policy

_NAME = r"[\w.:/-]{1,256}"

SPELLING = Spelling(
    call=Opening(("<tool_call>",), name=_NAME, gap=True),
    parameter=Opening(("<arg_key>",), ("</arg_key>",), tail="<arg_value>"),
    close_call="</tool_call>",
    close_parameter="</arg_value>",
    tag="<tool_call>name",
    bare=True,  # there is no wrapper: the call's own tag shows that one is meant
    verbatim=True,  # the chat template writes values without newlines around them
)

SYNTAX = TagSyntax(
    dialect="glm",
    name=re.compile(_NAME),
    marks=re.compile(r"</?(?:arg_key|arg_value|tool_call)>()"),
    parameter=lambda key, text: f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>",
    call=lambda name, parts: "\n".join((f"<tool_call>{name}", *parts, "</tool_call>")),
    on_one_line=True,
    verbatim=True,
)

MENDING = TagMending(
    parameter=re.compile(r"<arg_key>([^<>]{1,256})</arg_key>\s{0,64}<arg_value>"),
    call=re.compile(rf"<tool_call>\s*({_NAME})"),
    parameter_closer=lambda key: "</arg_value>",
    call_closer=lambda tool: "</tool_call>",
)

GLM = Dialect(
    name="glm",
    summary="<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>",
    policy=Policy(
        tools="template",
        calls="all",
        arguments="whole",
        after_call="keep",
        channels=("content", "reasoning"),  # servers that part the reasoning put calls there, too
    ).over(USUAL),
    **tag_grammar(SPELLING),
    writer=tag_writer(SYNTAX, "\n"),
    template=packaged_template("glm.jinja"),
    taught_by=("<arg_key>",),
    leak_marks=(
        leak_mark("<tool_call>", rf"<tool_call>\s*(?P<name>{WORD})\s*<arg_key>", "name or line"),
        leak_mark("<tool_call>", rf"<tool_call>\s*(?P<name>{WORD})\s*</tool_call>", "name and line"),
    ),
    mender=Mender(MENDING.ideas),
    models=("glm-4.5", "glm-4.6", "glm-4.7", "glm-5"),
)
