"""Expands a header template.

A template is C text in which a line `@@command arguments@@` stands for rows of
the tables:

  @@constants group...@@   macros of the constants of these groups
  @@attributes group...@@  macros of the attributes of these groups
  @@typedefs@@             all scalar type names of this header
  @@enum type...@@         enumerations
  @@struct type...@@       struct definitions
  @@module type tag name@@ struct `type` with the members of every release
  @@callbacks@@            all function pointer types of this header
  @@functions group...@@   function prototypes
  @@macros group...@@      function-like macros and static initialisers
  @@include file@@         the text of a file beside the template

Group arguments are exact names, or prefixes if they end in `*`; rows are in the
order of the arguments, then of the table. Every row that names this header must
be emitted exactly once.
"""

import os
import re

import emit

_DIRECTIVE = re.compile(r"^@@(\w+)((?: [^@]+)?)@@$")


def _matches(group, pattern):
  if pattern.endswith("*"):
    return group.startswith(pattern[:-1])
  return group == pattern


class Header:
  """A header that is being expanded."""

  def __init__(self, tables, name, template_dir):
    self.tables = tables
    self.name = name
    self.template_dir = template_dir
    self.emitted = set()

  def mine(self, rows):
    return [r for r in rows if r.header == self.name]

  def take(self, kind, names):
    for name in names:
      if (kind, name) in self.emitted:
        raise ValueError("%s: %s %s twice" % (self.name, kind, name))
      self.emitted.add((kind, name))

  def groups(self, kind, rows, patterns, render):
    rows = [r for p in patterns for r in self.mine(rows)
            if _matches(r.group, p)]
    if not rows:
      raise ValueError("%s: no %s in %s" % (self.name, kind, patterns))
    self.take(kind, [r.name for r in rows])
    return "\n".join(render(r) for r in rows)

  def constants(self, args):
    enums = self.tables.enum_types()
    rows = [r for r in self.tables.constants if r.type not in enums]
    return self.groups("constant", rows, args, emit.constant)

  def attributes(self, args):
    return self.groups("attribute", self.tables.attributes, args,
                       emit.attribute)

  def functions(self, args):
    rows = [r for r in self.tables.functions if r.kind == "function"]

    def render(row):
      return emit.function(row, self.tables.attributes_of(row.name))

    return self.groups("function", rows, args, render)

  def macros(self, args):
    return self.groups("macro", self.tables.macros, args, emit.macro)

  def callbacks(self, args):
    del args
    rows = self.mine(r for r in self.tables.functions if r.kind == "callback")
    self.take("callback", [r.name for r in rows])

    def mentioned(row):
      return set(re.findall(r"\w+", row.prototype))

    return "\n".join(
        emit.callback(r, self.tables.attributes_of(r.name))
        for r in emit.in_order(rows, mentioned))

  def typedefs(self, args):
    del args
    rows = self.mine(r for r in self.tables.structs if r.kind == "typedef")
    self.take("type", [r.type for r in rows])
    return "\n".join(emit.typedef(r) for r in rows)

  def enum(self, args):
    out = []
    for name in args:
      rows = [r for r in self.tables.constants if r.type == name]
      self.take("constant", [r.name for r in rows])
      out.append(emit.enum(name, rows))
    return "\n".join(out)

  def struct(self, args):
    self.take("type", args)
    out = []
    for name in args:
      head = self.tables.struct_head(name)
      fields = self.tables.struct_fields(name)
      if name == "pmix_server_module_t":
        fields = [f for f in fields if f.release == "4.2.2"]
      out.append(emit.struct(name, head, fields))
    return "\n".join(out)

  def module(self, args):
    source, tag, name = args
    head = self.tables.struct_head(source)
    out = emit.struct(name, head, self.tables.struct_fields(source), tag)
    return out[out.index("typedef"):]

  def include(self, args):
    path = os.path.join(self.template_dir, args[0])
    with open(path, encoding="utf-8") as f:
      return f.read()

  def expand(self, template):
    """Returns the header's text; raises an exception if a row of this header
    was left out."""
    out = []
    for line in template.splitlines():
      match = _DIRECTIVE.match(line)
      if match:
        command, arguments = match.groups()
        out.append(getattr(self, command)(arguments.split()).rstrip("\n"))
      else:
        out.append(line)
    self._check_complete()
    return "\n".join(out) + "\n"

  def _check_complete(self):
    t = self.tables
    wanted = {("constant", r.name) for r in self.mine(t.constants)}
    wanted |= {("attribute", r.name) for r in self.mine(t.attributes)}
    wanted |= {("macro", r.name) for r in self.mine(t.macros)}
    wanted |= {(r.kind, r.name) for r in self.mine(t.functions)}
    wanted |= {("type", r.type) for r in self.mine(t.structs)}
    missing = sorted(wanted - self.emitted)
    if missing:
      raise ValueError("%s: not emitted: %s" % (self.name, missing))
