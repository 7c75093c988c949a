"""A short run of the grammar fuzz, always the same; the long one is `python -m benchmarks fuzz`."""

from __future__ import annotations

import subprocess
import sys

from tests.support.project import ROOT
from tests.support.tiers import exhaustive


def test_answers_that_no_model_should_write():
    count = "6000" if exhaustive() else "60"
    fuzz = [sys.executable, "-m", "benchmarks", "fuzz"]
    command = [*fuzz, "--seed", "1", "--answers", count, "--seconds", "300"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=400)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert f"{count} answers, 0 failures" in run.stdout
