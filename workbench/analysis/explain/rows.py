"""A row of the replay in words: a read, a move of the machine, a delta, a line of the proxy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import islice

from transformer.answer.conformance import Check
from transformer.records import Delta, Event, Finding, Record, Transition
from transformer.wording import capital, listed, quote
from workbench.analysis.advice import advice
from workbench.analysis.explain.findings import seen_at, seen_of_choice, why_finding, why_seen
from workbench.analysis.explain.moves import awaited, held_words, move_words
from workbench.analysis.explain.remedies import MENDABLE
from workbench.analysis.explain.rereading import start_of
from workbench.analysis.explain.trace import (
    REACH,
    Channel,
    Explanation,
    backward,
    channel_of,
    characters,
    event_of,
    findings_at,
    findings_from,
    index_of,
    move_at,
)
from workbench.replay.player import Pane, Player
from workbench.replay.rowtext import decoded, read_parts, released
from workbench.tape.format import Line
from workbench.text import counted

_PLAIN = {
    "role": "The answer begins: the client is told that the assistant speaks.",
    "native": "Upstream sends this call itself; it was passed on unread.",
    "other": "An event without text of the model; it was passed on unread.",
    "usage": "What the answer cost, as upstream said.",
    "done": "The end of the stream, [DONE], after which a client stops reading.",
}
_ENDS = {
    "stop": "the model said all it wanted",
    "tool_calls": "the client is to run the calls and to send their results",
    "length": "the limit of tokens was reached",
    "content_filter": "upstream's filter ended it",
}


def why_delta(player: Player, delta: Delta) -> Explanation:
    """From which text it was made, by which rules, and of which call it is."""
    title = f"delta: {delta.kind}{f' {delta.name}' if delta.name else ''}"
    if delta.kind == "finish":
        return _why_finish(player, delta, title)
    if delta.span is None or not delta.span.channel:
        said = _PLAIN.get(delta.kind) or f"The client got an error: {quote(delta.text)}."
        text = f"It says {quote(delta.text)}." if delta.text and delta.kind == "native" else ""
        place = f"It came with event {delta.event + 1}, in read {delta.read + 1}." if delta.event >= 0 else ""
        return Explanation(title, tuple(filter(None, (said, text, place))))
    sentences = [_got(delta), _origin(player, delta), *_rules(player, delta)]
    later = _trouble(player, delta)
    if later is not None:
        told = dict.fromkeys(filter(None, (*sentences, *later.sentences)))
        return Explanation(title, tuple(told), later.remedies)
    return Explanation(title, tuple(filter(None, sentences)))


def _got(delta: Delta) -> str:
    if delta.kind == "call":
        number, id = (delta.call or 0) + 1, quote(delta.id or "")
        return f"The client is told of call {number}, to {delta.name}, with the id {id}."
    if delta.kind == "arguments":
        return f"More of the arguments of call {(delta.call or 0) + 1}: {quote(delta.text)}."
    return f"The client got {quote(delta.text)} as {delta.kind}."


def _origin(player: Player, delta: Delta) -> str:
    """Its place in the model's text, and how long it was held back."""
    assert delta.span is not None
    span = delta.span
    if span.start >= span.end:
        return "The model wrote nothing of it: it follows from the end of the call."
    where = f"It was made from {characters(span)}"
    event = player.event(event_of(player, channel_of(span), span.start))
    if event is None or event.read < 0 or event.read >= delta.read:
        return f"{where}."
    waited = 1000 * (player.time(delta) - player.times[event.read])
    return f"{where}; the first of them came with read {event.read + 1} and waited {waited:,.0f} ms."


def _rules(player: Player, delta: Delta) -> list[str]:
    """The move that took its first character, and the one that let it go."""
    assert delta.span is not None
    channel = channel_of(delta.span)
    if channel not in player.sources:
        return []
    first = move_at(player, channel, delta.span.start)
    at = index_of(player, delta)
    last = next(backward(player, at, channel), None) if at is not None else None
    if first is None and last is None:
        return ["No machine reads this channel: its text goes on as it comes."]
    said = [] if first is None else [move_words(player, first)]
    if last is not None and last != first:
        said.append(f"It left with this move: {move_words(player, last)}")
    return said


def _trouble(player: Player, delta: Delta) -> Explanation | None:
    """A finding about the call or the text, else what the observer saw."""
    assert delta.span is not None
    channel, start, end = channel_of(delta.span), delta.span.start, delta.span.end
    finding = trouble_at(player, channel, start, end)
    if finding is not None:
        return why_finding(player, finding)
    if delta.kind in ("content", "reasoning"):
        seen = seen_at(player, channel, start, end)
        return why_seen(player, seen[0]) if seen else None
    return None


