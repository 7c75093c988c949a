"""Faults: what goes wrong with an upstream, and the sentence that tells a person what to do."""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

import orjson

from transformer.answer.events import error_in
from transformer.frontends.errorobjects import as_error
from transformer.jsontext import dumps
from workbench.proxy.http1 import (
    BadFraming,
    BadHead,
    BadUrl,
    ConnectTimeout,
    HungUp,
    Incomplete,
    NotConnected,
)
from workbench.text import json_object

_EXCERPT = 300
# Clients repeat these automatically, and rightly so. Anything else must not be repeated for ever.
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]{0,1000}>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]{0,200}>(.{0,400}?)</title", re.DOTALL | re.IGNORECASE)
_AUTO_REFUSED = re.compile(
    r"tool[ _]choice.{0,40}requires|enable-auto-tool-choice|tool-call-parser", re.DOTALL
)
_MODEL = re.compile("model", re.IGNORECASE)

_ADVICE: Mapping[int, str] = {
    400: "",
    401: "Check the API key: the client's, or the one that api_key_env of this upstream names.",
    403: "Check the API key, and what it may use.",
    404: "Check the upstream's url (does it need a /v1 at its end?) and the model's name.",
    405: "Check the upstream's url: this address does not accept such a request.",
    413: "The request is too long for upstream.",
    422: "Upstream does not accept a field of this request; the tape shows what was sent.",
    429: "Upstream limits how much may be asked; wait a little.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no answer: an HTTP status for the client and an error in OpenAI's shape."""

    status: int
    message: str
    type: str = "upstream_error"
    code: str | int | None = None
    param: Any = None
    more: Mapping[str, Any] | None = None
    permanent: bool = False  # asking again would not help
    answered: int | None = None  # upstream's own status, where it refused the request with one
    original: bytes | None = None  # upstream's own body, where a client understands it
    findings: tuple[tuple[str, str, str], ...] = ()  # (code, level, sentence)
    is_noted: bool = False  # the tape says it already

    @property
    def error(self) -> dict[str, Any]:
        known = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return known | dict(self.more or {})

    @property
    def body(self) -> bytes:
        return dumps({"error": self.error})


class Faulted(Exception):
    """There is no answer from upstream, or no more of it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def idle(name: str, url: str) -> Fault:
    """Upstream has fallen silent."""
    where = f"the upstream {name} ({url})"
    message = f"{where} has sent nothing for too long. Is it stuck? idle_timeout sets how long to wait."
    return Fault(504, message, "upstream_timeout", "idle_timeout")


def overdue(name: str, url: str) -> Fault:
    """Data keeps coming, but not the end."""
    where = f"the upstream {name} ({url})"
    message = f"the answer of {where} takes too long. answer_timeout sets how long one may take in all."
    return Fault(504, message, "upstream_timeout", "answer_timeout")


def of_exception(error: BaseException, name: str, url: str) -> Fault:
    """A fault of the connection to the upstream called `name`."""
    where = f"the upstream {name} ({url})"
    if isinstance(error, ssl.SSLError):
        message = (
            f"no secure connection to {where}: {_tls_reason(error)}. Is it https at all, and is its "
            "certificate one that this machine trusts?"
        )
        return Fault(502, message, "upstream_unreachable", "tls", permanent=True)
    if _errno(error) in (errno.EMFILE, errno.ENFILE):
        message = (
            f"no connection to {where}: this proxy has too many open files: each client, upstream and tape "
            "is one. `ulimit -n` sets how many it may have."
        )
        return Fault(503, message, "upstream_unreachable", "too_many_files")
    if isinstance(error, socket.gaierror):
        message = f"{where} has a host name that cannot be found. Check its url."
        return Fault(502, message, "upstream_unreachable", "dns", permanent=True)
    if isinstance(error, NotConnected):
        message = (
            f"no connection to {where}: {_reason(error)}. Is the model server running, and on this port?"
        )
        return Fault(502, message, "upstream_unreachable", "refused")
    if isinstance(error, ConnectTimeout):
        message = f"no connection to {where} in time. Is the address right, and the machine up?"
        return Fault(504, message, "upstream_timeout", "connect_timeout")
    if isinstance(error, TimeoutError):
        return idle(name, url)
    if isinstance(error, BadUrl):
        return Fault(502, f"{where} has no usable url.", "upstream_unreachable", "url", permanent=True)
    if isinstance(error, BadFraming | BadHead):
        when = "in the middle of its answer" if isinstance(error, BadFraming) else "at the head of its answer"
        message = (
            f"{where} sent something that is not HTTP, {when}. Is it an HTTP server, or a broken gateway?"
        )
        return Fault(502, message, "upstream_broke", "framing")
    message = f"the connection to {where} broke: {_reason(error)}. Its log may say why."
    return Fault(502, message, "upstream_broke", "broken")


def was_closed(error: BaseException) -> bool:
    """Whether upstream hung up, on a connection that had been used before, without having said anything."""
    return isinstance(error, HungUp) and error.reused and not error.began


def _errno(error: BaseException) -> int | None:
    inner = _cause(error)
    return inner.errno if isinstance(inner, OSError) else None


def _cause(error: BaseException) -> BaseException:
    """The operating system's message, if there is one."""
    inner = error.error if isinstance(error, NotConnected | HungUp) else None
    return error if inner is None else inner


def _reason(error: BaseException) -> str:
    """In our words."""
    if isinstance(error, Incomplete):
        return "the answer ends in the middle"
    number = _errno(error)
    if number:
        return os.strerror(number)
    if isinstance(error, HungUp):
        return "upstream closed it without an answer"
    if isinstance(_cause(error), ConnectionError):
        return "upstream closed it"
    return "an unknown error"


def _tls_reason(error: ssl.SSLError) -> str:
    """What is wrong with the certificate or the handshake, without OpenSSL's decoration."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else "the handshake failed"


def of_answer(status: int, body: bytes, name: str, *, why: str = "") -> Fault:
    """A fault that upstream reports: by its status, or in a body where an answer was expected.

    `why` says what is wrong with a body that came with a status of success.
    """
    told = _reported(body)
    if told is not None:
        fault = _as_told(status, as_error(told, "upstream_error"))
    else:
        said = readable(body).removesuffix(".")
        what = why or f"answered with status {status}"
        message = f"the upstream {name} {what}" + (f": {said}." if said else ".")
        fault = Fault(status, message, permanent=status not in _PASSING)
    advice = _ADVICE.get(status, "" if status < 500 else "Its log may say more.")
    if advice and told is None:
        fault = replace(fault, message=f"{fault.message} {advice}")
    return _with_switch(fault, name) if status < 500 else fault


def refused(status: int, body: bytes, name: str) -> Fault:
    """A fault that upstream reports by its status; a client gets upstream's own words where it reads them."""
    fault = replace(of_answer(status, body, name), answered=status)
    value = json_object(body)
    return fault if value is None or _reported(body) is None else replace(fault, original=body)


def is_about_model(fault: Fault) -> bool:
    """Whether it speaks of the model: then the address may well be known there, and the model is not."""
    return _MODEL.search(fault.message) is not None


def _as_told(status: int, error: dict[str, Any]) -> Fault:
    known = {key: error.pop(key) for key in ("message", "type", "param", "code")}
    permanent = status not in _PASSING or _is_permanent(known["code"])
    # A client takes this type for "try again", whatever the status.
    kind = "upstream_error" if permanent and known["type"] == "server_error" else known["type"]
    code = known["code"] if isinstance(known["code"], str | int | None) else None
    return Fault(status, known["message"], kind, code, known["param"], error, permanent)


def _is_permanent(code: object) -> bool:
    return type(code) is int and 400 <= code < 500 and code not in _PASSING


def _with_switch(fault: Fault, name: str) -> Fault:
    """vLLM and SGLang refuse a tool choice unless they were started with a switch for it."""
    if not _AUTO_REFUSED.search(fault.message):
        return fault
    advice = (
        'the server refuses the tool choice it was sent; template_tool_choice = "none" (or "auto", or policy '
        f"tools = inject) for the upstream {name} keeps its own parser out of the way"
    )
    found = (("tool-choice-refused", "error", advice),)
    return replace(fault, message=f"{fault.message} (workbench: {advice})", findings=found)


def _reported(body: bytes) -> Any:
    """The error in a JSON body, in any of the shapes that servers have for it."""
    text = body.lstrip()
    if text.startswith(b"data:"):  # an error that is written as an event
        text = text.removeprefix(b"data:").partition(b"\n")[0]
    value = json_object(text)
    if value is None:
        return None
    error = error_in(value)
    if error is not None:
        return error
    return (
        value
        if any(isinstance(value.get(key), str) for key in ("message", "detail", "msg"))
        else _listed(value)
    )


def _listed(value: Mapping[str, Any]) -> Any:
    """FastAPI's list of what is wrong with a request."""
    return {"message": orjson.dumps(value["detail"]).decode()} if value.get("detail") else None


def readable(body: bytes) -> str:
    """What a person can read of a page or a text, in one short line."""
    text = body[:20_000].decode("utf-8", "replace")
    if "<" in text[:200]:
        title = _TITLE.search(text)
        text = unescape(title[1] if title else _TAG.sub(" ", text))
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "…"
