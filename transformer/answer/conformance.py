"""The rules of OpenCode and of openai-python: what each of them does when one is broken.

An `error` is a rule whose breach costs a client the call or the answer; with a `warning` both clients cope.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from transformer.answer.events import error_in
from transformer.answer.setting import Setting
from transformer.jsontext import parse_strictly
from transformer.records import Delta, Event, Finding, Level, Span
from transformer.values.fitting import Arguments, misfits


class ApiRule(NamedTuple):
    """`sentence` says what is wrong, then which client does what with it."""

    level: Level
    sentence: str
    advice: str


_PARSER = (
    'The server\'s own parser made this. Set tools = template and template_tool_choice = "none" and let the '
    "workbench read the model's text, or update the server."
)
_MODEL = (
    "The model wrote this; the client tells it so. If it happens often, lower the temperature, or use the "
    "server's guided decoding."
)
_STREAM = (
    "The server made this. Update it, or set a dialect that has calls: then the workbench writes the "
    "events itself."
)
_NOTHING = "Nothing needs to be done."

RULES: Mapping[str, ApiRule] = {
    # events
    "check-not-json": ApiRule(
        "error",
        "this event is not JSON ({why}): OpenCode stops with an error, openai-python raises JSONDecodeError",
        _STREAM,
    ),
    "check-empty-data": ApiRule(
        "error",
        "an event with nothing in it: OpenCode stops with an error, openai-python raises JSONDecodeError",
        _STREAM,
    ),
    "check-event-shape": ApiRule(
        "error", "{what}: OpenCode takes the event for garbage and stops with an error", _STREAM
    ),
    "check-answer-id": ApiRule(
        "warning", "the answer's id was {was}, now it is {now}: clients keep the first", _NOTHING
    ),
    "check-answer-model": ApiRule(
        "warning", "the answer's model was {was}, now it is {now}: clients keep the first", _NOTHING
    ),
    "check-role-repeated": ApiRule(
        "warning", "the role comes again: OpenCode takes it, openai-python joins it to {joined}", _NOTHING
    ),
    # calls
    "check-call-shape": ApiRule(
        "error", "{what}: OpenCode takes the event for garbage, openai-python cannot join it", _PARSER
    ),
    "check-name-missing": ApiRule(
        "error", "the first delta of {call} has no function.name: OpenCode stops with an error", _PARSER
    ),
    "check-id-missing": ApiRule(
        "error", "the first delta of {call} has no id: OpenCode stops with an error", _PARSER
    ),
    "check-index-missing": ApiRule(
        "error",
        "{call} has a delta without index: openai-python raises TypeError, OpenCode stops with an error "
        "where arguments come in pieces",
        _PARSER,
    ),
    "check-index-gap": ApiRule(
        "error", "{call} has index {index}, but {wanted} is next: openai-python raises IndexError", _PARSER
    ),
    "check-index-reused": ApiRule(
        "error",
        "a second call ({name}) at the index of {call}: OpenCode loses it, openai-python merges the two",
        _PARSER,
    ),
    "check-id-repeated": ApiRule(
        "error",
        "the id of {call} comes again: OpenCode takes the first, openai-python joins them to {joined}",
        _PARSER,
    ),
    "check-name-repeated": ApiRule(
        "error",
        "the name of {call} comes again: OpenCode takes the first, openai-python joins them to {joined}",
        _PARSER,
    ),
    "check-id-shared": ApiRule(
        "error", "{call} has the id of another one, {id}: OpenCode keeps only the last of them", _PARSER
    ),
    "check-tool-unknown": ApiRule(
        "warning", "{call} is of a tool that was not offered: OpenCode tells the model so", _MODEL
    ),
    # arguments
    "check-arguments-early": ApiRule(
        "error",
        "the arguments of {call} were whole JSON after {size} characters, and go on: OpenCode has run the "
        "first part and drops the rest",
        _PARSER,
    ),
    "check-arguments-json": ApiRule(
        "error", "the arguments of {call} are not a JSON object: {why}; OpenCode tells the model so", _PARSER
    ),
    "check-parameter-missing": ApiRule(
        "warning",
        "{call} lacks the required parameter {parameter}: OpenCode tells the model so",
        _MODEL,
    ),
    "check-parameter-type": ApiRule(
        "warning",
        "in {call} {parameter} is {given} where the schema wants {wanted}: OpenCode tells the model so",
        _MODEL,
    ),
    # ends
    "check-finish-missing": ApiRule(
        "error", "there is no finish_reason: OpenCode asks again and again, without end", _STREAM
    ),
    "check-finish-unknown": ApiRule(
        "error",
        "the finish_reason {said} is none of OpenAI's: OpenCode asks again and again, without end",
        _STREAM,
    ),
    "check-finish-untrue": ApiRule("error", "the finish_reason is {said}, but {what}", _STREAM),
    "check-finish-repeated": ApiRule(
        "warning", "finish_reason comes again, {said}: clients keep the last, or stop at the first", _STREAM
    ),
    "check-after-finish": ApiRule(
        "warning", "{what} comes after finish_reason: a client that stops there loses it", _STREAM
    ),
    "check-done-missing": ApiRule(
        "warning", "there is no [DONE] at the end: OpenCode and openai-python do without", _NOTHING
    ),
    "check-after-done": ApiRule(
        "warning", "{what} comes after [DONE]: openai-python has stopped reading, OpenCode reads on", _STREAM
    ),
    # what is said at the end
    "check-call": ApiRule("info", "{call}: {said}", "The rows that name a rule say what each client does."),
    "check-stream": ApiRule(
        "info", "the {what}: {said}", "The rows that name a rule say what each client does."
    ),
}


def advice_on(code: str) -> str | None:
    """What to do about a breach; None for an unknown code."""
    rule = RULES.get(code)
    return None if rule is None else rule.advice


_LONGEST = 60
_ORDER: tuple[Level, ...] = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Check(Finding):
    """A finding that no transformer makes: it is about the clients of an answer that is not converted."""


class Tally:
    """The breaches of one call, or of all that is not a call: each rule is reported once, then counted."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def is_first(self, code: str) -> bool:
        self.counts[code] += 1
        return self.counts[code] == 1

    @property
    def level(self) -> Level:
        """The worst one."""
        return max((RULES[code].level for code in self.counts), key=_ORDER.index, default="info")

    def __str__(self) -> str:
        if not self.counts:
            return "conforms"
        broken = [f"{code}{f' ({count} times)' if count > 1 else ''}" for code, count in self.counts.items()]
        return f"breaks {', '.join(broken)}"


