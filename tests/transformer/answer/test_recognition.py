"""auto: an answer is read as the right dialect reads it, and prose stays prose (docs/spec.md, section 5)."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import TOOLS, deltas
from tests.support.client import Result, results
from tests.support.cuts import check_every_split, codes, every_split, run, transform
from tests.support.samples import ALL, name_of, some_samples
from tests.support.spans import check_records
from tests.support.streams import sse, stream_of
from tests.support.tiers import each_row, exhaustive, only_exhaustive, some
from transformer import DIALECTS, Delta, StreamTransformer, Transition, call_ids, write_call
from transformer.answer.recognition import dialect_of_model, openers_of
from transformer.parser.dialect import OTHER_DIALECT
from transformer.parser.leakmarks import leak_mark
from transformer.values.schema import Tool
from workbench.tape.format import Tape, read_tape

SPOKEN = [name for name, one in DIALECTS.items() if one.converts and not one.chooses]
QUICK_CUTS = 2
SIZES = 4 if exhaustive() else 2  # of deltas, of one text
# Samples that show what becomes of a call in the wrong dialect.
RIGHT = {"glm/other-dialect": "hermes", "qwen3-coder/other-dialect": "hermes"}
# The tag of a tool that was not offered may be any tag, and a call that lost its wrapper one of the dialect
# without that wrapper, unless the model is known to write such calls.
NEEDS_A_NAME = (
    "roo-xml/unknown-tool",
    "toolbridge/missing-wrapper",
    "minimax-m2/missing-wrapper",
    "seed-oss/missing-opener",
)
# What looks like a call in the middle of prose, and is reported, where roo-xml knows the whole answer.
LESS_TOLD = {
    f"roo-xml/{name}" for name in ("call-in-think-block", "comment-before-parameter", "no-parameter-tag")
}
# Without the model's name nobody knows that these are special tokens.
MAYBE_TEXT = {f"kimi-k2/{name}" for name in ("empty-section", "id-without-name-ambiguous")}
MAYBE_TEXT |= {"deepseek-v31/stray-token"}
CONVERTED = [path for path in ALL if DIALECTS[path.parent.name].converts]


def converted(
    tape: Tape, dialect: str, reads: list[bytes], **policy: str
) -> tuple[dict[int, Result] | bytes, list[str]]:
    header = tape.header
    transformer = StreamTransformer(
        dialect,
        request=header["request"],
        policy={**header.get("policy", {}), **policy},
        ids=call_ids(header["ids"]),
        now=header["now"],
        records="findings",
    )
    assert tape.end is not None
    out = b"".join(map(transformer.feed, reads))
    broke = tape.end.value.get("error")
    out += transformer.finish() if broke is None else transformer.fail(broke)
    found = [code for code in codes(transformer) if code != "dialect-chosen"]
    return out if transformer.setting.raw else results(out), found


@some_samples(3)
def test_every_sample_comes_out_as_from_its_own_dialect(path: Path) -> None:
    if path not in CONVERTED:
        return
    tape, name = read_tape(path), name_of(path)
    policy = {"expect": path.parent.name} if name in NEEDS_A_NAME else {}
    right = RIGHT.get(name, path.parent.name)
    data = b"".join(tape.reads)
    for reads in some([tape.reads, *every_split(data)], QUICK_CUTS):
        wanted, found = converted(tape, right, list(reads))
        got, told = converted(tape, "auto", list(reads), **policy)
        assert got == wanted
        assert told == ([] if name in LESS_TOLD else found)


@some_samples(3)
def test_without_a_name_that_tells_the_dialect_the_calls_do(path: Path) -> None:
    if path not in CONVERTED:
        return
    tape, name = read_tape(path), name_of(path)
    tape.header["request"]["model"] = "nobody-knows-it"
    if name in NEEDS_A_NAME or name in MAYBE_TEXT:
        return
    wanted, _ = converted(tape, RIGHT.get(name, path.parent.name), list(tape.reads))
    assert converted(tape, "auto", list(tape.reads))[0] == wanted


# -- what is not a call

PROSE = {
    "markers": "The `<tool_call>` tag, <function=x>, [TOOL_CALLS], <|channel|>, <|python_start|>, <|start|>.",
    "openers at the ends of lines": "a <\nb <tool\n[TOOL\n<|\n<｜",
    "a fence": '```\n<tool_call>\n```\n```json\n{"name": "read", "parameters": {"path": "b"}}\n```',
    "JSON": '{"name": "Alice", "age": 3}\n{\n  "a": [1]\n}\n{"parameters": {"a": 1}, "b": 2}\n{}',
    "JSON that looks nearly like a call": '{"name": "nobody", "parameters": {}}\n{"name": "read"}',
    "a program": "[read(path=p) for p in paths]\n[read]\n[1, 2]\nread(path='b')",
    "Markdown": "[link](http://x.org)\n[^1]: note\n- [ ] to do\n- [x] done\n[read](b)",
    "words of harmony": "mail to=functions.read or assistant to=functions.write, and so on",
    "a tag": "<read> it, or <b>bold</b> and <path>",
}


@each_row("model", ["nobody-knows-it", "qwen3-coder-30b", "llama-3.3-70b", "gpt-oss-20b"])
@each_row("text", PROSE.values(), ids=PROSE)
def test_prose_and_code_about_calls_stay_text(text: str, model: str) -> None:
    for size in some(range(1, len(text) + 1), SIZES):
        data = stream_of(text, size)
        got, transformer = run("auto", data, request={"model": model, "tools": TOOLS})
        assert (got.content, got.calls, codes(transformer)) == (text, [], [])
        check_records(transformer, data)


@each_row(
    ("text", "held"),
    [("So a < b", ""), ("See <tool", "<tool"), ("x {", ""), ("x\n{", "{"), ("x\n[rea", "[rea"), ("x\n[1", ""),
     ("x <tool_call>, the tag", ""), ("<|channel|> is", ""), ("a to=func", "to=func"), ("a to=funds", "")],
)  # fmt: skip
def test_no_more_is_held_back_than_needed(text: str, held: str) -> None:
    transformer = StreamTransformer("auto", tools=TOOLS)
    transformer.feed(deltas(text).partition(b"\n\n")[0] + b"\n\n")
    said = "".join(
        one.text for one in transformer.records if isinstance(one, Delta) and one.kind == "content"
    )
    # Whitespace at the end waits in every dialect.
    assert said == text.removesuffix(held).rstrip()


# -- what is chosen, and when


def chosen(transformer: StreamTransformer) -> list[str]:
    return [one.message for one in transformer.findings if one.code == "dialect-chosen"]


@each_row("dialect", SPOKEN)
@each_row("model", ["", "own", "glm-4.6"])
def test_a_call_of_every_dialect_is_recognised(dialect: str, model: str) -> None:
    names = DIALECTS[dialect].models
    request = {"model": names[0] if model == "own" and names else model, "tools": TOOLS}
    text = f"Reading.\n{write_call(dialect, 'read', {'path': 'b'})}"
    for size in (1, 5, len(text)) if exhaustive() else (1, len(text)):
        got, transformer = run("auto", stream_of(text, size), request=request)
        assert got.content.strip() == "Reading."
        assert [(name, json.loads(arguments)) for name, arguments in got.calls] == [("read", {"path": "b"})]
        (said,) = chosen(transformer)
        if dialect != "deepseek-v31" or model == "own":  # deepseek-v3 reads the calls of deepseek-v31 as well
            assert f"read as {dialect}," in said


HERMES = write_call("hermes", "read", {"path": "h"})
QWEN = write_call("qwen3-coder", "read", {"path": "q"})
LLAMA = write_call("llama3-json", "read", {"path": "l"})


def test_a_model_that_falls_back_to_another_dialect_is_followed() -> None:
    for text, wanted in ((QWEN, "q"), (HERMES, "h"), (LLAMA, "l")):
        request = {"model": "Qwen/Qwen3-Coder-30B-A3B", "tools": TOOLS}
        got, transformer = run("auto", stream_of(text, 4), request=request)
        assert [json.loads(arguments) for _, arguments in got.calls] == [{"path": wanted}]
        assert len(chosen(transformer)) == 1
        assert ("known to speak qwen3-coder" in chosen(transformer)[0]) == (wanted != "q")


def test_it_changes_at_most_once_in_an_answer() -> None:
    for first, second in ((QWEN, HERMES), (HERMES, QWEN), (LLAMA, QWEN)):
        data = stream_of(f"{first}\n{second}", 4)
        got = check_every_split("auto", data, tools=TOOLS)
        assert len(got.calls) == 1
        assert got.content.strip() == second
        assert len(chosen(run("auto", data, tools=TOOLS)[1])) == 1


def test_all_channels_have_one_dialect() -> None:
    kimi = write_call("kimi-k2", "read", {"path": "k"})
    said = ({"content": "Hm. <tool"}, {"reasoning_content": kimi}, {"content": f"_call>{HERMES}{kimi}"})
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in said]
    got, transformer = run("auto", sse(*events), tools=TOOLS)
    assert [json.loads(arguments) for _, arguments in got.calls] == [{"path": "k"}] * 2
    assert got.content == f"Hm. <tool_call>{HERMES}"
    assert len(chosen(transformer)) == 1 and "read as kimi-k2," in chosen(transformer)[0]
    assert transformer.unaccounted == 0


@each_row("name", SPOKEN)
def test_every_dialect_says_how_its_calls_begin(name: str) -> None:
    tools = {one["function"]["name"]: Tool(one["function"]["name"]) for one in TOOLS}
    assert openers_of(DIALECTS[name], tools)


def test_without_openers_they_are_those_of_the_leak_marks() -> None:
    """docs/adding-a-dialect.md: of each mark whose pattern begins with its opener, letter by letter."""
    marks = (leak_mark("<go|", r"<go\|(?=\s)"), leak_mark("[", r"\s\["), leak_mark("<go|", r"<go\|\{"))
    assert openers_of(replace(DIALECTS["glm"], openers=None, leak_marks=marks), {}) == ("<go|",)


def test_the_user_says_which_dialect_to_expect() -> None:
    text = "<｜tool▁calls▁end｜>All done."
    request = {"model": "nobody-knows-it", "tools": TOOLS}
    assert run("auto", stream_of(text, 4), request=request)[0].content == text
    policy = {"expect": "deepseek-v31"}
    assert run("auto", stream_of(text, 4), request=request, policy=policy)[0].content == "All done."
    # A tape may name anything: nothing is imported for it.
    for unknown in ("nowhere:NAME", "auto"):
        assert run("auto", stream_of(text, 4), request=request, policy={"expect": unknown})[0].content == text


@each_row(
    ("model", "dialect"),
    [
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder"), ("qwen3-32b", "hermes"),
        ("gpt-oss:20b", "harmony"), ("deepseek-ai/DeepSeek-V3.1", "deepseek-v31"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"),
        ("mistralai/Devstral-Small-2507", "mistral"), ("meta-llama/Llama-4-Scout", "pythonic"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3-json"), ("zai-org/GLM-4.6", "glm"), ("gpt-4o", None),
    ],
)  # fmt: skip
def test_names_of_models(model: str, dialect: str | None) -> None:
    found = dialect_of_model(model)
    assert (None if found is None else found.name) == dialect


# -- thoughts

THINKING = ["roo-xml", "qwen3-coder", "kimi-k2", "glm", "hermes", "mistral", "pythonic"]


@each_row("model", ["nobody-knows-it", "own"])
@each_row("dialect", only_exhaustive(THINKING, ["roo-xml", "qwen3-coder", "kimi-k2", "hermes", "pythonic"]))
@each_row("policy", [{}, {"in_think": "text"}, {"in_think": "call"}, {"reasoning": "split"}])
def test_thoughts_are_read_as_the_dialect_reads_them(
    dialect: str, policy: dict[str, Any], model: str
) -> None:
    call = write_call(dialect, "read", {"path": "<think> b"})
    names = DIALECTS[dialect].models or (model,)
    request = {"model": names[0] if model == "own" else model, "tools": TOOLS}
    kwargs: dict[str, Any] = {"request": request, "policy": policy}
    for text in (f"<think>a\n{call}\nb</think>c\n{call}\n<think>d\n{call}\n</think>e", f"<think>\n{call}"):
        wanted, _ = run(dialect, deltas(text), **kwargs)
        for size in some(range(1, len(text) + 1), SIZES):
            got, transformer = run("auto", stream_of(text, size), records="findings", **kwargs)
            assert (got.content, got.reasoning, got.calls) == (wanted.content, wanted.reasoning, wanted.calls)
            assert transformer.unaccounted == 0


# -- every cut, and going back

PIECES = [
    *(write_call(dialect, "read", {"path": "b"}) for dialect in SPOKEN),
    *("<tool_call>", "</tool_call>", "<function=read>", "[TOOL_CALLS]", "<|channel|>", "analysis<|message|>"),
    *("\n", "\n", " ", "abc", "<think>", "</think>", "```\n", '{"name": "read", ', "<read>", "<", "[read("),
    *("'", "{", "["),
]  # fmt: skip


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=7),
    size=st.integers(1, 9),
    model=st.sampled_from(["", "qwen3-coder", "qwen3-8b", "kimi-k2", "llama-3.1", "gpt-oss", "llama-4"]),
)
def test_any_cut_gives_the_same(pieces: list[str], size: int, model: str) -> None:
    text = "".join(pieces) or "x"
    kwargs: dict[str, Any] = {"request": {"model": model, "tools": TOOLS}}
    whole, first = run("auto", deltas(text), **kwargs)
    data = stream_of(text, size)
    got, transformer = run("auto", data, **kwargs)
    assert (got.content, got.reasoning, got.calls) == (whole.content, whole.reasoning, whole.calls)
    assert sorted(codes(transformer)) == sorted(codes(first))
    assert transformer.unaccounted == 0
    check_records(transformer, data)


@each_row("text", [QWEN, LLAMA, f"<think>x</think>{HERMES}", "a [read(path='b')] b\n[read(path='c')]"])
def test_a_snapshot_can_be_taken_anywhere(text: str) -> None:
    data = stream_of(text, 3)
    wanted, _ = transform("auto", data, tools=TOOLS)
    transformer = StreamTransformer("auto", tools=TOOLS, ids=lambda number: f"call_{number}")
    sent = [b""]
    for event in data.split(b"\n\n")[:-1]:
        kept = transformer.snapshot()
        transformer.feed(b"data: nonsense\n\n")
        transformer.restore(kept)
        sent.append(transformer.feed(event + b"\n\n"))
    assert b"".join([*sent, transformer.finish()]) == wanted


def test_each_change_of_the_dialect_is_a_step():
    """What only looked like a call of hermes, then a call of glm: no state follows another without a step."""
    text = 'Hi <tool_call>{"name": "read" oops} there\n<tool_call>read\n<arg_key>path</arg_key><arg_value>a'
    _, t = transform("auto", stream_of(text, 3), tools=TOOLS, records="all")
    moves = [record for record in t.records if isinstance(record, Transition)]
    assert all(before.to == after.state for before, after in pairwise(moves))
    changes = [
        (before.dialect, after.dialect)
        for before, after in pairwise(moves)
        if before.dialect != after.dialect
    ]
    assert changes == [("auto", "hermes"), ("hermes", "auto"), ("auto", "glm")]
    assert sum(move.rule == OTHER_DIALECT.name for move in moves) == len(changes)
