"""Writes one generated file.

usage: generate.py header NAME TABLE_DIR TEMPLATE OUTPUT
       generate.py cpp_tables TABLE_DIR OUTPUT
       generate.py version_script TABLE_DIR OUTPUT
       generate.py group_version_script TABLE_DIR GROUP OUTPUT
       generate.py group_names TABLE_DIR GROUP OUTPUT
       generate.py data_symbols TABLE_DIR OUTPUT
       generate.py data_symbol_sizes TABLE_DIR OUTPUT
       generate.py unsupported TABLE_DIR IMPLEMENTED OUTPUT
       generate.py checks TABLE_DIR RELEASES OUTPUT
       generate.py names TABLE_DIR RELEASES OUTPUT

RELEASES is a comma list of what the tables have in their column `release`.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import abi  # pylint: disable=wrong-import-position
import checks  # pylint: disable=wrong-import-position
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


def write_version_script(table_dir, output):
  known = tables.Tables(table_dir)
  write_file(output,
             abi.version_script(abi.exported(known) + known.symbols))


def write_group_version_script(table_dir, group, output):
  write_file(output, abi.version_script(
      abi.exported_of(tables.Tables(table_dir), group)))


def write_group_names(table_dir, group, output):
  rows = abi.exported_of(tables.Tables(table_dir), group)
  write_file(output, "".join("%s\n" % row.name for row in rows))


def write_data_symbols(table_dir, output):
  write_file(output, abi.data_symbols(tables.Tables(table_dir)))


def write_data_symbol_sizes(table_dir, output):
  write_file(output, abi.data_symbol_sizes(tables.Tables(table_dir)))


def write_unsupported(table_dir, implemented, output):
  write_file(output, abi.unsupported(tables.Tables(table_dir),
                                     abi.read_names(implemented)))


def write_checks(table_dir, releases, output):
  write_file(output, checks.render(tables.Tables(table_dir),
                                   releases.split(",")))


def write_names(table_dir, releases, output):
  write_file(output, checks.names(tables.Tables(table_dir),
                                  releases.split(",")))


def main(argv):
  commands = {
      "checks": write_checks,
      "names": write_names,
      "header": write_header,
      "cpp_tables": write_cpp_tables,
      "version_script": write_version_script,
      "group_version_script": write_group_version_script,
      "group_names": write_group_names,
      "data_symbols": write_data_symbols,
      "data_symbol_sizes": write_data_symbol_sizes,
      "unsupported": write_unsupported,
  }
  if len(argv) < 2 or argv[1] not in commands:
    sys.stderr.write(__doc__)
    return 2
  commands[argv[1]](*argv[2:])
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv))
