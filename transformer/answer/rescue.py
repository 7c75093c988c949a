"""A rescue: when the transformer itself fails, the rest of the answer goes on as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from transformer.answer.choice import Choice
from transformer.answer.stream import StreamTransformer
from transformer.parser.machine import Machine
from transformer.records import Delta

Place = tuple[int, str]  # a choice and a channel of it
_END = 1 << 62
_ALL = [(0, _END)]


def rescue(
    broken: StreamTransformer, reads: Iterable[bytes], error: object
) -> tuple[StreamTransformer, bytes]:
    """A transformer that converts nothing and goes on where `broken` failed, and what is to be sent now.

    `reads` is everything that came, the piece at which it failed included. What the client has already is
    not sent again; what was held back is sent as it was written.
    """
    for choice in broken._answer.choices.values():
        for machine in choice._machines.values():
            _deliver(choice, machine)
    out = broken._answer.client.take()
    plain = _plain(broken)
    failed_at = broken._journal.event
    after = []
    for read in reads:
        plain._journal.read += 1
        plain._received += len(read)
        for frame in plain._decoder.feed(read):
            if plain._journal.event >= failed_at:
                after.append(frame)
            else:
                plain._reader.event(frame)
    _carry_over(broken, plain)
    plain._journal.found("transformer-failed", reason=f"{type(error).__name__}: {error}")
    _send_rest(plain, _open(broken))
    for frame in after:
        plain._reader.event(frame)
    return plain, out + plain._answer.client.take()


def _deliver(choice: Choice, machine: Machine | None) -> None:
    """What a machine had found out before it failed is as good as ever."""
    if machine is not None:
        with suppress(Exception):
            choice._deliver(machine)


def _plain(broken: StreamTransformer) -> StreamTransformer:
    setting = broken.setting
    plain = StreamTransformer(setting.dialect, records="all", upstream=setting.upstream)
    policy = replace(setting.policy, channels=())
    plain.setting = plain._answer.setting = replace(setting, policy=policy)
    plain._answer.client = broken._answer.client.clone()  # shapes remember its metadata
    return plain


def _open(broken: StreamTransformer) -> dict[Place, list[tuple[int, int]]]:
    """What has no fate yet in each channel; all else the client has, or it is markup, or it is named."""
    found = {}
    for index, choice in broken._answer.choices.items():
        for channel, machine in choice._machines.items():
            found[index, channel] = [(choice._offsets[channel], _END)] if machine is None else _held(machine)
    return found


def _held(machine: Machine) -> list[tuple[int, int]]:
    """Whitespace that waits for what follows it, maybe with markup after it; and the end of what came."""
    waiting = [(piece.start, piece.start + len(piece.text)) for piece in machine.prose._spaces]
    rest = machine.held - sum(end - start for start, end in waiting)
    return [*waiting, (machine.received - rest, _END)]


def _carry_over(broken: StreamTransformer, plain: StreamTransformer) -> None:
    """What the client knows of each choice, so that nothing is said twice and the finish is true."""
    plain._answer.client = broken._answer.client.clone()
    plain._journal.findings = broken._journal.findings.clone()
    plain._answer.ended, plain._answer.finished = broken._answer.ended, broken._answer.finished
    for index, old in broken._answer.choices.items():
        new = plain._answer.choice(index)
        new.client, new.said, new._ids = plain._answer.client, old.said, old._ids
        new.calls, new.complete, new.next_index = old.calls, old.complete, old.next_index
        new._natives = dict(old._natives)


def _send_rest(plain: StreamTransformer, open_parts: dict[Place, list[tuple[int, int]]]) -> None:
    for record in plain.records:
        if not isinstance(record, Delta) or record.span is None or not record.span.channel:
            continue
        span, choice = record.span, plain._answer.choices[record.span.choice]
        for start, end in open_parts.get((span.choice, span.channel), _ALL):
            new = record.text[max(0, start - span.start) : max(0, end - span.start)]
            if new:
                choice.client.text(choice.index, choice.fields(span.channel), new)
