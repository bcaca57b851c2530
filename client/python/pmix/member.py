"""The name of this process, which the calls of all roles share."""
from .constants import PMIX_RANK_UNDEF, PMIX_RANK_WILDCARD
from .library import ffi
from .structures import name_of
from .types import PROC


class Member:
    """A process with a name of PMIx, which its role gives it in `init`."""

    def __init__(self):
        self._self = ffi.new("pmix_proc_t *")
        self._self.rank = PMIX_RANK_UNDEF

    def _name(self):
        return name_of(self._self)

    def _job(self):
        return dict(self._name(), rank=PMIX_RANK_WILDCARD)

    def _members(self, arguments, procs):
        """Returns processes for a call; all of this job if there are none."""
        return arguments.procs(procs or [self._job()])

    def _proc(self, arguments, proc):
        """Returns one process for a call; None stands for this process."""
        return arguments.one(PROC, self._name() if proc is None else proc)
