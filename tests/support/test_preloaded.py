"""A program that is forked behaves as one that is started."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support import preloaded


def test_its_folder_environment_output_and_exit_code_are_its_own(tmp_path: Path):
    (tmp_path / "workbench.toml").write_text("port = 5\n")
    log = tmp_path / "errors"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "WORKBENCH_HEARTBEAT": "7"}
    with log.open("w") as errors:
        good = preloaded.start(["config"], tmp_path, env, errors)
        bad = preloaded.start(["config", "--port", "none"], tmp_path, env, errors)
        for program, code in ((good, 0), (bad, 2)):
            assert program.stdout is not None
            with program.stdout as output:
                told = output.read()
            assert program.wait(20) == program.poll() == code
            assert ("WORKBENCH_HEARTBEAT" in told, "workbench.toml" in told) == (code == 0, code == 0)
    assert "--port" in log.read_text()


def test_it_is_ended_by_signals_and_can_be_waited_for(tmp_path: Path):
    with (tmp_path / "errors").open("w") as errors:
        command = ["serve", "--port", "0", "--upstream", "http://127.0.0.1:9/v1", "--library", str(tmp_path)]
        program = preloaded.start(command, tmp_path, dict(os.environ), errors)
    assert program.stdout is not None
    with program.stdout as output:
        assert "/v1" in output.readline()
        assert program.poll() is None and os.getpgid(program.pid) == os.getpgid(0)
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(0.01)
        program.kill()
        assert program.wait(20) == -signal.SIGKILL
    program.kill()  # nothing happens
