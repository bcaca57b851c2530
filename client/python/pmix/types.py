"""The data types: how each is converted between C and Python.

A converter has the name of the type in C, `load(target, value, memory)`, which
stores a Python value at the pointer `target`, and `unload(source)`, which
returns the Python value of the object at the pointer `source`.
"""
import operator

from .constants import PMIX_SUCCESS
from .errors import Mismatch, wrong_type
from .library import ffi, lib
from .memory import decoded, encoded, put_name


class Number:
    """Numbers as C has them; the backend checks their ranges."""

    def __init__(self, ctype):
        self.ctype = ctype

    def load(self, target, value, _):
        try:
            target[0] = operator.index(value)
        except TypeError as error:
            raise wrong_type("an integer", value) from error

    def unload(self, source):
        return source[0]


class Real(Number):
    def load(self, target, value, _):
        try:
            target[0] = float(value)
        except (TypeError, ValueError) as error:
            raise wrong_type("a number", value) from error


class Flag(Number):
    """Booleans. As in OpenPMIx, 0, 1, "true" and "false" are accepted, too."""

    WORDS = {"t": True, "true": True, "f": False, "false": False}

    def load(self, target, value, _):
        if isinstance(value, (str, bytes)):
            value = self.WORDS.get(encoded(value).decode().lower())
        if value not in (0, 1):
            raise ValueError(f"a boolean is expected, not {value!r}")
        target[0] = bool(value)


class Address(Number):
    """Pointers, which are numbers in Python."""

    def load(self, target, value, _):
        target[0] = ffi.cast("void *", value)

    def unload(self, source):
        return int(ffi.cast("uintptr_t", source[0]))


class Text:
    ctype = "char *"

    def load(self, target, value, memory):
        if value is not None and not isinstance(value, (str, bytes)):
            raise wrong_type("text", value)
        target[0] = memory.text(value)

    def unload(self, source):
        return decoded(source[0])


class Character:
    ctype = "char"

    def load(self, target, value, _):
        target[0] = encoded(value) or b"\0"

    def unload(self, source):
        return source[0].decode("latin-1")


class Nspace:
    ctype = "pmix_nspace_t"

    def load(self, target, value, _):
        put_name(target[0], value)

    def unload(self, source):
        return decoded(source[0])


class Bytes:
    """Byte objects: a dict with 'bytes' and 'size', or the bytes alone. The
    member 'size' is ignored; the number of bytes counts."""

    ctype = "pmix_byte_object_t"

    def load(self, target, value, memory):
        if isinstance(value, dict):
            value = value.get("bytes")
        data = b"" if value is None else (
            encoded(value) if isinstance(value, str) else bytes(value))
        target.bytes = memory.data(data)
        target.size = len(data)

    def unload(self, source):
        data = b"" if source.bytes == ffi.NULL else bytes(
            ffi.buffer(source.bytes, source.size))
        return {"bytes": data, "size": len(data)}


class Regex(Bytes):
    """Regular expressions are bytes in Python."""

    def unload(self, source):
        return super().unload(source)["bytes"]


class Record:
    """Structures as dicts. FIELDS has rows of the field's name in C, its
    converter, and its name in Python, if that is different. A field may be
    left out if its name is in OPTIONAL."""

    def __init__(self, ctype, fields, optional=()):
        self.ctype = ctype
        self.fields = [(row[0], row[1], row[-1] if len(row) > 2 else row[0])
                       for row in fields]
        self.optional = optional

    def load(self, target, value, memory):
        for field, converter, name in self.fields:
            if name in self.optional and name not in value:
                continue
            converter.load(ffi.addressof(target[0], field), value[name], memory)

    def unload(self, source):
        return {name: converter.unload(ffi.addressof(source[0], field))
                for field, converter, name in self.fields}


