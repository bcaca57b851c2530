#!/usr/bin/env python3
"""Makes the libraries against which the libraries for users' programs are linked.

usage: make_stubs.py SYMBOLS COMPILER DIRECTORY

Each library of the table SYMBOLS becomes DIRECTORY/LIBRARY.so: a library with
the name (SONAME) of the real one, with empty functions in place of the real
ones, and with the symbol versions of the table. Only the linker reads it.
"""

import collections
import csv
import os
import subprocess
import sys
import tempfile

SONAMES = {
  "libc": "libc.so.6",
  "libdl": "libdl.so.2",
  "libpthread": "libpthread.so.0",
}
# The version of a symbol to which references have no version.
NO_VERSION = "-"


def read_table(path):
  """Returns the rows of the table by library."""
  libraries = {library: [] for library in SONAMES}
  with open(path, encoding="utf-8") as file:
    for row in csv.DictReader(file, delimiter="\t"):
      libraries[row["library"]].append(row)
  return libraries


def source(rows):
  """Returns C definitions of the symbols; their types do not matter."""
  forms = {"function": "void %s(void) {}\n", "data": "char %s[8];\n"}
  return "".join(forms[row["kind"]] % row["symbol"] for row in rows)


def version_script(rows):
  """Returns the linker script that gives the symbols their versions."""
  versions = collections.defaultdict(list)
  for row in rows:
    if row["version"] != NO_VERSION:
      versions[row["version"]].append(row["symbol"])
  return "".join(
      "%s { global: %s; };\n" % (version, "; ".join(symbols))
      for version, symbols in sorted(versions.items()))


def write(path, text):
  with open(path, "w", encoding="utf-8") as file:
    file.write(text)


def make_stub(library, rows, compiler, directory):
  with tempfile.TemporaryDirectory() as work:
    code = os.path.join(work, "stub.c")
    script = os.path.join(work, "stub.lds")
    write(code, source(rows))
    write(script, version_script(rows))
    subprocess.run(
        [compiler, "-w", "-fno-builtin", "-fPIC", "-shared", "-nostdlib",
         "-Wl,-soname," + SONAMES[library],
         "-Wl,--version-script=" + script,
         "-o", os.path.join(directory, library + ".so"), code],
        check=True)


def main():
  symbols, compiler, directory = sys.argv[1:]
  for library, rows in read_table(symbols).items():
    make_stub(library, rows, compiler, directory)


if __name__ == "__main__":
  main()
