"""Headers: which of them go on, in either direction."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.config.settings import Upstream

Pairs = list[tuple[str, str]]

# Of one connection only (RFC 9110, 7.6.1); and what the next hop has to say for itself.
_HOP = frozenset(
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    "transfer-encoding upgrade".split()
)
_OURS_UP = frozenset({"host", "content-length", "accept-encoding", "expect", "x-workbench-token"})
# The body that goes down is decoded, and its length is not known before its end.
_OURS_DOWN = frozenset({"content-length", "content-encoding"})


def decoded(raw: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """As ASGI has them, as text; any byte can be in a header's value."""
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]


def encoded(pairs: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in pairs]


def first(pairs: Iterable[tuple[str, str]], name: str) -> str | None:
    return next((value for key, value in pairs if key.lower() == name), None)


def upward(pairs: Pairs, upstream: Upstream) -> Pairs:
    """The client's headers for upstream, with the upstream's own and its credential in their places."""
    own = {name.lower(): value for name, value in upstream.headers.items()}
    if upstream.api_key:
        own.setdefault("authorization", f"Bearer {upstream.api_key}")
    # Compressed events would come in lumps: the compressor waits for more.
    own.setdefault("accept-encoding", "identity")
    kept = [pair for pair in _end_to_end(pairs) if pair[0] not in _OURS_UP and pair[0] not in own]
    return [*kept, *own.items()]


def downward(pairs: Pairs) -> Pairs:
    """Upstream's headers for the client."""
    return [pair for pair in _end_to_end(pairs) if pair[0] not in _OURS_DOWN]


def _end_to_end(pairs: Pairs) -> Pairs:
    named = {
        word.strip().lower()
        for key, value in pairs
        if key.lower() == "connection"
        for word in value.split(",")
    }
    return [(key.lower(), value) for key, value in pairs if key.lower() not in _HOP | named]
