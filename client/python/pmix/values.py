"""Values: one converter for each data type, arrays, and infos."""
from . import constants as c
from .errors import Mismatch, converting
from .library import ffi, lib, log
from .memory import Memory, decoded, put_name
from .types import (BYTES, COORDINATES, DEVTYPE, INT, NAMED, NSPACE, PID, PROC,
                    RANK, REGEX2, SIZE, STATE, TEXT, TIMEVAL, UINT, UINT16,
                    UINT32, UINT64, Address, Character, Cpuset, Flag, Geometry,
                    Number, Real, Record, Regex)
from .usage import DISK_USAGE, NETWORK_USAGE, PROC_USAGE, NodeUsage


class Value:
    """A value: a dict with 'value' and 'val_type'."""

    ctype = "pmix_value_t"

    def load(self, target, value, memory):
        data_type = value["val_type"]
        if data_type != c.PMIX_UNDEF:
            field, converter = _of_value(data_type)
            place = _place(target, field, converter, memory)
            converter.load(place, value["value"], memory)
        target.type = data_type

    def unload(self, source):
        data_type = source.type
        if data_type == c.PMIX_UNDEF:
            return {"value": None, "val_type": data_type}
        field, converter = _of_value(data_type)
        member = ffi.addressof(source.data, field)
        if _is_pointer(field, converter):
            member = member[0]
            if member == ffi.NULL:
                return {"value": None, "val_type": data_type}
        return {"value": converter.unload(member), "val_type": data_type}


class Array:
    """Data arrays: a dict with 'type' and the elements in 'array'."""

    ctype = "pmix_data_array_t"

    def load(self, target, value, memory):
        elements = value["array"] or []
        converter = converter_of(value["type"])
        target.type, target.size = value["type"], len(elements)
        target.array = load_array(converter, elements, memory)

    def unload(self, source):
        count = 0 if source.array == ffi.NULL else source.size
        elements = []
        if count:
            converter = converter_of(source.type)
            start = ffi.cast(converter.ctype + " *", source.array)
            elements = unload_array(converter, start, count)
        return {"type": source.type, "array": elements}


class Info:
    """Infos: a value with a 'key', and 'flags', which may be left out. The flag
    that marks the end of an array in C has no meaning in a list."""

    ctype = "pmix_info_t"
    FLAGS = ~c.PMIX_INFO_ARRAY_END & 0xffffffff

    def load(self, target, value, memory):
        put_name(target.key, value["key"])
        target.flags = (value.get("flags") or 0) & self.FLAGS
        VALUE.load(ffi.addressof(target[0], "value"), value, memory)

    def unload(self, source):
        return {"key": decoded(source.key), "flags": source.flags & self.FLAGS,
                **VALUE.unload(ffi.addressof(source[0], "value"))}


class Published:
    """Results of lookups: a value with its 'key' and its publisher, 'proc'."""

    ctype = "pmix_pdata_t"

    def load(self, target, value, memory):
        put_name(target.key, value["key"])
        PROC.load(ffi.addressof(target[0], "proc"), value["proc"], memory)
        VALUE.load(ffi.addressof(target[0], "value"), value, memory)

    def unload(self, source):
        return {"proc": PROC.unload(ffi.addressof(source[0], "proc")),
                "key": decoded(source.key),
                **VALUE.unload(ffi.addressof(source[0], "value"))}


VALUE, INFO, PUBLISHED = Value(), Info(), Published()

_DISTANCE = [*NAMED, ("type", DEVTYPE), ("mindist", UINT16),
             ("maxdist", UINT16)]
_PROC_INFO = [("proc", PROC), ("hostname", TEXT),
              ("executable_name", TEXT, "executable"), ("pid", PID),
              ("exit_code", INT, "exitcode"), ("state", STATE)]

