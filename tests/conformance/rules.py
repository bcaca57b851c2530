"""The table rules.tsv: rules of the PMIx interface by number, with their tests.

A row's tests are "FILE:NAME", separated by spaces. NAME is a function of a C
file that is called, "Suite.Test" of a unit test, or the name of a target or a
case in quotes in the file. A row with "-" for its tests states in its note why
there are none; notes of other rows may state what their tests leave out.
"""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))


def text_of(path, cache={}):
    if path not in cache:
        full = os.path.join(ROOT, path)
        if not os.path.isfile(full):
            return None
        with open(full, encoding="utf-8") as file:
            cache[path] = file.read()
    return cache[path]


def in_c(path, text, name):
    """Returns whether the function is defined and used: called or in a list. A
    function of a header must be used in a program beside it."""
    code = re.sub(r"//.*", "", text)
    if path.endswith(".h"):
        code += "".join(text_of(other) for other in programs_beside(path))
    defined = re.search(r"^[\w \*]*\b%s\([^;]*?\)\s*\{" % re.escape(name), code,
                        re.M)
    return defined and len(re.findall(r"\b%s\b" % re.escape(name), code)) > 1


def programs_beside(path):
    directory = os.path.dirname(path)
    return [os.path.join(directory, name)
            for name in sorted(os.listdir(os.path.join(ROOT, directory)))
            if name.endswith(".c")]


def in_unit_test(text, name):
    suite, _, case = name.partition(".")
    return re.search(r"\bTEST(?:_F|_P)?\(\s*%s,\s*%s\s*\)" %
                     (re.escape(suite), re.escape(case)), text)


def is_there(path, name):
    """Returns whether the test `name` is in the file, according to the kind of
    file."""
    text = text_of(path)
    if text is None or not name:
        return False
    if path.endswith("_test.cc"):
        return bool(in_unit_test(text, name))
    if path.endswith((".c", ".h")):
        return name == "main" and "int main(" in text or bool(
            in_c(path, text, name))
    if path.endswith(".py"):
        return bool(re.search(r"^def %s\(" % re.escape(name), text, re.M))
    return f'"{name}"' in text


def problems_of_row(row):
    if not row.rule or not row.what:
        yield f"{row.rule}: an empty cell"
    if row.tests == "-":
        if len(row.note.strip()) < 2:
            yield f"{row.rule}: no test, and no reason why"
        return
    for test in row.tests.split(" "):
        path, _, name = test.partition(":")
        if not is_there(path, name):
            yield f"{row.rule}: there is no test {test}"


def problems(part, count, rows):
    """Returns the problems of the rows of one part, which has `count` rules."""
    wanted = [f"{part}-{n:02}" for n in range(1, count + 1)]
    got = [row.rule for row in rows]
    for rule in wanted:
        if got.count(rule) != 1:
            yield f"{rule} has {got.count(rule)} rows"
    for rule in got:
        if rule not in wanted:
            yield f"{rule} is no rule of the part"
    for row in rows:
        yield from problems_of_row(row)


def check(parts, rows):
    """Prints one line for each part, and returns the number of failures."""
    failed = 0
    for part in parts:
        mine = [row for row in rows if row.rule.split("-")[0] == part.part]
        wrong = list(problems(part.part, int(part.rules), mine))
        failed += 1 if wrong else 0
        tested = sum(row.tests != "-" for row in mine)
        print(f"FAILED {part.part}: {'; '.join(wrong)}" if wrong else
              f"ok {part.part} ({tested} of {len(mine)} rules tested)")
    known = {part.part for part in parts}
    for row in rows:
        if row.rule.split("-")[0] not in known:
            print(f"FAILED rules.tsv: {row.rule} is of no part")
            failed += 1
    return failed
