#!/usr/bin/env python3
"""Prints the help of every program and command, one after the other.

tests/messages/help.txt has it, to be read as a whole; a case of the integration tests
("messages: help") compares them.

Usage: tests/messages/help_texts.py PREFIX [--write]      writes help.txt anew
"""
import os
import re
import subprocess
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "help.txt")
# The commands that the list of `canopy help` does not name, and the other programs.
OTHERS = (("canopy", "help"), ("canopy-mpirun", "--help"), ("canopyd", "--help"),
          ("canopy-pps", "--help"), ("canopy-pquery", "--help"),
          ("canopy-pattrs", "--help"), ("canopy-plookup", "--help"),
          ("canopy-pevent", "--help"), ("canopy-pctrl", "--help"),
          ("canopy-palloc", "--help"), ("pmix_info", "--help"))


def output(prefix, program, *args):
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "XDG_RUNTIME_DIR": "/tmp"}
    return subprocess.run([os.path.join(prefix, "bin", program), *args], env=env, text=True,
                          check=True, capture_output=True).stdout


def commands(prefix):
    names = re.findall(r"^  ([a-z-]+)  ", output(prefix, "canopy", "help"), re.M)
    return [*OTHERS, *(("canopy", "help", name) for name in names)]


def text(prefix):
    parts = []
    for command in commands(prefix):
        parts.append(f"$ {' '.join(command)}\n{output(prefix, *command)}")
    return "\n".join(parts)


def main():
    shown = text(sys.argv[1])
    if "--write" not in sys.argv:
        print(shown, end="")
        return
    with open(GOLDEN, "w", encoding="utf-8") as golden:
        golden.write(shown)


if __name__ == "__main__":
    main()
