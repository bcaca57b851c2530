#!/usr/bin/env python3
"""Checks that every documented status is exercised, and that a test notices
every documented attribute.

A conformance program must exercise each status that function_statuses.tsv of
client/include/tables documents for a function. A status counts if a program
expects it of the call itself, with a macro of check.h, pmi_codes.h or
nonblocking.h. A function that does not return counts if a program calls it.

Each attribute that function_attributes.tsv has for a function of clients and
tools, and each of chapter_attributes.tsv for any function, must be in one of
these tables:
  effects.tsv            the program that fails without it, as mutation.py has
                         found; it must still name both
  effects_elsewhere.tsv  another test of its effect, which must exist
  not_exercised.tsv      the reason why there is no test, also of a status
  unnoticed.tsv          what is to be done: no test notices the attribute yet
Every function of clients or their helpers must be called. The rules of the
interface have their tests in rules.tsv (rules.py).

Usage: tests/conformance/coverage.py [FUNCTION...]   (default: all)
"""
import functools
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
    return set(re.findall(r"\w+", code))


def exercised(functions):
    """Returns the statuses that programs exercise as (function, kind, name),
    where kind is return or callback."""
    found = set()
    for code in sources():
        for function, status, given in exercised_statuses(code):
            found.add((function, given, status))
        for function in functions & words_of(code):
            found.add((function, "return", "-"))
    return found


def pairs():
    """Returns (function, attribute, key) of every attribute that a program has
    to notice; the function is "-" for the attributes of chapters."""
    keys = {row.name: row.key for row in read("attributes")}
    return [(function, name, keys[name]) for function, kind, name in
            documented()[1] if kind == "attribute"]


def effects():
    """Returns the pairs that mutation.py has proved, with their programs."""
    return read("effects", HERE)


def tested_elsewhere():
    """Returns {(function, attribute): test} of the pairs whose effect another
    test checks."""
    return {(row.function, row.attribute): row.test
            for row in read("effects_elsewhere", HERE)}


def unnoticed():
    """Returns the pairs that no test notices yet."""
    return {(row.function, row.attribute) for row in read("unnoticed", HERE)}


def stated(pair):
    """Returns whether a table states where a pair is tested, or why it is not.
    """
    excused = {(row.function, row.name) for row in read("not_exercised", HERE)
               if row.kind == "attribute"}
    return pair in excused or pair in tested_elsewhere() or pair in unnoticed()


@functools.cache
def words_of_program(name):
    """Returns the words of a program and of the headers that it includes from its
    directory."""
    words, left = set(), [name + ".c"]
    while left:
        path = os.path.join(HERE, left.pop())
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8") as file:
            code = re.sub(r"//.*", "", file.read())
        words |= words_of(code)
        left += re.findall(r'#include "(\w+\.h)"', code)
    return words


def names(program, function, attribute):
    """Returns whether the program names the attribute, and the function or its
    blocking form, whose calls run.py can carry out by the function."""
    words = words_of_program(program)
    return attribute in words and (
        function == "-" or not words.isdisjoint(
            {function, function.removesuffix("_nb")}))


def proved():
    """Returns the attributes whose effect a test notices as (function,
    "attribute", name). The program or test must still be there."""
    for row in effects():
        if names(row.program, row.function, row.attribute):
            yield row.function, "attribute", row.attribute
    for (function, name), test in tested_elsewhere().items():
        if rules.is_there(*test.split(":", 1)):
            yield function, "attribute", name


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
    wanted = [(row.function, row.given, row.status) for row in rows]
    callable_functions = {row.name for row in read("functions")
                          if row.kind == "function" and
                          row.role.startswith(("client", "tool"))}
    wanted += [(row.function, "attribute", row.attribute)
               for row in read("function_attributes")
               if row.function in callable_functions]
    functions = list(dict.fromkeys(item[0] for item in wanted))
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
            yield (f"no test notices {item[2]}" if item[1] == "attribute" else
                   f"{item[1]} {item[2]} is exercised by no program")


def check(functions, wanted, only):
    """Prints one line for each function, and returns the number of failures."""
    failed = 0
    found = exercised(set(functions)) | set(proved())
    excused = {(row.function, row.kind, row.name): row.reason
               for row in read("not_exercised", HERE)}
    excused |= {(function, "attribute", name): "not yet"
                for function, name in unnoticed()}
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
    print(f"attributes: {len(pairs())} of functions and chapters, no test "
          f"notices {len(unnoticed())} yet")
    print(f"coverage: {len(wanted)} statuses and attributes of "
          f"{len(functions)} functions, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
