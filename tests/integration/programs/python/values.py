"""Every data type keeps its value on the way to C and back; an object without a
value in C is an error with a reason."""
import logging

import pmix
from pmix import *

from checks import done, kept, result, value

PROC = {"nspace": "job", "rank": 3}
COORD = {"view": 1, "coord": b"\1\0\0\0\2\0\0\0", "dims": 2}
NAMED = {"uuid": "u", "osname": "o"}
TIME = {"sec": 1, "usec": 2}
PROC_USAGE = ("pid", "percent_cpu", "priority", "num_threads", "pss", "vsize",
              "rss", "peak_vsize", "processor")
NODE_USAGE = ("la", "la5", "la15", "total_mem", "free_mem", "buffers", "cached",
              "swap_cached", "swap_total", "swap_free", "mapped")
DISK = dict(dict.fromkeys((
    "num_reads_completed", "num_reads_merged", "num_sectors_read",
    "milliseconds_reading", "num_writes_completed", "num_writes_merged",
    "num_sectors_written", "milliseconds_writing", "num_ios_in_progress",
    "milliseconds_io", "weighted_milliseconds_io"), 2**64 - 1), disk="d")
NETWORK = dict(dict.fromkeys((
    "num_bytes_recvd", "num_packets_recvd", "num_recv_errs", "num_bytes_sent",
    "num_packets_sent", "num_send_errs"), 7), net_interface="i")


def array(data_type, elements):
    return value({"type": data_type, "array": elements}, PMIX_DATA_ARRAY)


KEPT = [
    value(True), value(False), value(255, PMIX_BYTE), value("text"),
    value("\u00fcber"), value(None, PMIX_STRING), value("", PMIX_STRING),
    value(2**64 - 1, PMIX_SIZE), value(7, PMIX_PID), value(-2**31),
    value(-128, PMIX_INT8), value(-2**15, PMIX_INT16),
    value(-2**31, PMIX_INT32), value(-2**63, PMIX_INT64),
    value(2**32 - 1, PMIX_UINT), value(255, PMIX_UINT8),
    value(2**16 - 1, PMIX_UINT16), value(2**32 - 1, PMIX_UINT32),
    value(2**64 - 1, PMIX_UINT64), value(1.5, PMIX_FLOAT),
    value(0.1, PMIX_DOUBLE), value({"sec": 1, "usec": 2}, PMIX_TIMEVAL),
    value(1700000000, PMIX_TIME), value(PMIX_ERR_NOMEM, PMIX_STATUS),
    value(PMIX_RANK_WILDCARD, PMIX_PROC_RANK), value("job", PMIX_PROC_NSPACE),
    value(PROC, PMIX_PROC),
    value({"bytes": b"a\0b", "size": 3}, PMIX_BYTE_OBJECT),
    value({"bytes": b"", "size": 0}, PMIX_BYTE_OBJECT),
    value(b"pmix[a]", PMIX_REGEX), value(PMIX_PERSIST_APP, PMIX_PERSIST),
    value(PMIX_GLOBAL, PMIX_SCOPE), value(PMIX_RANGE_LOCAL, PMIX_DATA_RANGE),
    value(PMIX_PROC_STATE_CONNECTED, PMIX_PROC_STATE),
    value({"proc": PROC, "hostname": "h", "executable": None, "pid": 1,
           "exitcode": -1, "state": 2}, PMIX_PROC_INFO),
    value({"envar": "A", "value": "b", "separator": ":"}, PMIX_ENVAR),
    value(COORD, PMIX_COORD), value(dict(NAMED, type=4), PMIX_DEVICE),
    value(dict(NAMED, fabric=1, ncoords=1, coords=[COORD]), PMIX_GEOMETRY),
    value(dict(NAMED, type=4, mindist=1, maxdist=2), PMIX_DEVICE_DIST),
    value(dict(NAMED, endpt={"bytes": b"e", "size": 1}), PMIX_ENDPOINT),
    value({"type": 1, "count": 4}, PMIX_RESOURCE_UNIT),
    value({"hostname": "h", "nodeid": 1, "pid": 2}, PMIX_NODE_PID),
    value(dict(dict.fromkeys(PROC_USAGE, 3), node="n", proc=PROC, cmd=None,
               state="R", time=TIME, sample_time=TIME), PMIX_PROC_STATS),
    value(DISK, PMIX_DISK_STATS), value(NETWORK, PMIX_NET_STATS),
    value(dict(dict.fromkeys(NODE_USAGE, 0.5), node="n", sample_time=TIME,
               diskstats=[DISK, DISK], netstats=[]), PMIX_NODE_STATS),
    array(PMIX_INFO, [dict(value(1), key="k", flags=0),
                      dict(array(PMIX_STRING, ["a", None]), key="l", flags=1)]),
    array(PMIX_BOOL, [True, False]), array(PMIX_BYTE, [0, 255]),
    array(PMIX_PROC, [PROC]), array(PMIX_PROC_NSPACE, ["a", "bb"]),
    array(PMIX_DOUBLE, [0.5]), array(PMIX_TIMEVAL, [{"sec": 1, "usec": 2}]),
    array(PMIX_STATUS, [-1, 0]), array(PMIX_DATA_ARRAY, [
        {"type": PMIX_INT, "array": [1, 2]}]), array(PMIX_UINT32, []),
]

