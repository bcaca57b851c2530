"""The role of a server: a resource manager with the server of the library."""
import atexit

from . import constants as c
from .client import PMIxClient
from .errors import returns
from .hardware import CpusetOut
from .library import ffi, lib
from .module import module_of
from .operation import Arguments
from .registration import Registration
from .texts import taken
from .types import REGEX2
from .values import CPUSET


def _joined(parts, separator):
    return parts if isinstance(parts, (str, bytes)) else separator.join(parts)


def _regex(generate, text):
    """Returns status and regular expression, as bytes."""
    args, made = Arguments(), ffi.new("char **")
    status = generate(args.needed(text), made)
    if status != c.PMIX_SUCCESS or made[0] == ffi.NULL:
        return status, bytearray()
    try:
        return status, bytearray(ffi.string(made[0]))
    finally:
        lib.free(made[0])


class PMIxServer(Registration, PMIxClient):
    def __init__(self):
        super().__init__()
        self._started = False
        self._module = ffi.NULL
        atexit.register(self._finalize_started)

    def _finalize_started(self):
        """Ends a server before the interpreter frees the functions that it
        calls."""
        if self._started:
            self.finalize()

    def _set_module(self, functions):
        """Makes the module of the functions; returns whether it could."""
        module = module_of(functions or {})
        self._module = module or ffi.NULL
        return module is not None

    @returns()
    def init(self, dicts, functions):
        """FUNCTIONS has the functions of the host by their names."""
        if not self._set_module(functions):
            return c.PMIX_ERR_INIT
        args = Arguments()
        status = lib.PMIx_server_init(self._module, *args.infos(dicts))
        self._started = self._started or status == c.PMIX_SUCCESS
        return status

    def finalize(self):
        status = lib.PMIx_server_finalize()
        self._started = self._started and status != c.PMIX_SUCCESS
        return status

    @returns(bytearray)
    def generate_regex(self, hosts):
        return _regex(lib.PMIx_generate_regex, _joined(hosts, ","))

    @returns(bytearray)
    def generate_ppn(self, procs):
        return _regex(lib.PMIx_generate_ppn, _joined(procs, ";"))

    @returns(None)
    def generate_cpuset_string(self, cpus):
        args, text = Arguments(), ffi.new("char **")
        status = lib.PMIx_server_generate_cpuset_string(
            args.one(CPUSET, cpus), text)
        return status, taken(text[0])

    @returns(dict)
    def generate_cpuset(self, text):
        args, found = Arguments(), CpusetOut()
        return found.take(lib.PMIx_server_generate_cpuset(args.needed(text),
                                                          found.c))

    @returns(None)
    def generate_locality_string(self, cpus):
        args, text = Arguments(), ffi.new("char **")
        status = self._loaded()
        if status == c.PMIX_SUCCESS:
            status = lib.PMIx_server_generate_locality_string(
                args.one(CPUSET, cpus), text)
        return status, taken(text[0])

    @returns(None)
    def generate_regex2(self, hosts, dicts=None):
        """The result is a dict with 'type', 'bytes' and their number, 'len'."""
        args, made = Arguments(), ffi.new("pmix_regex2_t *")
        status = lib.PMIx_generate_regex2(args.needed(_joined(hosts, ",")),
                                          *args.infos(dicts), made)
        try:
            return status, (REGEX2.unload(made) if status == c.PMIX_SUCCESS
                            else None)
        finally:
            lib.PMIx_Regex2_destruct(made)

    @returns(list)
    def parse_regex2(self, regex, dicts=None):
        args, text = Arguments(), ffi.new("char **")
        status = lib.PMIx_parse_regex2(args.one(REGEX2, regex),
                                       *args.infos(dicts), text)
        names = taken(text[0])
        return status, names.split(",") if names else []