# The types that are members of the union of pmix_value_t: the field of the
# union, and the converter.
IN_VALUES = {
    c.PMIX_BOOL: ("flag", Flag("bool")),
    c.PMIX_BYTE: ("byte", Number("uint8_t")),
    c.PMIX_STRING: ("string", TEXT),
    c.PMIX_SIZE: ("size", SIZE),
    c.PMIX_PID: ("pid", PID),
    c.PMIX_INT: ("integer", INT),
    c.PMIX_INT8: ("int8", Number("int8_t")),
    c.PMIX_INT16: ("int16", Number("int16_t")),
    c.PMIX_INT32: ("int32", Number("int32_t")),
    c.PMIX_INT64: ("int64", Number("int64_t")),
    c.PMIX_UINT: ("uint", UINT),
    c.PMIX_UINT8: ("uint8", Number("uint8_t")),
    c.PMIX_UINT16: ("uint16", UINT16),
    c.PMIX_UINT32: ("uint32", UINT32),
    c.PMIX_UINT64: ("uint64", UINT64),
    c.PMIX_FLOAT: ("fval", Real("float")),
    c.PMIX_DOUBLE: ("dval", Real("double")),
    c.PMIX_TIMEVAL: ("tv", TIMEVAL),
    c.PMIX_TIME: ("time", Number("time_t")),
    c.PMIX_STATUS: ("status", Number("pmix_status_t")),
    c.PMIX_PROC_RANK: ("rank", RANK),
    c.PMIX_PROC_NSPACE: ("nspace", NSPACE),
    c.PMIX_PROC: ("proc", PROC),
    c.PMIX_BYTE_OBJECT: ("bo", BYTES),
    c.PMIX_COMPRESSED_STRING: ("bo", BYTES),
    c.PMIX_COMPRESSED_BYTE_OBJECT: ("bo", BYTES),
    c.PMIX_REGEX: ("bo", Regex()),
    c.PMIX_PERSIST: ("persist", Number("pmix_persistence_t")),
    c.PMIX_SCOPE: ("scope", Number("pmix_scope_t")),
    c.PMIX_DATA_RANGE: ("range", Number("pmix_data_range_t")),
    c.PMIX_PROC_STATE: ("state", STATE),
    c.PMIX_PROC_INFO: ("pinfo", Record("pmix_proc_info_t", _PROC_INFO)),
    c.PMIX_DATA_ARRAY: ("darray", Array()),
    c.PMIX_POINTER: ("ptr", Address("void *")),
    c.PMIX_ALLOC_DIRECTIVE: ("adir", Number("pmix_alloc_directive_t")),
    c.PMIX_RESBLOCK_DIRECTIVE: (
        "rbdir", Number("pmix_resource_block_directive_t")),
    c.PMIX_ALLOC_INHERIT: ("inheritance",
                           Number("pmix_alloc_inheritance_t")),
    c.PMIX_ENVAR: ("envar", Record("pmix_envar_t", [
        ("envar", TEXT), ("value", TEXT), ("separator", Character())])),
    c.PMIX_COORD: ("coord", COORDINATES),
    c.PMIX_LINK_STATE: ("linkstate", Number("pmix_link_state_t")),
    c.PMIX_JOB_STATE: ("jstate", Number("pmix_job_state_t")),
    c.PMIX_PROC_CPUSET: ("cpuset", Cpuset()),
    c.PMIX_LOCTYPE: ("locality", Number("pmix_locality_t")),
    c.PMIX_GEOMETRY: ("geometry", Geometry("pmix_geometry_t", [
        ("fabric", SIZE), *NAMED])),
    c.PMIX_DEVTYPE: ("devtype", DEVTYPE),
    c.PMIX_DEVICE: ("device", Record("pmix_device_t",
                                     [*NAMED, ("type", DEVTYPE)])),
    c.PMIX_DEVICE_DIST: ("devdist", Record("pmix_device_distance_t", _DISTANCE,
                                           optional=("type",))),
    c.PMIX_ENDPOINT: ("endpoint", Record("pmix_endpoint_t",
                                         [*NAMED, ("endpt", BYTES)],
                                         optional=("endpt",))),
    c.PMIX_RESOURCE_UNIT: ("resunit", Record("pmix_resource_unit_t", [
        ("type", DEVTYPE), ("count", SIZE)])),
    c.PMIX_REGEX2: ("regex2", REGEX2),
    c.PMIX_PROC_STATS: ("pstats", PROC_USAGE),
    c.PMIX_DISK_STATS: ("dkstats", DISK_USAGE),
    c.PMIX_NET_STATS: ("netstats", NETWORK_USAGE),
    c.PMIX_NODE_STATS: ("ndstats", NodeUsage()),
    c.PMIX_NODE_PID: ("nodepid", Record("pmix_node_pid_t", [
        ("hostname", TEXT), ("nodeid", UINT32), ("pid", PID)])),
}

