"""The marks of dialects: what a call looks like in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

# What makes a mark more than a tag that somebody names: its shape alone (tokens that nobody types); the name
# of an offered tool, or a line of its own; the name of an offered tool at the start of a line.
Needs: TypeAlias = Literal["shape", "name or line", "name and line"]

_NAME = r"[^<>\s]{1,256}"
_WORD = r"[A-Za-z_][\w.:-]{0,255}"
_BAR = r"[|｜]{1,2}"  # DeepSeek's bar, and the plain one that some servers make of it


@dataclass(frozen=True, slots=True)
class Mark:
    """One shape of a dialect. `opener` is the part that a person would quote when asking about it."""

    dialect: str
    opener: str
    pattern: re.Pattern[str]
    needs: Needs


def _mark(dialect: str, opener: str, pattern: str, needs: Needs = "shape") -> Mark:
    return Mark(dialect, opener, re.compile(pattern), needs)


# Each begins with one of a few characters, which is what makes the search for all of them fast. The group
# `name` is the tool's name, `child` its first parameter. Dialects that we cannot convert are here, too: that
# their calls reach the client as text is just as true of them. The generic ones come last.
MARKS: tuple[Mark, ...] = (
    _mark("qwen3-coder", "<tool_call>", rf"<tool_call>\s*<function=(?P<name>{_NAME})>", "name or line"),
    _mark(
        "qwen3-coder",
        "<function=",
        rf"<function=(?P<name>{_NAME})>(?=\s*(?:<parameter=|</function>))",
        "name or line",
    ),
    _mark("functionary", "<function=", rf"<function=(?P<name>{_NAME})>(?=\s*\{{\s*\")", "name or line"),
    _mark(
        "hermes",
        "<tool_call>",
        r'<(?:longcat_)?tool_call>\s*\{\s*"(?:name"\s*:\s*"(?P<name>[^"\n]{1,256})"|\w+"\s*:)',
        "name or line",
    ),
    _mark("glm", "<tool_call>", rf"<tool_call>\s*(?P<name>{_WORD})\s*<arg_key>", "name or line"),
    _mark("glm", "<tool_call>", rf"<tool_call>\s*(?P<name>{_WORD})\s*</tool_call>", "name and line"),
    _mark("hunyuan", "<tool_calls>", r"<tool_calls>(?=\s*(?:<tool_call>|\[\s*\{))", "name or line"),
    _mark(
        "kimi-k2",
        "<|tool_call",
        r"<\|tool_call(?:s?_section_begin\|>(?=\s*<\|tool_call_begin\|>)|_argument_begin\|>(?=\s*\{)"
        rf"|_begin\|>(?=\s*(?:functions\.)?(?P<name>{_NAME}?)(?::\d{{1,9}})?\s*<\|tool_call_argument_begin))",
    ),
    _mark("kimi-k3", "<|open|>", r'<\|open\|>(?=tools<\|sep|[^<\n]{0,20}call tool="|argument key=")'),
    _mark(
        "harmony",
        "<|channel|>",
        r"<\|(?:channel\|>(?=\s*(?:analysis|commentary|final)\b[^<\n]{0,256}<\|(?:message|constrain)\|>)"
        r"|start\|>assistant(?=\s*<\|channel\|>|\s+to=functions\.))",
    ),
    _mark(
        "deepseek-v3",
        "<｜tool",
        r"<｜tool▁call(?:s▁begin｜>(?=\s*<｜tool▁call▁begin｜>)|▁begin｜>(?=[^<\n]{0,256}<｜tool▁sep｜>))",
    ),
    _mark(
        "deepseek-dsml",
        "DSML",
        rf"<\s?{_BAR}\s?DSML\s?{_BAR}\s?(?:invoke name=|(?:function_calls|tool_calls|tool_use)>)",
    ),
    _mark("minimax-m2", "<minimax:", r"<minimax:tool_call>(?=\s*<invoke\b)"),
    _mark("minimax-m3", "]minimax[", r"\]<\]minimax\[>\[(?=<(?:tool_call|invoke)\b)"),
    _mark(
        "minimax-m2",
        "<invoke",
        rf"<invoke name=[\"']?(?P<name>{_WORD})[\"']?>(?=\s*<(?:parameter\b|{_WORD}>))",
        "name or line",
    ),
    _mark(
        "mistral",
        "[TOOL_CALLS]",
        rf"\[TOOL_CALLS\](?=\s*(?:\[\s*\{{|(?P<name>{_WORD})\s*(?:\[ARGS\]|\[CALL_ID\]|\{{)))",
    ),
    _mark("bracketed", "[TOOL_CALL]", r"\[TOOL_CALL\](?=\s*\{)", "name or line"),
    _mark("llama3-json", "<|python_tag|>", r"<\|python_tag\|>(?=\s*[\w{])"),
    _mark("pythonic", "<|tool_call_start|>", r"<\|tool_call_start\|>(?=\s*\[)"),
    _mark("pythonic", "<|python_start|>", r"<\|python_start\|>(?=\s*\[)"),
    _mark("gemma4", "<|tool_call>", r"<\|tool_call>(?=\s*call:)"),
    _mark("functiongemma", "<start_function_call>", r"<start_function_call>(?=\s*call:)"),
    _mark("cohere", "<|START_ACTION|>", r"<\|START_ACTION\|>(?=\s*\[)"),
    _mark("granite", "<|tool_call|>", r"<\|tool_call\|>(?=\s*\[)"),
    _mark("granite", "<function_call>", r"<function_call>(?=\s*\{\s*\")", "name or line"),
    _mark("internlm", "<|action_start|>", r"<\|action_start\|>(?=\s*<\|plugin\|>)"),
    _mark("apertus", "<|tools_prefix|>", r"<\|tools_prefix\|>(?=\s*\[)"),
    _mark(
        "llama3-json",
        '{"name"',
        r'\{\s*"name"\s*:\s*"(?P<name>[^"\n]{1,256})"\s*,\s*"(?:parameters|arguments)"\s*:',
        "name and line",
    ),
    _mark("pythonic", "[", rf"\[(?P<name>{_WORD})\((?=\w{{1,256}}\s*=|\)\s*[\],])", "name and line"),
    _mark(
        "roo-xml",
        "<",
        rf"<(?P<name>{_WORD})>(?=\s*(?:<(?P<child>{_WORD})>|</(?P=name)>))",
        "name and line",
    ),
)


def _combined() -> str:
    """One pattern for all. By first characters, because an alternation of letters is searched for much faster
    than one of groups; the empty group behind each mark says which one it was."""
    rests: dict[str, list[str]] = {}
    for number, mark in enumerate(MARKS):
        # Names of groups may stand only once in a pattern.
        own = mark.pattern.pattern.replace("(?P<", f"(?P<of{number}_").replace("(?P=", f"(?P=of{number}_")
        size = 2 if own.startswith("\\") else 1
        rests.setdefault(own[:size], []).append(f"{own[size:]}(?P<mark{number}>)")
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in rests.items())


_ANY = re.compile(_combined())


@dataclass(frozen=True, slots=True)
class Hit:
    """A mark in a text; whether it means anything is decided by where it stands."""

    mark: Mark
    start: int
    end: int
    name: str | None
    child: str | None


def hits(text: str) -> Iterator[Hit]:
    """Every mark in a text, from left to right. Each character is looked at a bounded number of times."""
    for match in _ANY.finditer(text):
        number = int(str(match.lastgroup).removeprefix("mark"))
        mark = MARKS[number]
        name, child = (
            match[f"of{number}_{group}"] if group in mark.pattern.groupindex else None
            for group in ("name", "child")
        )
        yield Hit(mark, match.start(), match.end(), name, child)
