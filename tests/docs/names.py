"""Checks that documents name what exists, and leave nothing out: commands in the
manual, folders and engines in the map of the code, documents in the README or the
index of docs/, and links.

CHECKS has the name of each check, and a function that returns its problems and the
number of things that it looked at.
"""
import glob
import os
import re
import subprocess

import failures

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MANUAL = "docs/man/canopy.1"
MAP = "ARCHITECTURE.md"
# The folders whose every folder with code is in the map.
HOMES = ("client", "common", "server")
# Documents from which readers find all others.
INDEXES = ("README.md", "docs/README.md")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def documents():
    """Returns the paths of all documents in Markdown that belong to no package."""
    found = glob.glob("*.md", root_dir=ROOT) + glob.glob(
        "docs/**/*.md", root_dir=ROOT, recursive=True)
    return sorted(found)


def commands():
    """Returns the commands that `canopy --help` lists: the rows of kCommands."""
    source = read("client/cli/full_main.cc")
    table = source[source.index("kCommands[] = {"):]
    return re.findall(r'^    \{"([a-z-]+)",', table[:table.index("};")], re.M)


def plain(troff):
    """Returns text of a manual without fonts, macros and escapes, as one line."""
    text = re.sub(r'^\.[A-Z]{1,2} ?', "", troff, flags=re.M)
    text = re.sub(r"\\f[A-Z]", "", text).replace("\\-", "-").replace('"', "")
    return re.sub(r"\s+", " ", text)


def sections(troff):
    """Returns the text of each section of a manual, by its heading."""
    parts = re.split(r"^\.SH (.*)\n", troff, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def manual():
    """Every command is in the SYNOPSIS of canopy.1, and described below: `run` and
    `up` in sections of their own, the others as paragraphs of OTHER COMMANDS."""
    found = sections(read(MANUAL))
    # "canopy status | ps | top" names three commands.
    synopsis = re.sub(r"(?<=\w) \| (?=[a-z-]+)", " | canopy ",
                      plain(found["SYNOPSIS"]))
    problems = []
    for name in commands():
        if not re.search(rf"canopy {name}(?![\w-])", synopsis):
            problems.append(f"the SYNOPSIS lacks 'canopy {name}'")
        described = f"CANOPY {name.upper()}" in found or any(
            re.match(rf"canopy {name}(?![\w-])", plain(paragraph))
            for paragraph in found["OTHER COMMANDS"].split(".TP\n")[1:])
        if not described:
            problems.append(f"no section or paragraph describes 'canopy {name}'")
    return problems, len(commands())


def folders():
    """Returns the folders of the map: those at the top, and all below HOMES that
    have a BUILD file."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.splitlines()
    tops = {path.split("/")[0] for path in files
            if "/" in path and not path.startswith(".")}
    builds = {os.path.dirname(path) for path in files
              if path.endswith("/BUILD.bazel") and path.startswith(HOMES)}
    return sorted(tops | builds)


def quoted(cell):
    return [name.rstrip("/") for name in re.findall(r"`([^`]+)`", cell)]


def homes(cell):
    """Returns the folders that the first cell of a row names: in `a/b`, `c`, the
    second is `a/c`."""
    names, parent = [], ""
    for name in quoted(cell):
        if "/" not in name and parent:
            name = f"{parent}/{name}"
        parent = os.path.dirname(name)
        names.append(name)
    return names


def code_map():
    """Every folder with code is in the first column of the table of ARCHITECTURE.md,
    every folder of the table exists, and the files of its last column are below one
    of the folders of their row, beside them, or named from the root."""
    rows = re.findall(r"^\| (`[^|]*) \|[^|]*\|([^|]*)\|$", read(MAP), re.M)
    named = {name for row in rows for name in homes(row[0])}
    problems = [f"no row for {name}" for name in folders() if name not in named]
    problems += [f"there is no folder {name}" for name in sorted(named)
                 if not os.path.isdir(os.path.join(ROOT, name))]
    problems += [f"{row[0]}: there is no {name}" for row in rows
                 for name in quoted(row[1])
                 if not any(os.path.exists(os.path.join(ROOT, home, near, name))
                            for home in ("", *homes(row[0])) for near in ("", ".."))]
    return problems, len(named)


def engines():
    """Every engine of the core is in the table of ARCHITECTURE.md."""
    members = read("server/core/dispatch/engines.h")
    members = members[members.index("  ModexStore modex;"):]
    found = re.findall(r"^  (\w+) \w+;$", members[:members.index("  //")], re.M)[1:]
    table = read(MAP)
    table = table[table.index("| subject | engines |"):].split("\n\n")[0]
    problems = [f"{name} is not in the table of engines" for name in found
                if f"`{name}`" not in table]
    if f"consists of {len(found)} engines" not in read(MAP):
        problems.append(f"the core has {len(found)} engines")
    return problems, len(found)


def targets(path):
    """Returns the files that a document links to, relative to the root."""
    found = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(path))
    return {os.path.normpath(os.path.join(os.path.dirname(path), name))
            for name in found if "://" not in name}


def index():
    """Every document is linked from the README or from the index of docs/."""
    linked = set().union(*map(targets, INDEXES), INDEXES)
    problems = [f"{path} is not linked from {' or '.join(INDEXES)}"
                for path in documents() if path not in linked]
    return problems, len(documents())


def links():
    """Every link leads to a file."""
    pairs = [(path, name) for path in documents() for name in targets(path)]
    return [f"{path} links to {name}, which does not exist"
            for path, name in sorted(pairs)
            if not os.path.exists(os.path.join(ROOT, name))], len(pairs)


# A name in back quotes that is a path below the root. "server/core:tree" is a target.
PATH = re.compile(r"`((?:benchmarks|build|client|common|deploy|docs|examples|"
                  r"hostmodule|protos|server|tests)/[^`\s:]*)[^`\s]*`")


def paths():
    """Every path in back quotes exists, except in the history of releases. FOO
    stands for any name; a path may be a pattern, or end in "..."."""
    problems, count = [], 0
    for document in set(documents()) - {"CHANGELOG.md"}:
        text = read(document)
        for found in PATH.finditer(text):
            name = found[1].removesuffix("...")
            if "FOO" in name:
                continue
            count += 1
            if not glob.glob(os.path.join(ROOT, name)):
                line = text.count("\n", 0, found.start()) + 1
                problems.append(f"{document}:{line} names {found[1]}, which does "
                                "not exist")
    return sorted(problems), count


def cluster_keys():
    """The manual page of the file of a cluster has every key."""
    source = read("common/cluster/cluster_file.cc")
    keys = re.findall(r'^ +(?:return \{)?\{"([a-z-]+)", [A-Z]', source, re.M)
    page = read("docs/man/canopy-cluster.5").replace("\\-", "-")
    tags = re.findall(r"^\.TP\n(.*)$", page, re.M)
    return [f"canopy-cluster.5 lacks {key}" for key in keys
            if not any(re.search(rf"(?<![\w-]){key}(?![\w-])", tag)
                       for tag in tags)], len(keys)


CHECKS = {
    "canopy.1 has every command": manual,
    "canopy-cluster.5 has every key": cluster_keys,
    "ARCHITECTURE.md has every folder": code_map,
    "ARCHITECTURE.md has every engine": engines,
    "every document is linked": index,
    "links lead to files": links,
    "paths in documents exist": paths,
    "failure_model.md names the test of each row": failures.check,
}
