"""glm: `<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>`, GLM 4.5 and later."""

from __future__ import annotations

import re

from transformer.parser.dialect import Dialect
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.markers import GAP, SPACE, Part, either, joined, marker, maybe, name, some
from transformer.parser.mending import Mender
from transformer.parser.taggrammar import tag_grammar
from transformer.parser.tagmending import TagMending
from transformer.parser.tagspelling import Spelling
from transformer.parser.writing import TagSyntax, packaged_template, tag_writer
from transformer.policy import USUAL, Policy
from transformer.values.convert import Reading

_CHARS = r"\w.:/\-"
_NAME = rf"[{_CHARS}]{{1,256}}"
_KEY = name(r"[^<>\n]{1,256}")
_READING = Reading(verbatim=True, guesses=True)  # the chat template writes no newlines around values

# Under load the model omits some tags and doubles others. Without <arg_value> the value begins on the spot;
# that it is missing shows only when something else has come.
_UNDECIDED = rf"{GAP}(?:{either('</arg_key>', '<arg_value>').begun})?"
_LOST = Part(rf"(?:\r?\n)?+(?!{_UNDECIDED}\Z)", begun=_UNDECIDED)
_IRREGULAR = joined(
    some("<arg_key>"),
    SPACE,
    _KEY,
    either("<arg_value>", joined(some("</arg_key>"), either(joined(SPACE, "<arg_value>"), _LOST))),
)

SPELLING = Spelling(
    call=marker(
        some("<tool_call>"), SPACE, name(_NAME), Part(rf"(?![{_CHARS}])(?!\Z)"), shown="<tool_call>name"
    ),
    parameter=marker("<arg_key>", _KEY, "</arg_key>", SPACE, "<arg_value>"),
    irregular=marker(_IRREGULAR),
    rest=marker(
        maybe(name(rf"(?<![{_CHARS}]){_NAME}+", firsts=_CHARS)),
        SPACE,
        some("</arg_key>"),
        SPACE,
        "<arg_value>",
    ),
    regular=lambda key: f"<arg_key>{key}</arg_key><arg_value>",
    close_call=marker("</tool_call>"),
    close_parameter=marker("</arg_value>"),
    bare=True,  # there is no wrapper: the call's own tag shows that one is meant
    on_one_line=True,
    reading=_READING,
)

SYNTAX = TagSyntax(
    dialect="glm",
    name=re.compile(_NAME),
    marks=re.compile(r"</?(?:arg_key|arg_value|tool_call)>()"),
    parameter=lambda key, text: f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>",
    call=lambda name, parts: "\n".join((f"<tool_call>{name}", *parts, "</tool_call>")),
    on_one_line=True,
    reading=_READING,
)

MENDING = TagMending(
    parameter=re.compile(r"<arg_key>([^<>]{1,256})</arg_key>\s{0,64}<arg_value>"),
    call=re.compile(rf"<tool_call>\s*({_NAME})"),
    parameter_closer=lambda key: "</arg_value>",
    call_closer=lambda tool: "</tool_call>",
    broken_parameter=re.compile(r"<arg_key>\s{0,64}(?:</arg_key>)?\s{0,64}(?:<arg_value>)?"),
    opening=SPELLING.regular,
)

GLM = Dialect(
    name="glm",
    summary="<tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>",
    policy=Policy(
        in_think="call",  # the model ends its thoughts with a call
        channels=("content", "reasoning"),  # servers that separate the reasoning put calls there, too
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
    models=("glm-4.5", "glm-4.6", "glm-4.7", "glm-5", "ling-3", "laguna"),
)
