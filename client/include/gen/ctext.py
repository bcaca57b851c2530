"""Lays out C text: comments, macros and prototypes within 80 columns."""

import textwrap

WIDTH = 80


def comment(text, indent=""):
  """Returns a block comment that holds `text`, wrapped; one line if it fits."""
  text = " ".join(text.split())
  if not text:
    return ""
  single = "%s/* %s */" % (indent, text)
  if len(single) <= WIDTH:
    return single + "\n"
  body = textwrap.wrap(text, WIDTH - len(indent) - 6, break_on_hyphens=False)
  return "%s/* %s */\n" % (indent, ("\n" + indent + " * ").join(body))


def paragraphs(parts, indent=""):
  """Returns a block comment of several paragraphs; empty ones are left out."""
  parts = [" ".join(p.split()) for p in parts if p.strip()]
  if len(parts) <= 1:
    return comment("".join(parts), indent)
  lines = []
  for part in parts:
    if lines:
      lines.append("")
    lines.extend(
        textwrap.wrap(part, WIDTH - len(indent) - 3, break_on_hyphens=False))
  out = [indent + "/*"]
  out += [(indent + " * " + line).rstrip() for line in lines]
  out.append(indent + " */")
  return "\n".join(out) + "\n"


def sentence(text):
  """Returns `text` with a capital at the front and a full stop at the end."""
  text = text.strip()
  if not text:
    return ""
  end = "" if text[-1] in ".!?" else "."
  return text[0].upper() + text[1:] + end


def prototype(returns, name, parameters, prefix=""):
  """Returns a declaration; if it is long, the parameters are on lines of their
  own."""
  gap = "" if returns.endswith("*") else " "
  head = "%s%s%s%s(" % (prefix, returns, gap, name)
  text = ", ".join(parameters) if parameters else "void"
  if len(head) + len(text) + 2 <= WIDTH:
    return head + text + ");\n"
  return head + "\n" + "\n".join(_fill(parameters)) + ");\n"


def _fill(parameters):
  """Returns lines of parameters, broken only after commas."""
  lines = [""]
  for i, parameter in enumerate(parameters):
    piece = parameter + ("," if i + 1 < len(parameters) else "")
    if lines[-1] and len(lines[-1]) + len(piece) + 7 > WIDTH:
      lines.append("")
    lines[-1] += (" " if lines[-1] else "") + piece
  return ["    " + line for line in lines]


def define(name, value):
  """Returns an object-like macro."""
  line = "#define %s %s" % (name, value)
  if len(line) <= WIDTH:
    return line + "\n"
  return "#define %s \\\n  %s\n" % (name, value)


def define_lines(head, lines):
  """Returns a macro whose body is the given lines."""
  if not lines:
    return "#define %s\n" % head
  if len(lines) == 1 and len("#define %s %s" % (head, lines[0])) <= WIDTH:
    return "#define %s %s\n" % (head, lines[0])
  out = ["#define %s" % head] + ["  " + line for line in lines]
  return " \\\n".join(out) + "\n"
