"""HTTP clients for servers on this machine: plain HTTP, and not through a proxy of the network.

By default each client reads all certificates of the system, which takes 40 ms of CPU time.
"""

from __future__ import annotations

import ssl
from contextlib import AbstractContextManager
from typing import Any

import httpx

NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def client(base_url: str = "", timeout: float = 30) -> httpx.Client:
    return httpx.Client(base_url=base_url, timeout=timeout, trust_env=False, verify=NO_CERTIFICATES)


def request(method: str, url: str, timeout: float = 30, **more: Any) -> httpx.Response:
    """One, over a connection of its own."""
    return httpx.request(method, url, timeout=timeout, trust_env=False, verify=NO_CERTIFICATES, **more)


def get(url: str, **more: Any) -> httpx.Response:
    return request("GET", url, **more)


def post(url: str, **more: Any) -> httpx.Response:
    return request("POST", url, **more)


def stream(method: str, url: str, **more: Any) -> AbstractContextManager[httpx.Response]:
    """One whose answer is still coming."""
    return httpx.stream(method, url, trust_env=False, verify=NO_CERTIFICATES, **more)
