"""The outcome of a trial: one exchange, judged by the same verdicts as on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from transformer.answer.observations import choices_of
from workbench.analysis.requests import CHARACTERS_A_TOKEN
from workbench.analysis.verdicts import Kind, facts_of_player, verdict
from workbench.lab.plan import Expected, Trial
from workbench.library.summary import columns_of_summary
from workbench.replay.player import Player
from workbench.replay.sources import MALFORMED
from workbench.tape.format import Tape
from workbench.text import json_text

# Text that was meant as a call and reached the client as text.
_LEAKS = frozenset(("leaked-markers", "other-dialect"))
# An exchange that ended like this says nothing about the prompt.
_UNANSWERED = frozenset((Kind.FAILED, Kind.UPSTREAM, Kind.INCOMPLETE, Kind.GONE, Kind.RUNNING))


@dataclass(frozen=True, slots=True)
class Outcome:
    """`answered`: there is an answer to be judged. `valid`: it has a call, and the client can use it.
    `tape` is the path in the library. Tokens are `estimated` where the server does not count them."""

    number: int
    case: int
    variant: int
    tape: str
    id: str
    answered: bool
    valid: bool = False
    expected: bool | None = None
    leaked: bool = False
    malformed: tuple[str, ...] = ()
    level: str = "error"
    verdict: str = ""
    sentence: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: bool = False
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """As a suite wants it: as expected, with nothing wrong. A case that expects no call, or
        nothing, needs no call to be good."""
        if not self.answered or self.expected is False:
            return False
        return self.valid if self.expected is None else self.level != "error"

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Outcome:
        return cls(**{**value, "malformed": tuple(value["malformed"])})


def judge(trial: Trial, expected: Expected, tape: Tape, path: str) -> Outcome:
    """The outcome of the exchange on a tape."""
    player = Player(tape.header)
    player.add(tape.lines)
    facts = facts_of_player(player, live=False)
    judged = verdict(facts)
    choices = list(choices_of(player.completion))
    calls = [call for choice in choices for call in choice.calls]
    answered = judged.kind not in _UNANSWERED
    found = {code for code, count in facts.findings.items() if count}
    prompt, completion, estimated = _tokens(tape, player)
    return Outcome(
        trial.number,
        trial.case,
        trial.variant,
        path,
        str(tape.header.get("id") or ""),
        answered,
        answered and bool(calls) and judged.level != "error",
        expected.met_by(calls) if answered else None,
        answered and bool(found & _LEAKS),
        tuple(sorted(found & MALFORMED)) if answered else (),
        judged.level,
        judged.kind,
        judged.sentence if answered else judged.long,
        prompt,
        completion,
        estimated,
        tape.end.t if tape.end is not None else 0.0,
    )


def _tokens(tape: Tape, player: Player) -> tuple[int, int, bool]:
    """As the server counted them; else estimated from the characters of request and answer."""
    said = columns_of_summary(tape.end.value) if tape.end is not None else {}
    prompt, completion = said.get("prompt_tokens"), said.get("completion_tokens")
    if isinstance(prompt, int) and isinstance(completion, int):
        return prompt, completion, False
    sent = tape.header.get("upstream_request") or tape.header.get("request")
    answer = player.completion
    sizes = (len(json_text(sent)), len(json_text(answer.get("choices"))) if answer else 0)
    asked, said_back = (-(-size // CHARACTERS_A_TOKEN) for size in sizes)
    return asked, said_back, True
