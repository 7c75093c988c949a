"""The sentences for faults of a connection: our own words, never those of the HTTP library."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import ssl

from tests.support.tiers import each_row
from workbench.proxy.faults import of_exception
from workbench.proxy.http1 import (
    BadFraming,
    BadHead,
    BadUrl,
    ConnectTimeout,
    HttpError,
    HungUp,
    Incomplete,
    NotConnected,
)

CERTIFICATE = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] failed (_ssl.c:1006)")
CERTIFICATE.verify_message = "self-signed certificate"
HANDSHAKE = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")

FAULTS = [
    (CERTIFICATE, "tls", "self-signed certificate"),
    (HANDSHAKE, "tls", "Is it https at all"),
    (NotConnected(OSError(errno.EMFILE, "Too many open files")), "too_many_files",
     "too many open files"),
    (OSError(errno.ENFILE, "Too many open files in system"), "too_many_files", "`ulimit -n`"),
    (NotConnected(ConnectionRefusedError(errno.ECONNREFUSED, "x")), "refused",
     "Connection refused"),
    (socket.gaierror(-2, "Name or service not known"), "dns", "host name"),
    (ConnectTimeout("Connection timeout to host"), "connect_timeout", "in time"),
    (TimeoutError("Timeout on reading data"), "idle_timeout", "nothing for too long"),
    (BadUrl("::"), "url", "no usable url"),
    (BadHead("Bad status line 'garbage'"), "framing", "not HTTP, at the head"),
    (BadFraming("400, message: Bad chunk"), "framing", "not HTTP, in the middle"),
    (HungUp(), "broken", "without an answer"),
    (Incomplete("400, message: Not enough data"), "broken", "in the middle"),
    (HungUp(ConnectionResetError(errno.ECONNRESET, "Cannot write")), "broken", "reset by peer"),
    (ConnectionResetError("Cannot write to closing transport"), "broken", "closed it"),
    (HttpError("Bad status line, message: odd"), "broken", "an unknown error"),
    (asyncio.IncompleteReadError(b"", 5), "broken", "an unknown error"),
]  # fmt: skip
RAW = re.compile(
    r"message:|Bad status|Bad chunk|ssl:|_ssl\.c|Cannot|[A-Za-z]+(Error|Exception)\b|errno|0x[0-9a-f]|<\w"
)


@each_row(("error", "code", "said"), FAULTS, ids=[type(row[0]).__name__ for row in FAULTS])
def test_a_fault_is_told_in_our_own_words(error: Exception, code: str, said: str):
    fault = of_exception(error, "default", "http://localhost:8000/v1")
    assert fault.code == code and said in fault.message
    assert RAW.search(fault.message) is None, fault.message
    assert 500 <= fault.status < 600
