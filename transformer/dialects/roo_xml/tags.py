"""The tags of roo-xml: their shape, and the names that mean something else already."""

from __future__ import annotations

import re

from transformer.parser.tagcall import NAME_LIMIT

TAG_NAME = rf"[^\s<>/]{{1,{NAME_LIMIT}}}"
MOST_ATTRIBUTES = 512  # characters of a tag after its name
TAG = re.compile(rf"<(/?)({TAG_NAME})(?:>|([ \t]{{1,16}})>|(\s[^<>]{{1,{MOST_ATTRIBUTES}}})>)")
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
