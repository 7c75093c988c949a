"""The scenes of the demo: every dialect, with what goes well and what goes wrong."""

from __future__ import annotations

from functools import partial

from workbench.demo.answer import Call, Silence, Thought, cut, failure, played, said, whole
from workbench.demo.scene import Scene

ROO, CODER, KIMI, NATIVE = "qwen3-max", "qwen3-coder-30b", "kimi-k2.5", "glm-4.6"
roo, coder, kimi, native = (partial(said, model=model) for model in (ROO, CODER, KIMI, NATIVE))

_LONG = "\n".join(
    ["import pytest", "", "from src.main import count", ""]
    + [
        f"\n\ndef test_count_of_{number}_lines(tmp_path):\n"
        f'    file = tmp_path / "a.txt"\n    file.write_text("x\\n" * {number})\n'
        f"    assert count(str(file)) == {number}"
        for number in (0, 1, 2, 10, 100)
    ]
)

# Three rows of scenes; the rows are played at the same time, so that sessions overlap.
ROWS: tuple[tuple[Scene, ...], ...] = (
    (
        Scene(
            ROO,
            "Why does `tally` crash on an empty file?",
            (
                played("roo-xml/good-read"),
                roo(
                    "The code looks fine. Let me run it on an empty file.\n\n<execute_command>\n"
                    "<command>touch e && python src/main.py e</command>\n<timeout>10</timeout>\n"
                    "</execute_command>"
                ),
                roo("It does not crash: an empty file has 0 lines, and `0 e` is printed."),
            ),
            results={"execute_command": "0 e"},
            title=roo("Empty file in tally"),
        ),
        Scene(
            ROO,
            "Show me what src/main.py does.",
            (played("roo-xml/unclosed-parameter"),),
            title=roo("What main.py does"),
        ),
        Scene(
            ROO,
            "Write tests for count(), for files of several sizes.",
            (
                roo(
                    Thought("The user wants tests. I need several sizes: none, one, many. "),
                    Silence(6),
                    Thought("One file with five tests is enough. pytest's tmp_path gives me a folder. "),
                    "I write them in one go.\n\n<write_to_file>\n<path>tests/test_count.py</path>\n"
                    f"<content>\n{_LONG}\n</content>\n</write_to_file>",
                    pace=0.03,
                ),
                roo(
                    "<execute_command>\n<command>pytest -q tests/test_count.py</command>\n</execute_command>"
                ),
                roo("Five tests, all of them pass."),
            ),
            results={"execute_command": "5 passed in 0.06s"},
            title=roo("Tests for count"),
        ),
        Scene(ROO, "Rewrite the README with a table of options.", (played("roo-xml/cut-by-length"),)),
        Scene(ROO, "Read all the modules at once.", (played("roo-xml/several-calls"), roo("That was one."))),
        Scene(ROO, "Is there a licence file?", (played("roo-xml/broke-inside-call"),)),
        Scene(
            ROO,
            "What is in src, without a stream, please?",
            (
                whole("I look.\n\n<list_files>\n<path>src</path>\n</list_files>", ROO),
                whole("One file: `main.py`.", ROO),
            ),
            stream=False,
        ),
        Scene(ROO, "Think about the name of the project.", (played("roo-xml/call-in-reasoning"),)),
    ),
    (
        Scene(
            CODER,
            "What is this project, in one sentence?",
            (
                played("qwen3-coder/good-thinks-first"),
                played("qwen3-coder/good-two-calls"),
                coder("A command that counts the lines of files, with three tests."),
            ),
            title=coder("What the project is"),
        ),
        Scene(
            CODER,
            "Open src/main.py, please.",
            (played("qwen3-coder/missing-opener"), coder("It counts the lines of files.")),
        ),
        Scene(CODER, "Run the linter.", (played("qwen3-coder/broken-parameter-tag"),)),
        Scene(CODER, "List the branches.", (played("qwen3-coder/other-dialect"),)),
        Scene(
            CODER,
            "Say hello in Chinese, from the shell.",
            (
                played("qwen3-coder/good-unicode-escapes"),
                cut(coder("It said 你好 🦀, as it should."), 7, 31, 11),
            ),
            results={"bash": "你好 🦀"},
        ),
        Scene(CODER, "Explain the whole project to me, slowly.", (coder(_LONG, pace=0.08),), leaves=4.0),
        Scene(CODER, "Write the changelog.", (played("qwen3-coder/cut-by-length"),)),
    ),
    (
        Scene(
            KIMI,
            "Do the tests pass?",
            (
                played("kimi-k2/good-two-calls"),
                kimi(
                    Thought("One of the two tools failed, so I try another way. "),
                    "<|tool_calls_section_begin|><|tool_call_begin|>functions.bash:9"
                    '<|tool_call_argument_begin|>{"command": "python -m pytest -q"}<|tool_call_end|>'
                    "<|tool_calls_section_end|>",
                ),
                kimi("They pass, all three of them."),
            ),
            results={"read_file": "Error: ENOENT: no such file or directory, open 'README'"},
            title=kimi("Test run"),
        ),
        Scene(
            NATIVE,
            "Read main.py with the server's own parser.",
            (
                native(
                    "I read it.",
                    Call("call_demo_1", "read_file", '{"path": "src/main.py"}'),
                    finish="tool_calls",
                ),
                native("It counts lines."),
            ),
        ),
        Scene(KIMI, "Where am I?", (played("kimi-k2/call-in-reasoning"), kimi("In the project's folder."))),
        Scene(
            KIMI,
            "Print a long listing.",
            (played("kimi-k2/truncated-arguments"), kimi("It is too long for me.")),
        ),
        Scene(NATIVE, "Ask the model that has no parser.", (played("passthrough/tools-but-passthrough"),)),
        Scene(
            NATIVE,
            "Ask once more, quickly.",
            (failure(429, "Too many requests; try again in 20 seconds.", "rate_limit_exceeded"),),
        ),
        Scene(
            KIMI,
            "Count the files by hand.",
            (cut(played("kimi-k2/tokens-in-pieces"), 23, 61, 9, 140), kimi("There are four.")),
            results={"bash": "bash: line 1: fd: command not found"},
        ),
    ),
)
SCENES = tuple(scene for row in ROWS for scene in row)