def trouble_at(player: Player, channel: Channel, start: int, end: int) -> Finding | None:
    """The worst finding about a piece of text, if a call was lost or altered there."""
    found = [one for one in findings_at(player, channel, start, end) if one.code in MENDABLE]
    return next((one for one in found if one.level == "error"), found[0] if found else None)


def _why_finish(player: Player, delta: Delta, title: str) -> Explanation:
    meaning = _ENDS.get(delta.text)
    said = f"The answer is over with finish_reason {quote(delta.text)}" + (
        f": {meaning}." if meaning else "."
    )
    whys = [why_seen(player, one) for one in seen_of_choice(player, delta.choice) if one.level != "info"]
    sentences = [said, *(sentence for why in whys for sentence in why.sentences)]
    return Explanation(title, tuple(sentences), tuple(remedy for why in whys for remedy in why.remedies))


_ENDS_OF_TAPE = {
    "done": "The exchange is over: upstream said that it was done.",
    "eof": "The exchange is over: upstream closed the connection without saying that it was done.",
    "error": "The exchange ended with an error",
    "cancelled": "The client went away before the answer was over, so nothing more was converted.",
}
_BY = {
    "heartbeat": "Upstream was silent, so the proxy sent a sign of life; a client ignores it.",
    "error": "The proxy told the client of an error itself.",
}


def why_line(player: Player, line: Line) -> Explanation:
    """Something that is on the tape itself and was not recomputed."""
    if line.finding is not None:
        return _why_told(line, line.finding)
    title, sentences = _OF_KIND.get(line.kind, _other)(line)
    return Explanation(title, tuple(filter(None, sentences)))


def _why_told(line: Line, code: str) -> Explanation:
    level, message = line.level or "info", line.message or code
    by = (
        "It is about the request, before the model saw it"
        if line.where == "request"
        else "The proxy itself noticed it"
    )
    told = f"{by}; a replay cannot find it again, so it is read from the tape."
    return Explanation(f"{level}: {code}", (f"{capital(message)}.", told, advice(code)))


def _status(line: Line) -> tuple[str, list[str]]:
    status = line.status
    who = "Upstream answered" if line.side == "upstream" else "The client was answered"
    fine = isinstance(status, int) and 200 <= status < 300
    then = "" if fine else "That is not a success, so nothing in it was converted."
    return f"status {status}", [f"{who} with status {status}.", then]


def _sent(line: Line) -> tuple[str, list[str]]:
    by = line.by
    text = quote(line.data.decode("utf-8", "backslashreplace"))
    if by is None:
        return "sent", [f"The client got these bytes in one piece, as the message it had asked for: {text}."]
    return f"sent by {by}", [_BY.get(by, f"Sent by {by}, not by the transformer."), f"It is {text}."]


def _end(line: Line) -> tuple[str, list[str]]:
    how = line.ended
    said = _ENDS_OF_TAPE.get(how, f"The exchange ended: {how}.")
    error = line.error
    message = error.get("message", error) if isinstance(error, Mapping) else error
    if how == "error":
        said += f": {quote(str(message))}." if message else "."
    return f"end: {how}", [said]


def _lost(line: Line) -> tuple[str, list[str]]:
    lost = line.value.get("lost")
    counts = lost if isinstance(lost, Mapping) else {}
    lines, size = counts.get("lines", "Some"), counts.get("bytes", "some")
    said = f"{lines} lines with {size} bytes were not recorded before this."
    return "a gap", [
        said,
        "The exchange itself lacks nothing; what is shown after it may begin in the middle.",
    ]


def _damaged(line: Line) -> tuple[str, list[str]]:
    return "a damaged line", ["This line of the tape cannot be read; it is kept as it is."]


def _other(line: Line) -> tuple[str, list[str]]:
    return "a line of the tape", [
        "This line is of a kind that this workbench does not know; it is kept as it is."
    ]


def _hold(line: Line) -> tuple[str, list[str]]:
    said = f"With the next read {line.message}, which is what the breakpoint waits for."
    held = "Nothing of that read, nor of what came after it, went to the client before a decision was made."
    return f"held at {line.hold}", [said, held]


def _release(line: Line) -> tuple[str, list[str]]:
    changed = line.replacement
    kept = "" if changed is None else f"Of upstream's reads the first {changed[0]} stay. "
    then = "" if changed is None else f"{kept}What came instead of the others is on the tape with this line."
    return "the hold is over", [f"{capital(released(line))}.", then]


_OF_KIND: dict[str, Callable[[Line], tuple[str, list[str]]]] = {
    "status": _status,
    "sent": _sent,
    "end": _end,
    "hold": _hold,
    "release": _release,
    "lost": _lost,
    "damaged": _damaged,
}


