"""The plan of a try: its cases, its variants, and the order of its trials.

Trials that differ only in the variant follow each other, and which variant comes first changes from
round to round: when a server is slow or confused for a while, all variants are affected alike.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from transformer.answer.observations import Call, choices_of
from transformer.dialects import BUILTIN_TEMPLATES, DEFAULT, loaded_dialect
from transformer.policy import Policy, PolicyError
from workbench.errors import UserError
from workbench.proxy.asking import Resend
from workbench.replay.player import Player
from workbench.tape.format import Tape, TapeError, read_tape
from workbench.tape.inputs import read_file
from workbench.tape.recipe import Wishes, known_dialect, make_recipe

RECORDED = "recorded"  # the prompt of the tape, whatever it was
BUILT_IN = "built-in"
_PARTS = {"prompt": "careful.jinja", "dialect": DEFAULT, "model": "qwen3-max"}  # with an example of each
_SWITCHES = frozenset(Policy.__dataclass_fields__)
# Members of a request's body that influence how a model answers, and that a try may set.
PARAMETERS = (
    "temperature", "seed", "top_p", "top_k", "min_p", "max_tokens", "max_completion_tokens",
    "presence_penalty", "frequency_penalty", "repetition_penalty", "reasoning_effort", "chat_template_kwargs",
    "stop",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expected:
    """What the answer to a case should call. `call` False: nothing. Without a tool nothing is expected."""

    tool: str | None = None
    arguments: Mapping[str, Any] | None = None  # these members, with these values; others may be there, too
    call: bool = True

    def met_by(self, calls: Sequence[Call]) -> bool | None:
        """Whether these calls are what was expected; None where nothing was."""
        if not self.call:
            return not calls
        if self.tool is None:
            return None
        return any(call.name == self.tool and self._fits(call.arguments) for call in calls)

    def _fits(self, arguments: str) -> bool:
        if self.arguments is None:
            return True
        try:
            given = json.loads(arguments)
        except (ValueError, RecursionError):
            return False
        return isinstance(given, dict) and all(
            key in given and given[key] == value for key, value in self.arguments.items()
        )

    @property
    def sentence(self) -> str:
        if not self.call:
            return "no call"
        if self.tool is None:
            return "nothing in particular"
        return self.tool if self.arguments is None else f"{self.tool} {json.dumps(dict(self.arguments))}"


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded request. `rate` is the part of the answers that must be as expected, where a suite asks."""

    name: str
    request: Mapping[str, Any]
    dialect: str
    policy: Mapping[str, Any] = field(default_factory=dict)
    template: str | None = None
    expected: Expected = field(default_factory=Expected)
    rate: float = 1.0
    upstream: str | None = None
    of: str | None = None  # the id of the recorded exchange
    tape: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to ask; None and empty mean: as the case was recorded."""

    name: str
    prompt: str = RECORDED  # the name of the template
    template: str | None = None  # its text, where it is the user's own
    dialect: str | None = None
    model: str | None = None
    switches: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """One case, asked with one variant; `number` is its place in the plan."""

    number: int
    case: int
    variant: int
    round: int


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is to be sent; the same plan gives the same trials in the same order."""

    cases: tuple[Case, ...]
    variants: tuple[Variant, ...]
    times: int
    suite: str | None = None  # the file that the cases come from

    @property
    def trials(self) -> list[Trial]:
        return list(self._trials())

    def _trials(self) -> Iterator[Trial]:
        number, size = 0, len(self.variants)
        for turn in range(self.times):
            for case in range(len(self.cases)):
                for step in range(size):
                    yield Trial(number, case, (step + turn + case) % size, turn)
                    number += 1

    def wish(self, trial: Trial, try_id: str, known: Sequence[str], upstream: str | None = None) -> Resend:
        """What is sent for a trial: to an upstream, or to the recorded one where the proxy knows it."""
        case, variant = self.cases[trial.case], self.variants[trial.variant]
        dialect = variant.dialect or case.dialect
        body = {**case.request, **({"model": variant.model} if variant.model else {}), **variant.body}
        return Resend(
            {key: value for key, value in body.items() if value is not None or key not in variant.body},
            template=_template(case, variant, dialect),
            of=case.of,
            session=try_id,
            upstream=upstream or (case.upstream if case.upstream in known else None),
            dialect=dialect,
            policy={**case.policy, **variant.switches},
            labels={"try_id": try_id, "prompt": variant.prompt, "variant": variant.name, "case": case.name},
        )

    @property
    def notes(self) -> Iterator[str]:
        """What the user should know before the answers are counted."""
        asked = [{**case.request, **variant.body} for case in self.cases for variant in self.variants]
        if self.times > 1 and any(body.get("seed") is not None for body in asked):
            yield "requests with a seed get the same answer each time; --set seed=null leaves it out"
        if self.times > 1 and any(body.get("temperature") == 0 for body in asked):
            yield "requests with temperature 0 get much the same answer each time; see --set temperature"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Plan:
        cases = tuple(Case(**{**case, "expected": Expected(**case["expected"])}) for case in value["cases"])
        variants = tuple(Variant(**variant) for variant in value["variants"])
        return cls(cases, variants, value["times"], value.get("suite"))


