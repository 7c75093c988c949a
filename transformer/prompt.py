"""The tools prompt: a template of the dialect, or the user's own, filled with the offered tools."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from transformer.upward.offer import Offer, json_of, offer_of, remembered
from transformer.upward.toolviews import views

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment


def _builtin(dialect: str) -> str:
    data = pkgutil.get_data("transformer", f"templates/{dialect}.jinja")
    assert data is not None
    return data.decode("utf-8")


# Read once, while the package is imported, by the same loader that reads its code: from here on a template is
# a constant like any other, and a call does no I/O. A user's own template arrives as a string.
BUILTIN_TEMPLATES: Mapping[str, str] = {
    dialect: _builtin(dialect) for dialect in ("roo-xml", "qwen3-coder", "kimi-k2")
}


class Wording(NamedTuple):
    """What the prompt says beside the tools: whether the model must call, and how often it may."""

    choice: str = "auto"  # auto, required or named
    chosen: str = ""
    several: bool = False


class TemplateFailed(ValueError):
    """A prompt template that cannot be read or filled, and the line where it fails."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line
        self.reason = reason


class Rendered(NamedTuple):
    """A prompt; where the user's template failed it is the built-in one's, and `failure` says why."""

    prompt: str
    failure: TemplateFailed | None = None


def prompt_for(
    tools: Iterable[Any], dialect: str, template: str | None = None, wording: Wording | None = None
) -> str:
    """The prompt that offers `tools`; raises TemplateFailed where the template fails."""
    return _render(offer_of(list(tools)), template or builtin(dialect), wording or Wording())


def builtin(dialect: str) -> str:
    if dialect not in BUILTIN_TEMPLATES:
        known = ", ".join(BUILTIN_TEMPLATES)
        raise ValueError(f"there is no prompt template for {dialect!r}; there is one for {known}")
    return BUILTIN_TEMPLATES[dialect]


def rendered(dialect: str, offer: Offer, template: str | None, wording: Wording) -> Rendered:
    """The prompt for a request. Unchanged tools are rendered once: the key is their content."""
    return _remembered(dialect, offer.key, template, wording)


def renderings() -> int:
    """How often a prompt had to be rendered so far, because it was not remembered."""
    return _remembered.cache_info().misses


@lru_cache(maxsize=32)
def _remembered(dialect: str, key: bytes, template: str | None, wording: Wording) -> Rendered:
    offer = remembered(key)
    if template is not None:
        try:
            return Rendered(_render(offer, template, wording))
        except TemplateFailed as failure:
            # A traceback would keep alive all it passed through, the tools among them.
            return Rendered(_render(offer, builtin(dialect), wording), failure.with_traceback(None))
    return Rendered(_render(offer, builtin(dialect), wording))


def _render(offer: Offer, template: str, wording: Wording) -> str:
    try:
        return _compiled(template).render(tools=views(offer), **wording._asdict()).strip("\n")
    except Exception as error:
        # A template is a small program: it can fail in every way a program can.
        raise TemplateFailed(_line(error), f"{error}" or type(error).__name__) from None


@lru_cache(maxsize=32)
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


@lru_cache(maxsize=1)
def _environment() -> SandboxedEnvironment:
    # Only here: whoever merely converts answers should not wait for Jinja2 to load.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,  # a misspelt name is a mistake to tell, not an empty line
        autoescape=False,  # a prompt is no HTML
    )
    environment.filters["tojson"] = json_of  # Jinja2's own escapes HTML
    return environment


def _line(error: Exception) -> int:
    """The line of the template: of a syntax error its own, else that of the last step inside the template."""
    line = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None and not isinstance(getattr(error, "lineno", None), int):
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line if isinstance(line, int) else 1
