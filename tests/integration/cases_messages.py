"""The help of every command is the text in tests/messages/help.txt, a file that can
be read as a whole."""
import difflib
import os
import sys

import harness
from harness import check

sys.path.append(os.path.join(harness.ROOT, "tests", "messages"))
import help_texts as helps  # pylint: disable=wrong-import-position


def as_read(bench):
    shown = helps.text(bench.prefix)
    with open(helps.GOLDEN, encoding="utf-8") as golden:
        changes = "\n".join(difflib.unified_diff(
            golden.read().splitlines(), shown.splitlines(), "help.txt", "now", n=1,
            lineterm=""))
    check(not changes, "tests/messages/help_texts.py PREFIX --write:\n" + changes)


def run(bench):
    bench.case("messages: help", lambda: as_read(bench))
