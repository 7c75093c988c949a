"""The table screen: rules, hits, the current one, and the way to where a rule was used."""

from __future__ import annotations

import pytest

from tests.support.streams import stream_of
from tests.support.tiers import exhaustive
from tests.support.views import each_size, hostile_player, played, run, sample, shown
from transformer import DIALECTS, Transition
from transformer.parser.dialect import AFTER_CALL, EVERYWHERE, FIRST_ONLY, REFUSED
from workbench.replay.player import Pane, Player
from workbench.ui.screens.table import ANY, Hits, RuleList, TableScreen, key_of, rules_of


def transitions(player: Player) -> list[tuple[int, Transition]]:
    rows = player.rows(Pane.MACHINE)
    found = ((rows.steps[row], player.item(Pane.MACHINE, row)) for row in range(len(rows)))
    return [(step, item) for step, item in found if isinstance(item, Transition)]


@pytest.mark.parametrize("name", DIALECTS)
def test_every_rule_of_the_table_is_in_one_row(name: str):
    keys = [key for row in rules_of(DIALECTS[name]) for key in row.keys]
    table = DIALECTS[name].transitions.items()
    everywhere = [(ANY, ANY, one.why) for one in EVERYWHERE]
    assert sorted(keys) == sorted(
        [
            *((str(state), str(token), rule.why) for (state, token), rules in table for rule in rules),
            *everywhere,
        ]
    )


def test_what_can_happen_in_every_state_is_counted_too():
    """A second call that the policy does not want, after text that it drops."""
    text = "<read>\n<path>a</path>\n</read>\nNow:\n<read>\n<path>b</path>\n</read>\n"
    player = played(stream_of(text, 5), dialect="roo-xml")
    hits = Hits(player, player.steps - 1)
    while hits.advance(0):
        pass
    assert hits.counts[ANY, ANY, FIRST_ONLY.why] and hits.counts[ANY, ANY, AFTER_CALL.why]
    assert not hits.counts[ANY, ANY, REFUSED.why]


def test_hits_are_counted_up_to_the_step():
    player = sample("roo-xml/good-read")
    moves = transitions(player)
    for step, last in moves:
        hits = Hits(player, step)
        while hits.advance(0):
            pass
        assert hits.current == (last.state, last.token, last.why)
        assert hits.counts.total() == sum(1 for at, _ in moves if at <= step)


@each_size
def test_the_current_rule_is_lit_and_in_sight(size: tuple[int, int]):
    player = sample("roo-xml/good-read")
    step, last = next((step, move) for step, move in transitions(player) if move.rule == "begin call")

    async def look() -> None:
        async with shown(TableScreen(player, step), size) as app:
            assert app.sees("the table of roo-xml")
            (line,) = [line for line in app.seen if "▶" in line]
            assert last.token in line and "→ call" in line and "begin call" in line and " 1 " in line
            assert last.why and app.sees(last.why)

    run(look())


def test_the_current_rule_is_waited_for_while_the_table_is_laid_out():
    player = sample("roo-xml/unclosed-parameter")
    hits = Hits(player, player.steps - 1)
    while hits.advance(0):
        pass
    table = RuleList(rules_of(DIALECTS["roo-xml"]), hits, only_hits=False)
    table.fit(100)
    goals = []
    while table.advance(0):
        goals.append(table.goal)
    assert goals[0] is None, "the first rows are laid out, and it is not among them"
    assert table.goal is not None and (current := table.rules[table.goal]) is not None
    assert table.is_current(current)


def test_only_rules_that_fired_and_one_that_never_did():
    player = sample("roo-xml/good-read")

    async def look() -> None:
        async with shown(TableScreen(player, player.steps - 1)) as app:
            table = app.view.table
            every = len(table.document)
            await app.press("a")
            document = table.document
            assert isinstance(document, RuleList) and len(document) < every
            assert all(document.count(rule) for rule in document.shown)
            await app.press("space")
            assert len(table.document) == every
            await app.show(TableScreen(player, 0))
            await app.press("slash", *"thought of call", "enter", "enter")
            assert app.results == [], "it leads nowhere"
            await app.press("q")
            assert app.results == [None]

    run(look())


def test_to_the_next_use_of_a_rule_and_around_the_end():
    player = sample("roo-xml/good-read")
    steps = [step for step, move in transitions(player) if (move.state, move.token) == ("text", "text")]
    assert len(steps) > 2
    wanted = {"enter": steps[1:] + steps[:1], "backspace": steps[-1:] + steps[:-1]}
    tried = range(len(steps)) if exhaustive() else (0, len(steps) - 1)

    async def look() -> None:
        async with shown(TableScreen(player, steps[0])) as app:
            for key, to in wanted.items():
                for at in tried:
                    await app.show(TableScreen(player, steps[at]))
                    await app.press(key)
                    assert app.results == [to[at]], key

    run(look())


def test_a_hostile_stream_and_a_dialect_that_does_not_exist():
    async def look() -> None:
        hostile, unknown = hostile_player(), played(stream_of("x"), dialect="[/x]\x1b")
        async with shown(TableScreen(hostile, hostile.steps - 1)) as app:
            for player in (hostile, unknown):
                await app.show(TableScreen(player, player.steps - 1))
                assert app.seen
                await app.press("a", "enter")

    run(look())


def test_the_table_of_the_dialect_that_auto_chose():
    text = 'So.\n<tool_call>\n{"name": "read", "arguments": {"path": "a"}}\n</tool_call>'
    player = played(stream_of(text), dialect="auto")
    screen = TableScreen(player, player.steps - 1)

    async def look() -> None:
        async with shown(screen, (120, 40)) as app:
            assert app.sees("the table of hermes, which auto chose")

    run(look())
    known = {key for row in screen.rules for key in row.keys}
    assert {key_of(move) for _, move in transitions(player)} <= known
