"""Cases for the dialects in which the names of calls and parameters are in attributes."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.cases import Row
from tests.support.tags import Way

A = [("read", {"path": "a"})]


def attributes(way: Way) -> Iterator[tuple[str, Row]]:
    """Names in quotation marks of any kind, blanks, and attributes that nobody asked for."""
    call = way.one("read", path="a")
    yield "single quotation marks", (call.replace('"', "'"), "", A, [])
    yield (
        "no quotation marks",
        (call.replace('name="read"', "name=read").replace('name="path"', "name=path"), "", A, []),
    )
    yield (
        "blanks in the tags",
        (call.replace('name="read"', ' name = "read" ').replace('"path"', '"path" '), "", A, []),
    )
    yield "blanks in closing tags", (call.replace(way.close_call, f"{way.close_call[:-1]} >"), "", A, [])
    yield "another attribute", (call.replace('"read"', '"read" id="7"'), "", A, [])
    yield "a newline in a tag", (call.replace(" name=", "\nname="), "", A, [])
    nameless = call.replace(' name="path"', "", 1)
    yield "a parameter without a name", (nameless, nameless, [], ["malformed-call"])


def flagged(way: Way) -> Iterator[tuple[str, Row]]:
    """What a tag says about its value."""

    def call(name: str, **values: tuple[str, str]) -> str:
        parts = (
            way.parameter(key, text)
            .replace(' string="true"', "")
            .replace(f'"{key}"', f'"{key}" string="{flag}"')
            for key, (flag, text) in values.items()
        )
        return way.wrapped("\n".join((way.open(name), *parts, way.close_call)))

    yield "a string that looks like a number", (
        call("free", a=("true", "5"), b=("false", "5")), "", [("free", {"a": "5", "b": 5})], [],
    )  # fmt: skip
    yield (
        "JSON of every type",
        (
            call("free", a=("false", '"x"'), b=("false", "[1,{}]"), c=("false", "null"), d=("false", "true")),
            "",
            [("free", {"a": "x", "b": [1, {}], "c": None, "d": True})],
            [],
        ),
    )
    yield (
        "not a string, but not JSON either",
        (call("read", path=("false", "a b")), "", [("read", {"path": "a b"})], []),
    )
    yield (
        "a string where a number is wanted",
        (
            call("edit", path=("true", "a"), count=("true", "5")),
            "",
            [("edit", {"path": "a", "count": "5"})],
            ["value-not-of-type"],
        ),
    )
    yield (
        "null where a string or null is wanted",
        (
            call("typed", maybe=("true", "null"), number=("false", "null")),
            "",
            [("typed", {"maybe": "null", "number": None})],
            [],
        ),
    )


def bodies(way: Way) -> Iterator[tuple[str, Row]]:
    """One JSON object instead of parameters, and arguments inside of arguments."""

    def call(name: str, body: str) -> str:
        return way.wrapped(f"{way.open(name)}{body}{way.close_call}")

    yield "JSON instead of parameters", (call("read", '{"path":"a"}'), "", A, [])
    yield "JSON on lines of its own", (call("read", '\n{"path":"a"}\n'), "", A, [])
    yield "an empty object", (call("now", "{}"), "", [("now", {})], [])
    yield (
        "tags in a JSON string",
        (
            call("read", f'{{"path":"a {way.close_call} {way.close_wrapper}"}}'),
            "",
            [("read", {"path": f"a {way.close_call} {way.close_wrapper}"})],
            [],
        ),
    )
    yield "JSON, and no closing tag of the call", (
        way.wrapped(f'{way.open("read")}{{"path":"a"}}'), "", A, ["repaired-call"],
    )  # fmt: skip
    yield "arguments in an object of that name", (call("read", '{"arguments":{"path":"a"}}'), "", A, [])
    yield "arguments in a parameter of that name", (way.one("read", input='{"path":"a"}'), "", A, [])
    yield "arguments as a JSON string", (call("read", '{"input":"{\\"path\\":\\"a\\"}"}'), "", A, [])
    yield "an object of that name that is none of the tool's", (
        call("free", '{"arguments":{"path":"a"}}'), "", [("free", {"arguments": {"path": "a"}})], [],
    )  # fmt: skip
    cut = f'{way.wrapper}\n{way.open("read")}{{"path":"a'
    yield "JSON that is cut", (cut, cut, [], ["truncated-call"])


def tables(way: Way) -> list[str]:
    """Texts for the rules that only these dialects have."""
    read, path, limit = way.open("read"), way.parameter("path", "a"), way.parameter("limit", "3")
    half = path.removesuffix(way.close_parameter)
    return [
        f'{read}{{"path":"a {way.close_call} {way.close_wrapper} x"}}{way.close_call}',
        f'{read}{{"path":"a"}}{way.close_wrapper}',
        f'{read}{{"path":"a"{way.close_wrapper}{way.close_call}',
        f'{read}{{"path":"a"{way.close_call}',
        f'{read}{{"path":"a"}}',
        f"{read}{half}{limit}{way.close_call}",
        f"{read}{half}{limit}{way.parameter('q', '1')}{way.close_call}",
        f"{read}{half}{limit.removesuffix(way.close_parameter)}{way.close_call}",
    ]
