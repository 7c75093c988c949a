"""pythonic: `[name(key=value), …]`, calls as Python writes them, with or without markers around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from transformer.findings import note
from transformer.jsonscan import members
from transformer.parser.leakmarks import WORD, leak_mark
from transformer.parser.machine import Dialect
from transformer.parser.mending import Broken, Edits, Mender, complete, insert_after, put, remove
from transformer.parser.pythongrammar import python_grammar
from transformer.parser.pythonspelling import PythonSpelling
from transformer.parser.writing import ReadsBack, Writer, packaged_template
from transformer.policy import USUAL
from transformer.records import Effect, Finding
from transformer.values.literals import missing_python_end, quote
from transformer.values.schema import Tool

SPELLING = PythonSpelling(
    open=("<|python_start|>", "<|tool_call_start|>", "<function_calls>"),  # Llama 4, LFM2, Olmo 3
    close=("<|python_end|>", "<|tool_call_end|>", "</function_calls>", "<|eot|>"),
)

# -- the way up: the values are JSON but for its words, which Python spells otherwise

_STRING_OR_WORD = re.compile(r'"(?:[^"\\]|\\.)*+"|\b(?:true|false|null)\b')
_WORDS = {"true": "True", "false": "False", "null": "None"}


def _value(raw: str) -> str:
    return _STRING_OR_WORD.sub(lambda found: _WORDS.get(found[0], found[0]), raw)


def _compose(
    name: str, arguments: str, tools: Mapping[str, Tool], id: str | None, reads_back: ReadsBack
) -> tuple[str, list[Finding]]:
    found = members(arguments.strip() or "{}")
    if found is None:
        return f"{name}({arguments})", [note("arguments-not-json", tool=name)]
    text = f"{name}({', '.join(f'{member.key}={_value(member.raw.strip())}' for member in found)})"
    meant = {member.key: member.value for member in found}
    if reads_back(f"[{text}]", tools, name, meant, None):
        return text, []
    return text, [note("call-not-carried", tool=name, dialect="pythonic")]


# -- mending


def ideas(broken: Broken) -> Iterator[Edits]:
    by_code = {
        "truncated-call": _complete,
        "repaired-call": _end_list,
        "value-not-of-type": _quote_value,
        "duplicate-parameter": _remove_value,
    }
    mend = by_code.get(broken.finding.code)
    return iter(()) if mend is None else mend(broken)


def _complete(broken: Broken) -> Iterator[Edits]:
    end = broken.finding.span.end
    yield complete(broken.text, end, end, missing_python_end(broken.text[:end]))


def _end_list(broken: Broken) -> Iterator[Edits]:
    end = broken.finding.span.end
    yield (insert_after(end, "]", ")"),)


def _quote_value(broken: Broken) -> Iterator[Edits]:
    """What is not a literal may have been meant as a string."""
    start, end = broken.finding.span.start, broken.finding.span.end
    yield (put(start, end, quote(broken.text[start:end].strip()), broken.text),)


def _remove_value(broken: Broken) -> Iterator[Edits]:
    start, end = broken.finding.span.start, broken.finding.span.end
    comma = broken.text.rfind(",", 0, start)
    if comma >= 0:
        yield (remove(comma, end, broken.text, "after the first one"),)


# Of a whole call: strings, brackets, and what else a value may have. A part of a program goes on differently.
_ARGUMENT = r"""[^'"()]|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\([^()'"]*+\)"""

PYTHONIC = Dialect(
    name="pythonic",
    summary="[name(key=value)]",
    policy=USUAL,
    **python_grammar(SPELLING),
    writer=Writer(_compose, lambda calls: f"[{', '.join(calls)}]", "\n"),
    template=packaged_template("pythonic.jinja"),
    taught_by=("[example_function(", "<|python_start|>", "<|tool_call_start|>", "[func_name1(params_name1="),
    leak_marks=(
        leak_mark("<|tool_call_start|>", r"<\|tool_call_start\|>(?=\s*[\[{])"),
        leak_mark("<|python_start|>", r"<\|python_start\|>(?=\s*\[)"),
        leak_mark(
            "[",
            rf"\[(?P<name>{WORD})\((?=(?:\w{{1,256}}\s*=(?:{_ARGUMENT}){{0,4096}}+)?\)\s*[\],])",
            "name and line",
        ),
    ),
    openers=lambda tools: (*SPELLING.open, "\n["),
    proof=Effect.COMPLETES,  # up to its end a call may be a part of a program
    mender=Mender(ideas),
    models=("llama-4", "llama4", "olmo-3", "lfm2", "toolace"),
)
