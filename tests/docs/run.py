#!/usr/bin/env python3
"""Checks that the tables of docs/life_of_*.md name existing code, and that
documents are complete (names.py).

Each file of a table must exist, and its code, not just a comment, must contain
the function's name as a word.

Usage: tests/docs/run.py [DOCUMENT...]
Without DOCUMENTs: the tables of all, and the checks of names.py.
"""
import glob
import os
import re
import sys

import names

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HEAD = ["step", "file", "function", "thread"]


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def quoted(cell):
    """Returns the text between backquotes if the cell has nothing else."""
    match = re.fullmatch(r"`([^`]+)`", cell)
    return match[1] if match else None


def rows(text):
    """Returns pairs of line number and cells of the tables with the columns
    HEAD."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
        elif cells(line) == HEAD:
            inside = True
        elif inside and not re.fullmatch(r"[|\s:-]+", line):
            yield number, cells(line)


def code_of(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"//.*", "", file.read())


def problem_of(row):
    """Returns the problem of one row, or None."""
    if len(row) != len(HEAD):
        return f"{len(row)} columns, not {len(HEAD)}"
    path, function = quoted(row[1]), quoted(row[2])
    if not path or not function:
        return "file and function are one name each, in backquotes"
    if not row[0] or not row[3]:
        return "without a step or a thread"
    whole = os.path.join(ROOT, path)
    if not os.path.isfile(whole):
        return f"there is no file {path}"
    if not re.search(rf"(?<![\w:]){re.escape(function)}\b", code_of(whole)):
        return f"{path} has no {function}"
    return None


def check(path):
    """Prints one line for a document. Returns true if all its rows are correct.
    """
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        found = list(rows(file.read()))
    problems = [f"line {number}: {problem}" for number, row in found
                if (problem := problem_of(row))]
    if not found:
        problems = ["has no table " + " | ".join(HEAD)]
    if problems:
        print(f"FAILED {name}: " + "; ".join(problems))
    else:
        print(f"ok {name} ({len(found)} rows)")
    return not problems


def check_names(name):
    """Prints one line for a check of names.py. Returns true if it found no
    problem, and looked at something."""
    problems, count = names.CHECKS[name]()
    if not count:
        problems = [*problems, "has nothing to look at"]
    if problems:
        print(f"FAILED {name}: " + "; ".join(problems))
    else:
        print(f"ok {name} ({count})")
    return not problems


def main():
    paths = sys.argv[1:] or sorted(
        glob.glob(os.path.join(ROOT, "docs", "life_of_*.md")))
    passed = [check(path) for path in paths]
    if not sys.argv[1:]:
        passed += [check_names(name) for name in names.CHECKS]
    print(f"docs: {sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if passed and all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
