"""Templates of strangers' tapes: every attack ends with a sentence, in bounded time and memory."""

from __future__ import annotations

import resource

import pytest

from tests.support.streams import tool
from tests.support.tiers import each_row, exhaustive
from transformer import BUILTIN_TEMPLATES, Policy, TemplateFailed
from workbench.rendering import check, converted, sizes

TOOLS = [tool("read", {"path": {"type": "string"}})]
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS}
INJECT = Policy(tools="inject")
DOUBLING = "{% for a in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"
ATTACKS = {
    "nested ranges": "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "doubling": "{% set ns = namespace(x='ab') %}" + DOUBLING,
    "a format": "{{ '%3000000000d' % 1 }}",
    "str.format": "{{ '{:3000000000}'.format(1) }}",
    "center": "{{ 'a'.center(3000000000) }}",
    "ljust": "{{ 'a'.ljust(3000000000) }}",
    "the filter center": "{{ 'a' | center(3000000000) }}",
    "slice": "{{ [1] | slice(2000000000) | list | length }}",
    "recursive macros": "{% macro a(n) %}{{ a(n) }}{{ a(n) }}{% endmacro %}{{ a(1) }}",
    "wordwrap": "{{ ('a ' * 2000000) | wordwrap(1, true, 'x' * 4000000) | length }}",
    "replace": "{{ ('a' * 4000000).replace('a', 'b' * 4000000) }}",
}
QUICK = ("nested ranges", "a format", "recursive macros")  # one for each limit; each costs a second or more


@each_row("attack", ATTACKS if exhaustive() else QUICK)
def test_an_attack_ends_with_a_sentence(attack: str):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    new, findings = converted(BODY, "qwen3-coder", INJECT, ATTACKS[attack])
    told = [finding.message for finding in findings if finding.code == "template-failed"]
    assert len(told) == 1 and "built-in" in told[0], told
    assert "read" in new["messages"][0]["content"], "the built-in template was used"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB: not in this process


def test_a_good_template_does_what_it_says():
    new, findings = converted(BODY, "qwen3-coder", INJECT, "You have {{ tools[0].name }}.")
    assert new["messages"][0]["content"] == "You have read."
    assert [finding.code for finding in findings if finding.level == "error"] == []


@pytest.mark.usefixtures("templates_in_this_process")
def test_how_long_a_prompt_is():
    assert sizes([TOOLS, []], "qwen3-coder", "{{ tools[0].name }}") == [4, None]
    assert check(TOOLS, "qwen3-coder", "abc") == 3


@pytest.mark.usefixtures("templates_in_this_process")
def test_a_mistake_has_its_line():
    with pytest.raises(TemplateFailed) as failure:
        check(TOOLS, "qwen3-coder", "a\n{{ nothing }}")
    assert (failure.value.line, failure.value.reason) == (2, "'nothing' is undefined")


def test_built_in_templates_need_no_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workbench.rendering._asked", None)
    template = BUILTIN_TEMPLATES["qwen3-coder"]
    assert sizes([TOOLS], "qwen3-coder", template) == sizes([TOOLS], "qwen3-coder", None)


def test_what_lies_in_the_folder_is_not_imported(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "jinja2.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    assert check(TOOLS, "qwen3-coder", "only here") == 9
