"""Cases that every dialect of wrapped tags must get right, in whichever way it spells them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.support.cases import TOOLS, Row, check
from tests.support.streams import JSON, tool

TYPED = tool(
    "typed",
    {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "list": {"type": "array"},
        "map": {"type": "object"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "number": {"type": ["integer", "null"]},
    },
    required=[],
)
NOW = tool("now")
OFFERED = [*TOOLS, TYPED, NOW]
_TYPED_TEXTS = {
    "text": "5", "count": "-7", "ratio": "1.5", "flag": "True", "list": '[1,{"a":null}]', "map": '{"k":"v"}',
    "maybe": "hi", "number": "null",
}  # fmt: skip
_TYPED_VALUES: JSON = {
    "text": "5", "count": -7, "ratio": 1.5, "flag": True, "list": [1, {"a": None}], "map": {"k": "v"},
    "maybe": "hi", "number": None,
}  # fmt: skip


@dataclass(frozen=True)
class Way:
    """How a dialect writes the parts of a call. `open` is a call's tag up to its first parameter."""

    dialect: str
    open: Callable[[str], str]
    parameter: Callable[[str, str], str]
    close_parameter: str
    close_call: str
    wrapper: str = ""
    close_wrapper: str = ""

    def call(self, name: str, gap: str = "\n", **values: str) -> str:
        """One call without its wrapper."""
        parts = (self.parameter(key, value) for key, value in values.items())
        return gap.join((self.open(name), *parts, self.close_call))

    def wrapped(self, *calls: str, gap: str = "\n") -> str:
        return gap.join(filter(None, (self.wrapper, *calls, self.close_wrapper)))

    def one(self, name: str, gap: str = "\n", **values: str) -> str:
        return self.wrapped(self.call(name, gap, **values), gap=gap)


GLM = Way(
    dialect="glm",
    open=lambda name: f"<tool_call>{name}",
    parameter=lambda key, text: f"<arg_key>{key}</arg_key>\n<arg_value>{text}</arg_value>",
    close_parameter="</arg_value>",
    close_call="</tool_call>",
)
SEED = Way(
    dialect="seed-oss",
    open=lambda name: f"<function={name}>",
    parameter=lambda key, text: f"<parameter={key}>{text}</parameter>",
    close_parameter="</parameter>",
    close_call="</function>",
    wrapper="<seed:tool_call>",
    close_wrapper="</seed:tool_call>",
)
MINIMAX = Way(
    dialect="minimax-m2",
    open=lambda name: f'<invoke name="{name}">',
    parameter=lambda key, text: f'<parameter name="{key}">{text}</parameter>',
    close_parameter="</parameter>",
    close_call="</invoke>",
    wrapper="<minimax:tool_call>",
    close_wrapper="</minimax:tool_call>",
)
INVOKE = replace(
    MINIMAX, dialect="functions-invoke", wrapper="<function_calls>", close_wrapper="</function_calls>"
)
DSML = Way(
    dialect="deepseek-dsml",
    open=lambda name: f'<｜DSML｜invoke name="{name}">',
    parameter=lambda key, text: f'<｜DSML｜parameter name="{key}">{text}</｜DSML｜parameter>',
    close_parameter="</｜DSML｜parameter>",
    close_call="</｜DSML｜invoke>",
    wrapper="<｜DSML｜tool_calls>",
    close_wrapper="</｜DSML｜tool_calls>",
)


