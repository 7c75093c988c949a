"""The registry of dialects: one file each, one line here.

A dialect owns all there is to know about it: states, tokens and table, the words for them, defaults, writer,
prompt template, the marks of its leaks, what mends a broken call, the models that speak it. An installed package
adds one through the entry-point group `toolcall_workbench.dialects`, and `module:NAME` names one directly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points

from transformer.dialects.auto import AUTO
from transformer.dialects.deepseek_dsml import DEEPSEEK_DSML
from transformer.dialects.deepseek_v3 import DEEPSEEK_V3
from transformer.dialects.deepseek_v31 import DEEPSEEK_V31
from transformer.dialects.functions_invoke import FUNCTIONS_INVOKE
from transformer.dialects.glm import GLM
from transformer.dialects.harmony import HARMONY
from transformer.dialects.hermes import HERMES
from transformer.dialects.kimi_k2 import KIMI_K2
from transformer.dialects.llama3_json import LLAMA3_JSON
from transformer.dialects.longcat import LONGCAT
from transformer.dialects.minimax_m2 import MINIMAX_M2
from transformer.dialects.mistral import MISTRAL
from transformer.dialects.nemotron_toolcall import NEMOTRON_TOOLCALL
from transformer.dialects.passthrough import PASSTHROUGH
from transformer.dialects.pythonic import PYTHONIC
from transformer.dialects.qwen3_coder import QWEN3_CODER
from transformer.dialects.roo_xml import ROO_XML
from transformer.dialects.seed_oss import SEED_OSS
from transformer.dialects.toolbridge import TOOLBRIDGE
from transformer.parser.dialect import Dialect

BUILT_IN = (
    ROO_XML,
    QWEN3_CODER,
    KIMI_K2,
    GLM,
    MINIMAX_M2,
    SEED_OSS,
    FUNCTIONS_INVOKE,
    TOOLBRIDGE,
    HERMES,
    LONGCAT,
    NEMOTRON_TOOLCALL,
    MISTRAL,
    LLAMA3_JSON,
    DEEPSEEK_V3,
    DEEPSEEK_V31,
    DEEPSEEK_DSML,
    HARMONY,
    PYTHONIC,
    AUTO,
    PASSTHROUGH,
)
ENTRY_POINTS = "toolcall_workbench.dialects"
DEFAULT = AUTO.name  # when no dialect was chosen
UNCONVERTED = PASSTHROUGH.name  # for what goes on as it comes
EXAMPLE = ROO_XML.name  # in texts that show how to name one


class UnknownDialect(ValueError):
    """No such dialect, or one that cannot be loaded."""


def _installed() -> Iterator[Dialect]:
    """Dialects of other packages. One that cannot be loaded must not affect the others."""
    for point in entry_points(group=ENTRY_POINTS):
        try:
            found = point.load()
        except Exception as error:
            BROKEN[point.name] = f"{type(error).__name__}: {error}"
            continue
        if isinstance(found, Dialect):
            yield found
        else:
            BROKEN[point.name] = f"{point.value} is not a Dialect"


BROKEN: dict[str, str] = {}  # entry points that could not be loaded, and why
# A name that is taken stays with the dialect that is built in.
DIALECTS: Mapping[str, Dialect] = {one.name: one for one in (*_installed(), *reversed(BUILT_IN))}
DIALECTS = {name: DIALECTS[name] for name in dict.fromkeys((*(one.name for one in BUILT_IN), *DIALECTS))}
BUILTIN_TEMPLATES: Mapping[str, str] = {
    name: dialect.template for name, dialect in DIALECTS.items() if dialect.template is not None
}


def find_dialect(name: str) -> Dialect:
    """A registered dialect, or the one that `module:NAME` names."""
    if name in DIALECTS:
        return DIALECTS[name]
    module, colon, attribute = name.partition(":")
    if not colon or not attribute:
        raise UnknownDialect(f"there is no dialect {name!r}; there are {', '.join(DIALECTS)}")
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:
        raise UnknownDialect(f"the dialect {name!r} cannot be loaded: {error}") from None
    if not isinstance(found, Dialect):
        raise UnknownDialect(f"{name!r} is not a Dialect")
    _named[name] = found
    return found


_named: dict[str, Dialect] = {}  # by `module:NAME`, once they were named


def loaded_dialect(name: str) -> Dialect | None:
    """A registered dialect, or one that was named here before. Nothing is imported: a tape may name anything."""
    return DIALECTS.get(name) or _named.get(name)


def loaded_dialects() -> tuple[Dialect, ...]:
    """All of these."""
    return (*DIALECTS.values(), *_named.values())
