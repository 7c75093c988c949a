"""Rules that find credentials in text by what they look like, or by the name that stands before them.

A rule works on text and on bytes alike, and is made for what comes in parts: what it finds in the first part
it also finds in the whole, `opening` says whether more could still complete it, `run` how what was found goes
on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import AnyStr, Generic, NamedTuple, TypeAlias

from workbench.recording.secretshapes import SHAPES


class Rule(NamedTuple, Generic[AnyStr]):
    """`pattern` is tried where `letters` stand. Its group `secret` is what is masked; its group `name`, where
    there is one, has to be that of a secret."""

    letters: AnyStr
    pattern: re.Pattern[AnyStr]
    opening: re.Pattern[AnyStr]
    run: re.Pattern[AnyStr] | None
    named: Callable[[str], bool] | None
    sure: bool  # what begins like this is a credential, however it goes on
    included: bool  # the letters are a part of the credential and do not only stand before it


class Form(NamedTuple):
    """A rule as it is written down."""

    letters: str
    pattern: str
    opening: str
    run: str | None
    named: str = ""  # which names count: those of parameters or of members
    sure: bool = False

    @property
    def included(self) -> bool:
        return f"(?P<secret>{self.letters}" in self.pattern.replace("\\", "")


_SPACE = r"(?:\s|\\[nrt]){0,20}"
_IN_TAGS = r"[^<>\\\s]"
_IN_TAGS_IN_JSON = r'[^<>\\\s"]'
_BEFORE = r"(?:(?<![\w-])|(?<=\\[nrt]))"  # where a word begins, also after the escape of a line break
_TOKEN = r"[\w.~+/=-]"
_BASE64 = r"[\w+/=-]"
_VALUE = r"[^?&#;\s\"'<>\\)*,]"  # of a parameter inside a longer text

FORMS = (
    # Letters in short runs are words: `sk-learn-pipeline-utilities`, `basic implementation/interface`.
    Form(
        "sk-",
        rf"{_BEFORE}(?P<secret>sk-(?=[\w-]{{0,200}}\d|[\w-]{{0,200}}\w{{16}})[\w-]{{16,}})",
        rf"{_BEFORE}sk-[\w-]{{0,216}}\Z",
        r"[\w-]*",
    ),
    Form(
        "earer ",
        rf"earer {{1,20}}(?P<secret>(?={_TOKEN}{{0,15}}\d){_TOKEN}{{8,}}|{_TOKEN}{{16,}})",
        rf"earer {{1,20}}{_TOKEN}{{0,15}}\Z",
        rf"{_TOKEN}*",
    ),
    Form(
        "asic ",
        rf"asic {{1,20}}(?P<secret>(?={_BASE64}{{0,200}}[\d=]){_BASE64}{{12,}}"
        rf"|(?={_BASE64}{{0,200}}[a-z][A-Z]){_BASE64}{{20,}})",
        rf"asic {{1,20}}{_BASE64}{{0,202}}\Z",
        rf"{_BASE64}*",
    ),
    Form(
        "eyJ",
        _BEFORE + r"(?P<secret>eyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{8,})",
        _BEFORE + r"eyJ[\w-]{0,2000}(?:\.(?:e(?:y(?:J[\w-]{0,4000}(?:\.[\w-]{0,7})?)?)?)?)?\Z",
        r"[\w-]*",
    ),
    Form(
        "-----BEGIN ",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?P<secret>[\w\s+/=\\]{16,})",
        r"-----BEGIN [A-Z -]{0,62}[\w\s+/=\\]{0,15}\Z",
        r"[\w\s+/=\\]*",
    ),
    Form(
        "://",
        r"://[^\s/?#@:\"'<>\\]{0,200}:(?P<secret>[^\s/?#@\"'<>\\]{1,200})@",
        r"://[^\s/?#@\"'<>\\]{0,401}\Z",
        None,
    ),
    *(
        Form(
            sign,
            rf"[{sign}](?P<name>[\w.%-]{{1,100}})=(?P<secret>{_VALUE}+)",
            rf"[{sign}][\w.%-]{{0,100}}=?\Z",
            rf"{_VALUE}*",
            "parameter",
        )
        for sign in "?&"
    ),
    # A member of JSON, also of JSON inside a string, where the quotes have backslashes before them.
    Form(
        '"',
        r'"(?P<name>[\w.-]{1,100})\\{0,8}"\s{0,20}:\s{0,20}\\{0,8}"(?P<secret>[^"\\]+)',
        r'"(?P<name>[\w.-]{0,100})(?P<closed>\\{0,8}"\s{0,20}(?::\s{0,20}\\{0,8}"?)?|\\{0,8})\Z',
        r'[^"\\]*',
        "member",
    ),
    # The same as models write it that speak in tags.
    Form(
        "<",
        rf"<(?:parameter=)?(?P<name>[\w.-]{{1,100}})>{_SPACE}(?P<secret>{_IN_TAGS}+)",
        rf"<(?:parameter=)?(?P<name>[\w.-]{{0,100}})(?P<closed>>{_SPACE}\\?)?\Z",
        rf"{_IN_TAGS}*",
        "member",
    ),
    *(
        Form(
            shape.letters,
            rf"{_BEFORE}(?P<secret>{re.escape(shape.letters)}{shape.body}{{{shape.shortest},}})",
            rf"{_BEFORE}{re.escape(shape.letters)}{shape.body}{{0,{shape.shortest}}}\Z",
            rf"{shape.body}*",
            sure=True,
        )
        for shape in SHAPES
    ),
)


Named: TypeAlias = Mapping[str, Callable[[str], bool]]


def rules_for_text(named: Named) -> tuple[Rule[str], ...]:
    def made(form: Form) -> Rule[str]:
        run = _text(form.run) if form.run else None
        known = named.get(form.named)
        return Rule(
            form.letters, _text(form.pattern), _text(form.opening), run, known, form.sure, form.included
        )

    return tuple(map(made, FORMS))


def rules_for_bytes(named: Named) -> tuple[Rule[bytes], ...]:
    def made(form: Form) -> Rule[bytes]:
        run = _bytes(form.run) if form.run else None
        known = named.get(form.named)
        letters, pattern, opening = form.letters.encode(), _bytes(form.pattern), _bytes(form.opening)
        return Rule(letters, pattern, opening, run, known, form.sure, form.included)

    return tuple(map(made, FORMS))


def _text(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.ASCII)


def _bytes(expression: str) -> re.Pattern[bytes]:
    """In the bytes of an answer a bare quote is the end of the text, and not a part of the value."""
    return re.compile(expression.replace(_IN_TAGS, _IN_TAGS_IN_JSON).encode())


def places(text: AnyStr, letters: AnyStr, start: int = 0) -> Iterator[int]:
    """Where the letters stand."""
    at = text.find(letters, max(0, start))
    while at >= 0:
        yield at
        at = text.find(letters, at + 1)


def accepts(rule: Rule[AnyStr], name: AnyStr) -> bool:
    if rule.named is None:
        return True
    return rule.named(name if isinstance(name, str) else name.decode("latin-1"))