def make_check(
    code: str,
    event: Event,
    said: Mapping[str, object],
    *,
    choice: int = 0,
    call: int | None = None,
    level: Level | None = None,
) -> Check:
    """`said` fills the rule's sentence in; `level` is another one than the rule's own."""
    rule = RULES[code]
    place = Span(choice, "", 0, 0, event.number)
    message = rule.sentence.format_map(said)
    return Check(event.seq, event.read, event.number, code, level or rule.level, message, place, call)


def short(text: object) -> str:
    """A quoted word as a part of our sentence."""
    said = str(text)
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"


class CallCheck:
    """What is known of a call so far. `number` counts the calls of its choice."""

    __slots__ = ("_arguments", "_choice", "_read", "_setting", "event", "id", "name", "number", "tally")

    def __init__(self, setting: Setting, choice: int, number: int, event: Event) -> None:
        self._setting = setting
        self._choice = choice
        self._arguments = Arguments()
        self._read = False  # the arguments were whole, and were looked at
        self.number = number
        self.event = event  # in which it begins
        self.id = ""
        self.name = ""
        self.tally = Tally()

    def __str__(self) -> str:
        return f"call {self.number + 1} {short(self.name)}".rstrip()

    def breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        """Reported once per call, counted after that."""
        if self.tally.is_first(code):
            said = {"call": self, **said}
            yield make_check(code, event, said, choice=self._choice, call=self.number)

    def begin(self, delta: Mapping[str, Any], event: Event, used: Collection[str]) -> Iterator[Check]:
        """Its first delta. `used` are the ids of the calls before it."""
        function = _object(delta.get("function"))
        self.id, self.name = _text(delta.get("id")), _text(function.get("name"))
        if not self.name:
            yield from self.breach("check-name-missing", event)
        elif self._setting.tools_known and self.name not in self._setting.tools:
            yield from self.breach("check-tool-unknown", event)
        if not self.id:
            yield from self.breach("check-id-missing", event)
        elif self.id in used:
            yield from self.breach("check-id-shared", event, id=short(self.id))
        yield from self._grow(delta, function, event)

    def go_on(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        """A later delta: servers that say id or name again, if empty, do no harm."""
        function = _object(delta.get("function"))
        id, name = _text(delta.get("id")), _text(function.get("name"))
        if id and name and id != self.id and self.id:
            yield from self.breach("check-index-reused", event, name=short(name))
        else:
            if id and self.id:
                yield from self.breach("check-id-repeated", event, joined=short(self.id + id))
            if name and self.name:
                yield from self.breach("check-name-repeated", event, joined=short(self.name + name))
        # A late part is still good for the summary; that it is late was reported.
        self.id, self.name = self.id or id, self.name or name
        yield from self._grow(delta, function, event)

    def _grow(self, delta: Mapping[str, Any], function: Mapping[str, Any], event: Event) -> Iterator[Check]:
        piece = function.get("arguments")
        wrong = _shape(delta.get("id"), delta.get("function"), function.get("name"), piece)
        if wrong:
            yield from self.breach("check-call-shape", event, what=f"{wrong} of {self}")
        if not isinstance(piece, str):
            return
        if self._arguments.whole and piece.strip():
            yield from self.breach("check-arguments-early", event, size=self._arguments.size)
            return
        self._arguments.add(piece)
        if self._arguments.whole and not self._read:
            self._read = True
            yield from self._look_inside(event)

    def _look_inside(self, event: Event) -> Iterator[Check]:
        """The arguments are whole: from here on a client may have run the call."""
        value, tool = self._arguments.value, self._setting.tools.get(self.name)
        if not isinstance(value, dict) or tool is None:
            return
        for parameter, given, wanted in misfits(tool, value):
            code = "check-parameter-type" if given else "check-parameter-missing"
            said = {"parameter": short(parameter), "given": given, "wanted": wanted}
            yield from self.breach(code, event, **said)

    def end(self, event: Event) -> Iterator[Check]:
        """No more of it comes."""
        early = "check-arguments-early" in self.tally.counts
        if not early and (why := self._arguments.problem) is not None:
            yield from self.breach("check-arguments-json", event, why=why)

    def summary(self, cut: bool) -> Check:
        """`cut`: the answer was over before it was whole."""
        inside = cut and not self._arguments.whole
        said = {"call": self, "said": "the answer was cut off inside it" if inside else self.tally}
        level, choice = self.tally.level, self._choice
        return make_check("check-call", self.event, said, choice=choice, call=self.number, level=level)


def _shape(id: object, function: object, name: object, arguments: object) -> str:
    """Which part of a delta has a type that no client takes."""
    if not isinstance(function, Mapping | None):
        return "the function"
    for value, what in ((id, "the id"), (name, "the name"), (arguments, "the arguments")):
        if not isinstance(value, str | None):
            return f"{what} that is not a string"
    return ""


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")
_CUT = ("length", "content_filter")
_SAID = ("content", "reasoning_content", "reasoning", "tool_calls", "refusal")


class ChoiceCheck:
    """`tally` counts what concerns no single call; all choices of an answer share it."""

    __slots__ = ("_by_index", "_ids", "_role", "_setting", "_tally", "calls", "finish", "index", "touched")

    def __init__(self, setting: Setting, index: int, tally: Tally) -> None:
        self._setting = setting
        self.index = index
        self._tally = tally
        self._role = ""
        self._by_index: dict[int, CallCheck] = {}
        self._ids: set[str] = set()
        self.calls: list[CallCheck] = []
        self.finish: str | None = None
        self.touched: int | None = None  # the first call that the delta given last has something of

    def breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        if self._tally.is_first(code):
            yield make_check(code, event, said, choice=self.index)

    def delta(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        """All of it where nothing is converted; otherwise only the calls are upstream's own."""
        self.touched = None
        if self._setting.raw:
            yield from self._order(delta, event)
        calls = delta.get("tool_calls")
        if calls is None:
            return
        if not isinstance(calls, list):
            yield from self.breach("check-call-shape", event, what="tool_calls that are not a list")
            return
        for entry in calls:
            if isinstance(entry, Mapping):
                yield from self._call(entry, event)
            else:
                yield from self.breach("check-call-shape", event, what="a call that is not an object")

    def _order(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        role = delta.get("role")
        if isinstance(role, str) and role:
            if self._role:
                yield from self.breach("check-role-repeated", event, joined=short(self._role + role))
            self._role = self._role or role
        late = next((field for field in _SAID if delta.get(field)), None)
        if self.finish is not None and late is not None:
            yield from self.breach("check-after-finish", event, what=f"more {late}")

    def _call(self, delta: Mapping[str, Any], event: Event) -> Iterator[Check]:
        said = delta.get("index")
        index = said if type(said) is int else None
        call = self._without_index(delta) if index is None else self._by_index.get(index)
        if call is not None:
            yield from call.go_on(delta, event)
        else:
            call = CallCheck(self._setting, self.index, len(self.calls), event)
            self.calls.append(call)
            self._by_index[call.number if index is None else index] = call
            yield from call.begin(delta, event, self._ids)
            if index not in (None, call.number):
                yield from call.breach("check-index-gap", event, index=index, wanted=call.number)
        if index is None:
            yield from call.breach("check-index-missing", event)
        self._ids.add(call.id)
        self.touched = call.number if self.touched is None else self.touched

    def _without_index(self, delta: Mapping[str, Any]) -> CallCheck | None:
        """Which call is meant: a new one has a name, or an id of its own."""
        last = self.calls[-1] if self.calls else None
        function, id = delta.get("function"), delta.get("id")
        named = isinstance(function, Mapping) and bool(function.get("name"))
        known = last is not None and id == last.id
        return last if known or not (named or id) else None

    # -- the end

    def finished(self, said: object, event: Event) -> Iterator[Check]:
        """A finish_reason came."""
        reason = said if isinstance(said, str) else str(type(said).__name__)
        if self.finish is not None:
            if self._setting.raw:
                yield from self.breach("check-finish-repeated", event, said=short(reason))
            return
        self.finish = reason
        for call in self.calls:
            # A call that was cut off is not a mistake.
            if reason not in _CUT:
                yield from call.end(event)
        if self._setting.raw:
            yield from self._reason(reason, event)

    def _reason(self, reason: str, event: Event) -> Iterator[Check]:
        if reason not in REASONS:
            yield from self.breach("check-finish-unknown", event, said=short(reason))
        elif reason == "tool_calls" and not self.calls:
            what = "there is no call: OpenCode asks again and again, without end"
            yield from self.breach("check-finish-untrue", event, said=reason, what=what)
        elif reason == "stop" and self.calls:
            what = "there is a call: a client may end its turn and leave the call without a result"
            yield from self.breach("check-finish-untrue", event, said=reason, what=what)

    def end(self, event: Event) -> Iterator[Check]:
        """The stream is over."""
        if self.finish is None:
            for call in self.calls:
                yield from call.end(event)
            if self._setting.raw:
                yield from self.breach("check-finish-missing", event)

    def summaries(self, cut: bool) -> Iterator[Check]:
        for call in self.calls:
            yield call.summary(cut or self.finish in _CUT)


_SAME = ("id", "model")
_CALLS, _DONE = b"tool_calls", b"[DONE]"


class Native(NamedTuple):
    """What one event says of a choice's calls: the number of the first of them, and their text."""

    call: int
    text: str


class Conformance:
    """Says which rules of real clients an answer breaks, as soon as that is known.

    Where nothing is converted (`setting.raw`) the client gets upstream's events, so all rules count.
    Elsewhere only upstream's own calls reach it as they came. Linear in the answer; whatever upstream
    sends, nothing is raised.
    """

    def __init__(self, setting: Setting, *, streamed: bool = True) -> None:
        self._setting = setting
        self._streamed = streamed
        self._choices: dict[int, ChoiceCheck] = {}
        self._tally = Tally()
        self._last: Event | None = None
        self._same: dict[str, str] = {}
        self._done = False
        self._failed = False  # an error ends the answer: nothing else is expected
        self._natives: dict[int, Native] = {}  # of the event given last, by choice

    # -- events

    def event(self, event: Event) -> list[Check]:
        """What an event breaks."""
        self._natives = {}
        data, before = event.data.removeprefix(BOM_UTF8).strip(), self._last
        self._last = event
        if not self._setting.raw:
            # Until upstream makes a call of its own there is nothing to check.
            return list(self._json(data, event)) if self._choices or _CALLS in data else []
        if before is not None and event.start < before.end:
            self._last = before
            return []  # lines that the transformer took apart; every client reads them as one event
        return list(self._framed(data, event))

    def _framed(self, data: bytes, event: Event) -> Iterator[Check]:
        if self._done:
            what = "[DONE]" if data == _DONE else "an event"
            yield from self._breach("check-after-done", event, what=what)
        elif data == _DONE:
            self._done = True
        elif not data:
            yield from self._breach("check-empty-data", event)
        else:
            yield from self._json(data, event)

    def _breach(self, code: str, event: Event, **said: object) -> Iterator[Check]:
        if self._setting.raw and self._tally.is_first(code):
            yield make_check(code, event, said)

    def _json(self, data: bytes, event: Event) -> Iterator[Check]:
        value, problem = parse_strictly(data)[:2]
        if problem is not None:
            yield from self._breach("check-not-json", event, why=short(problem))
        elif not isinstance(value, dict):
            yield from self._breach("check-event-shape", event, what="JSON that is not an object")
        elif error_in(value, event.name) is not None:
            self._failed = True
        elif not isinstance(value.get("choices"), list):
            yield from self._breach("check-event-shape", event, what="an event without choices")
        else:
            yield from self._metadata(value, event)
            for part in value["choices"]:
                yield from self._part(part, event)

    def _metadata(self, value: Mapping[str, Any], event: Event) -> Iterator[Check]:
        for key in _SAME:
            now = value.get(key)
            # An empty one is a notice of the server's, such as Azure's first event.
            if isinstance(now, str) and now and self._same.setdefault(key, now) != now:
                was = short(self._same[key])
                yield from self._breach(f"check-answer-{key}", event, was=was, now=short(now))

    def _part(self, part: object, event: Event) -> Iterator[Check]:
        if not isinstance(part, Mapping):
            yield from self._breach("check-event-shape", event, what="a choice that is not an object")
            return
        index = part.get("index")
        choice = self._choice(index if type(index) is int else 0)
        delta = part.get("delta") if self._streamed else _as_delta(part.get("message"))
        if isinstance(delta, Mapping):
            yield from choice.delta(delta, event)
            if choice.touched is not None:
                self._natives[choice.index] = Native(choice.touched, _said(delta["tool_calls"]))
        elif delta is not None:
            yield from self._breach("check-event-shape", event, what="a delta that is not an object")
        if part.get("finish_reason"):
            yield from choice.finished(part["finish_reason"], event)

    def _choice(self, index: int) -> ChoiceCheck:
        if index not in self._choices:
            self._choices[index] = ChoiceCheck(self._setting, index, self._tally)
        return self._choices[index]

    def named(self, delta: Delta) -> Delta:
        """The delta; if it passed on one of upstream's own calls unread, with the number and the text of that
        call, as the last event gives them."""
        native = self._natives.get(delta.choice)
        return delta if native is None else replace(delta, call=native.call, text=native.text)

    # -- the end

    def end(self, cut: bool = False) -> list[Check]:
        """The answer is over (`cut`: it was cut off): what is known only now, then a line for each call."""
        return [] if self._last is None else list(self._end(self._last, cut or self._failed))

    def _end(self, last: Event, cut: bool) -> Iterator[Check]:
        choices = [self._choices[index] for index in sorted(self._choices)]
        if not cut:
            for choice in choices:
                yield from choice.end(last)
            if self._streamed and not self._done:
                yield from self._breach("check-done-missing", last)
        for choice in choices:
            yield from choice.summaries(cut)
        if self._setting.raw:
            yield self._summary(last, cut)

    def _summary(self, last: Event, cut: bool) -> Check:
        said = str(self._tally)
        if self._failed:
            said = "ends with an error" + ("" if said == "conforms" else f", {said}")
        elif cut and said == "conforms":
            said = "conforms as far as it goes"
        what = "stream" if self._streamed else "message"
        return make_check("check-stream", last, {"what": what, "said": said}, level=self._tally.level)


def _said(calls: list[Any]) -> str:
    """The names and the arguments in a delta."""
    functions = [call.get("function") for call in calls if isinstance(call, Mapping)]
    words = [
        word
        for function in functions
        if isinstance(function, Mapping)
        for word in (function.get("name"), function.get("arguments"))
    ]
    return " ".join(word for word in words if isinstance(word, str) and word)


def _as_delta(message: object) -> object:
    """A whole message as one delta: its calls have their places instead of an index."""
    if not isinstance(message, Mapping) or not isinstance(message.get("tool_calls"), list):
        return message
    calls = [
        {**call, "index": place} if isinstance(call, Mapping) else call
        for place, call in enumerate(message["tool_calls"])
    ]
    return {**message, "tool_calls": calls}
