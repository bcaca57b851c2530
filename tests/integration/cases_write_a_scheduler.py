"""Executes docs/write_a_scheduler.md: its files are written and its commands
run, in order, in one shell and an empty directory."""
import os
import re
import shutil
import tempfile

from harness import ROOT, check

PAGE = os.path.join(ROOT, "docs", "write_a_scheduler.md")
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)
# Ends the background processes if a command fails.
SHELL = """set -euo pipefail
trap 'status=$?; kill $(jobs -p) 2> /dev/null || true; exit $status' EXIT
"""


def blocks():
    """Returns the page's commands as one script, its files by name, and the
    expected output."""
    with open(PAGE, encoding="utf-8") as file:
        found = BLOCK.findall(file.read())
    script = "".join(text for kind, _, text in found if kind == "sh")
    files = {name: text for _, name, text in found if name}
    texts = [text for kind, _, text in found if kind == "text"]
    return script, files, texts


def page(bench):
    script, files, texts = blocks()
    check(script and list(files) == ["scheduler.py"] and len(texts) == 1,
          "the page has other blocks than it had")
    directory = tempfile.mkdtemp()
    for name, text in files.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    # PATH leads to the distribution's `python3`, as in a terminal.
    env = {"PREFIX": bench.prefix, "PATH": f"{bench.prefix}/bin:/usr/bin:/bin"}
    result = bench.start("-c", SHELL + script, program="bash", env=env,
                         cwd=directory).finish(120)
    result.expect(out=[texts[0], "4 nodes", *(f"rank {rank} of 4" for rank in
                                               range(4)),
                       "job 1", "ended with 0", "slots wanted, 0 free",
                       "rank 0 of 1"])
    shutil.rmtree(directory)


def run(bench):
    bench.case("write a scheduler: the page's commands", lambda: page(bench))