def good(way: Way) -> Iterator[tuple[str, Row]]:
    """Calls as they should be, text around them, and anything inside their values."""
    a, b = way.one("read", path="a"), way.one("read", path="b")
    A, B = ("read", {"path": "a"}), ("read", {"path": "b"})
    yield "one call", (a, "", [A], [])
    yield "without newlines", (way.one("read", "", path="a"), "", [A], [])
    yield "indented", (a.replace("\n", "\n    "), "", [A], [])
    yield "several parameters", (way.one("write", path="a", content="x"), "", [_written("x")], [])
    yield "no parameters", (way.one("now"), "", [("now", {})], [])
    yield "no parameters, no newlines", (way.one("now", ""), "", [("now", {})], [])
    yield "two calls", (f"{a}\n{b}", "", [A, B], [])
    yield "two calls side by side", (a + b, "", [A, B], [])
    yield "the same call twice", (f"{a}\n{a}", "", [A, A], [])
    two = way.wrapped(way.call("read", path="a"), way.call("now"), way.call("read", path="b"))
    yield "three calls together", (two, "", [A, ("now", {}), B], [])
    yield "text around", (f"One.\n{a}\nTwo.\n{b} Three.", "One.\nTwo. Three.", [A, B], [])
    yield "every type", (way.one("typed", **_TYPED_TEXTS), "", [("typed", _TYPED_VALUES)], [])
    yield (
        "an array given twice",
        (
            way.one("edit", path="a", tags="x").replace(
                way.close_call, way.parameter("tags", "y") + way.close_call, 1
            ),
            "",
            [("edit", {"path": "a", "tags": ["x", "y"]})],
            [],
        ),
    )
    yield "a tool nobody offered", (way.one("zip", a="b"), "", [("zip", {"a": "b"})], ["unknown-tool"])
    for name, value in inside(way).items():
        yield name, (way.one("write", path="a", content=value), "", [_written(value)], [])
        if "\n" not in value:
            row: Row = (way.one("write", "", path="a", content=value), "", [_written(value)], [])
            yield f"{name}, without newlines", row


def inside(way: Way) -> dict[str, str]:
    """Values that hold markup."""
    other = way.one("read", path="q")
    return {
        "its own closing tag inside": f"x {way.close_parameter} y",
        "its own closing tag at its end": f"x{way.close_parameter}",
        "the call's closing tag inside": f"x {way.close_call} y",
        "the wrapper's tags inside": f"x {way.wrapper} y {way.close_wrapper} z",
        "a closing tag and a wrapper inside": f"x{way.close_parameter}\n{way.wrapper or 'w'} y",
        "a whole call on its own lines inside": f"see\n{other}\nthere",
        "beginnings of tags inside": "".join(
            f"{tag[:at]} "
            for tag in (way.close_parameter, way.close_call, way.open("read"))
            for at in (1, 2, 5, -1)
        ),
        "a parameter's tag that is given inside": f"x\n{way.parameter('path', 'q')} y",
        "calls of other dialects inside": "<read>\n<path>q</path>\n</read> <|tool_call_end|> [TOOL_CALLS]",
        "other brackets inside": '<div class="x">&lt;b&gt;</div> a < b > c <<< </ </> "\\"',
        "nothing inside": "",
        "non-ASCII inside": "é😀\u2028\x00",
    }


def broken(way: Way) -> Iterator[tuple[str, Row]]:
    """Calls that lack a tag or have one too many, and are still read."""
    a, A = way.call("read", path="a"), ("read", {"path": "a"})
    close, end = way.close_parameter, way.close_call
    both = way.one("write", path="a", content="x")
    lost = both.replace(close, "", 1)
    yield (
        "no closing tag before the next line's parameter",
        (
            lost,
            "",
            [_written("x")],
            ["repaired-parameter"],
        ),
    )
    yield (
        "no closing tag before the call's",
        (way.one("read", "", path="a").replace(close, ""), "", [A], ["repaired-parameter"]),
    )
    yield "the call's closing tag twice", (way.wrapped(f"{a}\n{end}") + " bye", " bye", [A], [])
    yield "a parameter given twice", (
        way.wrapped(a.replace(end, f"{way.parameter('path', 'b')}{end}")), "", [A], ["duplicate-parameter"],
    )  # fmt: skip
    yield (
        "a bad call, then a good one",
        (
            f"{way.wrapped(way.open('read') + ' and so on')}\n{way.wrapped(a)}",
            way.wrapped(way.open("read") + " and so on"),
            [A],
            [],
        ),
    )
    if not way.wrapper:
        return
    yield "no wrapper", (f"{a}\nbye", "\nbye", [A], [])
    yield "no opening wrapper", (f"Hi\n{a}\n{way.close_wrapper}\nbye", "Hi\nbye", [A], [])
    yield "no closing wrapper", (f"{way.wrapper}\n{a}", "", [A], [])
    yield (
        "no closing wrapper before a further call",
        (f"{way.wrapper}\n{a}\n{way.wrapper}\n{a}", "", [A, A], []),
    )
    yield "the opening wrapper twice", (f"{way.wrapper}\n{way.wrapped(a)}", "", [A], [])
    yield "the closing wrapper twice", (f"{way.wrapped(a)}\n{way.close_wrapper}", "", [A], [])
    yield "no closing tag of the call", (way.wrapped(a.replace(end, "")), "", [A], ["repaired-call"])
    yield "no wrapper, and nobody offered it", (way.call("zip", a="b"), way.call("zip", a="b"), [], [])


