"""Telling the kinds of input apart, and finding the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project import SAMPLES
from tests.support.tiers import each_row
from workbench import files as paths
from workbench.errors import UserError
from workbench.tape.inputs import load, read_json, recognise


@each_row(
    ("data", "kind"),
    [
        (b'{"tape": 1}\n{"t": 0, "end": "eof"}\n', "tape"),
        (b'\xef\xbb\xbf{"about": "keys in any order", "tape": 1}\r\n', "tape"),
        (b'\n{"tape": 1, "half of its fir', "tape"),
        (b'data: {"choices": []}\n\n', "sse"),
        (b"data:[DONE]", "sse"),
        (b"\xef\xbb\xbfdata: {}\r\n\r\n", "sse"),
        (b": comment\n\nevent: message\nid: 1\nretry: 5\ndata: {}\n\n", "sse"),
        (b": comment\r\revent: x\rdata: {}\r\r", "sse"),
        (b"", "sse"),
        (b" \n", "sse"),
        (b'{"choices": [{"message": {"content": "x"}}]}', "json"),
        (b'\n{\n "object": "chat.completion",\n "choices": []\n}\n', "json"),
        (b'{"error": {"message": "no"}}', "sse"),
        (b'{"name": "get_weather", "arguments": {"data": 1}}', "text"),
        (b"<read_file>\n<path>x</path>\n</read_file>", "text"),
        (b"An example of SSE:\ndata: {}\n", "text"),
        (b"id: this is a list\nname: of fields\n", "text"),
        (b"idea: a text\ndata: but no stream\n", "text"),
        (b"[1, 2]", "text"),
        (b"\xff\xfe\x00", "text"),
        (b"[" * 100_000, "text"),
    ],
)
def test_the_kind_is_recognised(data: bytes, kind: str):
    assert recognise(data) == kind


def test_an_editors_bom_is_not_the_models(tmp_path: Path):
    path = tmp_path / "answer.txt"
    path.write_bytes(b"\xef\xbb\xbf<a>")
    assert load(str(path), None).text == "<a>"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"{", "line 1, column 2"),
        (b"\xff", "not valid UTF-8"),
        (b"[" * 100_000, "is not JSON"),
        (b"9" * 5000, "is not JSON"),
    ],
)
def test_json_that_cannot_be_read_is_explained(tmp_path: Path, text: bytes, why: str):
    path = tmp_path / "tools.json"
    path.write_bytes(text)
    with pytest.raises(UserError, match=why):
        read_json(str(path))


def test_samples_are_found_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    packaged = tmp_path / "package" / "samples"
    (packaged / "roo-xml").mkdir(parents=True)
    sample = packaged / "roo-xml" / "one.jsonl"
    sample.touch()
    monkeypatch.setattr(paths, "_HERE", tmp_path / "package")
    monkeypatch.chdir(tmp_path)
    assert paths.samples_dir() == packaged
    assert paths.resolve("samples/roo-xml/one.jsonl") == sample
    assert paths.resolve("samples/none.jsonl") == Path("samples/none.jsonl")
    (tmp_path / "samples" / "roo-xml").mkdir(parents=True)
    own = tmp_path / "samples" / "roo-xml" / "one.jsonl"
    own.touch()
    assert paths.resolve("samples/roo-xml/one.jsonl").resolve() == own


def test_samples_are_found_in_a_checkout():
    assert paths.samples_dir() == SAMPLES