# The types that only elements of arrays have.
IN_ARRAYS = {
    c.PMIX_VALUE: VALUE,
    c.PMIX_INFO: INFO,
    c.PMIX_PDATA: PUBLISHED,
    c.PMIX_INFO_DIRECTIVES: Number("pmix_info_directives_t"),
    c.PMIX_DATA_TYPE: Number("pmix_data_type_t"),
    c.PMIX_IOF_CHANNEL: Number("pmix_iof_channel_t"),
}

DISTANCE = IN_VALUES[c.PMIX_DEVICE_DIST][1]
UNIT = IN_VALUES[c.PMIX_RESOURCE_UNIT][1]
CPUSET = IN_VALUES[c.PMIX_PROC_CPUSET][1]


# The members of the union, as the headers declare them.
_MEMBERS = dict(dict(ffi.typeof("pmix_value_t").fields)["data"].type.fields)


def _unknown(data_type):
    if not isinstance(data_type, int):
        return Mismatch(c.PMIX_ERR_BAD_PARAM,
                        f"a data type is a number, not {data_type!r}")
    name = decoded(lib.PMIx_Data_type_string(data_type & 0xffff))
    return Mismatch(c.PMIX_ERR_NOT_SUPPORTED,
                    f"values of data type {data_type} ({name}) cannot be "
                    "converted")


def _of_value(data_type):
    if data_type not in IN_VALUES:
        raise _unknown(data_type)
    return IN_VALUES[data_type]


def converter_of(data_type):
    """Returns the converter of the elements of arrays."""
    if data_type in IN_ARRAYS:
        return IN_ARRAYS[data_type]
    return _of_value(data_type)[1]


def _is_pointer(field, converter):
    """Returns whether the field of the union points to the object."""
    return _MEMBERS[field].type is not ffi.typeof(converter.ctype)


def _place(target, field, converter, memory):
    """Returns the address where the converter stores the data of a value."""
    if not _is_pointer(field, converter):
        return ffi.addressof(target.data, field)
    made = memory.new(converter.ctype + " *")
    setattr(target.data, field, made)
    return made


def load_array(converter, elements, memory):
    """Returns an array of C; NULL if there are no elements."""
    if not elements:
        return ffi.NULL
    made = memory.new(f"{converter.ctype}[]", len(elements))
    for i, element in enumerate(elements):
        converting(converter.load, made + i, element, memory)
    return made


def unload_array(converter, start, count):
    return [converter.unload(start + i) for i in range(count)]


def pmix_value_roundtrip(value):
    """Returns the status, and a value as it comes back from C."""
    try:
        memory = Memory()
        made = load_array(VALUE, [value], memory)
        return c.PMIX_SUCCESS, VALUE.unload(made + 0)
    except Mismatch as error:
        log.error("pmix_value_roundtrip: %s", error)
        return error.status, None


def infos_of(start, count):
    """Returns infos that belong to the library."""
    return unload_array(INFO, start, 0 if start == ffi.NULL else count)


def procs_of(start, count):
    return unload_array(PROC, start, 0 if start == ffi.NULL else count)
