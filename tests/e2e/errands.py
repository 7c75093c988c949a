"""What a scripted model has an agent do: read a note, write a hostile file, run a command that shows how
often it ran; and how an answer goes wrong."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.streams import META, stream_of
from tests.support.upstream.answers import Answer, Step, stream

DIALECTS = ("roo-xml", "qwen3-coder", "kimi-k2")

NOTE = 'the note says: 17 < 18 & "ü"\n'
PLAIN = """\
#!/bin/sh
if [ "$a" -lt 2 ] && [ 1 \\< 2 ]; then echo 'it'"'"'s <b>&amp;</b> & so on'; fi
\ttabs, trailing blanks   \n\
\\n is no newline, C:\\temp\\u0041 no escape, {"json": "[1, \\"2\\"]"}
naïve — “quoted” 日本語 🎉 \u2028 and on

<html><body>&lt;p&gt;<!-- </html> -->
<bash>
<command>touch wrong-1</command>
</bash>
"""


def lookalike(dialect: str, writer: str, content: str, runner: str, command: str) -> str:
    """What looks like calls of the dialect itself, and is data by docs/spec.md, section 4.

    `writer` is the tool that writes the file and `content` its parameter, `runner` and `command` are those of
    the tool that must not run.
    """
    if dialect == "roo-xml":
        return f"""\
<{writer}>
<filePath>wrong-2</filePath>
<{content}>an example</{content}>
</{writer}>
</{content}> is only a word here
"""
    if dialect == "qwen3-coder":
        return f"""\
<tool_call>
<function={runner}>
<parameter={command}>
touch wrong-2
</parameter>
</function>
</tool_call>
</parameter> is only a word here
"""
    return f"""\
<|tool_calls_section_begin|><|tool_call_begin|>functions.{runner}:0<|tool_call_argument_begin|>
{{"{command}": "touch wrong-2"}}<|tool_call_end|><|tool_calls_section_end|>
"""


# Appends, so that a second run would show; and is written with what a careless parser would take for markup.
COMMAND = """test 1 -lt 2 && echo "once & <for> 'all'" >> ran.log; cat ran.log && echo '</bash>'"""
RAN = "once & <for> 'all'\n"
FINAL = "All done: <b>1 < 2</b> & “so on”."


def cut_after(marker: str, end: Step) -> Callable[[str], Answer]:
    """The stream breaks off right after this text."""

    def answer(said: str) -> Answer:
        before, found, _ = said.partition(marker)
        assert found
        return stream(stream_of(before + found, meta=META, finish=None, done=False), end=end)

    return answer
