"""Writes what the shared library needs to have exactly the table's symbols."""

import re

import tables as tbl

# The result of a function without an implementation, by its return type.
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
  """The rows of the functions of libpmix."""
  return [r for r in tables.functions if r.kind == "function" and
          r.group not in ("pmi1", "pmi2")]


def exported_of(tables, group):
  """The rows of the functions of libpmi (pmi1) or libpmi2 (pmi2)."""
  return [r for r in tables.functions if r.kind == "function" and
          r.group == group]


def version_script(rows):
  """A linker script that exports the symbols of these rows alone."""
  names = "\n".join("    %s;" % r.name for r in rows)
  return "{\n  global:\n%s\n  local:\n    *;\n};\n" % names


def _definition(row):
  """A data symbol with the size that the table promises."""
  words = row.contents.split()
  if row.kind != "strings" or len(words) + 1 != int(row.slots):
    raise ValueError("%s: no array of %s slots" % (row.name, row.slots))
  lines = "".join('    "%s",\n' % word for word in words)
  return ('__attribute__((visibility("default"))) char *%s[%s] = {\n%s'
          '    NULL,\n};\n' % (row.name, row.slots, lines))


def data_symbols(tables):
  """C definitions of the library's data symbols."""
  return ("#include <stddef.h>\n\n" +
          "\n".join(_definition(r) for r in tables.symbols))


def data_symbol_sizes(tables):
  """The data symbols, one a line, each with its size in bytes on x86-64."""
  return "".join("%s %d\n" % (r.name, 8 * int(r.slots))
                 for r in tables.symbols)


def read_names(path):
  """The names of a file that has one a line; `#` starts a comment."""
  with open(path, encoding="utf-8") as f:
    names = [line.split("#")[0].strip() for line in f]
  return {name for name in names if name}


def _refusal(row):
  """An entry point whose result is that it is not supported."""
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
  """Entry points for the functions that are not among `implemented`."""
  rows = exported(tables)
  unknown = sorted(implemented - {r.name for r in rows})
  if unknown:
    raise ValueError("not in the function table: " + ", ".join(unknown))
  bodies = [_refusal(r) for r in rows if r.name not in implemented]
  return ('#include "pmix.h"\n#include "pmix_server.h"\n'
          '#include "pmix_tool.h"\n\nextern "C" {\n\n%s\n}  // extern "C"\n' %
          "\n".join(bodies))
