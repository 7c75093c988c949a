"""Compressed answers, cut anywhere."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
import zstandard

from tests.support.tiers import each_row
from workbench.proxy.encodings import DecodingError, decoder_for

TEXT = "data: größer \U0001f600\n\n".encode() * 50


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return squeeze.compress(data) + squeeze.flush()


CASES = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT[:300]) + gzip.compress(TEXT[300:]),
    "deflate": zlib.compress(TEXT),
    "Deflate ": raw_deflate(TEXT),
    "br": brotli.compress(TEXT),
    "zstd": zstandard.compress(TEXT[:100]) + zstandard.compress(TEXT[100:]),
    "identity": TEXT,
    "": TEXT,
}


@each_row("encoding", CASES)
@each_row("size", [1, 2, 7, 1000, 100_000])
def test_any_cut_gives_the_same(encoding: str, size: int):
    data = CASES[encoding]
    decoder = decoder_for(encoding)
    parts = [decoder.decode(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join(parts) + decoder.flush() == TEXT


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate"])
def test_a_body_that_ends_too_early_is_no_clean_end(encoding: str):
    decoder = decoder_for(encoding)
    decoder.decode(CASES[encoding][:-5])
    with pytest.raises(DecodingError):
        decoder.flush()


@each_row("encoding", ["gzip", "br", "deflate", "zstd"])
def test_bytes_that_are_not_what_the_header_says(encoding: str):
    decoder = decoder_for(encoding)
    with pytest.raises(DecodingError):
        decoder.decode(b"data: plain text that is not compressed at all\n\n" * 20)
        decoder.flush()


def test_an_encoding_nobody_asked_for():
    with pytest.raises(DecodingError, match=r"'snappy'.*identity"):
        decoder_for("snappy")


def test_what_is_flushed_by_the_compressor_comes_out_at_once():
    squeeze = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    decoder = decoder_for("gzip")
    for event in (b"data: 1\n\n", b"data: 2\n\n"):
        assert decoder.decode(squeeze.compress(event) + squeeze.flush(zlib.Z_SYNC_FLUSH)) == event
