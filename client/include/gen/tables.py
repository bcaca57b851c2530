"""Reads the SDK's data tables (tab separated, one header line, no quoting)."""

import os
import re


class Row:
  """One line of a table. Its columns are attributes of the object."""

  def __init__(self, names, cells):
    self.__dict__.update(zip(names, cells))


def read_table(path):
  """Returns the rows of the table in `path`, in file order."""
  with open(path, encoding="utf-8") as f:
    lines = f.read().splitlines()
  names = lines[0].split("\t")
  rows = []
  for number, line in enumerate(lines[1:], start=2):
    cells = line.split("\t")
    if len(cells) != len(names):
      raise ValueError("%s:%d: %d cells, expected %d" %
                       (path, number, len(cells), len(names)))
    rows.append(Row(names, cells))
  return rows


class Tables:
  """All tables of a directory."""

  def __init__(self, directory):
    def load(name):
      return read_table(os.path.join(directory, name + ".tsv"))

    self.attributes = load("attributes")
    self.constants = load("constants")
    self.functions = load("functions")
    self.function_attributes = load("function_attributes")
    self.macros = load("macros")
    self.structs = load("structs")
    self.symbols = load("symbols")

  def attributes_of(self, function):
    """Returns the rows of the attributes that `function` knows, in the order of
    the table."""
    return [r for r in self.function_attributes if r.function == function]

  def struct_head(self, name):
    """Returns the row that describes the type `name` itself."""
    for row in self.structs:
      if row.type == name and row.kind in ("struct", "typedef"):
        return row
    raise KeyError(name)

  def struct_fields(self, name):
    """Returns the rows of the members of the struct `name`, including nested
    members."""
    return [r for r in self.structs if r.type == name and r.kind == "field"]

  def enum_types(self):
    """Returns the types whose constants are enumerators rather than macros."""
    return ("pmix_value_cmp_t", "pmix_group_opt_t", "pmix_group_operation_t",
            "pmix_fabric_operation_t", "pmix_boolean_t")


_PROTOTYPE = re.compile(r"^(.*?[\s*])(\w+)\s*\((.*)\)$", re.S)


def split_prototype(prototype):
  """Splits a function prototype into (return type, name, parameter list)."""
  match = _PROTOTYPE.match(prototype)
  if not match:
    raise ValueError("not a prototype: " + prototype)
  returns, name, parameters = match.groups()
  return returns.strip(), name, split_parameters(parameters)


def split_parameters(text):
  """Splits a parameter list at its top-level commas."""
  parts, depth, current = [], 0, ""
  for char in text:
    depth += {"(": 1, ")": -1}.get(char, 0)
    if char == "," and depth == 0:
      parts.append(current.strip())
      current = ""
    else:
      current += char
  parts.append(current.strip())
  return [] if parts in ([""], ["void"]) else parts
