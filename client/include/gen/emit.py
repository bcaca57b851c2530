"""Turns rows of the tables into C declarations."""

import re

import ctext
import tables as tbl

BIT_GROUPS = ("info-directive", "iof-channel", "locality", "device-type",
              "storage-medium", "storage-accessibility", "storage-persistence",
              "storage-access-type")

STATUS_NOTES = {
    "deprecated": "Deprecated by the standard.",
    "removed": "No longer in the standard; kept for existing programs.",
}


def literal(row):
  """Returns the C literal of a constant."""
  value = int(row.value)
  if value < 0:
    return "(%d)" % value
  suffix = "U" if value > 0x7fffffff else ""
  if row.group in BIT_GROUPS:
    return "0x%04x%s" % (value, suffix)
  return "%d%s" % (value, suffix)


def note(row):
  """Returns a note about the status of a row, or an empty text."""
  return STATUS_NOTES.get(row.status, "")


def described(row, text):
  """Returns the description of a row, followed by the note about its status."""
  return (ctext.sentence(text) + " " + note(row)).strip()


def constant(row):
  return (ctext.comment(described(row, row.meaning)) +
          ctext.define(row.name, literal(row)))


def attribute(row):
  text = "%s (%s)" % (row.meaning, row.type)
  return (ctext.comment(described(row, text)) +
          ctext.define(row.name, '"%s"' % row.key))


def enum(name, rows):
  out = ["typedef enum {\n"]
  for row in rows:
    out.append(ctext.comment(ctext.sentence(row.meaning), "  "))
    out.append("  %s = %s,\n" % (row.name, literal(row)))
  out[-1] = out[-1].replace(",\n", "\n")
  out.append("} %s;\n" % name)
  return "".join(out)


def typedef(row):
  match = re.match(r"^(.*?)\s*(\[\d+\])$", row.field_type)
  base, array = match.groups() if match else (row.field_type, "")
  return (ctext.comment(ctext.sentence(row.meaning)) +
          "typedef %s %s%s;\n" % (base, row.type, array))


def _member(row, name, indent):
  kind = row.field_type
  out = ctext.comment(ctext.sentence(row.meaning), indent)
  if "(*)" in kind:
    return out + "%s%s;\n" % (indent, kind.replace("(*)", "(*%s)" % name))
  stars = len(kind) - len(kind.rstrip("*"))
  base = kind.rstrip("*").strip()
  return out + "%s%s %s%s;\n" % (indent, base, "*" * stars, name)


def struct(name, head, fields, tag=None):
  """Returns a struct definition; members `a.b` become a nested union `a`."""
  tag = head.tag if tag is None else tag
  out = [ctext.comment(ctext.sentence(head.meaning))]
  out.append("typedef struct %s{\n" % (tag + " " if tag else ""))
  nested = [f for f in fields if "." in f.field]
  for row in fields:
    if "." in row.field:
      continue
    if row.field_type.startswith("union"):
      out.append(ctext.comment(ctext.sentence(row.meaning), "  "))
      out.append("  union {\n")
      out += [_member(n, n.field.split(".")[1], "    ") for n in nested]
      out.append("  } %s;\n" % row.field)
    else:
      out.append(_member(row, row.field, "  "))
  out.append("} %s;\n" % name)
  return "".join(out)


def _attribute_list(lead, rows):
  return "%s: %s." % (lead, ", ".join(r.attribute for r in rows)) if rows else ""


def _function_comment(row, attributes):
  """Returns the description of a function and of the attributes that it
  knows."""
  always = [r for r in attributes
            if (r.level, r.provider) == ("required", "library")]
  rest = [r for r in attributes if r not in always]
  leads = ("The library adds", "Attributes that may come with it") if (
      row.kind == "callback") else (
          "Attributes", "Where the host or the library supports them")
  return ctext.paragraphs([
      described(row, row.purpose),
      _attribute_list(leads[0], always),
      _attribute_list(leads[1], rest),
  ])


def function(row, attributes):
  returns, name, parameters = tbl.split_prototype(row.prototype)
  return (_function_comment(row, attributes) +
          ctext.prototype(returns, name, parameters, "PMIX_EXPORT "))


def callback(row, attributes):
  match = re.match(r"^(.*?)\s*(\(\*\w+\))\s*\((.*)\)$", row.prototype)
  returns, pointer, parameters = match.groups()
  return (_function_comment(row, attributes) + ctext.prototype(
      returns, pointer, tbl.split_parameters(parameters), "typedef "))


def macro(row):
  doc = ctext.comment(described(row, row.meaning))
  if row.form == "init":
    return doc + ctext.define_lines(row.name, row.expansion.split("\\n"))
  head = "%s(%s)" % (row.name, row.args)
  lines = [part for part in row.expansion.split("\\n") if part]
  if row.form == "statement":
    lines = ["do {"] + ["  " + line for line in lines] + ["} while (0)"]
  return doc + ctext.define_lines(head, lines)


def in_order(rows, names_in):
  """Returns the rows in an order in which each follows the rows of the list
  that it mentions."""
  done, out, waiting = set(), [], list(rows)
  known = {r.name for r in rows}
  while waiting:
    ready = [r for r in waiting
             if not ((names_in(r) & known) - done - {r.name})]
    if not ready:
      raise ValueError("cycle among " + ", ".join(r.name for r in waiting))
    out += ready
    done |= {r.name for r in ready}
    waiting = [r for r in waiting if r.name not in done]
  return out