class Coordinates:
    """'coord' has the numbers as bytes."""

    ctype = "pmix_coord_t"

    def load(self, target, value, memory):
        data = value.get("coord") or b""
        data = encoded(data) if isinstance(data, str) else bytes(data)
        dims = value.get("dims", len(data) // 4)
        if dims < 0 or dims * 4 > len(data):
            raise ValueError(f"{dims} coordinates need {dims * 4} bytes")
        target.view = value.get("view", 0)
        target.dims = dims
        if dims:
            target.coord = ffi.cast("uint32_t *", memory.data(data[:dims * 4]))

    def unload(self, source):
        dims = 0 if source.coord == ffi.NULL else source.dims
        data = bytes(ffi.buffer(source.coord, dims * 4)) if dims else b""
        return {"view": source.view, "coord": data, "dims": dims}


class Geometry(Record):
    """'coords' is a list with one entry for each view."""

    def load(self, target, value, memory):
        super().load(target, value, memory)
        views = value.get("coords") or []
        target.ncoords = len(views)
        if views:
            target.coordinates = memory.new("pmix_coord_t[]", len(views))
        for i, view in enumerate(views):
            COORDINATES.load(target.coordinates + i, view, memory)

    def unload(self, source):
        count = 0 if source.coordinates == ffi.NULL else source.ncoords
        views = [COORDINATES.unload(source.coordinates + i)
                 for i in range(count)]
        return dict(super().unload(source), ncoords=count, coords=views)


def cpus_of(text):
    """Returns the dict of a set of CPUs, given "SOURCE:0-3,8"."""
    source, _, ranges = (text or "").partition(":")
    cpus = []
    for part in filter(None, (part.strip() for part in ranges.split(","))):
        first, _, last = part.partition("-")
        numbers = range(int(first), int(last or first) + 1)
        if not numbers:
            raise ValueError(f"the range {part} is reversed")
        cpus.extend(numbers)
    return {"source": source, "cpus": cpus}


def text_of(cpus):
    """Returns the text of a set of CPUs."""
    if not cpus.get("source", "hwloc"):
        raise ValueError("a set of CPUs has no source")
    listed = cpus.get("cpus", [])
    if not isinstance(listed, (str, bytes)):
        listed = ",".join(encoded(x).decode() if isinstance(x, (str, bytes))
                          else str(x) for x in listed)
    return (encoded(cpus.get("source", "hwloc")) + b":" + encoded(listed))


class Cpuset:
    """Sets of CPUs: a dict with 'source' and the numbers in 'cpus'."""

    ctype = "pmix_cpuset_t"

    def load(self, target, value, memory):
        owned = memory.new("pmix_cpuset_t *")
        status = lib.PMIx_Parse_cpuset_string(text_of(value), owned)
        if status != PMIX_SUCCESS:
            raise Mismatch(status, f"the set of CPUs {value!r} is refused")
        target[0] = memory.owned(owned, lib.PMIx_Cpuset_destruct)[0]

    def unload(self, source):
        text = ffi.new("char **")
        if source.source == ffi.NULL:
            return {"source": "", "cpus": []}
        status = lib.PMIx_server_generate_cpuset_string(source, text)
        if status != PMIX_SUCCESS:
            raise Mismatch(status, "a set of CPUs without a text")
        try:
            return cpus_of(decoded(text[0]))
        finally:
            lib.free(text[0])


class Regex2:
    """Regular expressions of any kind, with 'type', 'bytes' and 'len'."""

    ctype = "pmix_regex2_t"

    def load(self, target, value, memory):
        data = encoded(value["bytes"])
        target.type = memory.text(value["type"])
        target.bytes = ffi.cast(ffi.typeof(target.bytes), memory.data(data))
        target.len = len(data)

    def unload(self, source):
        data = b"" if source.bytes == ffi.NULL else bytes(
            ffi.buffer(source.bytes, source.len))
        return {"type": decoded(source.type), "bytes": data, "len": len(data)}


INT, UINT = Number("int"), Number("unsigned int")
UINT16, UINT32, UINT64 = (Number("uint16_t"), Number("uint32_t"),
                          Number("uint64_t"))
SIZE, PID, RANK = Number("size_t"), Number("pid_t"), Number("pmix_rank_t")
TEXT, NSPACE, BYTES, REGEX2 = Text(), Nspace(), Bytes(), Regex2()
PROC = Record("pmix_proc_t", [("nspace", NSPACE), ("rank", RANK)])
TIMEVAL = Record("struct timeval", [
    ("tv_sec", Number("long"), "sec"), ("tv_usec", Number("long"), "usec")])
STATE, DEVTYPE = Number("pmix_proc_state_t"), Number("pmix_device_type_t")
COORDINATES = Coordinates()
NAMED = [("uuid", TEXT), ("osname", TEXT)]
