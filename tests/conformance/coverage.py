#!/usr/bin/env python3
"""Every status and attribute that the tables of client/include/tables document
for a function is exercised by a conformance program, or not_exercised.tsv says
why not; and so is every attribute of chapter_attributes.tsv, whichever function
it is for. Every function that a client or a helper of one has is called. The rules
of the interface have their tests in rules.tsv (rules.py).

Functions are those of function_statuses.tsv: another chapter is checked once its
rows are there. A status counts as exercised where a program expects it of the
call itself, with a macro of check.h, pmi_codes.h or nonblocking.h; an attribute
where a program that calls the function names it, or uses the helper for it; a
function that does not return where a program calls it.

Usage: tests/conformance/coverage.py [FUNCTION...]   (default: all)
"""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TABLES = os.path.join(HERE, "..", "..", "client", "include", "tables")
sys.path.insert(0, os.path.join(TABLES, "..", "gen"))
import rules  # noqa: E402
import tables  # noqa: E402

# What returns a status at once, and what is given one later. Whoever answers
# later has returned success.
RETURNED = re.compile(r"\b(?:EXPECT|CODE)\(\s*(\w+),\s*(\w+)\(")
SUCCESS = re.compile(r"\bOK\(\s*(\w+)\(")
BEGUN = re.compile(r"\b(ANSWERS|REFUSES)\(\s*(\w+),\s*(\w+),")
GIVEN = ("return", "callback")
# Of check.h.
HELPERS = {"Timeout": "PMIX_TIMEOUT", "AddScope": "PMIX_DATA_SCOPE"}


def read(name, directory=TABLES):
    return tables.read_table(os.path.join(directory, name + ".tsv"))


def sources():
    """The code of each program, without its comments."""
    for path in glob.glob(os.path.join(HERE, "*.c")):
        with open(path, encoding="utf-8") as file:
            yield re.sub(r"//.*", "", file.read())


def exercised_statuses(code):
    """Triples of function, status and where it is given."""
    for status, function in RETURNED.findall(code):
        yield function, status, "return"
    for function in SUCCESS.findall(code):
        yield function, "PMIX_SUCCESS", "return"
    for macro, status, function in BEGUN.findall(code):
        if macro == "ANSWERS":
            yield function, "PMIX_SUCCESS", "return"
            yield function, status, "callback"
        else:
            yield function, status, "return"


def words_of(code):
    words = set(re.findall(r"\w+", code))
    return words | {name for helper, name in HELPERS.items() if helper in words}


def exercised(functions):
    """All that programs exercise: statuses and attributes as (function, kind,
    name), kind being return, callback or attribute."""
    found = set()
    for code in sources():
        words = words_of(code)
        for function, status, given in exercised_statuses(code):
            found.add((function, given, status))
        for function in functions & words:
            found.add((function, "return", "-"))
            found |= {(function, "attribute", word) for word in words}
    return found


def named_anywhere():
    """All that programs name, as attributes of no function."""
    for code in sources():
        for word in words_of(code):
            yield "-", "attribute", word


# The C program that calls the helpers as applications do; run.py runs it too.
HELPERS_TEST = os.path.join(HERE, "..", "codec", "helpers_test.c")


def called_by_helpers():
    """Names in the program of the helpers, also those that its OBJECT pastes."""
    with open(HELPERS_TEST, encoding="utf-8") as file:
        code = file.read()
    names = set(re.findall(r"\w+", code))
    pasted = re.findall(r"PMIx_##Name##(\w+)", code)
    for name in re.findall(r"\bOBJECT\((\w+),", code):
        names |= {f"PMIx_{name}{tail}" for tail in pasted}
    return names


def check_functions():
    """Prints the functions of clients and tools that no program calls; how many."""
    called = called_by_helpers().union(*(words_of(code) for code in sources()))
    functions = [row.name for row in read("functions") if row.kind == "function"
                 and row.role.startswith(("client", "util", "any", "tool"))]
    missing = [name for name in functions if name not in called]
    for name in missing:
        print(f"FAILED {name} is called by no program")
    print(f"functions: {len(functions)} of clients and tools, {len(missing)} failed")
    return len(missing)


def documented():
    """What the tables say, in their order: of functions, and of chapters with
    "-" for the function."""
    rows = read("function_statuses")
    functions = list(dict.fromkeys(row.function for row in rows))
    wanted = [(row.function, row.given, row.status) for row in rows]
    for row in read("function_attributes"):
        if row.function in functions:
            wanted.append((row.function, "attribute", row.attribute))
    wanted += [("-", "attribute", row.attribute)
               for row in read("chapter_attributes", HERE)]
    return functions + ["-"], wanted


def unknown_names(functions, wanted):
    """Rows of function_statuses.tsv that name what no other table has."""
    known = {row.name for row in read("functions")} | {"-"}
    statuses = {row.name for row in read("constants")} | {"-"}
    for function in functions:
        if function not in known:
            yield f"{function} is in no row of functions.tsv"
    for function, kind, name in wanted:
        if kind != "attribute" and (kind not in GIVEN or name not in statuses):
            yield f"{function}: there is no {kind} {name}"


def problems(wanted, found, excused):
    """What is wrong with the coverage of one function."""
    for item in wanted:
        if item in found and item in excused:
            yield f"{item[1]} {item[2]} is exercised, and excused"
        elif item not in found and not excused.get(item):
            yield f"{item[1]} {item[2]} is exercised by no program"


def check(functions, wanted, only):
    """Prints one line for each function; how many lines are of failures."""
    failed = 0
    found = exercised(set(functions)) | set(named_anywhere())
    excused = {(row.function, row.kind, row.name): row.reason
               for row in read("not_exercised", HERE)}
    for function in functions:
        if only and function not in only:
            continue
        mine = [item for item in wanted if item[0] == function]
        wrong = list(problems(mine, found, excused))
        failed += 1 if wrong else 0
        print(f"FAILED {function}: {'; '.join(wrong)}" if wrong else
              f"ok {function} ({len(mine)} statuses and attributes)")
    for item in set(excused) - set(wanted):
        print(f"FAILED not_exercised.tsv: {' '.join(item)} is not documented")
        failed += 1
    return failed


def main():
    functions, wanted = documented()
    failed = check(functions, wanted, set(sys.argv[1:]))
    for problem in unknown_names(functions, wanted):
        print("FAILED tables: " + problem)
        failed += 1
    if not sys.argv[1:]:
        failed += check_functions()
        failed += rules.check(read("rule_parts", HERE), read("rules", HERE))
    print(f"coverage: {len(wanted)} statuses and attributes of "
          f"{len(functions)} functions, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
