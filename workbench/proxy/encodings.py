"""Bodies that are compressed: upstream's answers, piece by piece, and clients' requests."""

from __future__ import annotations

import zlib
from typing import Any, Protocol

import brotli
import zstandard

_PIECE = 1024  # of a request: even its longest possible decoded form fits into memory


class DecodingError(ValueError):
    """The bytes are not what the header says they are."""


class Decoder(Protocol):
    def decode(self, data: bytes) -> bytes:
        """As much as can be decoded so far."""
        ...

    def flush(self) -> bytes:
        """The rest at the end. Raises DecodingError if the end is missing."""
        ...


class Identity:
    """Nothing to do."""

    def decode(self, data: bytes) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


class Zlib:
    """gzip and deflate. By deflate servers mean either of two formats; its first two bytes tell which one."""

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._inflate = zlib.decompressobj(bits)
        self._head = b""

    def decode(self, data: bytes) -> bytes:
        out = []
        try:
            while data:
                if self._inflate.eof:
                    # A gzip file may have several members, one after the other.
                    self._inflate = zlib.decompressobj(self._bits)
                out.append(self._inflated(data))
                data = self._inflate.unused_data
        except zlib.error as error:
            raise DecodingError(str(error)) from None
        return b"".join(out)

    def _inflated(self, data: bytes) -> bytes:
        if len(self._head) >= 2:
            return self._inflate.decompress(data)
        head, self._head = self._head, self._head + data[:2]
        try:
            return self._inflate.decompress(data)
        except zlib.error:
            if self._bits != zlib.MAX_WBITS:
                raise
        self._bits = -zlib.MAX_WBITS
        self._inflate = zlib.decompressobj(self._bits)
        return self._inflate.decompress(head + data)

    def flush(self) -> bytes:
        if self._head and not self._inflate.eof:
            raise DecodingError("the compressed answer ends too early")
        return b""


class Brotli:
    def __init__(self) -> None:
        self._state: Any = brotli.Decompressor()
        self._fed = False

    def decode(self, data: bytes) -> bytes:
        self._fed = True
        try:
            return bytes(self._state.process(data))
        except brotli.error as error:
            raise DecodingError(str(error)) from None

    def flush(self) -> bytes:
        if self._fed and not self._state.is_finished():
            raise DecodingError("the compressed answer ends too early")
        return b""


class Zstandard:
    def __init__(self) -> None:
        self._state: Any = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)

    def decode(self, data: bytes) -> bytes:
        try:
            return bytes(self._state.decompress(data))
        except zstandard.ZstdError as error:
            raise DecodingError(str(error)) from None

    def flush(self) -> bytes:
        return b""


def decoder_for(encoding: str | None) -> Decoder:
    """For the value of a Content-Encoding header. Raises DecodingError for one that was not asked for."""
    name = (encoding or "").strip().lower()
    if name in ("", "identity"):
        return Identity()
    if name in ("gzip", "x-gzip"):
        return Zlib(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return Zlib(zlib.MAX_WBITS)
    if name == "br":
        return Brotli()
    if name == "zstd":
        return Zstandard()
    raise DecodingError(f"it is encoded as {name!r}, though identity was asked for")


class TooLong(Exception):
    """The decoded body is longer than we accept."""


def decode(data: bytes, encodings: str | None, limit: int) -> bytes:
    """A whole body. Raises DecodingError where it is not what the header says, TooLong beyond the limit."""
    for encoding in reversed((encodings or "").split(",")):
        decoder = decoder_for(encoding)
        parts, size = [], 0
        for at in range(0, len(data), _PIECE):
            parts.append(decoder.decode(data[at : at + _PIECE]))
            size += len(parts[-1])
            if size > limit:
                raise TooLong
        data = b"".join([*parts, decoder.flush()])
    return data
