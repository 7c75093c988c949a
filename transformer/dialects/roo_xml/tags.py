"""The tags of roo-xml: their shape, names that mean something else already, and calls with broken tags.

Of those it says what they should have looked like, and which are repaired.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from transformer.parser.machine import Lexicon, Machine, guard, upto
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
from transformer.parser.tagcall import NAME_LIMIT, TagCall, may_repair
from transformer.parser.tagmending import TagMending

TAG_NAME = rf"[^\s<>/]{{1,{NAME_LIMIT}}}"
_MOST_ATTRIBUTES = 512  # characters of a tag after its name
TAG = re.compile(rf"<(/?)({TAG_NAME})(?:>|([ \t]{{1,16}})>|(\s[^<>]{{1,{_MOST_ATTRIBUTES}}})>)")
_TAG_BEGUN = re.compile(rf"</?[^\s<>/]{{0,{NAME_LIMIT}}}\Z|<{TAG_NAME}\s[^<>]{{0,{_MOST_ATTRIBUTES}}}\Z")
LEXICON = Lexicon(upto("<"), TAG, _TAG_BEGUN)
TAG_OPENED = re.compile(rf"<([^\s<>/]{{1,{NAME_LIMIT}}})>")

# A model that writes one of these at the start of a line writes HTML.
HTML_ELEMENTS = frozenset(
    """
    a abbr acronym address applet area article aside audio b base basefont bdi bdo big blockquote body br
    button canvas caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt
    em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup
    hr html i iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav nobr
    noframes noscript object ol optgroup option output p param picture plaintext portal pre progress q rp rt
    ruby s samp script search section select slot small source span strike strong style sub summary sup svg
    table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp
    """.split()
)

# -- mending: what a broken call should have looked like

MENDING = TagMending(TAG_OPENED, TAG_OPENED, lambda key: f"</{key}>", lambda tool: f"</{tool}>")
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
    """What stands between the tags as the parameter that the tool needs; without a comment before it."""
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

# -- repair, at the end of the answer: what is open is closed, where the schema leaves no doubt

_LINE_TAG = re.compile(r"(?m)^<([^\s<>/]+)>")
_Part = tuple[str, str, int, bool]  # name, value, where it starts, whether it was closed


def repair(m: Machine, text: str, name: str) -> None:
    call: TagCall = m.call
    plan = _repair(m)
    assert plan is not None
    parts, upto, closed = plan
    base, region = call.region_start, str(call.region)
    for position, (key, value, start, whole) in enumerate(parts):
        if not whole:
            end = base + start + len(value)
            m.found("repaired-parameter", base + start, end, parameter=key, closing=f"</{key}>")
        if position:
            call.also(m, key, value, base + start)
        else:
            call.commit(m, len(value))
    if not closed:
        m.found("repaired-call", call.start, m.pos, tool=call.name, closing=call.call_closer)
    call.deliver(m, base + upto)
    m.again(m.pos - len(region) + upto, region[upto:])


def _repair(m: Machine) -> tuple[list[_Part], int, bool] | None:
    """The parameters, up to where of the region the call goes, and whether it was closed; None if in doubt."""
    call: TagCall = m.call
    if not may_repair(m, call.key) or m.choice.was_cut:
        return None
    region, closing = str(call.region), call.call_closer
    if region.count(closing) > 1 or call.ahead:
        return None
    end = region.find(closing)
    parts = _parts(call, region if end < 0 else region[:end])
    required = set(call.tool.required if call.tool else ())
    if parts is None or not required <= call.given | {part[0] for part in parts}:
        return None
    if end < 0 and not parts[-1][3] and not (len(parts) == 1 and call.ends_itself(region)):
        return None
    return parts, len(region) if end < 0 else end + len(closing), end >= 0


def _parts(call: TagCall, text: str) -> list[_Part] | None:
    """The open parameter and those that begin in it."""
    names, starts, ends = [call.key], [0], []
    for match in _LINE_TAG.finditer(text):
        name = match.group(1)
        if call.tool is not None and call.tool.knows(name) and name not in call.given and name not in names:
            names.append(name)
            ends.append(match.start())
            starts.append(match.end())
    ends.append(len(text))
    parts = []
    for name, start, end in zip(names, starts, ends, strict=True):
        value, mark = text[start:end], f"</{name}>"
        closed = value.rstrip().endswith(mark)
        if value.count(mark) > closed:
            return None
        parts.append((name, value.rstrip().removesuffix(mark) if closed else value, start, closed))
    return parts


@guard("the policy repairs, and the schema leaves one reading")
def is_repairable(m: Machine, name: str) -> bool:
    return _repair(m) is not None
