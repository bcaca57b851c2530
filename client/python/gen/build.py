#!/usr/bin/env python3
"""Lays out the Python module pmix.

Usage: build.py INCLUDE TABLES OUT

INCLUDE has the installed headers, TABLES their tables; OUT/pmix becomes the
module. It needs cffi and a C compiler, and the module needs only cffi's
backend. Nothing is compiled: the module calls the library by its binary
interface, so it works with every Python 3 that has the backend.
"""
import contextlib
import glob
import os
import shutil
import sys

import cffi

import constants
import declarations

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "pmix")


def write_declarations(include, path):
    ffi = cffi.FFI()
    ffi.set_source("_declarations", None)
    ffi.cdef(declarations.declarations(include))
    with contextlib.redirect_stdout(None):  # it prints the path
        ffi.emit_python_code(path)


def main(include, tables, out):
    package = os.path.join(out, "pmix")
    fresh = package + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    for source in glob.glob(os.path.join(SOURCES, "*.py")):
        shutil.copyfile(source, os.path.join(fresh, os.path.basename(source)))
    constants.write(tables, os.path.join(fresh, "constants.py"))
    write_declarations(os.path.abspath(include),
                       os.path.join(fresh, "_declarations.py"))
    shutil.rmtree(package, ignore_errors=True)
    os.rename(fresh, package)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
