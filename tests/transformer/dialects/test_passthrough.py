"""passthrough: every byte goes on as it came, and is looked at all the same."""

from __future__ import annotations

from dataclasses import replace

from tests.support.streams import numbered
from transformer import DIALECTS, Transition
from transformer.answer.choice import Choice
from transformer.answer.setting import make_setting
from transformer.frontends.chat import NoChunks
from transformer.journal import Journal
from transformer.parser.machine import Machine


def test_passthrough_has_a_table_that_works() -> None:
    # The pipeline never asks it: there, bytes go on as they come.
    setting = make_setting(DIALECTS["passthrough"], ids=numbered)
    setting = replace(setting, raw=False, policy=replace(setting.policy, channels=("content",)))
    journal = Journal("all")
    choice = Choice(0, setting, NoChunks(), journal, lambda: 0)
    machine = Machine(setting.dialect, choice, "content")
    machine.feed("a <b>\n")
    machine.finish()
    seen = [record for record in journal.records.items if isinstance(record, Transition)]
    assert [(step.state, step.token, step.to) for step in seen] == [
        ("text", "text", "text"),
        ("text", "end", "done"),
    ]
    assert machine.held == 0
