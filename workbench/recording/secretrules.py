"""Rules that find credentials in text by what they look like, or by the name before them.

A rule works on text and on bytes alike, and is made for input that comes in parts: a match in the first part
is also one in the whole, `opening` says whether more input could complete a match, `run` how a match goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import AnyStr, Generic, NamedTuple, TypeAlias

# -- what credentials look like, by provider

_WORD = r"[A-Za-z0-9]"
_NAME = r"[\w-]"
_HEX = r"[A-Fa-f0-9]"


class Shape(NamedTuple):
    """Keys of one kind. `body` is a class of characters, as regular expressions write it; all is ASCII."""

    provider: str
    letters: str
    body: str
    shortest: int


# The beginning that a provider gives its keys, the characters that follow, and how many there are at least.
# The facts are those that secret scanners publish (gitleaks' config/gitleaks.toml, the plugins of
# detect-secrets, GitHub's list of token formats). A length is the shortest that is known, or less where the
# beginning is so unusual that a shorter text cannot be anything else: a key that was cut off is still most of
# a key.
SHAPES = (
    *(Shape("GitHub", f"gh{letter}_", r"\w", 30) for letter in "oprsu"),
    Shape("GitHub, fine-grained", "github_pat_", r"\w", 20),
    Shape("GitLab", "glpat-", r"[\w.-]", 16),
    Shape("GitLab, deploy", "gldt-", _NAME, 20),
    Shape("GitLab, runner", "glrt-", r"[\w.-]", 20),
    Shape("GitLab, job", "glcbt-", _NAME, 20),
    Shape("GitLab, trigger", "glptt-", _HEX, 40),
    Shape("Hugging Face", "hf_", r"\w", 20),
    Shape("Hugging Face, organization", "api_org_", _WORD, 30),
    Shape("Groq", "gsk_", r"\w", 20),
    Shape("xAI", "xai-", _WORD, 40),
    Shape("Perplexity", "pplx-", _WORD, 40),
    Shape("Replicate", "r8_", _WORD, 35),
    Shape("Fireworks", "fw_", _WORD, 20),
    Shape("NVIDIA", "nvapi-", _NAME, 40),
    Shape("LangSmith", "lsv2_", r"\w", 30),
    Shape("Tavily", "tvly-", _NAME, 20),
    *(Shape("Slack", f"xox{letter}-", _NAME, 10) for letter in "abeoprs"),
    Shape("Slack, app", "xapp-", _NAME, 20),
    *(Shape("AWS", letters, "[A-Z0-9]", 16) for letters in ("AKIA", "ASIA", "ABIA", "ACCA")),
    Shape("AWS Bedrock", "ABSK", "[A-Za-z0-9+/=]", 100),
    Shape("Google", "AIza", _NAME, 35),
    Shape("Google, client secret", "GOCSPX-", _NAME, 28),
    Shape("Google, OAuth", "ya29.", _NAME, 30),
    Shape("Alibaba Cloud", "LTAI", _WORD, 16),
    *(Shape("Stripe", f"sk_{mode}_", _WORD, 10) for mode in ("test", "live", "prod")),
    *(Shape("Stripe, restricted", f"rk_{mode}_", _WORD, 10) for mode in ("test", "live", "prod")),
    Shape("npm", "npm_", _WORD, 36),
    Shape("PyPI", "pypi-AgE", _NAME, 50),
    Shape("RubyGems", "rubygems_", _HEX, 48),
    Shape("SendGrid", "SG.", r"[\w.=-]", 60),
    Shape("Databricks", "dapi", "[a-f0-9]", 32),
    *(Shape("DigitalOcean", f"do{letter}_v1_", _HEX, 60) for letter in "opr"),
    Shape("HashiCorp Vault", "hvs.", _NAME, 60),
    Shape("Linear", "lin_api_", _WORD, 40),
    Shape("Notion", "ntn_", _WORD, 40),
    Shape("Postman", "PMAK-", r"[A-Fa-f0-9-]", 58),
    Shape("Pulumi", "pul-", _HEX, 40),
    Shape("Sentry", "sntryu_", _HEX, 60),
    *(Shape("Shopify", f"shp{kind}_", _HEX, 32) for kind in ("at", "ca", "pa", "ss")),
    Shape("Grafana", "glsa_", r"\w", 40),
    Shape("age", "AGE-SECRET-KEY-1", "[A-Z0-9]", 58),
)  # fmt: skip

# -- the rules


class Rule(NamedTuple, Generic[AnyStr]):
    """`pattern` is tried where `letters` occur. Its group `secret` is what is masked; its group `name`, where
    there is one, has to be that of a secret."""

    letters: AnyStr
    pattern: re.Pattern[AnyStr]
    opening: re.Pattern[AnyStr]
    run: re.Pattern[AnyStr] | None
    named: Callable[[str], bool] | None
    sure: bool  # a text that begins like this is a credential, however it goes on
    included: bool  # the letters are a part of the credential and do not only precede it


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
    # The same as written by models that use tags.
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
    """Where the letters occur."""
    at = text.find(letters, max(0, start))
    while at >= 0:
        yield at
        at = text.find(letters, at + 1)


def accepts(rule: Rule[AnyStr], name: AnyStr) -> bool:
    if rule.named is None:
        return True
    return rule.named(name if isinstance(name, str) else name.decode("latin-1"))
