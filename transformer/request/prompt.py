"""The tools prompt: a template of the dialect, or the user's own, filled with the offered tools."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from transformer.dialects import BUILTIN_TEMPLATES, find_dialect
from transformer.parser.dialect import Dialect
from transformer.request import toolviews
from transformer.request.offer import Offer, json_of, offer_of, remembered
from transformer.request.toolviews import views

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.runtime import Context
    from jinja2.sandbox import SandboxedEnvironment


# Limits on what a template may make, so that a mistake in one does not fill the memory.
_MOST_CHARACTERS = 4 << 20
_MOST_STEPS = 10_000
_MOST_POWER = 64
_TOO_LONG = f"the prompt grows beyond {_MOST_CHARACTERS} characters"


class Wording(NamedTuple):
    """What the prompt says besides the tools: whether the model must call, and how often it may."""

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
    tools: Iterable[Any], dialect: str | Dialect, template: str | None = None, wording: Wording | None = None
) -> str:
    """The prompt that offers `tools`; raises TemplateFailed where the template fails."""
    chosen = dialect if isinstance(dialect, Dialect) else find_dialect(dialect)
    text = builtin(chosen) if template is None else template
    return _render(chosen, offer_of(list(tools)), text, wording or Wording())


def builtin(dialect: Dialect) -> str:
    if dialect.template is None:
        known = ", ".join(BUILTIN_TEMPLATES)
        raise ValueError(f"there is no prompt template for {dialect.name!r}; there is one for {known}")
    return dialect.template


def rendered(dialect: Dialect, offer: Offer, template: str | None, wording: Wording) -> Rendered:
    """The prompt for a request. Unchanged tools are rendered once: the key is their content."""
    return _remembered(dialect, offer.key, template, wording)


def renderings() -> int:
    """How often a prompt had to be rendered so far, because it was not remembered."""
    return _remembered.cache_info().misses


@lru_cache(maxsize=32)
def _remembered(dialect: Dialect, key: bytes, template: str | None, wording: Wording) -> Rendered:
    offer = remembered(key)
    if template is not None:
        try:
            return Rendered(_render(dialect, offer, template, wording))
        except TemplateFailed as failure:
            # A traceback would keep alive all it passed through, the tools among them.
            return Rendered(_render(dialect, offer, builtin(dialect), wording), failure.with_traceback(None))
    return Rendered(_render(dialect, offer, builtin(dialect), wording))


def _render(dialect: Dialect, offer: Offer, template: str, wording: Wording) -> str:
    tools = views(offer, dialect)
    try:
        parts = _compiled(template).generate(tools=tools, **wording._asdict())
        return _bounded(parts).strip("\n")
    except Exception as error:
        # A template is a small program: it can fail in every way a program can. A view that fails is a bug.
        if _is_ours(error):
            raise
        raise TemplateFailed(_line(error), f"{error}" or type(error).__name__) from None


def _bounded(parts: Iterable[str]) -> str:
    text, size = [], 0
    for part in parts:
        size += len(part)
        if size > _MOST_CHARACTERS:
            raise OverflowError(_TOO_LONG)
        text.append(part)
    return "".join(text)


def _is_ours(error: Exception) -> bool:
    """It was raised while a view was made, not by the template. Too deep a recursion is the template's."""
    trace = error.__traceback__
    while trace is not None and not isinstance(error, RecursionError):
        if trace.tb_frame.f_globals.get("__name__") == toolviews.__name__:
            return True
        trace = trace.tb_next
    return False


@lru_cache(maxsize=32)
def _compiled(template: str) -> Template:
    return _environment().from_string(template)


@lru_cache(maxsize=1)
def _environment() -> SandboxedEnvironment:
    # Imported only here: code that merely converts answers should not wait for Jinja2 to load.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
            _check_size(operator, left, right)
            return super().call_binop(context, operator, left, right)

    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,  # a misspelt name is an error to report, not an empty line
        autoescape=False,  # a prompt is not HTML
    )
    environment.filters["tojson"] = json_of  # Jinja2's own escapes HTML
    # The same tools give the same prompt: nothing in a template is left to chance.
    del environment.filters["random"], environment.globals["lipsum"]
    environment.globals["range"] = _range
    return environment


def _range(*bounds: int) -> range:
    found = range(*bounds)
    if len(found) > _MOST_STEPS:
        raise OverflowError(f"a range has at most {_MOST_STEPS} steps here, not {len(found)}")
    return found


def _check_size(operator: str, left: Any, right: Any) -> None:
    """A text that is multiplied, or a power: one short expression could fill the memory."""
    for some, times in ((left, right), (right, left)):
        many = operator == "*" and isinstance(some, str | list | tuple) and isinstance(times, int)
        if many and len(some) * times > _MOST_CHARACTERS:
            raise OverflowError(_TOO_LONG)
    if operator == "**" and isinstance(right, int | float) and abs(right) > _MOST_POWER:
        raise OverflowError(f"a power has an exponent of at most {_MOST_POWER} here")


def _line(error: Exception) -> int:
    """The line of the template: of a syntax error its own, else that of the last step inside the template."""
    line = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None and not isinstance(getattr(error, "lineno", None), int):
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line if isinstance(line, int) else 1