def _template(case: Case, variant: Variant, dialect: str) -> str | None:
    """The text of the template, so that no setting of a proxy changes what is tried; None: it has none."""
    if variant.template is not None:
        return variant.template
    if variant.prompt == RECORDED and case.template is not None:
        return case.template
    known = loaded_dialect(dialect)  # named by a tape, which must not cause an import
    return None if known is None else known.template


# -- cases


def read_case(file: Path, name: str | None = None) -> Case:
    """The request of a tape; what its answer called is what is expected."""
    try:
        tape = read_tape(read_file(str(file)))
    except TapeError as error:
        raise UserError(f"{file}: {error}") from None
    return case_of(tape, name or file.stem, str(file))


def case_of(tape: Tape, name: str, place: str = "") -> Case:
    header = tape.header
    request = header.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise UserError(f"{place or name}: there is no chat request on this tape that could be sent again")
    path = header.get("path")
    if isinstance(path, str) and not path.startswith("/chat/completions"):
        raise UserError(f"{place or name}: only chat completions can be sent again, and this is {path}")
    recipe = make_recipe(header, Wishes())
    template = header.get("template")
    text = {key: value if isinstance(value := header.get(key), str) else None for key in ("upstream", "id")}
    return Case(
        name,
        request,
        recipe.dialect,
        recipe.policy.said(),
        BUILTIN_TEMPLATES.get(template, template) if isinstance(template, str) else None,
        _recorded_call(tape),
        upstream=text["upstream"],
        of=text["id"],
        tape=place,
    )


def _recorded_call(tape: Tape) -> Expected:
    player = Player(tape.header)
    player.add(tape.lines)
    calls = [call for choice in choices_of(player.completion) for call in choice.calls]
    return Expected(calls[0].name) if calls else Expected()


# -- variants


def make_variants(
    prompts: Sequence[str], dialects: Sequence[str], models: Sequence[str], settings: Sequence[str]
) -> tuple[Variant, ...]:
    """One for each combination of options given more than once. Others are as recorded."""
    switches, body = read_settings(settings)
    named = list(zip(prompts, _names(prompts), strict=True)) or [(RECORDED, RECORDED)]
    texts = {prompt: None if prompt in (RECORDED, BUILT_IN) else read_template(prompt) for prompt, _ in named}
    several = (len(named) > 1, len(dialects) > 1, len(models) > 1)
    choices: list[list[str | None]] = [list(dialects) or [None], list(models) or [None]]
    found = []
    for (prompt, name), dialect, model in product(named, choices[0], choices[1]):
        parts = [part for part, told in zip((name, dialect, model), several, strict=True) if told and part]
        label = " ".join(parts) or (name if prompts else dialect or model or name)
        found.append(Variant(label, name, texts[prompt], dialect, model, switches, body))
    check_variants(found)
    return tuple(found)


def parse_variant(text: str) -> Variant:
    """One that is typed: `built-in dialect=NAME model=NAME temperature=0.7`, each of it optional. A
    word without `=` is the prompt; anything else is a setting."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"{text!r} is not a variant: {error}") from None
    said: dict[str, str] = {}
    settings: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in _PARTS:
            key, value = ("", word) if equals else ("prompt", word)
        if not key:
            settings.append(word)
        elif key in said or not value:
            raise UserError(f"a variant has one {key}, such as {key}={_PARTS[key]}")
        else:
            said[key] = value
    prompt, dialect = said.pop("prompt", RECORDED), said.get("dialect")
    own = prompt not in (RECORDED, BUILT_IN)
    label = Path(prompt).stem if own else prompt
    switches, body = read_settings(settings)
    return Variant(
        " ".join([label, *(f"{key}={value}" for key, value in said.items()), *settings]),
        label,
        read_template(prompt) if own else None,
        None if dialect is None else known_dialect(dialect),
        said.get("model"),
        switches,
        body,
    )


def check_variants(variants: Sequence[Variant]) -> None:
    names = [variant.name for variant in variants]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"two variants are called {twice!r}; give each of them once")


def read_template(file: str) -> str:
    try:
        return read_file(file).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not a template: it is not valid UTF-8 at byte {error.start}") from None


def read_settings(pairs: Sequence[str]) -> tuple[dict[str, str], dict[str, Any]]:
    """`key=value` pairs: switches of the policy, and members of the body, whose values are JSON."""
    switches: dict[str, str] = {}
    body: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key:
            raise UserError(f"--set wants key=value, such as --set temperature=0.7, not {pair!r}")
        if key in _SWITCHES:
            switches[key] = value
        elif key in PARAMETERS:
            body[key] = _json_or_text(value)
        else:
            known = ", ".join(sorted((*_SWITCHES, *PARAMETERS)))
            raise UserError(
                f"--set: {key!r} is neither a switch nor a parameter of requests; there are {known}"
            )
    check_switches(switches)
    return switches, body


def check_switches(switches: Mapping[str, Any]) -> None:
    try:
        Policy.from_mapping(switches)
    except (PolicyError, TypeError) as error:
        raise UserError(f"--set: {error}") from None


def _json_or_text(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _names(prompts: Sequence[str]) -> list[str]:
    """Short names of files: their stems, or all of their paths where two stems are the same."""
    stems = [prompt if prompt in (RECORDED, BUILT_IN) else Path(prompt).stem for prompt in prompts]
    return [stem if stems.count(stem) == 1 else prompt for prompt, stem in zip(prompts, stems, strict=True)]
