"""Literals: the value of a plain text, without nested tags, as JSON text."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, NoReturn, TypeAlias

import orjson

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?)([0-9]+))?")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Python's parser needs a second for a megabyte; no model writes one that long by hand.
_LONGEST_LITERAL = 256 * 1024
_OUTERMOST = {"[": "array", "{": "object"}


def quote(text: str) -> str:
    """A JSON string, non-ASCII as it is. Only half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    try:
        return orjson.dumps(text).decode()
    except TypeError:
        return _encodable(json.dumps(text, ensure_ascii=False))


def trim(text: str) -> str:
    """The text minus exactly one newline at each end."""
    text = text[2:] if text.startswith("\r\n") else text.removeprefix("\n")
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def object_(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{quote(name)}:{value}" for name, value in members.items()) + "}"


def scalar(bare: str, words: Collection[str]) -> str | None:
    """Null, a boolean, or a number exactly as it is written."""
    if "null" in words and bare in ("null", "None"):
        return "null"
    if "boolean" in words and bare.lower() in ("true", "false"):
        return bare.lower()
    if not ("number" in words or "integer" in words):
        return None
    number = NUMBER.fullmatch(bare)
    return bare if number and ("number" in words or _is_integral(number)) else None


def _is_integral(number: re.Match[str]) -> bool:
    """Decided by counting digits: `1e999999999` must not be computed, nor a million digits converted."""
    whole, fraction, sign, exponent = (part or "" for part in number.groups())
    digits = (whole + fraction).rstrip("0")
    if not digits:
        return True
    exponent = exponent.lstrip("0")
    # An exponent of this many digits outweighs any text that fits in memory.
    shift = int(exponent or "0") if len(exponent) < 20 else 10**20
    return len(digits) <= len(whole) + (-shift if sign == "-" else shift)


