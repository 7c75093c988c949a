"""What a broken call of roo-xml should have looked like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from transformer.dialects.roo_xml.tags import TAG
from transformer.parser.mending import (
    Broken,
    Edit,
    Edits,
    Mender,
    append,
    insert,
    insert_after,
    put,
    remove,
    rename_first,
)
from transformer.parser.tagcall import NAME_LIMIT
from transformer.parser.tagmending import TagMending

_TAG_OPENED = re.compile(rf"<([^\s<>/]{{1,{NAME_LIMIT}}})>")
MENDING = TagMending(_TAG_OPENED, _TAG_OPENED, lambda key: f"</{key}>", lambda tool: f"</{tool}>")
_ATTRIBUTE = re.compile(r"""([^\s=<>/"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_COMMENT = re.compile(r"\s*<!--.*?-->", re.DOTALL)


def mender(mending: TagMending) -> Mender:
    return Mender(lambda broken: _ideas(mending, broken), _renamed)


def _ideas(mending: TagMending, broken: Broken) -> Iterator[Edits]:
    if broken.finding.values.get("attributes"):
        return _elements_for_attributes(broken)
    if broken.finding.values.get("without_parameter"):
        return _with_parameter(broken)
    return mending.ideas(broken)


def _elements_for_attributes(broken: Broken) -> Iterator[Edits]:
    """`<read path="a"/>` as `<read><path>a</path></read>`."""
    tag = TAG.match(broken.text)
    if tag is None or not tag[4]:
        return
    name = tag[2]
    children = "".join(f"<{key}>{one or other}</{key}>" for key, one, other in _ATTRIBUTE.findall(tag[4]))
    closed = tag[4].rstrip().endswith("/") or f"</{name}>" not in broken.text
    yield (put(0, tag.end(), f"<{name}>{children}" + (f"</{name}>" if closed else ""), broken.text),)


def _with_parameter(broken: Broken) -> Iterator[Edits]:
    """The text between the tags as the parameter that the tool needs; without a comment before it."""
    text = broken.text
    tag = TAG.match(text)
    tool = broken.tools.get(tag[2]) if tag is not None else None
    if tag is None or tool is None:
        return
    comment = _COMMENT.match(text, tag.end())
    if comment is not None:
        yield (remove(tag.end(), comment.end(), text, f"after {tag[0]}"),)
    end = text.find(f"</{tool.name}>", tag.end())
    keys = tool.required if len(tool.required) == 1 else tuple(tool.properties)[:1]
    call = f"</{tool.name}>"
    for key in keys:
        closer = insert(end, f"</{key}>", call) if end >= 0 else append(len(text), f"</{key}>{call}")
        yield insert_after(tag.end(), f"<{key}>", tag[0]), closer


def _renamed(text: str, old: str, new: str) -> Iterator[Edit]:
    """The name in the call's own tags."""
    yield from rename_first(text, old, new)
    closing = text.find(f"</{old}>") + 2
    if closing > 1:
        yield Edit(closing, closing + len(old), new, f"</{new}>")


MENDER = mender(MENDING)
