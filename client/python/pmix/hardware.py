"""Fabrics, the topology of the node, and places of processes."""
from . import constants as c
from .errors import returns
from .library import ffi, lib
from .operation import Arguments, Operation, on_distances, on_done
from .types import cpus_of, text_of
from .values import CPUSET, DISTANCE, infos_of, unload_array

_LOCALITIES = (
    c.PMIX_LOCALITY_NONLOCAL, c.PMIX_LOCALITY_SHARE_HWTHREAD,
    c.PMIX_LOCALITY_SHARE_CORE, c.PMIX_LOCALITY_SHARE_L1CACHE,
    c.PMIX_LOCALITY_SHARE_L2CACHE, c.PMIX_LOCALITY_SHARE_L3CACHE,
    c.PMIX_LOCALITY_SHARE_PACKAGE, c.PMIX_LOCALITY_SHARE_NUMA,
    c.PMIX_LOCALITY_SHARE_NODE)


class CpusetOut:
    """A set of CPUs that the library returns."""

    def __init__(self):
        self.c = ffi.gc(ffi.new("pmix_cpuset_t *"), lib.PMIx_Cpuset_destruct)

    def take(self, status):
        return status, (CPUSET.unload(self.c) if status == c.PMIX_SUCCESS
                        else {})


class Fabrics:
    def __init__(self):
        self._fabric = ffi.new("pmix_fabric_t *")
        self._has_fabric = False

    def _fabric_infos(self):
        return infos_of(self._fabric.info, self._fabric.ninfo)

    @returns(None)
    def fabric_register(self, dicts):
        if self._has_fabric:
            return c.PMIX_ERR_RESOURCE_BUSY, None
        args = Arguments()
        status = lib.PMIx_Fabric_register(self._fabric, *args.infos(dicts))
        self._has_fabric = status == c.PMIX_SUCCESS
        return status, self._fabric_infos() if self._has_fabric else []

    @returns(None)
    def fabric_update(self):
        if not self._has_fabric:
            return c.PMIX_ERR_INIT, None
        status = lib.PMIx_Fabric_update(self._fabric)
        return status, (self._fabric_infos() if status == c.PMIX_SUCCESS
                        else [])

    def fabric_deregister(self):
        if not self._has_fabric:
            return c.PMIX_ERR_INIT
        self._has_fabric = False
        return lib.PMIx_Fabric_deregister(self._fabric)

    def _then(self, has_fabric, function):
        """Returns a callback that notes a success before it calls FUNCTION."""
        def then(status, data):
            if status == c.PMIX_SUCCESS:
                self._has_fabric = has_fabric
            function(status, data)
        return then if callable(function) else None

    @returns()
    def fabric_register_nb(self, dicts, cbfunc, cbdata=None):
        op = Operation(self._then(True, cbfunc), cbdata)
        if self._has_fabric:
            return c.PMIX_ERR_RESOURCE_BUSY
        return op.start(lib.PMIx_Fabric_register_nb, self._fabric,
                        *op.infos(dicts), on_done)

    @returns()
    def fabric_update_nb(self, cbfunc, cbdata=None):
        op = Operation(cbfunc, cbdata)
        if not self._has_fabric:
            return c.PMIX_ERR_INIT
        return op.start(lib.PMIx_Fabric_update_nb, self._fabric, on_done)

    @returns()
    def fabric_deregister_nb(self, cbfunc, cbdata=None):
        op = Operation(self._then(False, cbfunc), cbdata)
        if not self._has_fabric:
            return c.PMIX_ERR_INIT
        return op.start(lib.PMIx_Fabric_deregister_nb, self._fabric, on_done)


class Topology:
    def __init__(self):
        self._topology = ffi.new("pmix_topology_t *")

    def load_topology(self):
        return lib.PMIx_Load_topology(self._topology)

    def _loaded(self):
        """Loads the topology if it was not loaded; returns the status."""
        if self._topology.topology != ffi.NULL:
            return c.PMIX_SUCCESS
        return self.load_topology()

    @returns(list)
    def get_relative_locality(self, first, second):
        args, found = Arguments(), ffi.new("pmix_locality_t *")
        status = lib.PMIx_Get_relative_locality(args.needed(first),
                                                args.needed(second), found)
        if status != c.PMIX_SUCCESS:
            return status, []
        return status, ([bit for bit in _LOCALITIES if bit & found[0]] or
                        [c.PMIX_LOCALITY_NONLOCAL])

    @returns(dict)
    def parse_cpuset_string(self, text):
        args, found = Arguments(), CpusetOut()
        return found.take(lib.PMIx_Parse_cpuset_string(args.needed(text),
                                                       found.c))

    @returns(dict)
    def get_cpuset(self, ref):
        found = CpusetOut()
        return found.take(lib.PMIx_Get_cpuset(found.c, ref))

    @returns(list)
    def compute_distances(self, cpus, dicts):
        status = self._loaded()
        if status != c.PMIX_SUCCESS:
            return status, []
        args, count = Arguments(), ffi.new("size_t *")
        found = ffi.new("pmix_device_distance_t **")
        status = lib.PMIx_Compute_distances(
            self._topology, args.one(CPUSET, cpus), *args.infos(dicts), found,
            count)
        if status != c.PMIX_SUCCESS or found[0] == ffi.NULL:
            return status, []
        try:
            return status, unload_array(DISTANCE, found[0], count[0])
        finally:
            lib.PMIx_Device_distance_free(found[0], count[0])

    @returns()
    def compute_distances_nb(self, cpus, dicts, cbfunc, cbdata=None):
        op, status = Operation(cbfunc, cbdata), self._loaded()
        if status != c.PMIX_SUCCESS:
            return status
        return op.start(lib.PMIx_Compute_distances_nb, self._topology,
                        op.one(CPUSET, cpus), *op.infos(dicts), on_distances)


def pmix_cpuset_from_string(text):
    """Returns the dict of "SOURCE:0-3,8", or None if the text has another
    form."""
    text = text.decode() if isinstance(text, bytes) else text
    if not isinstance(text, str) or ":" not in text:
        return None
    try:
        return cpus_of(text)
    except ValueError:
        return None


def pmix_cpuset_to_string(cpus):
    """Returns the text of a set of CPUs, or None if it is malformed."""
    try:
        return text_of(cpus).decode()
    except (AttributeError, TypeError, ValueError):
        return None
