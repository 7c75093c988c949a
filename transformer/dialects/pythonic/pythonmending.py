"""What a broken call as Python should have looked like."""

from __future__ import annotations

from collections.abc import Iterator

from transformer.parser.mending import Broken, Edits, Mender, complete, insert_after, put, remove
from transformer.values.literals import missing_python_end, quote


def ideas(broken: Broken) -> Iterator[Edits]:
    by_code = {
        "truncated-call": _complete,
        "repaired-call": _end_list,
        "value-not-of-type": _quote_value,
        "duplicate-parameter": _remove_value,
    }
    mend = by_code.get(broken.finding.code)
    return iter(()) if mend is None else mend(broken)


def _complete(broken: Broken) -> Iterator[Edits]:
    end = broken.finding.span.end
    yield complete(broken.text, end, end, missing_python_end(broken.text[:end]))


def _end_list(broken: Broken) -> Iterator[Edits]:
    end = broken.finding.span.end
    yield (insert_after(end, "]", ")"),)


def _quote_value(broken: Broken) -> Iterator[Edits]:
    """A value that is not a literal may have been meant as a string."""
    start, end = broken.finding.span.start, broken.finding.span.end
    yield (put(start, end, quote(broken.text[start:end].strip()), broken.text),)


def _remove_value(broken: Broken) -> Iterator[Edits]:
    start, end = broken.finding.span.start, broken.finding.span.end
    comma = broken.text.rfind(",", 0, start)
    if comma >= 0:
        yield (remove(comma, end, broken.text, "after the first one"),)


MENDER = Mender(ideas)
