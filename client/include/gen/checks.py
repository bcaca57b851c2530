"""Writes a C program that checks headers against the tables.

The program is valid C11 and C++17. Sizes, offsets and values are checked when
it is compiled, keys and types of functions too where the language can; the keys
of attributes when it runs.
"""

import emit

_HEAD = """\
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

#ifdef __cplusplus
#define CHECK(condition, text) static_assert(condition, text)
#else
#define CHECK(condition, text) _Static_assert(condition, text)
#endif
#define SIZE(type, size) CHECK(sizeof(type) == (size), "size of " #type)
#ifdef __cplusplus
#define ALIGN(type, align) CHECK(alignof(type) == (align), "align of " #type)
#else
#define ALIGN(type, align) CHECK(_Alignof(type) == (align), "align of " #type)
#endif
#define FIELD(type, field, offset, size)                            \\
  CHECK(offsetof(type, field) == (offset) &&                        \\
            sizeof(((type *) 0)->field) == (size), #type "." #field)
#define VALUE(name, value) CHECK((name) == (value), #name)

struct key {
  const char *name;
  const char *have;
  const char *want;
};
"""

_MAIN = """\
int main(void) {
  size_t i;
  int failures = 0;
  for (i = 0; i < sizeof(keys) / sizeof(keys[0]); ++i) {
    if (0 != strcmp(keys[i].have, keys[i].want)) {
      printf("%s is \\"%s\\", expected \\"%s\\"\\n", keys[i].name,
             keys[i].have, keys[i].want);
      ++failures;
    }
  }
  printf("%d of %d keys differ\\n", failures,
         (int) (sizeof(keys) / sizeof(keys[0])));
  return 0 == failures ? 0 : 1;
}
"""


def _types(rows):
  out = []
  for row in rows:
    if row.kind == "field":
      if row.field_type.startswith("union"):
        continue
      out.append("FIELD(%s, %s, %s, %s);" %
                 (row.type, row.field, row.offset, row.size))
    else:
      out.append("SIZE(%s, %s);" % (row.type, row.size))
      out.append("ALIGN(%s, %s);" % (row.type, row.align))
      if row.kind == "struct" and row.tag:
        out.append("SIZE(struct %s, %s);" % (row.tag, row.size))
  return out


def _functions(rows):
  """Returns a declaration of each function. If its type differs from that in
  the headers, the program does not compile."""
  out = []
  for row in rows:
    out.append("%s;" % row.prototype)
  return ["#ifdef __cplusplus", 'extern "C" {', "#endif"] + out + [
      "#ifdef __cplusplus", "}", "#endif"]


def render(tables, releases):
  """Returns the program for the rows of the given releases."""
  skipped = ("pmi.h", "pmi2.h", "-")

  def chosen(rows):
    return [r for r in rows if r.release in releases and
            r.header not in skipped]

  structs = [r for r in chosen(tables.structs)
             if not (r.type == "pmix_server_module_t" and r.release == "7.0")]
  constants = [r for r in chosen(tables.constants)
               if not r.name.startswith("PMIX_VERSION") and
               r.name != "PMIX_NUMERIC_VERSION"]
  functions = [r for r in chosen(tables.functions) if r.kind == "function"]
  keys = ['  {"%s", %s, "%s"},' % (r.name, r.name, r.key)
          for r in chosen(tables.attributes)]
  parts = [_HEAD]
  parts += _types(structs)
  parts.append("")
  parts += ["VALUE(%s, %s);" % (r.name, emit.literal(r)) for r in constants]
  parts.append("")
  parts += _functions(functions)
  parts.append("\nstatic const struct key keys[] = {")
  parts += keys
  parts.append("};\n")
  parts.append(_MAIN)
  return "\n".join(parts)


def names(tables, releases):
  """Returns the exported functions of the given releases, one on each line."""
  rows = [r for r in tables.functions if r.kind == "function" and
          r.release in releases]
  return "".join("%s\n" % r.name for r in rows)

