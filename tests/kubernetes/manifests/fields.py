#!/usr/bin/env python3
"""Checks the fields of the manifests against the types of Kubernetes.

fields.txt has each field that the manifests use, with its type and, if the oldest of the
versions of the table lacks it, the first version that has it. A field that is not in the
table is refused. The table is written from published types, the npm package
@kubernetes/client-node, of which each release has the types of one version of Kubernetes:

    mkdir types && cd types
    for v in 0.18.1 0.21.0 1.0.0 2.0.1; do npm pack @kubernetes/client-node@$v; done
    tests/kubernetes/manifests/fields.py --write types

--write fails if a manifest has a field that the newest version does not have.
"""
import glob
import os
import re
import sys
import tarfile
from typing import NamedTuple

import manifests

TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "fields.txt")
HEAD = """\
# The fields of Kubernetes that deploy/kubernetes uses; fields.py describes this table.
# "required" means that an object must have the field. "since V" means that the versions
# before V do not have it.
"""
SCALARS = {"string": str, "number": (int, float), "boolean": bool,
           "IntOrString": (int, str)}


class Row(NamedTuple):
    """A field: its type is a scalar, "object", "list of TYPE" or "map of TYPE"."""
    type: str
    required: bool
    since: str


def later(first, second):
    """Returns the later of two versions; "" is before all."""
    return max(first, second,
               key=lambda version: [int(part) for part in version.split(".") if part])


def kind_of(document):
    return f"{document['apiVersion']} {document['kind']}"


def walk(value, find, path=""):
    """Yields each field of an object: its path, its value, and what `find` returns for
    the path. Fields of a list's objects have the path of the list and their names."""
    for name, field in value.items():
        own = f"{path}.{name}".lstrip(".")
        row = find(own)
        yield own, field, row
        if row and row.type.endswith("object"):
            for one in field if row.type.startswith("list") else [field]:
                yield from walk(one, find, own)


class Types:
    """The types of one version of Kubernetes, from an archive of the npm package."""

    def __init__(self, archive):
        self.fields, self.required, self.version = {}, {}, ""
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                match = re.search(r"/dist/gen/models?/(\w+)(\.d\.ts|\.js)$",
                                  member.name)
                if match:
                    name = match[1][0].upper() + match[1][1:]
                    self._read(name, match[2], tar.extractfile(member).read())

    def _read(self, name, suffix, content):
        text = content.decode()
        version = re.search(r"(?:release-|spec version: v)(\d+\.\d+)", text)
        self.version = version[1] if version else self.version
        if suffix == ".js":
            self.fields[name] = dict(re.findall(
                r'"baseName": "([^"]+)",\s*"type": "([^"]+)"', text))
        else:
            self.required[name] = set(re.findall(r"^\s+'([\w$]+)': ", text, re.M))

    def find(self, kind, path):
        """Returns the type of a field and whether it is required, or None."""
        version, name = kind.split()
        version = version.split("/")[-1]
        at = version[0].upper() + version[1:] + name
        for part in path.split("."):
            owner, at = at, self.fields.get(at, {}).get(part)
            if at is None:
                return None
            required = part in self.required[owner]
            written = self.written(at)
            at = re.sub(r"^Array<(.*)>$", r"\1", at)
        return written, required

    def written(self, name):
        """Returns a type as the table has it."""
        for pattern, form in ((r"Array<(.*)>", "list of "),
                              (r"\{ \[key: string\]: (.*); \}", "map of ")):
            if match := re.fullmatch(pattern, name):
                return form + self.written(match[1])
        return "object" if self.fields.get(name) else name


def row_of(all_types, kind, path):
    """Returns the row of a field, or None if the newest version does not have it."""
    having = [types for types in all_types if types.find(kind, path)]
    if not having or having[-1] is not all_types[-1]:
        return None
    since = having[0].version if having[0] is not all_types[0] else ""
    return Row(*all_types[-1].find(kind, path), since)


def write(directory, all_documents):
    """Writes the table. Returns the fields that do not exist."""
    all_types = sorted(map(Types, glob.glob(os.path.join(directory, "*.tgz"))),
                       key=lambda types: [int(n) for n in types.version.split(".")])
    rows, problems = {}, []
    for document in all_documents:
        kind = kind_of(document)
        for path, _, row in walk(document,
                                 lambda path: row_of(all_types, kind, path)):
            rows[kind, path] = row
            if row is None:
                problems.append(f"{kind} has no {path}")
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(HEAD + "versions " +
                   " ".join(types.version for types in all_types) + "\n")
        for kind in sorted({kind for kind, _ in rows}):
            file.write(f"\n{kind}\n")
            for path, row in sorted((path, row) for (of, path), row in rows.items()
                                    if of == kind and row):
                file.write(f"  {path}: {row.type}" + ", required" * row.required +
                           f", since {row.since}" * bool(row.since) + "\n")
    return problems


def read():
    """Returns the versions of the table, oldest first, and its rows by kind and path."""
    versions, rows, kind = [], {}, None
    with open(TABLE, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("versions "):
                versions = line.split()[1:]
            elif line and line[0] not in " #":
                kind = line
            elif line.startswith("  "):
                path, text = line.strip().split(": ")
                type_, *more = text.split(", ")
                since = [one.split()[1] for one in more if one.startswith("since")]
                rows[kind, path] = Row(type_, "required" in more, *since or [""])
    return versions, rows


def fits(value, type_):
    """Returns true if a value of a manifest has the type."""
    if type_.startswith("list of "):
        return isinstance(value, list) and all(fits(one, type_[8:]) for one in value)
    if type_.startswith("map of "):
        return isinstance(value, dict) and all(
            isinstance(name, str) and fits(one, type_[7:])
            for name, one in value.items())
    if type_ == "object":
        return isinstance(value, dict)
    return isinstance(value, SCALARS[type_]) and (
        type_ == "boolean" or not isinstance(value, bool))


def missing(value, rows, kind, path=""):
    """Yields the paths of required fields that an object lacks."""
    for (of, own), row in rows.items():
        if of == kind and own.rpartition(".")[0] == path:
            name = own.rpartition(".")[2]
            if name not in value:
                if row.required:
                    yield own
            elif row.type.endswith("object"):
                for one in value[name] if row.type.startswith("list") else [value[name]]:
                    yield from missing(one, rows, kind, own)


def check(document, rows):
    """Returns the problems of an object, and the first version that has its fields."""
    kind = kind_of(document)
    problems, since = [], ""
    for path, value, row in walk(document, lambda path: rows.get((kind, path))):
        if row is None:
            problems.append(f"{kind} has no field {path}")
        elif not fits(value, row.type):
            problems.append(f"{kind}: {path} is no {row.type}")
        else:
            since = later(since, row.since)
    if not problems:
        problems = [f"{kind} needs {path}" for path in missing(document, rows, kind)]
    return problems, since


def all_of(found):
    """Returns every object of the manifests."""
    return ([one for _, one in found.base] +
            [one for file in found.examples.values() for one in file])


def main():
    if len(sys.argv) != 3 or sys.argv[1] != "--write":
        print(__doc__, file=sys.stderr)
        return 2
    problems = write(sys.argv[2], all_of(manifests.Manifests()))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
