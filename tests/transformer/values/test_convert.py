"""transformer.arguments and transformer.values.nested: raw parameter text -> JSON text."""

from __future__ import annotations

import json
import warnings
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tiers import each_row, exhaustive
from transformer.values.convert import convert, convert_repeated
from transformer.values.literals import elements, quote, trim

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
BOOLEAN, NULL, ARRAY, OBJECT = {"type": "boolean"}, {"type": "null"}, {"type": "array"}, {"type": "object"}
INTEGERS = {"type": "array", "items": INTEGER}
STRINGS = {"type": "array", "items": STRING}
TODO = {"type": "object", "properties": {"id": INTEGER, "text": STRING, "tags": STRINGS}, "required": ["id"]}
TODOS = {"type": "array", "items": TODO}
MATRIX = {"type": "array", "items": INTEGERS}
ROOT = {"$defs": {"Todo": TODO, "Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}}


def either(*schemas: Any) -> dict[str, Any]:
    return {"anyOf": list(schemas)}


@each_row(
    ("text", "trimmed"),
    [
        ("", ""),
        ("a", "a"),
        ("\n", ""),
        ("\r\n", ""),
        ("\n\n", ""),
        ("\r\n\r\n", ""),
        ("\n\r\n", ""),
        ("\r\n\n", ""),
        ("\n\n\n", "\n"),
        ("\r", "\r"),
        ("\na\n", "a"),
        ("\r\na\r\n", "a"),
        ("\n\na\n\n", "\na\n"),
        ("\n    indented\n  ", "    indented\n  "),
        (" \na\n ", " \na\n "),
    ],
)
def test_trim(text: str, trimmed: str) -> None:
    assert trim(text) == trimmed


@each_row(
    ("text", "literal"),
    [
        ("", '""'),
        ('a "b" \\ \n \x00', '"a \\"b\\" \\\\ \\n \\u0000"'),
        ("é 漢 😀 \u2028", '"é 漢 😀 \u2028"'),
        ("half \ud83d é", '"half \\ud83d é"'),
    ],
)
def test_quote(text: str, literal: str) -> None:
    assert quote(text) == literal


STRINGS_AS_THEY_ARE = [
    "5", "null", "None", "true", "[1]", '{"a":1}', "&lt;b &amp;", " x ", "\tx", "<item>a</item>", '"q"', "",
]  # fmt: skip


@each_row("text", STRINGS_AS_THEY_ARE)
@each_row("schema", [STRING, {}, None, True, {"enum": ["a"]}, {"$ref": "#/nowhere"}])
def test_a_string_is_the_text(text: str, schema: Any) -> None:
    assert convert(text, schema) == (quote(text), True, "string")


BIG = "9" * 1_000_000


@each_row(
    ("schema", "text", "written"),
    [
        (INTEGER, "5", "5"),
        (INTEGER, "\n 5 \n", "5"),
        (INTEGER, "-0", "-0"),
        (INTEGER, "1e3", "1e3"),
        (INTEGER, "5.0", "5.0"),
        (INTEGER, "0.5e1", "0.5e1"),
        (INTEGER, "100e-2", "100e-2"),
        (INTEGER, "0e-999999999999999999999999", "0e-999999999999999999999999"),
        (INTEGER, "1e999999999", "1e999999999"),
        (INTEGER, "1e" + BIG, "1e" + BIG),
        (INTEGER, BIG, BIG),
        (INTEGER, "12345678901234567890123", "12345678901234567890123"),
        (NUMBER, "-0.25", "-0.25"),
        (NUMBER, "1E+3", "1E+3"),
        (NUMBER, "3.14159265358979323846264338", "3.14159265358979323846264338"),
        (BOOLEAN, "true", "true"),
        (BOOLEAN, " False\n", "false"),
        (BOOLEAN, "TRUE", "true"),
        (NULL, "None", "null"),
        (either(INTEGER, NULL), "5", "5"),
        (either(INTEGER, NULL), " null ", "null"),
        (either(INTEGER, NULL), "None", "null"),
        ({"type": "integer", "nullable": True}, "None", "null"),
        ({"enum": [1, 2]}, "2", "2"),
        (either(INTEGER, BOOLEAN), "True", "true"),
        (either(ARRAY, NULL), "null", "null"),
    ],
)
def test_scalars(schema: Any, text: str, written: str) -> None:
    value = convert(text, schema)
    assert value.fits
    # Not compared in one: pytest's account of how two values of a megabyte differ takes minutes.
    assert len(value.json) == len(written)
    assert value.json[:99] == written[:99]


@each_row(
    ("schema", "text", "wanted"),
    [
        (INTEGER, "3.5", "integer"),
        (INTEGER, "5e-1", "integer"),
        (INTEGER, "1e-99999999999999999999999999", "integer"),
        (INTEGER, "", "integer"),
        (INTEGER, "five", "integer"),
        (INTEGER, "+5", "integer"),
        (INTEGER, "007", "integer"),
        (INTEGER, "0x10", "integer"),
        (INTEGER, "1_000", "integer"),
        (INTEGER, "٣", "integer"),
        (INTEGER, "null", "integer"),
        (INTEGER, "true", "integer"),
        (NUMBER, ".5", "number"),
        (NUMBER, "5.", "number"),
        (NUMBER, "NaN", "number"),
        (NUMBER, "-Infinity", "number"),
        (BOOLEAN, "yes", "boolean"),
        (BOOLEAN, "1", "boolean"),
        (NULL, "none", "null"),
        (either(INTEGER, NULL), "\n five \n", "integer or null"),
        (ARRAY, "{}", "array"),
        (OBJECT, "[]", "object"),
        (ARRAY, "null", "array"),
        (ARRAY, "[NaN]", "array"),
        (ARRAY, "[1,", "array"),
        (ARRAY, "a, b", "array"),
        (ARRAY, "[" * 100_000, "array"),
        (ARRAY, "[" * 100_000 + "]" * 100_000, "array"),
        (ARRAY, "[" + "-" * 100_000 + "1]", "array"),
    ],
)
def test_what_does_not_fit_stays_a_string(schema: Any, text: str, wanted: str) -> None:
    assert convert(text, schema) == (quote(trim(text)), False, wanted)


MAYBE_TEXT, TEXT_OR_LIST = either(STRING, NULL), either(STRING, STRINGS)


@each_row(
    ("schema", "text", "written"),
    [
        (MAYBE_TEXT, "hi", '"hi"'),
        (MAYBE_TEXT, "null", "null"),
        (MAYBE_TEXT, "\nnull\n", "null"),
        (MAYBE_TEXT, " null", '" null"'),
        (MAYBE_TEXT, "None", '"None"'),
        (MAYBE_TEXT, "[1]", '"[1]"'),
        (either(STRING, INTEGER), "5", '"5"'),
        (either(STRING, BOOLEAN), "true", '"true"'),
        (either(STRING, INTEGER), "null", '"null"'),
        (TEXT_OR_LIST, ' ["a"]\n', '["a"]'),
        (TEXT_OR_LIST, "['a']", "\"['a']\""),
        (TEXT_OR_LIST, "<item>a</item>", '"<item>a</item>"'),
        (TEXT_OR_LIST, '{"a":1}', '"{\\"a\\":1}"'),
        (either(STRING, OBJECT), '{"a": 1}', '{"a": 1}'),
        (either(STRING, OBJECT), "{a}", '"{a}"'),
    ],
)
def test_unions_with_a_string(schema: Any, text: str, written: str) -> None:
    assert convert(text, schema)[:2] == (written, True)


@each_row(
    ("schema", "text", "written"),
    [
        (ARRAY, ' [1,  "x"]\n', '[1,  "x"]'),
        (ARRAY, '[{"a": false, "b": null}]', '[{"a": false, "b": null}]'),
        (INTEGERS, '["only the outermost type is checked"]', '["only the outermost type is checked"]'),
        (OBJECT, '{"a":1,"a":2}', '{"a":1,"a":2}'),
        (ARRAY, "[1e999, 123456789012345678901234567890]", "[1e999, 123456789012345678901234567890]"),
        (ARRAY, f"[{'1' * 5000}]", f"[{'1' * 5000}]"),
        (ARRAY, r'["\ud83d"]', r'["\ud83d"]'),
        (ARRAY, '["\ud83d"]', r'["\ud83d"]'),
        (ARRAY, '["é😀"]', '["é😀"]'),
        ({"$ref": "#/$defs/Todo"}, '{"id": 1}', '{"id": 1}'),
        ({"items": {}}, "[]", "[]"),
    ],
)
def test_json_is_kept_as_written(schema: Any, text: str, written: str) -> None:
    assert convert(text, schema, ROOT)[:2] == (written, True)


@each_row(
    ("schema", "text", "written"),
    [
        (ARRAY, "['a', \"b\"]", '["a","b"]'),
        (ARRAY, "[True, False, None, -1, -0.5, 1e3]", "[true,false,null,-1,-0.5,1000.0]"),
        (ARRAY, "(1, 2)", "[1,2]"),
        (ARRAY, "()", "[]"),
        (ARRAY, "{'z', 'a', 'm'}", '["z","a","m"]'),
        (ARRAY, "[1, 2,]", "[1,2]"),
        (OBJECT, "{'a': {'b': [1, (2,)]}}", '{"a":{"b":[1,[2]]}}'),
        (OBJECT, "{'a': 1, 'a': 2}", '{"a":2}'),
        (OBJECT, "{'é': '漢\\n'}", '{"é":"漢\\n"}'),
        (ARRAY, "['\\d']", '["\\\\d"]'),
        (ARRAY, f"['', {'1' * 4000}]", f'["",{"1" * 4000}]'),
    ],
)
def test_python_literals(schema: Any, text: str, written: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert convert(text, schema)[:2] == (written, True)


@each_row(
    "text",
    [
        "[b'x']", "[1j]", "[1e999, '']", "[-1e999, '']", "[...]", "[x]", "['a'.upper()]", "[f'{1}']",
        "[-True]", "{1: 2}", "{**{}}", "{'a'}", "(5)", "'x'", "[x for x in ()]", f"['', {'1' * 5000}]",
        f"[0x{'f' * 5000}]", "['\x00']", "['\ud83d'",
    ],
)  # fmt: skip
def test_other_python_is_no_value(text: str) -> None:
    schema = OBJECT if text.startswith("{") else ARRAY
    assert convert(text, schema)[:2] == (quote(text), False)


@each_row(
    ("schema", "text", "written"),
    [
        # Seed 000, "Type Conversions".
        (STRINGS, "\n  <item>file1.js</item>\n  <item>file2.js</item>\n", '["file1.js","file2.js"]'),
        (OBJECT, "\n  <timeout>5000</timeout>\n  <retries>3</retries>\n", '{"timeout":5000,"retries":3}'),
        # Arrays.
        (INTEGERS, "<n>1</n><n> 2 </n>", "[1,2]"),
        (STRINGS, "<item>1</item>", '["1"]'),
        (ARRAY, "<item>1</item>", '["1"]'),
        (STRINGS, "<item>\n  a\n\n</item>", '["  a\\n"]'),
        (STRINGS, "<item>&lt;b&gt;</item>", '["&lt;b&gt;"]'),
        (STRINGS, " \n ", "[]"),
        (MATRIX, "<row><n>1</n></row><row>[2, 3]</row><row></row>", "[[1],[2, 3],[]]"),
        (TODOS, "<todo><id>1</id></todo><todo><id>2</id></todo>", '[{"id":1},{"id":2}]'),
        (TODOS, '<item>{"id": 1}</item><item><id>2</id></item>', '[{"id": 1},{"id":2}]'),
        (TODOS, "<id>1</id><text>a</text>", '[{"id":1,"text":"a"}]'),
        (TODOS, "<id>1</id>", '[{"id":1}]'),
        # Objects.
        (TODO, "", "{}"),
        (TODO, "<text>5</text><id>5</id>", '{"text":"5","id":5}'),
        (TODO, "<id>1</id><other>5</other>", '{"id":1,"other":"5"}'),
        (TODO, "<id>1</id><other>5</other><other>6</other>", '{"id":1,"other":["5","6"]}'),
        (TODO, "<tags>a</tags><id>1</id><tags>b</tags>", '{"tags":["a","b"],"id":1}'),
        ({"type": "object", "additionalProperties": INTEGER}, "<a>1</a><b>2</b>", '{"a":1,"b":2}'),
        ({"$ref": "#/$defs/Node"}, "<next><next></next></next>", '{"next":{"next":{}}}'),
        (OBJECT, '<a"b>1</a"b>', '{"a\\"b":1}'),
        # Nothing is said about the members: numbers and booleans are inferred.
        (OBJECT, "<a> true </a><b>True</b><c>1e3</c><d>null</d>", '{"a":true,"b":true,"c":1e3,"d":"null"}'),
        (OBJECT, "<a><b>1</b><c>x</c></a>", '{"a":{"b":1,"c":"x"}}'),
        (OBJECT, "<a><b>1</b><b>2</b></a>", '{"a":[1,2]}'),
        (OBJECT, "<a><item>1</item></a>", '{"a":[1]}'),
        (OBJECT, "<a><b>1</b></a>", '{"a":{"b":1}}'),
        (OBJECT, "<a>1</a><b>x</b><a>2</a>", '{"a":[1,2],"b":"x"}'),
        (OBJECT, "<a>[1]</a>", '{"a":"[1]"}'),
        (OBJECT, "<item>1</item>", '{"item":1}'),
        # Unions are decided by the names.
        (either(TODOS, TODO), "<id>1</id>", '{"id":1}'),
        (either(TODO, TODOS), "<todo><id>1</id></todo>", '[{"id":1}]'),
        (either(TODO, STRINGS), "<item>a</item>", '["a"]'),
        (either(INTEGERS, {"type": "array", "items": BOOLEAN}), "<i>1</i><i>true</i>", "[1,true]"),
        (either({"properties": {"a": STRING}}, {"properties": {"b": INTEGER}}), "<b>1</b>", '{"b":1}'),
        # Where an element ends.
        (STRINGS, "<item>a</item> b</item>", '["a</item> b"]'),
        (STRINGS, "<item><item>a</item></item>", '["<item>a</item>"]'),
        (STRINGS, "<item>1 < 2 </b> <br/></item>", '["1 < 2 </b> <br/>"]'),
    ],
)
def test_nested_tags(schema: Any, text: str, written: str) -> None:
    assert convert(text, schema, ROOT)[:2] == (written, True)


@each_row(
    ("schema", "text", "wanted"),
    [
        (STRINGS, "<a>1</a><b>2</b>", "array"),
        (STRINGS, "text <a>1</a>", "array"),
        (STRINGS, "<a>1</a> text", "array"),
        (STRINGS, "<a>1", "array"),
        (STRINGS, "<a><a>1</a>", "array"),
        (STRINGS, '<a x="1">1</a>', "array"),
        (STRINGS, "<a/>", "array"),
        (TODO, "<id>1</id><id>2</id>", "object"),
        (TODOS, "<id>1</id><text>a</text><id>2</id>", "array"),
        (INTEGER, "<a>1</a>", "integer"),
    ],
)
def test_other_tags_are_no_value(schema: Any, text: str, wanted: str) -> None:
    assert convert(text, schema) == (quote(text), False, wanted)


@each_row(
    ("schema", "text", "written", "wanted"),
    [
        (INTEGERS, "<n>1</n><n>x</n>", '[1,"x"]', "integer in <n>"),
        (TODO, "<id>x</id><text>a</text>", '{"id":"x","text":"a"}', "integer in <id>"),
        (TODOS, "<t><id>x</id></t>", '[{"id":"x"}]', "integer in <id> in <t>"),
        (TODOS, "<id>x</id>", '[{"id":"x"}]', "integer in <id>"),
    ],
)
def test_a_part_that_does_not_fit_stays_a_string(schema: Any, text: str, written: str, wanted: str) -> None:
    assert convert(text, schema) == (written, False, wanted)


@each_row(
    ("schema", "texts", "written", "fits"),
    [
        (STRINGS, ["a", "\nb\n"], '["a","b"]', True),
        (STRINGS, ["", "b"], '["","b"]', True),
        (STRINGS, ["a", '["b",  "c"]', "[]", "('d',)"], '["a","b",  "c","d"]', True),
        (STRINGS, ["a", "<item>b</item><item>c</item>"], '["a","b","c"]', True),
        (INTEGERS, ["1", "2"], "[1,2]", True),
        (INTEGERS, ["1", "x"], '[1,"x"]', False),
        (TODOS, ["<id>1</id><text>a</text>", "<id>2</id>"], '[{"id":1,"text":"a"},{"id":2}]', True),
        (TODOS, ['{"id": 1}', "<todo><id>2</id></todo>"], '[{"id": 1},{"id":2}]', True),
        ({"type": "array", "items": OBJECT}, ["<a>1</a>", "<b>2</b>"], '[{"a":1},{"b":2}]', True),
        (MATRIX, ["[1]", "[2]"], "[[1],[2]]", True),
        (either(STRINGS, NULL), ["a", "null"], '["a","null"]', True),
        (STRINGS, [], "[]", True),
        (INTEGER, ["1", "2"], '["1","2"]', False),
        (STRINGS, ['["a"]'], '["a"]', True),
        (STRINGS, ["a"], '"a"', False),
    ],
)
def test_repeated(schema: Any, texts: list[str], written: str, fits: bool) -> None:
    assert convert_repeated(texts, schema)[:2] == (written, fits)


@each_row(
    ("text", "expected"),
    [
        ("", []),
        (" <a>1</a>\n<b>2</b> ", [("a", "1"), ("b", "2")]),
        ("<a></a></a>", [("a", "</a>")]),
        ("<a>x</a><b>", []),
        ("<a>x</a>\n<b>y</a>", []),
        ("<a>1</a><a>2</a>3</a>", [("a", "1"), ("a", "2</a>3")]),
        ("<a >1</a >", []),
        ("</a>", []),
    ],
)
def test_elements(text: str, expected: list[tuple[str, str]]) -> None:
    assert elements(text) == expected


def test_nesting_has_an_end() -> None:
    node = {"type": "object", "properties": {"a": {"$ref": "#"}}}
    for depth, fits in ((32, True), (33, False)):
        # The innermost is an empty object, for which no tag has to be read.
        assert convert("<a>" * depth + "</a>" * depth, node).fits is fits
    assert json.loads(convert("<a>" * 99 + "</a>" * 99, OBJECT).json)["a"]["a"]["a"]


EVERYTHING = either(
    {"type": "array", "items": {"$ref": "#"}}, {"type": "object", "additionalProperties": {"$ref": "#"}}
)
CHAIN = {"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#"}}}}
LONG = 2 * 1024 * 1024 if exhaustive() else 64 * 1024


