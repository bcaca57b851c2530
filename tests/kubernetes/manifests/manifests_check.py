#!/usr/bin/env python3
"""Checks the manifests of deploy/kubernetes: each field against the types of Kubernetes
(fields.py), and the rules between fields, and between manifests and documents (rules.py).
"""
import re
import sys

import fields
import manifests
import rules

VERSION_NOTE = re.compile(r"\bNeeds Kubernetes (\d+\.\d+),")


def field_problems(documents, where, rows, allowed):
    """Yields the problems of the objects of a file, which says that it needs the version
    `allowed`, or "" for all versions of the table."""
    since = ""
    for one in documents:
        problems, needed = fields.check(one, rows)
        yield from (f"{where}: {problem}" for problem in problems)
        since = fields.later(since, needed)
    if since != allowed:
        yield f"{where}: needs Kubernetes {since or 'of any version'}, and says otherwise"


def all_field_problems(found):
    _, rows = fields.read()
    yield from field_problems([one for _, one in found.base], "base", rows, "")
    for file, documents in found.examples.items():
        note = VERSION_NOTE.search(found.notes[file])
        yield from field_problems(documents, file, rows, note[1] if note else "")
    used = {(fields.kind_of(one), path) for one in fields.all_of(found)
            for path, _, _ in fields.walk(
                one, lambda path, one=one: rows.get((fields.kind_of(one), path)))}
    yield from (f"fields.txt has {kind} {path}, which is not used"
                for kind, path in sorted(set(rows) - used))


def report(name, problems):
    """Prints one line for a check. Returns true if there are no problems."""
    problems = list(problems)
    print(f"FAILED {name}: " + "; ".join(problems) if problems else f"ok {name}")
    return not problems


def main():
    found = manifests.Manifests()
    with open(rules.PAGE, encoding="utf-8") as file:
        page = file.read()
    passed = [report("manifests: kustomization", found.problems())]
    # Rules read only objects with the fields that they need.
    if report("manifests: fields", all_field_problems(found)):
        passed += [report(f"manifests: {rule.__name__.replace('_', ' ')}",
                          rule(found, page)) for rule in rules.RULES]
    else:
        passed.append(False)
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
