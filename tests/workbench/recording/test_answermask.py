"""Credentials in answers: masked at equal length in bytes and in texts of events, wherever they are cut."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cost import grows_evenly
from tests.support.cuts import every_split
from tests.support.streams import chunk, sse
from tests.support.tiers import each_row, exhaustive
from transformer import StreamTransformer
from workbench.recording.answermask import AnswerMasker, Scanner, Usual
from workbench.recording.redaction import Redaction, secrets_of
from workbench.recording.secretrules import SHAPES

OWN = "wb-own-credential-42"
OPENAI = "sk-proj-aB3dEfGh1jKlMn0pQrStUvWx"
GITHUB = "ghp_" + "a1B2" * 9
DECEPTIVE = ("task-with-a-long-name-indeed", "sk-learn-pipeline-utilities", "see https://h.example/a@b, ok?",
             '{"token": "Hello", "logprob": -0.1}', '{"path": "a.py", "max_tokens": "5"}')  # fmt: skip


def masked(reads: list[bytes], secrets: tuple[str, ...] = (OWN,)) -> list[bytes]:
    """As the recorder does it, were all reads there at once."""
    masker = AnswerMasker(secrets_of(secrets))
    pieces = [data if masker.passes(data) else masker.feed(data) for data in reads]
    masker.decide()
    return [piece if isinstance(piece, bytes) else piece.data for piece in pieces]


def events(texts: list[str], make: Any = chunk) -> bytes:
    return b"".join(sse(make(text)) for text in texts)


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def argument_delta(text: str) -> dict[str, Any]:
    call = {"index": 0, "function": {"arguments": text}}
    return chunk(None) | {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]}


def texts_of(data: bytes) -> str:
    """What a client would join from these events."""
    out = ""
    for line in data.split(b"\n"):
        if line.startswith(b"data: {"):
            delta = json.loads(line[6:])["choices"][0]["delta"]
            calls = delta.get("tool_calls") or [{"function": {"arguments": delta.get("content") or ""}}]
            out += calls[0]["function"]["arguments"]
    return out


TABLE = [
    (f"use {OPENAI}, please", OPENAI),
    (f"use {OWN} twice {OWN}", OWN),
    (f"a\n{GITHUB}!", GITHUB),
    (f"keys:\n{OPENAI}\n", OPENAI),
    ("Authorization: Bearer abc.def-0123456789 ok", "abc.def-0123456789"),
    ("see https://h.example/v1?limit=5&api_key=hunter2 and go", "hunter2"),
    ("git clone https://me:hunter22@host/x.git now", "hunter22"),
    ('{"api_key": "hunter2", "path": "a.py"}', "hunter2"),
    ('{"env": "{\\"client_secret\\": \\"hunter2\\"}"}', "hunter2"),
    ("<login>\n<password>hunter2</password>\n</login>", "hunter2"),
    ("<parameter=api_key>\nhunter2\n</parameter>", "hunter2"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl.", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"),
]


@each_row("make", [chunk, argument_delta])
@each_row(("text", "secret"), TABLE)
def test_over_several_deltas_and_any_reads(text: str, secret: str, make: Any):
    wanted = text.replace(secret, "*" * len(secret))
    for size in (1, 2, 3, 7, 1000) if exhaustive() else (1, 3, 1000):
        data = events(pieces(text, size), make)
        for reads in (
            [data],
            data.splitlines(keepends=True),
            [data[at : at + 5] for at in range(0, len(data), 5)],
        ):
            got = masked(reads)
            assert [len(one) for one in got] == [len(one) for one in reads]
            assert texts_of(b"".join(got)) == wanted, (size, len(reads))


def test_a_private_key_over_several_deltas():
    """The escapes of its line breaks are masked with it, so that no half of one is left."""
    data = events(pieces("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END", 3))
    got = b"".join(masked([data]))
    assert len(got) == len(data)
    assert texts_of(got) == f"-----BEGIN PRIVATE KEY-----{'*' * 20}-----END"


@each_row("text", DECEPTIVE)
def test_what_only_looks_like_one_stays(text: str):
    for size in (1, 4, 1000):
        data = events(pieces(text, size))
        assert b"".join(masked([data])) == data


@each_row(("text", "secret"), TABLE)
def test_every_split_gives_the_same(text: str, secret: str):
    data = events(pieces(text, 9)) + b'data: {"error": {"message": "no ' + OWN.encode() + b'"}}\n\n'
    whole = b"".join(masked([data]))
    assert secret.encode() not in whole
    for reads in every_split(data):
        assert b"".join(masked(reads)) == whole


@each_row("shape", SHAPES, ids=lambda shape: shape.letters)
def test_every_known_shape(shape: Any):
    letter = "A" if shape.body == "[A-Z0-9]" else "a"
    key = shape.letters + f"{letter}1" * (shape.shortest // 2 + 1)
    assert Redaction().text(f"my {key} is") == f"my {'*' * len(key)} is"
    data = events(pieces(f"my {key} is", 5))
    assert texts_of(b"".join(masked([data]))) == f"my {'*' * len(key)} is"
    body = json.dumps({"choices": [{"message": {"content": f"my {key} is"}}]}).encode()
    for cut in range(0, len(body), 7):
        assert b"".join(masked([body[:cut], body[cut:]])) == body.replace(key.encode(), b"*" * len(key))


PARTS = st.sampled_from(
    [*(text for text, _ in TABLE), *DECEPTIVE, "sk-", "gh", '"api_key":"', "?", "x ", OWN[:9]]
)


@given(st.lists(PARTS, max_size=6), st.integers(1, 30), st.data())
def test_any_cut_gives_the_same_stars(parts: list[str], size: int, draw: st.DataObject):
    data = events(pieces(" ".join(parts), size))
    cuts = sorted(draw.draw(st.sets(st.integers(0, len(data)), max_size=12)))
    reads = [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]
    assert b"".join(masked(reads)) == b"".join(masked([data]))


@given(
    st.lists(st.text('ab"\\\\', max_size=4), min_size=1, max_size=5),
    st.sampled_from([b"\n\n", b"\r\n\r\n"]),
)
@example(["a\\", "b"], b"\n\n")  # the escape does not go on in the next text
def test_texts_are_those_of_events_that_are_all_as_usual(texts: list[str], gap: bytes):
    strings = all(re.fullmatch(r'([^"\\]|\\.)*', text) for text in texts)
    assert texts_of_usual(texts, gap) == ("".join(texts).encode() if strings else None)


@given(st.lists(st.text("ab\n\r", max_size=4), min_size=1, max_size=5))
def test_line_ends_in_a_text_may_be_read_the_slow_way(texts: list[str]):
    """No server writes them."""
    assert texts_of_usual(texts, b"\n\n") in (None, "".join(texts).encode())


def texts_of_usual(texts: list[str], gap: bytes) -> bytes | None:
    head, rest = b'data: {"content":"', b'"}' + gap
    stream = b"".join(head + text.encode() + rest for text in texts)
    return Usual(head, rest, gap, Scanner(())).texts(stream)


def test_another_event_among_usual_ones_is_masked():
    usual = [sse(chunk(word), done=False) for word in ("one", " two", " three", " four")]
    key = "sk-proj-aB3dEfGh1jKlMn0pQrStUvWx"
    odd = b'data: {"error":{"message":"bad key %b"}}\n\n' % key.encode()
    reads = [usual[0], usual[1] + usual[2], usual[1] + odd + usual[2] + usual[3]]
    assert key.encode() not in b"".join(masked(reads))


def test_a_replay_of_what_was_masked_sends_what_was_masked():
    """The key is in a call that the transformer makes: upstream wrote it in another form."""
    tools = [{"type": "function", "function": {"name": "run", "parameters": {
        "type": "object", "properties": {"command": {"type": "string"}}}}}]  # fmt: skip
    text = f"Now.\n<run>\n<command>curl -H 'x-key: {OPENAI}' {OWN}</command>\n</run>"
    reads = events(pieces(text, 4)).splitlines(keepends=True)

    def sent(reads: list[bytes]) -> list[bytes]:
        stream = StreamTransformer(dialect="roo-xml", tools=tools, ids=lambda n: f"call_{n}", now=1)
        return [*(stream.feed(read) for read in reads), stream.finish()]

    assert b"".join(sent(masked(reads))) == b"".join(masked([one for one in sent(reads) if one]))


def test_time_that_ran_out_costs_a_few_letters_at_most():
    masker = AnswerMasker(secrets_of([OWN]))
    shown = ""
    for text in pieces(f"it is {OWN}.", 3):
        piece = masker.feed(events([text]))
        masker.decide()
        shown += texts_of(piece.data)
    assert len(shown) == len(f"it is {OWN}.")
    assert OWN[:8] not in shown
    assert OWN[8:] not in shown
    assert shown.endswith("**.")


@pytest.mark.parametrize(
    "unit", ["sk-", "Bearer ", "://", '"a":"', "eyJ.", "?a=", "-----BEGIN ", "<key>", "gh"]
)
def test_time_is_linear(unit: str):
    part = 1 if exhaustive() else 8

    def in_one(size: int) -> None:
        masked([unit.encode() * (size // len(unit))])

    def in_bytes(size: int) -> None:
        data = unit.encode() * (size // len(unit))
        masked([data[at : at + 1] for at in range(len(data))])

    def in_events(size: int) -> None:
        masked(events(pieces(unit * (size // len(unit)), 3)).splitlines(keepends=True))

    assert grows_evenly(in_one, 20_000 // part)
    assert grows_evenly(in_bytes, 400 // part)
    assert grows_evenly(in_events, 1_200 // part)


def test_a_name_far_before_the_end_of_a_read_counts():
    """A server that is fast, or an answer that does not stream, brings much after it in the same read."""
    long = b'{"password": "hunter2", "more": "%b"}' % (b"x" * 1000)
    assert masked([long]) == [long.replace(b"hunter2", b"*******")]


@pytest.mark.parametrize("size", [18, 20, 21])
def test_a_value_in_tags_ends_with_the_text_of_its_event(size: int):
    """What stands after it there is JSON, and stays."""
    text = "<login>\n<password>hunter2</password>\n</login>"
    data = events(pieces(text, size))
    for reads in ([data], data.splitlines(keepends=True)):
        assert texts_of(b"".join(masked(reads))) == text.replace("hunter2", "*******")