def unfinished(way: Way) -> Iterator[tuple[str, Row]]:
    """What stays text."""
    whole = way.one("write", path="a", content="x y")
    value = whole[: whole.index("x y") + 2]
    closed = whole[: whole.index(way.close_call)]
    opened = whole[: whole.index(way.open("write")) + len(way.open("write"))]
    yield "cut in a value", (value, value, [], ["truncated-call"])
    yield "cut after a value", (closed, closed, [], ["truncated-call"])
    yield "cut in the call's closing tag", (whole[: len(closed) + 4],) * 2 + ([], ["truncated-call"])
    yield "cut after the call's tag", (f"{opened}\n",) * 2 + ([], ["truncated-call"])
    half = opened[:-1]
    yield "cut in the call's tag", (half, half, [], [])
    if way.wrapper:
        yield "cut after the wrapper", (f"Hi {way.wrapper}\n", f"Hi {way.wrapper}\n", [], [])
        yield "a wrapper without a call", (f"{way.wrapper} x {way.close_wrapper}",) * 2 + ([], [])
    prose = f"The `{way.wrapper or way.open('name')}` tag opens a call, {way.close_call} ends it. Clear?"
    yield "prose that names the tags", (prose, prose, [], [])


def check_both(way: Way, row: Row) -> None:
    """Whole, and while the arguments arrive: the same calls."""
    check(way.dialect, row, tools=OFFERED)
    check(way.dialect, row, tools=OFFERED, policy={"arguments": "stream"})


def _written(content: str) -> tuple[str, JSON]:
    return "write", {"path": "a", "content": content}


def driven(way: Way) -> list[str]:
    """Texts that between them need every rule of the grammar."""
    close, end, wrapper, unwrap = way.close_parameter, way.close_call, way.wrapper, way.close_wrapper
    read, bash, zip_ = way.open("read"), way.open("bash"), way.open("zip")
    path, limit, other = way.parameter("path", "a"), way.parameter("limit", "3"), way.parameter("q", "1")
    open_path = path.removesuffix(close)
    call = way.one("read", path="a")
    texts = [
        f"Reading.\n{call}\n{call} after",
        f"{read}\n{end}\n{end}{bash}{end}",
        f"{read} {read}\n{bash} x",
        f"{read}{open_path}\n{limit}{end}",
        f"{read}{path} x {close}{close}\n{other}{limit}{end}",
        f"{read}{open_path}{end}",
        f"{read}{open_path}{end} x{end}{end}\n{limit}{end}",
        f"{read}{open_path}{end}{close}{end}",
        f"{read}{open_path}{end}\n{bash}{end}",
        f"{read}{open_path}{end} {zip_} x",
        f"{read}{path}\n{bash}\n{other}\n{end}\n{close}{end}",
        f"{read}{open_path}\n{bash}\n{other}\n{read}\n{other} {end}\n{close}{end}\n{close}{end}",
        f"{read}{open_path}\n{bash}\n{read}\n{end}\n{end}\n{close}{end}",
        f"{read}{open_path}\n{bash}\n{other}\n{path}\n{end}\n{close}{end}",
        f"{read}{open_path}\n{bash}\n{other}{close}{close} x\n{end}\n{close}{end}",
        f"{read}{open_path}\n{bash}\n{other}\n{end}",
        f"{read}{open_path}\n{bash}\n{other}\n{end}{close}{end}",
        f"{read}{limit.removesuffix(close)}",
        f"{read}{path}\n",
        f"{read}{path}{limit.removesuffix(close)}",
        f"{read}\n",
        f"{zip_} x {call}",
    ]
    if wrapper:
        texts += [
            f"{wrapper} no\n{wrapper}\n{wrapper}\n{way.call('zip', a='1')}",
            f"{wrapper}\n",
            f"{read}{wrapper}{read} x",
            f"{read}{unwrap}{unwrap}",
            f"{read}{path}{unwrap}",
            f"{read}{open_path}{end}{unwrap}",
            f"{read}{open_path}{end}{wrapper}{bash}{end}",
        ]
    return texts
