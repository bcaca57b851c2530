"""PMIx for Python, with the classes and calling conventions of OpenPMIx's
binding. docs/python.md of Canopy describes it."""
from . import constants
from .client import PMIxClient
from .constants import *
from .hardware import pmix_cpuset_from_string, pmix_cpuset_to_string
from .server import PMIxServer
from .tool import PMIxScheduler, PMIxTool
from .values import pmix_value_roundtrip

__all__ = [name for name in dir(constants) if name.startswith("PMIX_")] + [
    "PMIxClient", "PMIxScheduler", "PMIxServer", "PMIxTool",
    "pmix_cpuset_from_string", "pmix_cpuset_to_string",
    "pmix_value_roundtrip"]
