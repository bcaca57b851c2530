#!/usr/bin/env python3
"""Runs clang-tidy on every C++ source.

The checks are those of .clang-tidy and the warnings of clang's thread-safety
analysis. Prints one line for each source. Generated headers come from the usual
build.

Usage: tests/lint/run.py [WORD...]

With WORDs, only sources whose path contains one of them are checked.
"""
import concurrent.futures
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
FLAGS = ["-std=c++20", "-iquote", ".", "-isystem", "bazel-bin",
         "-isystem", "bazel-bin/client/include", "-isystem", "client/include",
         "-DSPDLOG_COMPILED_LIB", "-DSPDLOG_SHARED_LIB",
         "-DSPDLOG_FMT_EXTERNAL", "-Wthread-safety"]
# Warnings of the compiler count as much as warnings of clang-tidy.
CHECKS = "--checks=clang-diagnostic-thread-safety*"


def sources(words):
    listed = subprocess.run(
        ["git", "ls-files", "common/*.cc", "server/*.cc", "client/*.cc",
         "hostmodule/*.cc", "tests/openpmix/*.cc"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    return [path for path in listed
            if not words or any(word in path for word in words)]


def lint(path):
    """Returns the problems of one source, or None."""
    done = subprocess.run(["clang-tidy", "--quiet", CHECKS, path, "--", *FLAGS],
                          cwd=ROOT, check=False, capture_output=True, text=True)
    found = {line.replace(ROOT + "/", "") for line in done.stdout.splitlines()
             if " error: " in line or " warning: " in line}
    if done.returncode != 0 and not found:
        found = {done.stderr.strip()}
    return sorted(found)


def main():
    subprocess.run(["bazel", "build", "//..."], cwd=ROOT, check=True)
    paths = sources(sys.argv[1:])
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, found in zip(paths, pool.map(lint, paths)):
            if found:
                failed += 1
                print(f"FAILED {path}: " + "\n  ".join(found), flush=True)
            else:
                print(f"ok {path}", flush=True)
    print(f"lint: {len(paths) - failed} passed, {failed} failed")
    return 0 if paths and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