@each_row(
    ("schema", "text"),
    [
        (STRINGS, "<item>some text</item>\n" * (LONG // 23)),
        (TODOS, "<todo><id>1</id><text>x</text></todo>" * (LONG // 37)),
        (OBJECT, "".join(f"<k{n}>{n}</k{n}>" for n in range(LONG // 20))),
        (ARRAY, "<a>" * (LONG // 3)),
        (OBJECT, "<a>" * (LONG // 3)),
        (OBJECT, "<a>" * (LONG // 7) + "</a>" * (LONG // 7)),
        (EVERYTHING, "<a>" * (LONG // 7) + "</a>" * (LONG // 7)),
        (STRINGS, "<a>" + "</a> x" * (LONG // 6)),
        (STRINGS, "<a>" + "</a><" * (LONG // 5)),
        (STRINGS, "<a>x</a>" + " " * LONG + "x"),
        (CHAIN, "<a>" * 60 + "</a><a>x</a>" * 59 + "</a><a></a>"),
        (INTEGER, " " * LONG + "x"),
        (NUMBER, "1" * LONG + "x"),
        (ARRAY, "['" + "x" * LONG + "']"),
    ],
)
def test_long_values_come_to_an_end(schema: Any, text: str) -> None:
    json.loads(convert(text, schema).json)


def keyword(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    words = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object", "odd"])
    references = st.sampled_from(["#", "#/items", "#/properties/a", "#/anyOf/0", "#/$defs/x", "", 5])
    several = st.lists(schemas, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": words | st.lists(words, max_size=3),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "item"]), schemas, max_size=3),
            "items": schemas,
            "additionalProperties": schemas,
            "anyOf": several,
            "allOf": several,
            "$ref": references,
            "nullable": st.booleans(),
            "required": st.just(["a"]),
        },
    )


SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | keyword(st.just({})), keyword, max_leaves=8
)
PIECES = st.sampled_from(
    [
        "<a>",
        "</a>",
        "<b>",
        "</b>",
        "<item>",
        "</item>",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        '"a"',
        "'b'",
        "1",
        "null",
        " ",
        "\n",
    ]
)
TEXTS = st.text() | st.lists(PIECES, max_size=20).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(TEXTS, SCHEMAS)
def test_any_text_with_any_schema_is_json(text: str, schema: Any) -> None:
    json.loads(convert(text, schema).json)


@given(st.lists(TEXTS, max_size=4), SCHEMAS)
def test_any_texts_with_any_schema_are_json(texts: list[str], schema: Any) -> None:
    json.loads(convert_repeated(texts, schema).json)


@given(TEXTS)
def test_any_string_comes_back(text: str) -> None:
    assert json.loads(convert(text, STRING).json) == trim(text)


@given(st.lists(JSON) | st.dictionaries(st.text(), JSON), st.booleans(), st.sampled_from([None, 2]))
def test_any_json_comes_back(data: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(data, ensure_ascii=ascii_only, indent=indent)
    assert convert(f"\n{text}\n", {"type": ["array", "object"]}) == (text, True, "array or object")


@given(st.lists(JSON) | st.dictionaries(st.text(), JSON))
def test_any_python_literal_comes_back(data: Any) -> None:
    value = convert(repr(data), {"type": ["array", "object"]})
    assert value.fits
    assert json.loads(value.json) == data


@given(st.lists(st.integers(), min_size=1), st.sampled_from(["item", "n", "x-1"]))
def test_any_list_of_tags_comes_back(numbers: list[int], name: str) -> None:
    text = "".join(f"<{name}>{number}</{name}>\n" for number in numbers)
    assert json.loads(convert(text, INTEGERS).json) == numbers