def json_text(bare: str, words: Collection[str]) -> str | None:
    """The text itself if it is JSON whose outermost type is wanted."""
    if _OUTERMOST.get(bare[:1]) not in words:
        return None
    try:
        orjson.loads(bare)
    except ValueError:
        # orjson refuses some JSON: half surrogate pairs, numbers beyond a double.
        try:
            json.loads(bare, parse_int=str, parse_float=str, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None
    return _encodable(bare)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _encodable(written: str) -> str:
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", written)


def python_literal(bare: str, words: Collection[str]) -> str | None:
    """A Python list, tuple, set or dict as JSON, if that type is wanted."""
    if bare[:1] not in ("[", "(", "{") or bare[-1:] not in ("]", ")", "}") or len(bare) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(bare, mode="eval").body
        written = _written(node)
    except Exception:
        # Python's parser has many ways to refuse a text, MemoryError and RecursionError among them.
        return None
    return written if _OUTERMOST.get(written[0]) in words else None


def _written(node: ast.expr) -> str:
    """Not `literal_eval`: a set made of strings would come out in another order in every process."""
    match node:
        case ast.Constant(value=str() as text):
            return quote(text)
        case ast.Constant(value=value):
            return json.dumps(value, allow_nan=False)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return json.dumps(ast.literal_eval(node), allow_nan=False)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return array(map(_written, items))
        case ast.Dict(keys=keys, values=values):
            return object_({_key(key): _written(value) for key, value in zip(keys, values, strict=True)})
    raise ValueError("not a literal")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("a key of a JSON object is a string")


Tree: TypeAlias = "str | list[Tree] | dict[str, Tree]"

_OPENING = re.compile(r"\s*<([^\s<>/]+)>")
_STRUCTURE = re.compile(r"\s*(?:<[^\s<>/]+>|\Z)")

# Deeper than any value a model writes, and far from the interpreter's own limit.
MOST_LEVELS = 32


class Element(NamedTuple):
    """One tag and the raw text between its opening and its closing."""

    name: str
    text: str


def elements(text: str, level: int = 0) -> list[Element]:
    """The elements `text` consists of, none if it is anything else or is nested too deeply."""
    if level >= MOST_LEVELS:
        return []
    found: list[Element] = []
    at = 0
    while opening := _OPENING.match(text, at):
        name, start = opening[1], opening.end()
        end = _end(text, name, start)
        if end < 0:
            return []
        found.append(Element(name, text[start:end]))
        at = end + len(f"</{name}>")
    return found


def grouped(found: Iterable[Element]) -> dict[str, list[str]]:
    """The texts by name, in the order of the names' first appearance."""
    groups: dict[str, list[str]] = {}
    for name, text in found:
        groups.setdefault(name, []).append(text)
    return groups


def tree(text: str, level: int = 0) -> Tree:
    """What the tags alone say where no schema does: a list, an object, or the text as it is.

    One name for all children makes a list if there are several, or if that name is `item`.
    """
    found = elements(text, level)
    groups = grouped(found)
    if not found:
        return text
    if len(groups) == 1 and (len(found) > 1 or "item" in groups):
        return [tree(child, level + 1) for _, child in found]
    return members(groups, level)


def members(groups: Mapping[str, list[str]], level: int = 0) -> dict[str, Tree]:
    """The keys of an object with their trees; a repeated key has a list of them."""
    found: dict[str, Tree] = {}
    for name, texts in groups.items():
        first, *others = [tree(text, level + 1) for text in texts]
        found[name] = [first, *others] if others else first
    return found


def _end(text: str, name: str, start: int) -> int:
    """Where the element's closing tag begins, -1 if nothing closes it.

    A closing tag counts when the element's own tags are balanced and structure follows: another
    opening tag, or the end. Any other is data. Each search ends at the next closing tag, so that
    no character is looked at more than a few times, whatever the text.
    """
    opening, closing = f"<{name}>", f"</{name}>"
    depth, at = 1, start
    while (end := text.find(closing, at)) >= 0:
        depth += text.count(opening, at, end) - 1
        at = end + len(closing)
        if depth == 0:
            if _STRUCTURE.match(text, at):
                return end
            depth = 1
    return -1


_STRING_OR_WORD = re.compile(
    r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\b(?:true|false|null)\b", re.DOTALL
)
_WORDS = {"true": "True", "false": "False", "null": "None"}


def python_or_json(text: str) -> str | None:
    """The JSON of a literal: JSON as it is written, else what Python reads; None where it is not one."""
    bare = text.strip()
    try:
        orjson.loads(bare)
        return bare
    except orjson.JSONDecodeError:
        pass
    for candidate in (bare, _STRING_OR_WORD.sub(_pythonic, bare)):
        written = python_literal(f"[{candidate}]", ["array"])
        items = None if written is None else orjson.loads(written)
        if written is not None and isinstance(items, list) and len(items) == 1:
            return written[1:-1]
    return None


def _pythonic(found: re.Match[str]) -> str:
    """JSON's words as Python's, and line breaks that are not allowed in a string as escapes."""
    text = found[0]
    if text in _WORDS or text[:3] in ('"""', "'''"):
        return _WORDS.get(text, text)
    return text.replace("\n", "\\n").replace("\r", "\\r")


_QUOTE = re.compile(r"""\"{3}|'{3}|"|'""")
_CLOSES = {"(": ")", "[": "]", "{": "}"}


def missing_python_end(text: str) -> str:
    """The quotes and brackets that are open at the end of a text."""
    stack, string, at = [], "", 0
    while at < len(text):
        if text[at] == "\\" and string:
            at += 2
            continue
        quotes = _QUOTE.match(text, at)
        if string:
            ended = text.startswith(string, at)
            at += len(string) if ended else 1
            string = "" if ended else string
        elif quotes is not None:
            string = quotes[0]
            at += len(string)
        else:
            if text[at] in _CLOSES:
                stack.append(_CLOSES[text[at]])
            elif stack and text[at] == stack[-1]:
                stack.pop()
            at += 1
    return string + "".join(reversed(stack))
