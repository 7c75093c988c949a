"""One proxy for all tests of a module, and one that waits for nothing for long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.bench import HASTY, PATIENT, Bench, running_bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("bench"), toml=PATIENT) as bench:
        yield bench


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with running_bench(tmp_path_factory.mktemp("hasty"), toml=HASTY) as bench:
        yield bench
