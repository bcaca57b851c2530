"""The server module: the functions that the library calls, and the functions of
the host for which they stand.

Each function of the host is called with the request, the function that takes
the answer, and the Answer: function(request, answer_function, answer). It
returns a status; PMIX_SUCCESS means that the answer was given or will be, and
PMIX_OPERATION_SUCCEEDED that there is none.
"""
from . import constants as c
from .answers import Answer, answer_credential, answer_done, answer_infos, \
    answer_lookup, answer_modex, answer_spawn, answer_tool, answer_validation
from .library import ffi, log
from .memory import decoded, words
from .structures import APPLICATION, QUERY, maybe, name_of
from .types import BYTES, PROC
from .values import infos_of, procs_of, unload_array

# The functions of the host by their names. A process has one server.
functions = {}


def _codes(codes, count):
    return list(ffi.unpack(codes, count)) if codes != ffi.NULL else []


def _data(data, count):
    return bytearray(ffi.buffer(data, count)) if data != ffi.NULL else None


def _client(proc, _):
    return name_of(proc)


def _client2(proc, _, infos, ninfo):
    return {"proc": name_of(proc), "directives": infos_of(infos, ninfo)}


def _abort(proc, _, status, msg, procs, nprocs):
    return {"caller": name_of(proc), "status": status, "msg": decoded(msg),
            "targets": procs_of(procs, nprocs)}


def _fence(procs, nprocs, infos, ninfo, data, ndata):
    return {"procs": procs_of(procs, nprocs),
            "directives": infos_of(infos, ninfo), "data": _data(data, ndata)}


def _of_proc(proc, infos, ninfo):
    return {"proc": name_of(proc), "directives": infos_of(infos, ninfo)}


def _of_keys(proc, keys, infos, ninfo):
    return dict(_of_proc(proc, infos, ninfo), keys=words(keys))


def _spawn(proc, infos, ninfo, apps, napps):
    return {"proc": name_of(proc), "jobinfo": infos_of(infos, ninfo),
            "apps": unload_array(APPLICATION, apps, napps)}


def _connect(procs, nprocs, infos, ninfo):
    return {"procs": procs_of(procs, nprocs),
            "directives": infos_of(infos, ninfo)}


def _register_events(codes, ncodes, infos, ninfo):
    return {"codes": _codes(codes, ncodes),
            "directives": infos_of(infos, ninfo)}


def _deregister_events(codes, ncodes):
    return {"codes": _codes(codes, ncodes)}


def _notify(code, source, data_range, infos, ninfo):
    return {"code": code, "source": name_of(source), "range": data_range,
            "directives": infos_of(infos, ninfo)}


def _query(source, queries, nqueries):
    return {"source": name_of(source),
            "queries": unload_array(QUERY, queries, nqueries)}


def _tool(infos, ninfo):
    return {"directives": infos_of(infos, ninfo)}


def _log(client, data, ndata, infos, ninfo):
    return {"source": name_of(client), "data": infos_of(data, ndata),
            "directives": infos_of(infos, ninfo)}


def _allocate(client, action, infos, ninfo):
    return {"source": name_of(client), "action": action,
            "directives": infos_of(infos, ninfo)}


def _job_control(source, targets, ntargets, infos, ninfo):
    return {"source": maybe(source, PROC),
            "targets": procs_of(targets, ntargets),
            "directives": infos_of(infos, ninfo)}


def _monitor(source, monitor, error, infos, ninfo):
    return {"source": maybe(source, PROC), "monitor": infos_of(monitor, 1)[0],
            "error": error, "directives": infos_of(infos, ninfo)}


def _get_credential(source, infos, ninfo):
    return {"source": maybe(source, PROC),
            "directives": infos_of(infos, ninfo)}


def _validate_credential(source, credential, infos, ninfo):
    return {"source": maybe(source, PROC),
            "credential": maybe(credential, BYTES),
            "directives": infos_of(infos, ninfo)}


def _pull(procs, nprocs, infos, ninfo, channels):
    return {"sources": procs_of(procs, nprocs), "channels": channels,
            "directives": infos_of(infos, ninfo)}


def _push(source, targets, ntargets, infos, ninfo, payload):
    return {"source": maybe(source, PROC),
            "targets": procs_of(targets, ntargets),
            "directives": infos_of(infos, ninfo),
            "payload": maybe(payload, BYTES)}


