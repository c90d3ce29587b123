"""SIGTERM ends a program, but not before what it has just made is known to who removes it."""

from __future__ import annotations

import signal
import subprocess
import sys

ENDED = 128 + signal.SIGTERM


def run(program: str) -> tuple[int, str]:
    begin = "import os, signal\nfrom lakerace_bench import termination\ntermination.raises()\n"
    end = "def ask(): os.kill(os.getpid(), signal.SIGTERM)\n"
    command = [sys.executable, "-c", begin + end + program]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def test_it_ends_the_program_and_its_blocks() -> None:
    assert run("try:\n    ask()\n    print('not here')\nfinally:\n    print('removed')") == (ENDED, "removed\n")


def test_it_waits_until_what_was_made_is_known() -> None:
    making = "made = None\ntry:\n    with termination.held():\n        ask()\n        made = 'a folder'\n    print('not here')\n"
    assert run(making + "finally:\n    print(made)") == (ENDED, "a folder\n")


def test_it_waits_for_the_outermost_block() -> None:
    inner = "with termination.held():\n    with termination.held():\n        ask()\n    print('still here')\nprint('not here')"
    assert run(inner) == (ENDED, "still here\n")


def test_an_error_of_the_block_gives_way() -> None:
    assert run("with termination.held():\n    ask()\n    raise ValueError('lost')") == (ENDED, "")


def test_nobody_who_did_not_ask_is_ended() -> None:
    assert run("with termination.held():\n    pass\nprint('on')") == (0, "on\n")
