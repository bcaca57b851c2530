"""Writes the tables as constant C++ data."""

_DATA_TYPES = {
    "bool": "PMIX_BOOL",
    "char*": "PMIX_STRING",
    "double": "PMIX_DOUBLE",
    "envvar": "PMIX_STRING",
    "float": "PMIX_FLOAT",
    "hwloc_topology_t": "PMIX_POINTER",
    "int": "PMIX_INT",
    "int32_t": "PMIX_INT32",
    "pid_t": "PMIX_PID",
    "pmix_alloc_inheritance_t": "PMIX_ALLOC_INHERIT",
    "pmix_byte_object_t": "PMIX_BYTE_OBJECT",
    "pmix_cpuset_t": "PMIX_PROC_CPUSET",
    "pmix_data_array_t": "PMIX_DATA_ARRAY",
    "array": "PMIX_DATA_ARRAY",
    "pmix_proc_t array": "PMIX_DATA_ARRAY",
    "pmix_data_range_t": "PMIX_DATA_RANGE",
    "pmix_device_type_t": "PMIX_DEVTYPE",
    "pmix_envar_t": "PMIX_ENVAR",
    "pmix_geometry_t": "PMIX_GEOMETRY",
    "pmix_link_state_t": "PMIX_LINK_STATE",
    "pmix_locality_t": "PMIX_LOCTYPE",
    "pmix_persistence_t": "PMIX_PERSIST",
    "pmix_proc_state_t": "PMIX_PROC_STATE",
    "pmix_proc_t": "PMIX_PROC",
    "pmix_rank_t": "PMIX_PROC_RANK",
    "pmix_scope_t": "PMIX_SCOPE",
    "pmix_status_t": "PMIX_STATUS",
    "pmix_storage_access_type_t": "PMIX_STOR_ACCESS_TYPE",
    "pmix_storage_accessibility_t": "PMIX_STOR_ACCESS",
    "pmix_storage_medium_t": "PMIX_STOR_MEDIUM",
    "pmix_storage_persistence_t": "PMIX_STOR_PERSIST",
    "pmix_topology_t": "PMIX_TOPO",
    "pointer": "PMIX_POINTER",
    "size_t": "PMIX_SIZE",
    "struct timeval": "PMIX_TIMEVAL",
    "time_t": "PMIX_TIME",
    "type": None,
    "uint16_t": "PMIX_UINT16",
    "uint32_t": "PMIX_UINT32",
    "uint64_t": "PMIX_UINT64",
    "varies": None,
    "void": None,
    "void*": "PMIX_POINTER",
}

_STALE = ("deprecated", "removed")


def _data_type(name, codes):
  """Returns the data type code of the C type `name`; 0 if the type is open."""
  known = _DATA_TYPES[name if name in _DATA_TYPES else name.rstrip("*")]
  return codes[known] if known else 0


class _Texts:
  """All strings of the tables, each once. Rows contain the positions of their
  strings."""

  def __init__(self):
    self._places = {}
    self._size = 0

  def place(self, text):
    if text not in self._places:
      self._places[text] = self._size
      self._size += len(text.encode()) + 1
    return self._places[text]

  def render(self):
    lines = ["const char kTexts[] ="]
    lines += ['    "%s\\0"' % text for text in self._places]
    return "\n".join(lines) + ";\n"


def _cell(value, texts):
  if isinstance(value, bool):
    return "true" if value else "false"
  if isinstance(value, str):
    return "TableText(%d)" % texts.place(value)
  return str(value)


def _array(kind, name, rows, texts):
  lines = ["constexpr %s %sData[] = {" % (kind, name)]
  lines += ["    {%s}," % ", ".join(_cell(c, texts) for c in row)
            for row in rows]
  lines.append("};")
  return "\n".join(lines) + "\n"


def _index(name, numbers):
  lines = ["constexpr std::uint16_t %sData[] = {" % name]
  lines += ["    %d," % n for n in numbers]
  lines.append("};")
  return "\n".join(lines) + "\n"


def _first_by(rows, key, preference):
  """Returns the position of the preferred row of each key, in the order of the
  keys."""
  best = {}
  for position, row in enumerate(rows):
    at = key(row)
    if at is None:
      continue
    rank = (preference(row), position)
    if at not in best or rank < best[at]:
      best[at] = rank
  return [best[at][1] for at in sorted(best)]


def _by_name(rows):
  return sorted(rows, key=lambda r: r.name)


def _rank(order):
  """Returns a sort key that puts the preferred row first: current names, then
  the measured release, then the order of the table."""

  def rank(row):
    return (row.status in _STALE or row.header == "pmix_deprecated.h",
            row.release != "4.2.2", order[row.name])

  return rank


def render(tables):
  """Returns the text of the data file."""
  codes = {r.name: int(r.value) for r in tables.constants
           if r.type == "pmix_data_type_t"}
  attributes = _by_name(tables.attributes)
  constants = _by_name(tables.constants)
  functions = _by_name(r for r in tables.functions
                       if r.kind == "function" and r.group not in
                       ("pmi1", "pmi2"))
  texts = _Texts()
  attribute_order = {r.name: i for i, r in enumerate(tables.attributes)}
  constant_order = {r.name: i for i, r in enumerate(tables.constants)}

  def by_value(row):
    return (row.type, int(row.value)) if row.printer else None

  parts = [
      '#include "client/include/pmix_tables_data.h"\n',
      "namespace canopy::tables_internal {",
      "namespace {\n",
      _array("AttributeEntry", "kAttributes",
             [(r.name, r.key, r.type, r.group, _data_type(r.type, codes),
               r.status in _STALE) for r in attributes], texts),
      _index("kAttributesByKey",
             _first_by(attributes, lambda r: r.key, _rank(attribute_order))),
      _array("ConstantEntry", "kConstants",
             [(r.name, r.type, r.printer, int(r.value)) for r in constants],
             texts),
      _index("kConstantsByValue",
             _first_by(constants, by_value, _rank(constant_order))),
      _array("FunctionEntry", "kFunctions",
             [(r.name, r.role, r.group) for r in functions], texts),
      _array("FunctionAttribute", "kFunctionAttributes",
             [(r.function, r.attribute, r.level == "required",
               r.provider == "host")
              for r in sorted(tables.function_attributes,
                              key=lambda r: (r.function, r.attribute))],
             texts),
      "}  // namespace\n",
  ]
  for kind, name in (("AttributeEntry", "kAttributes"),
                     ("std::uint16_t", "kAttributesByKey"),
                     ("ConstantEntry", "kConstants"),
                     ("std::uint16_t", "kConstantsByValue"),
                     ("FunctionEntry", "kFunctions"),
                     ("FunctionAttribute", "kFunctionAttributes")):
    parts.append("constinit const std::span<const %s> %s{%sData};" %
                 (kind, name, name))
  parts.append(texts.render())
  parts.append("}  // namespace canopy::tables_internal")
  return "\n".join(parts) + "\n"