REFUSED = [
    (value(256, PMIX_BYTE), PMIX_ERR_BAD_PARAM, "does not fit"),
    (value(-1, PMIX_UINT64), PMIX_ERR_BAD_PARAM, "convert negative"),
    (value(2**64, PMIX_SIZE), PMIX_ERR_BAD_PARAM, "too big"),
    (value("7", PMIX_INT), PMIX_ERR_TYPE_MISMATCH, "integer"),
    (value(1.5, PMIX_INT), PMIX_ERR_TYPE_MISMATCH, "integer"),
    (value("maybe", PMIX_BOOL), PMIX_ERR_BAD_PARAM, "boolean"),
    (value(1, PMIX_STRING), PMIX_ERR_TYPE_MISMATCH, "text"),
    (value("a\0b"), PMIX_ERR_BAD_PARAM, "zero byte"),
    (value({"nspace": "job"}, PMIX_PROC), PMIX_ERR_BAD_PARAM, "'rank'"),
    (value(dict(PROC, nspace="n" * 256), PMIX_PROC), PMIX_ERR_BAD_PARAM,
     "too long"),
    (value(1, 9999), PMIX_ERR_NOT_SUPPORTED, "data type 9999"),
    (value(1, "int"), PMIX_ERR_BAD_PARAM, "data type"),
    (array(PMIX_INT, [1, None]), PMIX_ERR_TYPE_MISMATCH, "integer"),
    (array(9999, [1]), PMIX_ERR_NOT_SUPPORTED, "data type 9999"),
    (dict(value(1), key="k" * 512), PMIX_ERR_BAD_PARAM, "too long"),
    ({"value": 1}, PMIX_ERR_BAD_PARAM, "'val_type'"),
    ("text", PMIX_ERR_BAD_PARAM, ""),
    (None, PMIX_ERR_BAD_PARAM, ""),
    (value(7, PMIX_PROC), PMIX_ERR_BAD_PARAM, ""),
]


class Lines(logging.Handler):
    """Collects the messages of the module."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def conversions(client):
    lines = Lines()
    logging.getLogger("pmix").addHandler(lines)
    for wanted in KEPT:
        kept(result(client.data_copy(wanted)) == wanted,
             client.data_copy(wanted), wanted)
    kept(not lines.lines, lines.lines)
    for refused, status, text in REFUSED:
        found = client.data_copy(refused)
        kept(found == (status, None), found, refused)
        kept(text in lines.lines[-1] and "data_copy" in lines.lines[-1],
             refused, lines.lines[-1])
    kept(len(lines.lines) == len(REFUSED), lines.lines)


def buffers(client):
    first, second = value("one"), dict(value(2), key="two", flags=0)
    buffer = result(client.data_pack(None, first))
    buffer = result(client.data_pack(buffer, second))
    kept(buffer["bytes_used"] == len(buffer["bytes"]) > 0, buffer)
    other = result(client.data_copy_payload(None, buffer))
    kept(result(client.data_unpack(buffer)) == first, "first")
    kept(result(client.data_unpack(buffer, PMIX_INFO)) == second, "second")
    kept(client.data_unpack(buffer)[0] < 0, "nothing is left")
    payload = result(client.data_unload(other))
    loaded = result(client.data_load(None, payload))
    kept(result(client.data_unpack(loaded)) == first, "loaded")
    embedded = result(client.data_embed(None, payload))
    kept(embedded["bytes"] == payload["bytes"], "embedded")
    data = b"a" * 100000
    packed = result(client.data_compress(data))
    kept(len(packed) < 1000 and
         result(client.data_decompress(packed)) == data, "compressed")


def texts(client):
    kept(client.error_string(PMIX_ERR_TIMEOUT) == "TIMEOUT", "error_string")
    kept(client.error_code("TIMEOUT") == PMIX_ERR_TIMEOUT, "error_code")
    kept(client.data_type_string(PMIX_INT) == "PMIX_INT", "data_type_string")
    kept(client.get_attribute_name("pmix.job.size") == "PMIX_JOB_SIZE", "name")
    kept(client.get_attribute_string("PMIX_JOB_SIZE") == PMIX_JOB_SIZE, "key")
    kept(result(client.proc_string(PROC)) == "job:3", "proc_string")
    for text in (client.value_string(value(5)), client.data_print("", value(5)),
                 client.info_string(dict(value(5), key="five"))):
        kept("5" in result(text), text)
    kept("ls" in result(client.app_string({"cmd": "ls"})), "app_string")
    kept("Canopy" in client.get_version(), client.get_version())
    kept(pmix_cpuset_from_string("hwloc:0-2,8") ==
         {"source": "hwloc", "cpus": [0, 1, 2, 8]}, "cpus")
    kept(pmix_cpuset_from_string("0-2") is None, "no source")
    kept(pmix_cpuset_to_string({"cpus": [0, "2-3"]}) == "hwloc:0,2-3", "text")


def hardware(client):
    """A process that no server has started is a job of its own."""
    me = result(client.init())
    cpus = result(client.get_cpuset(PMIX_CPUBIND_PROCESS))
    kept(cpus["source"] == "hwloc" and cpus["cpus"], cpus)
    wanted = value(cpus, PMIX_PROC_CPUSET)
    kept(result(client.data_copy(wanted)) == wanted, wanted)
    kept(result(client.parse_cpuset_string("hwloc:0")) ==
         {"source": "hwloc", "cpus": [0]}, "parse")
    done(client.load_topology())
    distances = result(client.compute_distances(cpus, None))
    kept(all(d["mindist"] <= d["maxdist"] for d in distances), distances)
    kept(client.fabric_update()[0] == PMIX_ERR_INIT, "no fabric yet")
    kept(me["rank"] == 0, me)
    done(client.finalize())


def main():
    kept("os" not in pmix.__all__ and "PMIxClient" in pmix.__all__, "names")
    client = PMIxClient()
    conversions(client)
    buffers(client)
    texts(client)
    hardware(client)
    print("values ok", flush=True)


if __name__ == "__main__":
    main()
