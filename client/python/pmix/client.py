"""The role of a client: a process of a job."""
from .buffers import Buffers
from .constants import PMIX_SUCCESS
from .errors import returns
from .events import Events
from .exchange import Exchange
from .groups import Groups
from .hardware import Fabrics, Topology
from .jobs import Jobs
from .library import lib
from .member import Member
from .memory import decoded
from .operation import Arguments
from .publishing import Publishing
from .requests import Requests
from .texts import Texts


class PMIxClient(Member, Exchange, Publishing, Jobs, Groups, Requests, Events,
                 Fabrics, Topology, Texts, Buffers):
    def __init__(self):
        Member.__init__(self)
        Fabrics.__init__(self)
        Topology.__init__(self)

    @returns(dict)
    def init(self, dicts=None):
        """Returns the status and the name of this process."""
        args = Arguments()
        status = lib.PMIx_Init(self._self, *args.infos(dicts))
        return status, self._name() if status == PMIX_SUCCESS else {}

    @returns()
    def finalize(self, dicts=None):
        args = Arguments()
        return lib.PMIx_Finalize(*args.infos(dicts))

    def initialized(self):
        return lib.PMIx_Initialized()

    def get_version(self):
        return decoded(lib.PMIx_Get_version())

    def progress(self):
        lib.PMIx_Progress()

    @returns()
    def progress_thread_stop(self, dicts=None):
        args = Arguments()
        lib.PMIx_Progress_thread_stop(*args.infos(dicts))
        return PMIX_SUCCESS
