"""Checks that each row of the table of docs/failure_model.md names tests that
exist. The last column has them in back quotes: `PATH:Suite.Name` for a unit test,
`cases_FOO.py:CASE` for a case of tests/integration, `PATH` for a program that is a
test as a whole."""
import ast
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DOCUMENT = "docs/failure_model.md"
HEAD = ["failure", "detected by", "effect", "tests"]
CASES = "tests/integration"
# The literal text that a name needs, so that a variable alone matches nothing.
MIN_LITERAL = 5


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rows(text):
    """Yields the line and the cells of each row of the table."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells == HEAD:
            inside = True
        elif inside and not re.fullmatch(r"[|\s:-]+", line):
            yield number, cells


def pattern_of(node):
    """Returns the regular expression of a string in Python code, in which each
    variable part is a group, and the number of its literal characters; None if
    it is not a string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.escape(node.value), len(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [pattern_of(value) or ("(.+)", 0) for value in node.values]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [pattern_of(node.left) or ("(.+)", 0),
                 pattern_of(node.right) or ("(.+)", 0)]
    else:
        return None
    return "".join(part for part, _ in parts), sum(n for _, n in parts)


def has_case(source, name):
    """True if strings of the source make the name: one of them is the name, or
    has variable parts that strings of the source make in turn."""
    patterns = [found[0] for node in ast.walk(ast.parse(source))
                if (found := pattern_of(node)) and found[1] >= MIN_LITERAL]

    def made(text, depth):
        return any(all(part.isdigit() or part in source or
                       (depth and made(part, depth - 1))
                       for part in match.groups())
                   for pattern in patterns
                   if (match := re.fullmatch(pattern, text)))
    return made(name, 2)


def problem_of(test):
    """Returns why there is no such test, or None."""
    path, _, name = test.partition(":")
    if path.startswith("cases_"):
        path = f"{CASES}/{path}"
    if not os.path.isfile(os.path.join(ROOT, path)):
        return f"there is no {path}"
    if not name:
        return None
    if path.endswith(".py") and ": " not in name:
        return f"'{name}' is not the name of a case"
    if path.endswith(".py"):
        return None if has_case(read(path), name) else f"{path} has no '{name}'"
    suite, _, short = name.partition(".")
    if re.search(rf"TEST\w*\(\s*{re.escape(suite)},\s*{re.escape(short)}\)",
                 read(path)):
        return None
    return f"{path} has no {name}"


def check():
    """Every row has tests, and all of them exist."""
    problems, count = [], 0
    for number, cells in rows(read(DOCUMENT)):
        count += 1
        where = f"{DOCUMENT}:{number}"
        if len(cells) != len(HEAD):
            problems.append(f"{where} has {len(cells)} columns")
            continue
        tests = re.findall(r"`([^`]+)`", cells[-1])
        if not tests:
            problems.append(f"{where} names no test")
        problems += [f"{where}: {problem}" for test in tests
                     if (problem := problem_of(test))]
    return problems, count