def _group(operation, group, procs, nprocs, infos, ninfo):
    return {"op": operation, "group": decoded(group),
            "procs": procs_of(procs, nprocs),
            "directives": infos_of(infos, ninfo)}


def _fabric(source, operation, infos, ninfo):
    return {"source": maybe(source, PROC), "op": operation,
            "directives": infos_of(infos, ninfo)}


# By the name of a function: its field in the module, the conversion of a
# request, and the function that takes the answer.
SLOTS = {
    "clientconnected": ("client_connected", _client, answer_done),
    "clientconnected2": ("client_connected2", _client2, answer_done),
    "clientfinalized": ("client_finalized", _client, answer_done),
    "abort": ("abort", _abort, answer_done),
    "fencenb": ("fence_nb", _fence, answer_modex),
    "directmodex": ("direct_modex", _of_proc, answer_modex),
    "publish": ("publish", _of_proc, answer_done),
    "lookup": ("lookup", _of_keys, answer_lookup),
    "unpublish": ("unpublish", _of_keys, answer_done),
    "spawn": ("spawn", _spawn, answer_spawn),
    "connect": ("connect", _connect, answer_done),
    "disconnect": ("disconnect", _connect, answer_done),
    "registerevents": ("register_events", _register_events, answer_done),
    "deregisterevents": ("deregister_events", _deregister_events, answer_done),
    "notifyevent": ("notify_event", _notify, answer_done),
    "query": ("query", _query, answer_infos),
    "toolconnected": ("tool_connected", _tool, answer_tool),
    "log": ("log", _log, answer_done),
    "allocate": ("allocate", _allocate, answer_infos),
    "jobcontrol": ("job_control", _job_control, answer_infos),
    "monitor": ("monitor", _monitor, answer_infos),
    "getcredential": ("get_credential", _get_credential, answer_credential),
    "validatecredential": ("validate_credential", _validate_credential,
                           answer_validation),
    "iofpull": ("iof_pull", _pull, answer_done),
    "pushstdin": ("push_stdin", _push, answer_done),
    "group": ("group", _group, answer_infos),
    "fabric": ("fabric", _fabric, answer_infos),
}

# OpenPMIx's names of entries that the module of release 4.2.2 does not have.
UNSUPPORTED = ("listener", "toolconnected2", "log2", "sessioncontrol",
               "resourceblock")

# The results of the answers that take more than the status, when there is none.
_NOTHING = {answer_done: 0, answer_credential: 2, answer_validation: 2}


def refuse(take, answer, status):
    """Answers a request with an error."""
    take(status, *[None] * _NOTHING.get(take, 1), answer)


def serve(name, convert, take, request, answer):
    """Calls the function of the host and returns its status. A function that
    fails is an error of the request, unless it has answered."""
    try:
        return int(functions[name](convert(*request), take, answer))
    except BaseException:  # pylint: disable=broad-except
        log.exception("the function '%s' of the host has failed", name)
        return c.PMIX_SUCCESS if answer.given else c.PMIX_ERROR


def _slot(name, field, convert, take):
    """Returns the function for a field of the module. All end with the function
    and the data of the answer."""
    ctype = dict(ffi.typeof("pmix_server_module_t").fields)[field].type
    returns_status = ctype.result.kind != "void"

    def called(*args):
        *request, function, data = args
        answer = Answer(function, data)
        status = serve(name, convert, take, request, answer)
        if returns_status:
            return status
        if status != c.PMIX_SUCCESS and not answer.given:
            refuse(take, answer, status)
        return None
    return ffi.callback(ctype, called, **(
        {"error": c.PMIX_ERROR} if returns_status else {}))


_slots = {}


def module_of(host):
    """Returns the module of the functions of a host, a dict by their names, or
    None if the dict has no known function or an unknown one. Functions of an
    earlier call stay.
    """
    for name, function in host.items():
        if name in UNSUPPORTED:
            log.warning("the function '%s' of the host has no effect: the "
                        "module of release 4.2.2 has none", name)
        elif name not in SLOTS or not callable(function):
            log.error("'%s' is no function of a server module", name)
            return None
    if not SLOTS.keys() & host.keys():
        log.error("a server needs at least one function of its host")
        return None
    functions.update({k: v for k, v in host.items() if k in SLOTS})
    module = ffi.new("pmix_server_module_t *")
    for name in functions:
        field, convert, take = SLOTS[name]
        if name not in _slots:
            _slots[name] = _slot(name, field, convert, take)
        setattr(module, field, _slots[name])
    return module
