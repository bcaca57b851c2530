#!/usr/bin/env python3
"""Checks that every documented status and attribute is exercised.

A conformance program must exercise each status and attribute that the tables of
client/include/tables document for a function, or not_exercised.tsv states why
not. The same holds for every attribute of chapter_attributes.tsv, whichever
function it belongs to. Every function of clients or their helpers must be
called. The rules of the interface have their tests in rules.tsv (rules.py).

The functions are those of function_statuses.tsv: another chapter is checked
once its rows exist. A status counts as exercised if a program expects it of the
call itself, with a macro of check.h, pmi_codes.h or nonblocking.h; an
attribute, if a program that calls the function names it, or uses the helper for
it; a function that does not return, if a program calls it.

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

# The forms of calls whose status is returned, or passed to a callback later. A
# call that completes later has returned success.
RETURNED = re.compile(r"\b(?:EXPECT|CODE)\(\s*(\w+),\s*(\w+)\(")
SUCCESS = re.compile(r"\bOK\(\s*(\w+)\(")
BEGUN = re.compile(r"\b(ANSWERS|REFUSES)\(\s*(\w+),\s*(\w+),")
GIVEN = ("return", "callback")
# Helpers of check.h with the attributes that they add.
HELPERS = {"Timeout": "PMIX_TIMEOUT", "AddScope": "PMIX_DATA_SCOPE"}


def read(name, directory=TABLES):
    return tables.read_table(os.path.join(directory, name + ".tsv"))


def sources():
    """Returns the code of each program, without its comments."""
    for path in glob.glob(os.path.join(HERE, "*.c")):
        with open(path, encoding="utf-8") as file:
            yield re.sub(r"//.*", "", file.read())


def exercised_statuses(code):
    """Returns triples of function, status and the place where the status is
    given."""
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
    """Returns everything that programs exercise: statuses and attributes as
    (function, kind, name), where kind is return, callback or attribute."""
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
    """Returns every word that programs name, as attributes without a function.
    """
    for code in sources():
        for word in words_of(code):
            yield "-", "attribute", word


# The C program that calls the helpers as applications do; run.py runs it too.
HELPERS_TEST = os.path.join(HERE, "..", "codec", "helpers_test.c")


def called_by_helpers():
    """Returns the names in the helpers' program, including those that its
    OBJECT pastes."""
    with open(HELPERS_TEST, encoding="utf-8") as file:
        code = file.read()
    names = set(re.findall(r"\w+", code))
    pasted = re.findall(r"PMIx_##Name##(\w+)", code)
    for name in re.findall(r"\bOBJECT\((\w+),", code):
        names |= {f"PMIx_{name}{tail}" for tail in pasted}
    return names


def check_functions():
    """Prints the functions of clients and tools that no program calls, and
    returns their number."""
    called = called_by_helpers().union(*(words_of(code) for code in sources()))
    functions = [row.name for row in read("functions") if row.kind == "function"
                 and row.role.startswith(("client", "util", "any", "tool"))]
    missing = [name for name in functions if name not in called]
    for name in missing:
        print(f"FAILED {name} is called by no program")
    print(f"functions: {len(functions)} of clients and tools, {len(missing)} failed")
    return len(missing)


def documented():
    """Returns the items of the tables in their order: of functions, and of
    chapters with "-" for the function."""
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
    """Returns rows of function_statuses.tsv with names that no other table has.
    """
    known = {row.name for row in read("functions")} | {"-"}
    statuses = {row.name for row in read("constants")} | {"-"}
    for function in functions:
        if function not in known:
            yield f"{function} is in no row of functions.tsv"
    for function, kind, name in wanted:
        if kind != "attribute" and (kind not in GIVEN or name not in statuses):
            yield f"{function}: there is no {kind} {name}"


def problems(wanted, found, excused):
    """Returns the problems with the coverage of one function."""
    for item in wanted:
        if item in found and item in excused:
            yield f"{item[1]} {item[2]} is exercised, and excused"
        elif item not in found and not excused.get(item):
            yield f"{item[1]} {item[2]} is exercised by no program"


def check(functions, wanted, only):
    """Prints one line for each function, and returns the number of failures."""
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
