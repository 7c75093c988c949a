"""One proxy for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.bench import Bench, running_bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("bench")) as bench:
        yield bench
