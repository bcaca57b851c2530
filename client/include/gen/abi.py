"""Writes sources with which the shared library has exactly the table's
symbols."""

import re

import tables as tbl

# The statement that returns from a function without an implementation, by
# return type.
_REFUSALS = {
    "void": None,
    "bool": "false",
    "int": "0",
    "size_t": "0",
    "pmix_status_t": "PMIX_ERR_NOT_SUPPORTED",
    "pmix_boolean_t": "PMIX_NON_BOOL",
    "pmix_value_cmp_t": "PMIX_VALUE_COMPARISON_NOT_AVAIL",
}


def exported(tables):
  """Returns the rows of the functions of libpmix."""
  return [r for r in tables.functions if r.kind == "function" and
          r.group not in ("pmi1", "pmi2")]


def exported_of(tables, group):
  """Returns the rows of the functions of libpmi (pmi1) or libpmi2 (pmi2)."""
  return [r for r in tables.functions if r.kind == "function" and
          r.group == group]


def version_script(rows):
  """Returns a linker script that exports only the symbols of these rows."""
  names = "\n".join("    %s;" % r.name for r in rows)
  return "{\n  global:\n%s\n  local:\n    *;\n};\n" % names


def _definition(row):
  """Returns the definition of a data symbol of the size in the table."""
  words = row.contents.split()
  if row.kind != "strings" or len(words) + 1 != int(row.slots):
    raise ValueError("%s: no array of %s slots" % (row.name, row.slots))
  lines = "".join('    "%s",\n' % word for word in words)
  return ('__attribute__((visibility("default"))) char *%s[%s] = {\n%s'
          '    NULL,\n};\n' % (row.name, row.slots, lines))


def data_symbols(tables):
  """Returns the C definitions of the library's data symbols."""
  return ("#include <stddef.h>\n\n" +
          "\n".join(_definition(r) for r in tables.symbols))


def data_symbol_sizes(tables):
  """Returns the data symbols, one on each line, with their sizes in bytes on
  x86-64."""
  return "".join("%s %d\n" % (r.name, 8 * int(r.slots))
                 for r in tables.symbols)


def read_names(path):
  """Returns the names in a file that has one on each line; `#` starts a
  comment."""
  with open(path, encoding="utf-8") as f:
    names = [line.split("#")[0].strip() for line in f]
  return {name for name in names if name}


def _refusal(row):
  """Returns an entry point that reports that it is not supported."""
  returns, name, parameters = tbl.split_prototype(row.prototype)
  lines = []
  # A caller that waits for a callback must not wait for ever.
  if returns == "void" and any(re.match(r"pmix_op_cbfunc_t ", p)
                               for p in parameters):
    lines.append("  if (cbfunc != nullptr) {\n"
                 "    cbfunc(PMIX_ERR_NOT_SUPPORTED, cbdata);\n  }")
  value = "nullptr" if returns.endswith("*") else _REFUSALS[returns]
  if value is not None:
    lines.append("  return %s;" % value)
  used = ("cbfunc", "cbdata") if len(lines) and "cbfunc" in lines[0] else ()
  for i, parameter in enumerate(parameters):
    if parameter.split()[-1] not in used:
      parameters[i] = "[[maybe_unused]] " + parameter
  return "%s %s(%s) {\n%s\n}\n" % (returns, name, ", ".join(parameters),
                                   "\n".join(lines))


def unsupported(tables, implemented):
  """Returns entry points for the functions that are not among `implemented`."""
  rows = exported(tables)
  unknown = sorted(implemented - {r.name for r in rows})
  if unknown:
    raise ValueError("not in the function table: " + ", ".join(unknown))
  bodies = [_refusal(r) for r in rows if r.name not in implemented]
  return ('#include "pmix.h"\n#include "pmix_server.h"\n'
          '#include "pmix_tool.h"\n\nextern "C" {\n\n%s\n}  // extern "C"\n' %
          "\n".join(bodies))
