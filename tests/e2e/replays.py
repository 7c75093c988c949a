"""A tape, replayed: its reads must give again what its client was sent."""

from __future__ import annotations

from transformer import StreamTransformer
from workbench.tape.format import Tape
from workbench.tape.recipe import Wishes, make_recipe


def check_replay(tape: Tape) -> None:
    """The tape is whole, and all that the transformer sent on it comes out again, byte for byte."""
    assert tape.complete and tape.problem is None, tape.problem
    assert tape.end is not None and not tape.end.value.get("lost")
    sent = b"".join(line.data for line in tape.of("sent") if "by" not in line.value)
    if any(line.value["status"] >= 400 for line in tape.of("status")):
        assert sent == b"", "an upstream's refusal is answered by the proxy, not by the transformer"
        return
    transformer = make_recipe(tape.header, Wishes()).stream("all")
    out = b"".join([transformer.feed(read) for read in tape.reads]) + _end(transformer, tape)
    assert transformer.unaccounted == 0
    assert out == sent


def _end(transformer: StreamTransformer, tape: Tape) -> bytes:
    assert tape.end is not None
    how = tape.end.value["end"]
    if how == "error":
        return transformer.fail(tape.end.value["error"])
    # Whoever left was not told how it ended.
    return b"" if how == "cancelled" else transformer.finish()
