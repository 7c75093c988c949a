"""What the client has put together: at every step a fold of its deltas, at the last one the answer."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from tests.support.cost import calls_made
from tests.support.samples import DIALECTS
from tests.support.streams import chunk, message, sse, stream_of
from tests.support.tapes import CALL, TOOLS, as_message, live, played, sample, samples_of, tape_of
from tests.support.tiers import each_row
from transformer import Delta
from transformer.answer.observations import Answered, Call, choices_of
from workbench.replay.message import Assembled, Assembly
from workbench.replay.player import Pane, Player
from workbench.tape.format import dump_line, end_line, read_line, sent_line, status_line


def assembly_of(player: Player) -> Assembly:
    assembly = Assembly(player)
    assert assembly.catch_up()
    return assembly


def last(player: Player) -> Assembled:
    return assembly_of(player).assembled(player.steps - 1)


def plain(choices: Any) -> list[tuple[Any, ...]]:
    """Of reasoning the texts count: a delta does not tell the field."""
    return [
        (one.index, one.content, sorted(set(one.reasoning.values())), one.calls, one.finish, one.refusal)
        for one in choices
    ]


def answer(player: Player) -> list[tuple[Any, ...]]:
    return plain(choices_of(player.completion))


class Fold:
    """One choice, put together in the simplest way."""

    def __init__(self) -> None:
        self.content = ""
        self.reasoning: dict[str, str] = {}
        self.calls: dict[int, list[str]] = {}
        self.finish: str | None = None

    def take(self, player: Player, delta: Delta) -> None:
        if delta.kind == "content":
            self.content += delta.text
        elif delta.kind == "reasoning":
            assert delta.span is not None
            self.reasoning[delta.span.channel] = self.reasoning.get(delta.span.channel, "") + delta.text
        elif delta.kind == "call":
            self.calls[delta.call or 0] = [str(delta.id), str(delta.name), ""]
        elif delta.kind == "arguments":
            self.calls[delta.call or 0][2] += delta.text
        elif delta.kind == "finish":
            self.finish = delta.text
        elif delta.kind == "native":
            event = player.event(delta.event)
            assert event is not None
            for call in json.loads(event.data)["choices"][0]["delta"]["tool_calls"]:
                known = self.calls.setdefault(call["index"], ["", "", ""])
                function = call.get("function", {})
                said = (call.get("id"), function.get("name"), function.get("arguments"))
                known[:] = [known[0] or said[0] or "", known[1] or said[1] or "", known[2] + (said[2] or "")]

    def result(self, index: int) -> Answered:
        calls = tuple(Call(*self.calls[number]) for number in sorted(self.calls))
        return Answered(index, self.content, self.reasoning, calls, self.finish)


@each_row("dialect", DIALECTS)
def test_at_every_step_it_is_a_fold_of_the_deltas(dialect: str):
    for name in samples_of(dialect):
        player = sample(name)
        assembly = assembly_of(player)
        folds: dict[int, Fold] = {}
        assert assembly.assembled(-1) == Assembled()
        error = None
        for step in range(player.steps):
            pane, row = player.place(step)
            item = player.item(pane, row)
            if pane is Pane.CLIENT and isinstance(item, Delta) and item.kind not in ("usage", "done"):
                if item.kind == "error":
                    error = item.text
                else:
                    folds.setdefault(item.choice, Fold()).take(player, item)
            wanted = tuple(folds[index].result(index) for index in sorted(folds))
            assert assembly.assembled(step) == Assembled(wanted, error), (name, step)


@each_row("dialect", DIALECTS)
def test_at_the_last_step_it_is_the_answer(dialect: str):
    for name in samples_of(dialect):
        player = sample(name)
        assert plain(last(player).choices) == answer(player), name


@each_row("dialect", DIALECTS)
def test_a_whole_message_has_the_same_law(dialect: str):
    for name in samples_of(dialect):
        player = as_message(name)
        assembly, end = assembly_of(player), player.steps - 1
        assert plain(assembly.assembled(end).choices) == answer(player), name
        refused = any(finding.code == "refused-tool" for finding in player.findings)
        if name.startswith("passthrough") or not any(isinstance(one, Delta) for one in player.records):
            assert assembly.assembled(end - 1) == Assembled(), f"{name}: nothing told of it before"
        elif refused:
            assert assembly.assembled(end).error and not assembly.assembled(end).choices, name
        else:
            assert plain(assembly.assembled(end - 1).choices) == answer(player), f"{name}: deltas say it"


@each_row("dialect", DIALECTS)
def test_a_tape_that_grows_is_put_together_the_same(dialect: str):
    for name in samples_of(dialect):
        tape, whole = tape_of(name), sample(name)
        player = Player(tape.header)
        assembly = Assembly(player)
        for line in tape.lines:
            player.add([line])
            assembly.catch_up()
            assembly.assembled(player.steps - 1)  # what it was asked on the way changes nothing
        wanted = assembly_of(whole)
        assert assembly.calls == wanted.calls, name
        assert all(assembly.assembled(step) == wanted.assembled(step) for step in range(whole.steps)), name


def native(*calls: tuple[int, str | None, str | None, str | None], **more: Any) -> dict[str, Any]:
    listed = [
        {
            "index": index,
            **({"id": id, "type": "function"} if id else {}),
            "function": {
                key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
            },
        }
        for index, id, name, arguments in calls
    ]
    return chunk(tool_calls=listed, **more)


def streamed(*events: Any, **more: Any) -> Player:
    lines = [read_line(number, sse(event, done=False)) for number, event in enumerate(events)]
    return live(*lines, read_line(9, b"data: [DONE]\n\n"), end_line(10, "done"), **more)


def test_calls_of_upstreams_own():
    player = streamed(
        native((0, "a", "read_file", "")),
        native((0, None, None, '{"path"'), (1, "b", "bash", "{")),
        native((0, None, None, ': "x"}')),
        native((1, None, None, "}")),
        chunk(finish_reason="tool_calls"),
    )
    assembly = assembly_of(player)
    deltas = list(player.rows(Pane.CLIENT).steps)
    steps = [[call.arguments for call in assembly.assembled(step).choices[0].calls] for step in deltas[:4]]
    assert steps == [[""], ['{"path"', "{"], ['{"path": "x"}', "{"], ['{"path": "x"}', "{}"]]
    assert plain(last(player).choices) == answer(player)
    assert list(assembly.calls) == deltas[:2], "the second one begins in the middle of the first"
    assert [(one.step, one.name) for one in assembly.natives] == [
        (deltas[0], "read_file"),
        (deltas[1], "bash"),
    ]


def test_an_id_and_a_name_may_come_late():
    player = streamed(native((0, None, None, "{")), native((0, "a", None, "")), native((0, "b", "bash", "}")))
    assembly = assembly_of(player)
    calls = [assembly.assembled(step).choices[0].calls[0] for step in player.rows(Pane.CLIENT).steps[:3]]
    assert calls == [Call("", "", "{"), Call("a", "", "{"), Call("a", "bash", "{}")]
    assert plain(last(player).choices) == answer(player)


def test_a_call_of_upstreams_own_behind_one_of_ours_gets_another_number():
    player = streamed(
        chunk("<read_file>\n<path>a</path>\n</read_file>\n"), native((0, "n", "bash", "{}")), policy={}
    )
    (choice,) = last(player).choices
    assert [call.name for call in choice.calls] == ["read_file", "bash"]
    assert plain([choice]) == answer(player)
    assert len(assembly_of(player).calls) == 2


@each_row(
    "delta",
    [
        {"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}, 5]},
        {"refusal": "no"},
        {"tool_calls": {"no": "list"}},
        {"tool_calls": [5, {"function": 5}, {"id": 7, "function": {"name": None, "arguments": {"a": 1}}}]},
        {"audio": {}},
    ],
)
def test_what_goes_on_unread(delta: dict[str, Any]):
    player = streamed(chunk("a "), {"choices": [{"index": 0, "delta": delta}]}, chunk(" b"))
    assert plain(last(player).choices) == answer(player)


def test_events_without_choices_are_no_answer():
    player = streamed({"choices": [], "prompt_filter_results": []})
    assert last(player).choices == () == tuple(choices_of(player.completion))


def test_fields_of_reasoning_that_change_are_one_text_here():
    """The one place where deltas know less than the answer: the field is not part of them."""
    events = [{"choices": [{"delta": {field: field[-3:]}}]} for field in ("reasoning", "reasoning_content")]
    player = streamed(*events)
    assert [one.reasoning for one in choices_of(player.completion)] == [
        {"reasoning": "ing", "reasoning_content": "ent"}
    ]
    assert [one.reasoning for one in last(player).choices] == [{"reasoning": "ingent"}]


def test_a_choice_of_which_nothing_is_told_is_not_there():
    player = streamed({"choices": [{"index": 0, "delta": {}}]}, {"error": {"message": "broke"}})
    assert last(player) == Assembled((), "broke")
    assert [one.silent for one in choices_of(player.completion)] == [True]


BODY = dump_line(message(CALL))
NATIVE = {"id": "n", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
NATIVE_BODY = dump_line(
    message(None, choices=[{"index": 0, "message": {"content": "x", "tool_calls": [NATIVE]}}])
)


@each_row("sent", [False, True])
@each_row(
    ("body", "dialect", "calls"),
    [
        (BODY, "roo-xml", ["read_file"]),
        (BODY, "passthrough", []),
        (NATIVE_BODY, "roo-xml", ["bash"]),
        (NATIVE_BODY, "passthrough", ["bash"]),
    ],
)
def test_a_message_is_there_with_its_row(body: bytes, dialect: str, calls: list[str], sent: bool):
    lines = [read_line(1, body), status_line(2, "client", 200)]
    made = live(*lines, end_line(3, "done"), dialect=dialect, stream=False).completion
    pieces = [sent_line(2, part) for part in (dump_line(made or {})[:20], dump_line(made or {})[20:]) if sent]
    player = live(*lines, *pieces, end_line(3, "done"), dialect=dialect, stream=False)
    assembly = assembly_of(player)
    row = player.steps - 1
    if sent:
        row = player.rows(Pane.CLIENT).steps[-1]
    assert plain(assembly.assembled(row).choices) == answer(player)
    assert [call.name for call in assembly.assembled(row).choices[0].calls] == calls
    assert len(assembly.calls) == len(calls)
    if dialect == "passthrough":
        assert assembly.assembled(row - 1) == Assembled()
        assert list(assembly.calls) == [row] * len(calls), "no delta says when it began"


def test_who_wanted_a_message_of_a_stream_gets_it_at_the_end():
    data = stream_of(CALL)
    made = live(read_line(0, data), end_line(2, "done"), stream=False).completion
    lines = [read_line(0, data), sent_line(1, dump_line(made or {})), end_line(2, "done")]
    player = live(*lines, stream=False)
    assembly = assembly_of(player)
    assert len(assembly.calls) == 1
    assert plain(last(player).choices) == answer(player)


@each_row(
    ("lines", "error"),
    [
        ([status_line(0, "upstream", 404), read_line(0, b"<html>"), sent_line(0, b"<html>")], None),
        ([sent_line(0, b'{"error": {"message": "no way"}}', "proxy")], "no way"),
        ([status_line(0, "upstream", 401), read_line(0, b"x"), sent_line(0, b'{"error": "key"}')], "key"),
        ([status_line(0, "upstream", 401), read_line(0, b"x"), sent_line(0, b'{"err')], None),
        ([read_line(0, sse({"error": {"message": "busy"}}))], "busy"),
        ([read_line(0, b'{"error": {"message": "whole"}}')], "whole"),
        ([sent_line(0, b": waiting\n\n", "heartbeat")], None),
    ],
)
def test_where_there_is_no_answer(lines: Any, error: str | None):
    assert last(live(*lines, end_line(1, "error"))) == Assembled((), error)


def test_the_answer_of_another_endpoint_is_no_message():
    lines = [read_line(0, BODY), sent_line(0, BODY), end_line(1, "done")]
    assert last(live(*lines, kind="relay")) == Assembled()


def test_a_long_answer_is_put_together_in_no_time():
    events = [sse(chunk("some words "), done=False) for _ in range(5_000)]
    player = played({"dialect": "roo-xml", "request": {"tools": TOOLS}}, [read_line(0, b"".join(events))])
    assembly = assembly_of(player)
    assert len(last(player).choices[0].content) > 50_000
    assembly.assembled(player.steps - 1)
    for step in range(player.steps - 100, player.steps):
        assert calls_made(partial(assembly.assembled, step)) < 200


@each_row(
    "delta",
    [
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{"}}]},
        {"content": [{"type": "text", "text": "hi"}]},
    ],
    ids=["call", "content"],
)
def test_an_event_that_speaks_of_a_choice_twice(delta: dict[str, Any]):
    part = {"index": 0, "delta": delta}
    other = {"index": 1, "delta": delta}
    player = live(read_line(0, sse({"choices": [part, other, part]})), end_line(1, "done"))
    assert plain(last(player).choices) == answer(player)


def test_what_is_no_text_does_not_take_the_place_of_one():
    player = live(read_line(0, sse(chunk("Hi"), chunk(content=5))), end_line(1, "done"))  # type: ignore[arg-type]
    assert answer(player)[0][1] == "Hi"
    assert plain(last(player).choices) == answer(player)


def test_a_message_that_is_whole_only_behind_an_end():
    body = json.dumps(message(CALL)).encode()
    lines = [read_line(0, body[:40]), end_line(1, "done"), read_line(2, body[40:]), end_line(3, "done")]
    player = live(*lines, stream=False)
    first = player.rows(Pane.UPSTREAM).steps[1]
    assembly = assembly_of(player)
    assert assembly.assembled(first) == Assembled()
    assert plain(assembly.assembled(player.steps - 1).choices) == answer(player) != []
