#!/usr/bin/env python3
"""Checks the English of comments, as far as a program can: a comment does not
begin with a fragment ("Of one that ...", "What is ..."), and does not use the
words below, which leave open who does what. CONTRIBUTING.md has examples.

Usage: tests/lint/comments.py [WORD...]
With WORDs: only sources whose path contains one of them.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

# Openers of fragments. "What it is: ..." is one; a question is not.
OPENER = re.compile(r"(Of|Said|Told|Who|Whoever|Whose|What|So many)\b[^?]*$")
WORD = re.compile(
    r"\b(whoever|nobody|(?:is|are|was|were|be) told|again and again|so often|"
    r"so many|says|said)\b", re.IGNORECASE)
LINE = re.compile(r"^\s*// ?(.*)$")
# Words in quotation marks or back quotes are quotations, which are not checked.
QUOTED = re.compile(r"\"[^\"]*\"|`[^`]*`")


def sources(words):
    listed = subprocess.run(
        ["git", "ls-files", "*.cc", "*.h", "*.c", "*.proto"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [path for path in listed
            if not words or any(word in path for word in words)]


def comments(path):
    """Yields each comment of one source: the number of its first line, and its
    text."""
    block, first = [], 0
    with open(os.path.join(ROOT, path), encoding="utf-8") as source:
        for number, line in enumerate([*source, ""], 1):
            found = LINE.match(line)
            if found:
                first = first if block else number
                block.append(found.group(1))
            elif block:
                yield first, " ".join(block)
                block = []


def problems(path):
    """Yields the problems in the comments of a source, one line for each
    comment."""
    for number, text in comments(path):
        text = QUOTED.sub("", text)
        sentence = re.split(r"(?<=[.:;])\s", text, maxsplit=1)[0]
        found = OPENER.match(sentence) or WORD.search(text)
        if found:
            yield f"{path}:{number}: '{found.group(1)}' in: {text[:60]}"


def main():
    paths = sources(sys.argv[1:])
    bad = [line for path in paths for line in problems(path)]
    for line in bad:
        print(f"FAILED {line}")
    if not bad:
        print(f"ok comments of {len(paths)} sources")
    return 0 if paths and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
