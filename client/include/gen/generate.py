"""Writes one generated file.

usage: generate.py header NAME TABLE_DIR TEMPLATE OUTPUT
       generate.py cpp_tables TABLE_DIR OUTPUT
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cpp_tables  # pylint: disable=wrong-import-position
import header  # pylint: disable=wrong-import-position
import tables  # pylint: disable=wrong-import-position


def write_file(path, text):
  with open(path, "w", encoding="utf-8") as f:
    f.write(text)


def write_header(name, table_dir, template, output):
  with open(template, encoding="utf-8") as f:
    text = f.read()
  result = header.Header(
      tables.Tables(table_dir), name, os.path.dirname(template)).expand(text)
  write_file(output, result)


def write_cpp_tables(table_dir, output):
  write_file(output, cpp_tables.render(tables.Tables(table_dir)))


def main(argv):
  commands = {"header": write_header, "cpp_tables": write_cpp_tables}
  if len(argv) < 2 or argv[1] not in commands:
    sys.stderr.write(__doc__)
    return 2
  commands[argv[1]](*argv[2:])
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv))