_MOST = 2_000  # records of one read that are looked at
_SHOWN = 3


def why_read(player: Player, read: int) -> Explanation:
    """What is in it, and what became of that."""
    sentences = [_events(player, read), _parts(player, read)]
    made = list(islice(_records_of(player, read), _MOST))
    sentences += [_moves(made), _deltas(made), _held(player, read, made)]
    findings = [one for one in made if isinstance(one, Finding) and not isinstance(one, Check)]
    told = next((one for one in findings if one.code in MENDABLE), findings[0] if findings else None)
    title = f"read {read + 1}"
    if told is None:
        return Explanation(title, tuple(filter(None, sentences)))
    later = why_finding(player, told)
    return Explanation(title, (*filter(None, sentences), *later.sentences), later.remedies)


def _events(player: Player, read: int) -> str:
    size = player.read_end(read) - player.starts[read]
    if player.mode != "stream":
        return f"{counted(size, 'byte')} of an answer that is not a stream of events."
    events = player.events_in(read)
    if not events:
        return f"{counted(size, 'byte')}; no event is whole with them."
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
    return f"{counted(size, 'byte')} with {which}{f' ({listed(cut)})' if cut else ''}."


def _parts(player: Player, read: int) -> str:
    """What the model said in it; the rest is framing."""
    runs = read_parts(player, read)
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
    """What was held back, why, and until when."""
    held = player.held[read]
    if not held:
        return ""
    last = next((one for one in reversed(made) if isinstance(one, Transition)), None)
    waits = f", waiting for {awaited(player, last.to, last.span.choice)}" if last is not None else ""
    step = player.rows(Pane.CLIENT).after(player.rows(Pane.UPSTREAM).steps[player.rows_of_reads[read]])
    characters = "1 character was" if held == 1 else f"{held} characters were"
    return f"{characters} held back after it{waits}{_until(player, step, read)}."


def _until(player: Player, step: int | None, read: int) -> str:
    """The next read with which the client got something, in words; nothing where that is too far away."""
    rows = player.rows(Pane.CLIENT)
    for _ in range(REACH):
        if step is None:
            return " and stayed so"
        item = player.item(*player.place(step))
        if isinstance(item, Delta) and item.read > read:
            return f" until read {item.read + 1}"
        step = rows.after(step)
    return ""


def explain_row(player: Player, pane: Pane, row: int) -> Explanation:
    """Why a row is there and what it means."""
    item = player.item(pane, row)
    if isinstance(item, Line):
        return why_line(player, item)
    if isinstance(item, int):
        return why_read(player, item)
    if isinstance(item, Transition):
        return why_move(player, item)
    if isinstance(item, Finding):
        return why_finding(player, item)
    assert not isinstance(item, Event)  # events are not rows
    return why_delta(player, item)


def why_move(player: Player, move: Transition) -> Explanation:
    """One move of the machine; where its call failed in the end, that too."""
    sentences = [move_words(player, move)]
    at = index_of(player, move)
    before = next(backward(player, at, channel_of(move.span)), None) if at is not None else None
    if before is not None and before.span.start > move.span.start:
        sentences.append("The answer was over by then, and this text was read a second time.")
    if (held := held_words(player, move)) is not None:
        sentences.append(held)
    finding = finding_of_call(player, move)
    title = f"{move.state} → {move.to}: {move.rule}"
    if finding is None:
        seen = seen_at(player, channel_of(move.span), move.span.start, move.span.end)
        later = why_seen(player, seen[0]) if seen else None
        return Explanation(
            title, (*sentences, *(later.sentences if later else ())), later.remedies if later else ()
        )
    if move.call is not None:
        sentences.append(
            f"It belongs to call {move.call + 1}, which ended in {finding.code} ({finding.level})."
        )
    later = why_finding(player, finding)
    return Explanation(title, tuple(dict.fromkeys((*sentences, *later.sentences))), later.remedies)


def finding_of_call(player: Player, move: Transition) -> Finding | None:
    """What was found about the call that a move is part of."""
    found = None
    for finding in findings_from(player, move.event):
        span = finding.span
        if channel_of(span) != channel_of(move.span) or finding.code not in MENDABLE:
            continue
        if finding.code == "text-after-call" or span.end < move.span.end:
            continue
        start = start_of(player, finding)
        if start is not None and start <= move.span.start and (found is None or _worse(finding, found)):
            found = finding
    return found


def _worse(one: Finding, other: Finding) -> bool:
    """An error says more than a warning; of two alike the first one counts."""
    return one.level == "error" != other.level
