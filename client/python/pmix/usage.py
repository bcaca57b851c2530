"""The use of resources by processes, nodes, disks and networks: dicts with the
names of the fields in C. Fields may be left out."""
from .library import ffi
from .types import PROC, TEXT, TIMEVAL, Character, Number, Real, Record

_CONVERTERS = {"char *": TEXT, "char": Character(), "struct timeval": TIMEVAL,
               "struct pmix_proc": PROC, "float": Real("float")}


def _record(ctype, without=()):
    """Returns the converter of a structure, as the headers declare it."""
    fields = []
    for name, field in ffi.typeof(ctype).fields:
        if name not in without:
            kind = field.type.cname
            fields.append((name, _CONVERTERS.get(kind) or Number(kind)))
    return Record(ctype, fields, optional=[field[0] for field in fields])


PROC_USAGE = _record("pmix_proc_stats_t")
DISK_USAGE = _record("pmix_disk_stats_t")
NETWORK_USAGE = _record("pmix_net_stats_t")

# The arrays of a node: field, number of its elements, and their converter.
_ARRAYS = (("diskstats", "ndiskstats", DISK_USAGE),
           ("netstats", "nnetstats", NETWORK_USAGE))


class NodeUsage:
    """'diskstats' and 'netstats' are lists."""

    ctype = "pmix_node_stats_t"

    def __init__(self):
        self._record = _record(self.ctype, [name for row in _ARRAYS
                                            for name in row[:2]])

    def load(self, target, value, memory):
        self._record.load(target, value, memory)
        for field, number, converter in _ARRAYS:
            elements = value.get(field) or []
            made = memory.new(f"{converter.ctype}[]", len(elements))
            for i, element in enumerate(elements):
                converter.load(made + i, element, memory)
            setattr(target, field, made if elements else ffi.NULL)
            setattr(target, number, len(elements))

    def unload(self, source):
        found = self._record.unload(source)
        for field, number, converter in _ARRAYS:
            start = getattr(source, field)
            count = getattr(source, number) if start != ffi.NULL else 0
            found[field] = [converter.unload(start + i) for i in range(count)]
        return found
