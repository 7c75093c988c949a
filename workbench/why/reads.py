"""A read in words."""

from __future__ import annotations

from bisect import bisect_left
from itertools import islice

from transformer import Delta, Finding, Transition
from transformer.answer.conformance import Check
from transformer.records import Record
from workbench.player.panes import Pane
from workbench.player.player import Player
from workbench.player.runs import decoded, runs_of
from workbench.why.finding import why_finding
from workbench.why.meanings import awaited
from workbench.why.quotes import listed, quote
from workbench.why.remedies import MENDABLE
from workbench.why.why import Why

_MOST = 2_000  # records of one read that are looked at
_SHOWN = 3


def why_read(player: Player, read: int) -> Why:
    """What is in it, and what became of that."""
    sentences = [_events(player, read), _parts(player, read)]
    made = list(islice(_records_of(player, read), _MOST))
    sentences += [_moves(made), _deltas(made), _held(player, read, made)]
    findings = [one for one in made if isinstance(one, Finding) and not isinstance(one, Check)]
    told = next((one for one in findings if one.code in MENDABLE), findings[0] if findings else None)
    title = f"read {read + 1}"
    if told is None:
        return Why(title, tuple(filter(None, sentences)))
    later = why_finding(player, told)
    return Why(title, (*filter(None, sentences), *later.sentences), later.remedies)


def _events(player: Player, read: int) -> str:
    size = player.read_end(read) - player.starts[read]
    if player.mode != "stream":
        return f"{size:,} bytes of an answer that is no stream of events."
    events = player.events_in(read)
    if not events:
        return f"{size:,} bytes; no event is whole with them."
    first, last = events[0], events[-1]
    which = (
        f"event {first.number + 1}" if first is last else f"events {first.number + 1} to {last.number + 1}"
    )
    cut = [
        word
        for word, is_cut in (
            ("begun in an earlier read", first.start < player.starts[read]),
            ("ended in a later one", last.end > player.read_end(read)),
        )
        if is_cut
    ]
    return f"{size:,} bytes with {which}{f' ({listed(cut)})' if cut else ''}."


def _parts(player: Player, read: int) -> str:
    """What the model said in it; the rest is framing."""
    runs = runs_of(player, read)
    said = [bytes(player.data[run.start : run.end]) for run in runs if run.says]
    if not said:
        return "All of it is framing (SSE and JSON around what is said): nothing was said."
    size = sum(map(len, said))
    quotes = [quote(decoded(piece), 30) for piece in said[:_SHOWN]]
    if len(said) > _SHOWN:
        quotes.append(f"{len(said) - _SHOWN} more")
    return f"{size:,} bytes of it say something: {listed(quotes)}. The others are framing (SSE and JSON)."


def _records_of(player: Player, read: int) -> list[Record]:
    records = player.records
    high = len(records)
    while high and isinstance(records[high - 1], Check):
        high -= 1
    start = bisect_left(records, read, 0, high, key=lambda record: record.read)
    end = bisect_left(records, read + 1, start, high, key=lambda record: record.read)
    return records[start : min(end, start + _MOST)]


def _moves(made: list[Record]) -> str:
    moves = [one for one in made if isinstance(one, Transition)]
    if not moves:
        return ""
    rules = list(dict.fromkeys(move.rule for move in moves))
    times = "one move" if len(moves) == 1 else f"{len(moves)} moves"
    shown = listed(rules[:_SHOWN]) + (" and others" if len(rules) > _SHOWN else "")
    word = "rule" if len(rules) == 1 else "rules"
    return f"The machine made {times} with it, from {moves[0].state} to {moves[-1].to} ({word} {shown})."


def _deltas(made: list[Record]) -> str:
    deltas = [one for one in made if isinstance(one, Delta)]
    if not deltas:
        return "The client got nothing with it."
    said = []
    for delta in deltas[:_SHOWN]:
        if delta.kind in ("content", "reasoning"):
            said.append(f"{quote(delta.text, 30)} as {delta.kind}")
        elif delta.kind == "call":
            said.append(f"a call to {delta.name}")
        elif delta.kind == "arguments":
            said.append(f"arguments of call {(delta.call or 0) + 1}")
        else:
            said.append(f"{delta.kind} {quote(delta.text, 30)}" if delta.text else delta.kind)
    if len(deltas) > _SHOWN:
        said.append(f"{len(deltas) - _SHOWN} more")
    return f"The client got {listed(said)}."


def _held(player: Player, read: int, made: list[Record]) -> str:
    """What stayed behind, what for, and until when."""
    held = player.held[read]
    if not held:
        return ""
    last = next((one for one in reversed(made) if isinstance(one, Transition)), None)
    waits = f", waiting for {awaited(last.to)}" if last is not None else ""
    step = player.rows(Pane.CLIENT).after(player.rows(Pane.UPSTREAM).steps[player.rows_of_reads[read]])
    left = _read_of_client(player, step, read)
    until = f" until read {left + 1}" if left is not None else " and stayed so"
    characters = "1 character was" if held == 1 else f"{held} characters were"
    return f"{characters} held back behind it{waits}{until}."


def _read_of_client(player: Player, step: int | None, read: int) -> int | None:
    """The next read with which the client got something."""
    rows = player.rows(Pane.CLIENT)
    while step is not None:
        item = player.item(*player.place(step))
        if isinstance(item, Delta) and item.read > read:
            return item.read
        step = rows.after(step)
    return None
