"""Credentials in the bytes of an answer: masked at equal length, wherever reads cut them."""

from __future__ import annotations

import json
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cost import grows_evenly
from tests.support.cuts import every_split
from tests.support.tiers import each_row, exhaustive
from workbench.recording.redaction import SHORTEST, Masker, Piece, secrets_of

KEY = "sk-live-0123456789"


def masked(secrets: list[str], reads: list[bytes]) -> list[bytes]:
    """As the recorder does it, were all reads there at once: nothing is ever decided for lack of time."""
    masker = Masker(secrets_of(secrets))
    pieces = [masker.feed(read) for read in reads]
    masker.decide()
    return [piece.data for piece in pieces]


def expected(secrets: list[str], data: bytes) -> bytes:
    """The same, slowly: stars for each byte of every occurrence, and for a long beginning at the end."""
    out = bytearray(data)
    forms = [secret.data for secret in secrets_of(secrets)]
    for form in forms:
        for at in range(len(data)):
            if data.startswith(form, at):
                out[at : at + len(form)] = b"*" * len(form)
    begun = max(
        (n for form in forms for n in range(SHORTEST, len(form)) if data.endswith(form[:n])), default=0
    )
    out[len(out) - begun :] = b"*" * begun
    return bytes(out)


TEXTS = st.text("ab-", min_size=8, max_size=14) | st.text(min_size=8, max_size=12)


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[str], list[bytes]]:
    """Texts with whole secrets, halves of them and what looks alike, cut anywhere."""
    secrets = draw(st.lists(TEXTS, min_size=1, max_size=3))
    forms = [secret.data for secret in secrets_of(secrets)]
    part = st.one_of(
        st.sampled_from(forms),
        st.sampled_from(forms).flatmap(lambda form: st.integers(1, len(form)).map(lambda n: form[:n])),
        st.text("ab-", max_size=6).map(str.encode),
        st.binary(max_size=4),
    )
    data = b"".join(draw(st.lists(part, max_size=8)))
    cuts = sorted(draw(st.sets(st.integers(0, len(data)), max_size=12)))
    return secrets, [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]


@given(streams())
def test_any_cut_gives_the_same_stars_at_the_same_places(stream: tuple[list[str], list[bytes]]):
    secrets, reads = stream
    got = masked(secrets, reads)
    assert [len(read) for read in got] == [len(read) for read in reads]
    assert b"".join(got) == expected(secrets, b"".join(reads))


@given(streams(), st.sets(st.integers(0, 12)))
def test_what_was_written_never_changes_and_shows_no_more_than_seven_bytes(
    stream: tuple[list[str], list[bytes]], late: set[int]
):
    secrets, reads = stream
    masker = Masker(secrets_of(secrets))
    waiting: list[Piece] = []
    written: list[tuple[Piece, bytes]] = []
    for number, read in enumerate(reads):
        waiting.append(masker.feed(read))
        if number in late or number == len(reads) - 1:
            masker.decide()
        while waiting and waiting[0].end <= masker.decided:
            piece = waiting.pop(0)
            written.append((piece, piece.data))
    assert not waiting
    assert all(piece.data == data for piece, data in written)
    shown, whole = b"".join(data for _, data in written), b"".join(reads)
    assert len(shown) == len(whole)
    for form in (secret.data for secret in secrets_of(secrets)):
        for at in range(len(whole)):
            if whole.startswith(form, at):
                assert shown[at + SHORTEST - 1 : at + len(form)].strip(b"*") == b""


def test_every_split_of_a_stream_with_a_secret():
    data = f'data: {{"error": "bad key {KEY}"}}\n\n: sk-live\n\ndata: {KEY[:-1]}\n\n'.encode()
    wanted = data.replace(KEY.encode(), b"*" * len(KEY))
    for reads in every_split(data):
        got = masked([KEY], reads)
        assert b"".join(got) == wanted
        assert [len(read) for read in got] == [len(read) for read in reads]


@each_row(
    "form",
    [
        'p@ss/wo"rd\\é',
        json.dumps('p@ss/wo"rd\\é')[1:-1],
        json.dumps('p@ss/wo"rd\\é', ensure_ascii=False)[1:-1],
        json.dumps('p@ss/wo"rd\\é', ensure_ascii=False)[1:-1].replace("/", "\\/"),
        quote('p@ss/wo"rd\\é'),
        quote('p@ss/wo"rd\\é', safe=""),
        "p%40ss%2fwo%22rd%5c%c3%a9",
    ],
)
def test_the_ways_a_server_writes_a_credential_back(form: str):
    data = f"<{form}>".encode()
    assert masked(['p@ss/wo"rd\\é'], [data]) == [b"<" + b"*" * (len(data) - 2) + b">"]


@pytest.mark.parametrize("form", ["ab+cd/&efgh=", "ab+cd/\\u0026efgh=", "ab\\u002Bcd/\\u0026efgh="])
def test_the_json_of_servers_that_escape_more(form: str):
    assert masked(["ab+cd/&efgh="], [f"<{form}>".encode()]) == [b"<" + b"*" * len(form) + b">"]


def test_words_are_no_secrets():
    assert masked(["1234567", ""], [b"1234567"]) == [b"1234567"]


def test_a_half_for_which_the_time_ran_out():
    masker = Masker(secrets_of([KEY]))
    first = masker.feed(b"x sk-liv")
    assert masker.decided == 2
    masker.decide()
    assert first.data == b"x sk-liv"  # six bytes are the beginning of many a word
    second = masker.feed(b"e-0123")
    assert second.start >= masker.decided
    masker.decide()
    assert second.data == b"******"  # fourteen are not
    third = masker.feed(b"456789 done")
    assert third.data == b"****** done"
    assert masker.decided == third.end


def test_a_half_that_turned_out_to_be_none_changes_nothing_behind_it():
    masker = Masker(secrets_of([KEY]))
    first = masker.feed(b"sk-live-01")
    masker.decide()
    second = masker.feed(b"99 fine")
    assert (first.data, second.data) == (b"**********", b"99 fine")
    assert masker.decided == second.end


@pytest.mark.parametrize(
    ("secret", "unit", "times"),
    [("a" * 40, "a", 400_000), ("ab" * 20, "ab", 200_000), (KEY, KEY, 20_000), (KEY, KEY[:-1], 20_000)],
)
def test_time_is_linear(secret: str, unit: str, times: int):
    def in_one(count: int) -> None:
        masked([secret], [unit.encode() * count])

    def in_bytes(count: int) -> None:
        masked([secret], [b"%c" % byte for byte in (unit * (count // len(unit) + 1)).encode()])

    assert grows_evenly(in_one, times // (16 if exhaustive() else 128))
    assert grows_evenly(in_bytes, 1_000 if exhaustive() else 200)
