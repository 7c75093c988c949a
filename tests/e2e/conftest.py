"""What the end-to-end tests need besides Python."""

from __future__ import annotations

import os

import pytest

from tests.e2e.opencode import find_opencode


@pytest.fixture(scope="session")
def opencode() -> str:
    """Where the binary of OpenCode is. WORKBENCH_E2E=required makes a missing one a failure."""
    found = find_opencode()
    if found is not None:
        return found
    reason = "opencode is not on PATH (npm install -g opencode-ai) and WORKBENCH_OPENCODE does not name it"
    if os.environ.get("WORKBENCH_E2E") == "required":
        pytest.fail(reason)
    pytest.skip(reason)
