#!/usr/bin/env python3
"""Fails for each dependency and each #include that the layers forbid.

Reads the graph of targets below the programs, and their sources. A header on
the compiler's default path is found without a dependency, so the includes of a
source are compared with the dependencies of its target.
"""
import json
import os
import re
import sys

import layers

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
PMI = re.compile(r"pmi(2|x(_\w+)?)?\.h")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")


class Target:
    def __init__(self, record):
        # Labels of this repository may begin with "@//".
        self.name = plain(record["name"])
        self.deps = [name for name in map(plain, record["deps"])
                     if name not in layers.OF_EVERY_TARGET]
        self.files = record["files"]
        self.kind = record["kind"]
        self.package = package_of(self.name)


def plain(label):
    return label[1:] if label.startswith("@//") else label


def package_of(label):
    return label.split(":")[0].removeprefix("//")


def fits(package, pattern):
    if pattern.endswith("/..."):
        return (package + "/").startswith(pattern[:-3])
    return package == pattern


def layer_of(package, table):
    fitting = [p for p in table if fits(package, p)]
    return max(fitting, key=len) if fitting else None


def graph():
    with open(os.path.join(HERE, "graph.jsonl"), encoding="utf-8") as lines:
        targets = [Target(json.loads(line)) for line in lines]
    return {target.name: target for target in targets}


def edge_faults(target):
    layer = layer_of(target.package, layers.LAYERS)
    if layer is None:
        return
    for dep in target.deps:
        if dep.startswith("@"):
            allowed = "@" + dep.split(":")[1] in layers.LAYERS[layer]
        else:
            package = package_of(dep)
            allowed = package == target.package or any(
                fits(package, p) for p in layers.LAYERS[layer])
        if not allowed:
            yield f"{target.name} must not depend on {dep}"


def program_faults(program, forbidden, targets):
    seen, ahead = set(), [program]
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        ahead += targets[name].deps if name in targets else []
    for name in sorted(seen - layers.LINKS_NOTHING):
        if any(name.startswith(f) for f in forbidden):
            yield f"{program} must not link {name}"


def includes(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as source:
            return INCLUDE.findall(source.read())
    except FileNotFoundError:  # a generated file
        return []


def system_fault(target, header):
    """Returns the problem with <header> in a source of the target, or None."""
    for begin, owner in layers.FOREIGN.items():
        if header.startswith(begin):
            named = {d.split(":")[1] for d in target.deps if d[0] == "@"}
            for name in list(named):
                named.update(layers.BRINGS.get(name, []))
            return None if owner in named else f"needs @system//:{owner}"
    libc = (header.startswith(layers.LIBC_FOLDERS) or
            header.removesuffix(".h") in layers.LIBC)
    standard = "/" not in header and "." not in header
    if (target.package + "/").startswith(layers.PURE):
        libc = header in layers.PURE_LIBC
        standard = standard and header not in layers.IMPURE
    return None if libc or standard else "is not for this layer"


def include_faults(target, owners):
    forbidden = layers.EXCEPT.get(layer_of(target.package, layers.EXCEPT), [])
    near = {target.name, *target.deps}
    packages = {package_of(name) for name in near}
    for path in target.files:
        for mark, header in includes(path):
            fault = None
            if PMI.fullmatch(header):
                if "client/include" not in packages:
                    fault = "needs //client/include"
            elif mark == "<" or header.startswith(tuple(layers.FOREIGN)):
                fault = system_fault(target, header)
            elif header in forbidden:
                fault = "is not for this layer"
            elif header not in owners:
                fault = "no target below a program has"
            elif not owners[header] & near:
                fault = f"needs {' or '.join(sorted(owners[header]))}"
            if fault:
                yield f"{path} includes {header}, which {fault}"


def unused_faults(target, targets):
    """Returns the dependencies of a library of whose headers it includes
    none."""
    generated = not all(map(exists, target.files))
    if target.kind != "cc_library" or not target.files or generated:
        return
    used = {header for path in target.files for _, header in includes(path)}
    for dep in target.deps:
        headers = [f for f in targets[dep].files if f.endswith(".h")]
        known = dep.startswith("//") and not is_pmix(dep)
        if known and headers and not used.intersection(headers):
            yield f"{target.name} includes nothing of {dep}"


def exists(path):
    return os.path.exists(os.path.join(ROOT, path))


def is_pmix(label):
    """The PMIx headers are included without their folder."""
    return package_of(label) == "client/include"


def circle_faults(target):
    """Returns files of one library that include each other in a circle.

    A header and its source count as one.
    """
    below = {}
    for path in target.files:
        stem = path.rsplit(".", 1)[0]
        below.setdefault(stem, set()).update(
            header.rsplit(".", 1)[0] for _, header in includes(path))
    while True:
        lowest = [s for s, used in below.items()
                  if not (used - {s}).intersection(below)]
        if not lowest:
            break
        for stem in lowest:
            del below[stem]
    if below and target.package not in layers.BOTH_WAYS:
        yield f"{target.name}: a circle of includes among {', '.join(sorted(below))}"


def folder_faults():
    """Returns folders of the work tree that have targets but no layer."""
    tree = os.path.dirname(os.path.realpath(os.path.join(ROOT, "WORKSPACE")))
    for folder, below, files in os.walk(tree):
        below[:] = [b for b in below
                    if not b.startswith((".", "bazel-"))]
        package = os.path.relpath(folder, tree)
        if "BUILD.bazel" in files and package != ".":
            if layer_of(package, layers.LAYERS) is None:
                yield f"{package} has no layer: add it to tests/layering/layers.py"


def all_faults():
    targets = graph()
    owners = {}
    for target in targets.values():
        for path in target.files:
            owners.setdefault(path, set()).add(target.name)
    yield from folder_faults()
    for target in targets.values():
        if not target.name.startswith("@"):
            yield from edge_faults(target)
            yield from include_faults(target, owners)
            yield from unused_faults(target, targets)
            yield from circle_faults(target)
    for program, forbidden in layers.PROGRAMS.items():
        if program not in targets:
            yield f"{program} is not among the roots"
        yield from program_faults(program, forbidden, targets)


def main():
    faults = sorted(set(all_faults()))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
