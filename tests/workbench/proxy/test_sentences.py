"""The sentences for faults of a connection: our own words, never those of the HTTP library."""

from __future__ import annotations

import asyncio
import errno
import re
import ssl

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from workbench.proxy.faults import BadFraming, of_exception

KEY = ConnectionKey("localhost", 8000, False, True, None, None, None)
CERTIFICATE = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] failed (_ssl.c:1006)")
CERTIFICATE.verify_message = "self-signed certificate"
HANDSHAKE = ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")
REQUEST = aiohttp.RequestInfo(None, "POST", None, None)  # type: ignore[arg-type]
BAD = aiohttp.ClientResponseError(REQUEST, (), status=400, message="Bad status line 'garbage'")

FAULTS = [
    (aiohttp.ClientConnectorCertificateError(KEY, CERTIFICATE), "tls", "self-signed certificate"),
    (aiohttp.ClientConnectorSSLError(KEY, HANDSHAKE), "tls", "Is it https at all"),
    (aiohttp.ClientConnectorError(KEY, OSError(errno.EMFILE, "Too many open files")), "too_many_files",
     "too many open files"),
    (OSError(errno.ENFILE, "Too many open files in system"), "too_many_files", "`ulimit -n`"),
    (aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(errno.ECONNREFUSED, "x")), "refused",
     "Connection refused"),
    (aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "Name or service not known")), "dns", "host name"),
    (aiohttp.ConnectionTimeoutError("Connection timeout to host"), "connect_timeout", "in time"),
    (aiohttp.SocketTimeoutError("Timeout on reading data"), "idle_timeout", "nothing for too long"),
    (aiohttp.InvalidURL("::"), "url", "no usable url"),
    (BAD, "framing", "not HTTP, at the head"),
    (BadFraming("400, message: Bad chunk"), "framing", "not HTTP, in the middle"),
    (aiohttp.ServerDisconnectedError(), "broken", "without an answer"),
    (aiohttp.ClientPayloadError("400, message: Not enough data"), "broken", "in the middle"),
    (aiohttp.ClientOSError(errno.ECONNRESET, "Cannot write to closing transport"), "broken", "reset by peer"),
    (aiohttp.ClientConnectionResetError("Cannot write to closing transport"), "broken", "closed it"),
    (aiohttp.ClientError("Bad status line, message: odd"), "broken", "has no name here"),
    (asyncio.IncompleteReadError(b"", 5), "broken", "has no name here"),
]  # fmt: skip
RAW = re.compile(
    r"message:|Bad status|Bad chunk|ssl:|_ssl\.c|Cannot|[A-Za-z]+(Error|Exception)\b|errno|0x[0-9a-f]|<\w"
)


@pytest.mark.parametrize(("error", "code", "said"), FAULTS, ids=[type(row[0]).__name__ for row in FAULTS])
def test_a_fault_is_told_in_our_own_words(error: Exception, code: str, said: str):
    fault = of_exception(error, "default", "http://localhost:8000/v1")
    assert fault.code == code and said in fault.message
    assert RAW.search(fault.message) is None, fault.message
    assert 500 <= fault.status < 600
