"""The request screen: both bodies, their difference, and a resend by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import Bench, running_bench
from tests.support.streams import stream_of, tool
from tests.support.tiers import only_exhaustive, some
from tests.support.upstream.answers import stream
from tests.support.views import HOSTILE, ViewApp, each_size, hostile_player, hostile_tool, played, run, shown
from transformer import BUILTIN_TEMPLATES, transform_request
from workbench.replay.player import Player
from workbench.tape.format import end_line, finding_line, make_header, status_line
from workbench.ui.screens.edit import EditScreen, check_body, check_template
from workbench.ui.screens.request import RequestScreen
from workbench.ui.widgets.diffview import folded, pairs

TOOLS = [tool("read_file", {"path": {"type": "string"}}), tool("ls", {})]
ASKED = {
    "model": "qwen",
    "messages": [{"role": "system", "content": "be kind\nand brief"}, {"role": "user", "content": "hi"}],
    "tools": TOOLS,
}


def player_of(asked: Any = ASKED, **header: Any) -> Player:
    sent, _ = transform_request(asked, "roo-xml")
    return played(stream_of("hi"), request=asked, upstream_request=sent, model="qwen", id="x1", **header)


# -- the difference


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        ("abc", "abc", "same same same"),
        ("abc", "abXc", "same same added same"),
        ("abc", "ac", "same removed same"),
        (["length: 10"], ["length: 20"], "changed"),
        (["alpha"], ["omega!"], "removed added"),
        ("", "a", "added"),
        ("", "", ""),
    ],
)
def test_pairs(left: Any, right: Any, kinds: str):
    found = pairs(list(left), list(right))
    assert " ".join(pair.kind for pair in found) == kinds
    assert [pair.left for pair in found if pair.left is not None] == list(left)
    assert [pair.right for pair in found if pair.right is not None] == list(right)


def test_a_comparison_that_would_take_for_ever_is_not_made():
    left, right = [f"l{number}" for number in range(9000)], [f"r{number}" for number in range(8999)]
    found = pairs(["same", *left], ["same", *right])
    assert len(found) == 18000 and found[0].kind == "same"


def test_equal_lines_are_folded():
    lines = [str(number) for number in range(50)]
    found = folded(pairs(lines, [*lines[:25], "new", *lines[25:]]))
    assert [pair.count for pair in found if pair.kind == "folded"] == [22, 22] and len(found) == 9


# -- the screen


async def ready(app: ViewApp) -> None:
    await app.until(lambda: app.view.ready, "the request")
    await app.settle()


@each_size
def test_all_parts(size: tuple[int, int]):
    player = player_of(client_headers=[["user-agent", "opencode"]], url="http://up/v1/chat/completions")
    player.add([finding_line(0, "duplicate-tool", "warning", "ls is offered twice", "request")])

    async def look() -> None:
        async with shown(RequestScreen(player, None), size) as app:
            await ready(app)
            assert app.sees("1 finding: press 4", "be kind", "You have access to tools")
            assert any("+ " in line and "You have access" in line for line in app.seen)
            assert any("−" in line and "tools[0]" in line for line in app.seen) or size[1] < 50
            wanted = {
                "2": "## read_file",
                "3": "2 tools add",
                "4": "▲ warning: duplicate-tool",
                "5": "opencode",
                "6": '"role": "system"',
                "7": '"model": "qwen"',
            }
            for key, text in wanted.items():
                await app.press(key)
                assert app.sees(text), key
            await app.press("2")
            assert not app.sees("be kind"), "the prompt alone"

    run(look())


@each_size
def test_the_chat_is_seen_while_it_runs_and_after(size: tuple[int, int]):
    chat = {"id": "chat-7\x1b[2J[b]", "parent": "turn-3", "turn": 2, "began": "known"}
    sent, _ = transform_request(ASKED, "roo-xml")
    header = make_header("x", "roo-xml", request=ASKED, upstream_request=sent, model="qwen", ids="s")
    player = Player(header)
    player.add([status_line(0.1, "upstream", 200, [], chat)])

    async def check(app: ViewApp, ended: bool) -> None:
        await ready(app)
        assert app.sees("turn 2 of chat chat-7") or size[0] < 120
        await app.press("5")
        assert app.sees("chat-7", "turn-3") and app.sees("answer-4") is ended
        assert "\x1b" not in "".join(app.seen) and app.sees("[2J[b]")

    async def look() -> None:
        async with shown(RequestScreen(player, None), size) as app:
            await check(app, ended=False)
            player.add([end_line(1.0, "done", chat=chat | {"response": "answer-4"})])
            await app.show(RequestScreen(player, None))
            await check(app, ended=True)

    run(look())


@pytest.mark.exhaustive  # quick: all parts above
def test_nothing_was_changed_and_nothing_is_there():
    async def look(player: Player, *texts: str) -> None:
        async with shown(RequestScreen(player, None)) as app:
            await ready(app)
            assert app.sees(*texts)
            await app.press("d", "1", "2", "3", "4", "5", "6", "7", "c")

    run(look(played(stream_of("x"), request={"model": "m"}), "went upstream unchanged", "sent as it is"))
    run(look(played(stream_of("x")), "no request is on this tape"))


def test_folding():
    asked = {
        **ASKED,
        "messages": [*ASKED["messages"], *({"role": "user", "content": f"m{n}"} for n in range(40))],
    }

    async def look() -> None:
        async with shown(RequestScreen(player_of(asked), None)) as app:
            await ready(app)
            pane = app.view.panes[0]
            short = len(pane.document)
            await app.press("d")
            assert len(pane.document) > short + 60

    run(look())


@each_size
@pytest.mark.usefixtures("templates_are_tried_here")
def test_a_hostile_request(size: tuple[int, int]):
    sent = {"model": HOSTILE, "messages": [{"role": "system", "content": HOSTILE}], HOSTILE: HOSTILE}
    player = hostile_player(
        upstream_request=sent,
        template=HOSTILE,
        client_headers=[[HOSTILE, HOSTILE]],
        url=HOSTILE,
        session=HOSTILE,
    )
    player.add([finding_line(0, HOSTILE, HOSTILE, HOSTILE, "request")])

    async def look() -> None:
        async with shown(RequestScreen(player, None), size) as app:
            await ready(app)
            for key in "1234567":
                await app.press(key)
                assert app.seen
            await app.press("2", "e")
            for key in ("f2", "f3", "f4"):
                await app.press(key)
                assert app.seen and isinstance(app.screen, EditScreen)
            await app.press(*"[/x]", "ctrl+s")
            assert app.seen and app.is_running

    run(look())


@pytest.mark.exhaustive  # quick: a hostile request above
def test_a_request_that_nests_deep_is_shown():
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}

    async def look() -> None:
        async with shown(RequestScreen(player_of({**ASKED, "deep": deep}), None)) as app:
            await ready(app)
            await app.press("6", "end")
            assert app.seen

    run(look())


# -- editing


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", None),
        ('{\n  "a": 1,\n}', "line 3, column 1: "),
        ("[1]", "a body is a JSON object"),
        ("", "line 1, column 1: "),
        ("[" * 100_000, "this cannot be read"),
        ('{"a": ' + "9" * 5000 + "}", "this cannot be read"),
    ],
)
def test_bodies_are_checked(text: str, said: str | None):
    problem, _ = check_body(text)
    assert problem is None if said is None else said in str(problem)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (BUILTIN_TEMPLATES["roo-xml"], None),
        ("a\n{{ nothing }}", "line 2: 'nothing' is undefined"),
        # each starts a process
        pytest.param("{{ tools[0].name }}", None, marks=pytest.mark.exhaustive),
        pytest.param("{% if %}", "line 1: ", marks=pytest.mark.exhaustive),
        pytest.param("{{ tools[9].name }}", "line 1: ", marks=pytest.mark.exhaustive),
    ],
)
def test_templates_are_checked(template: str, said: str | None):
    # Each starts a process. Quick: hostile tools in a template that is good, usual ones in one that is not.
    for tools in some(([hostile_tool()], TOOLS) if said is None else (TOOLS, [hostile_tool()]), 1):
        problem, good = check_template(template, "roo-xml", tools)
        assert problem is None and "makes a prompt" in good if said is None else said in str(problem)


def test_mistakes_are_told_while_typing_and_nothing_is_sent():
    async def look() -> None:
        async with shown(RequestScreen(player_of(), None)) as app:
            await ready(app)
            await app.press("e")
            await app.until(lambda: app.sees("✔ valid JSON"), "the check")
            await app.press("x")
            await app.until(lambda: app.sees("✖ line 1, column 1"), "the mistake")
            await app.press("ctrl+s")
            assert app.sees("✖ line 1, column 1") and app.resent == []
            await app.press("f4")
            await app.until(lambda: app.sees("✖ in the client's body: line 1, column 1"), "it is sent, too")
            await app.press("f2")
            await app.until(lambda: app.sees("✖ line 1, column 1"), "each text keeps its changes")
            await app.press("escape")
            assert app.sees("the changes were not sent") and isinstance(app.screen, EditScreen)
            await app.press("escape")
            assert app.screen is app.view and app.resent == []

    run(look())


def test_without_a_proxy_it_says_so(tmp_path: Path):
    async def look() -> None:
        async with shown(RequestScreen(player_of(), None)) as app:
            await says(app, "this tape is not in a library")
            await app.show(RequestScreen(player_of(), tmp_path))
            await says(app, "no proxy runs for this library")

    async def says(app: ViewApp, sentence: str) -> None:
        await ready(app)
        await app.press("e", "ctrl+s")
        await app.until(lambda: app.sees(sentence), "the sentence")

    run(look())


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("bench")) as bench:
        yield bench


@pytest.mark.parametrize("kind", only_exhaustive(["client", "upstream", "template"], quick=["template"]))
def test_edit_and_resend(bench: Bench, kind: str):
    """Through a real proxy, to a real upstream."""
    bench.upstream.answer(stream(stream_of("fine")))
    before = len(bench.upstream.requests)

    async def look() -> None:
        async with shown(RequestScreen(player_of(), bench.proxy.library)) as app:
            await ready(app)
            await app.press("e", {"client": "f2", "upstream": "f3", "template": "f4"}[kind])
            editor = app.screen.editor  # type: ignore[attr-defined]
            if kind == "template":
                editor.text = "only {{ tools[0].name }}"
            else:
                editor.text = json.dumps({**json.loads(editor.text), "seed": 12345678901234567890123})
            await app.press("ctrl+s")
            await app.until(lambda: app.results, "the resend")
            assert app.results[0].id == app.resent[0].id and app.results[0].path.endswith(".jsonl")

    run(look())
    sent = bench.upstream.wait_for_requests(before + 1)[-1].json
    text = sent["messages"][0]["content"]
    if kind == "template":
        assert text == "be kind\nand brief\n\nonly read_file"
    else:
        assert sent["seed"] == 12345678901234567890123 and "You have access to tools" in text


@pytest.mark.exhaustive  # quick: edit and resend above
def test_a_changed_body_and_a_changed_template_are_sent_together(bench: Bench):
    bench.upstream.answer(stream(stream_of("fine")))
    before = len(bench.upstream.requests)

    async def look() -> None:
        async with shown(RequestScreen(player_of(), bench.proxy.library)) as app:
            await ready(app)
            await app.press("e", "f2")
            editor = app.screen.editor  # type: ignore[attr-defined]
            whole = editor.text
            editor.text = json.dumps({**json.loads(whole), "seed": 7})
            await app.press("f4")
            editor.text = "only {{ tools[0].name }}"
            await app.until(lambda: app.sees("ctrl+s sends it, with the client's body as changed"), "that")
            await app.press("f3")
            editor.text += " "
            await app.press("ctrl+s")
            await app.until(lambda: app.sees("the changed template would have no effect"), "not all three")
            editor.text = editor.text[:-1]
            await app.press("f2")
            editor.text += "x"
            await app.press("f4", "ctrl+s")
            await app.until(lambda: app.sees("in the client's body: line"), "a mistake that is not seen")
            await app.press("f2")
            editor.text = editor.text[:-1]
            await app.press("f4", "ctrl+s")
            await app.until(lambda: app.results, "the resend")

    run(look())
    sent = bench.upstream.wait_for_requests(before + 1)[-1].json
    assert sent["seed"] == 7 and sent["messages"][0]["content"] == "be kind\nand brief\n\nonly read_file"


def test_what_the_proxy_refuses_is_shown(bench: Bench):
    async def look() -> None:
        async with shown(RequestScreen(player_of(upstream="gone"), bench.proxy.library)) as app:
            await ready(app)
            await app.press("e", "ctrl+s")
            await app.until(
                lambda: app.sees("the proxy refused: there is no upstream 'gone'"), "the sentence"
            )
            assert app.resent == []

    run(look())
