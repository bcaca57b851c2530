"""Names and descriptions of statuses, states and structures as texts."""
from .constants import PMIX_ERR_NOT_SUPPORTED, PMIX_ERROR, PMIX_INFO, \
    PMIX_SUCCESS, PMIX_VALUE
from .errors import Mismatch, returns
from .library import ffi, lib
from .memory import decoded
from .operation import Arguments
from .structures import APPLICATION
from .types import PROC
from .values import INFO, UNIT, VALUE, converter_of


def taken(text):
    """Returns a text that belongs to the caller, and frees it."""
    try:
        return decoded(text)
    finally:
        lib.free(text)


def _described(describe, converter, value):
    """Returns status and text of the description of a structure."""
    args = Arguments()
    text = taken(describe(args.one(converter, value)))
    return (PMIX_ERROR if text is None else PMIX_SUCCESS), text


def type_of(value, data_type):
    """Returns the data type of an argument that is a value or an info."""
    if data_type is None:
        return PMIX_INFO if "key" in value else PMIX_VALUE
    if data_type not in (PMIX_INFO, PMIX_VALUE):
        raise Mismatch(PMIX_ERR_NOT_SUPPORTED,
                       "values and infos can be given, nothing else")
    return data_type


class Texts:
    @returns(None)
    def info_string(self, info):
        return _described(lib.PMIx_Info_string, INFO, info)

    @returns(None)
    def value_string(self, value):
        return _described(lib.PMIx_Value_string, VALUE, value)

    @returns(None)
    def proc_string(self, proc):
        return _described(lib.PMIx_Proc_string, PROC, proc)

    @returns(None)
    def app_string(self, app):
        return _described(lib.PMIx_App_string, APPLICATION, app)

    @returns(None)
    def resource_unit_string(self, unit):
        return _described(lib.PMIx_Resource_unit_string, UNIT, unit)

    @returns(None)
    def data_print(self, prefix, value, data_type=None):
        data_type = type_of(value, data_type)
        args, text = Arguments(), ffi.new("char **")
        status = lib.PMIx_Data_print(
            text, args.text(prefix), args.one(converter_of(data_type), value),
            data_type)
        return status, taken(text[0]) if status == PMIX_SUCCESS else None

    @returns()
    def error_code(self, name):
        args = Arguments()
        return lib.PMIx_Error_code(args.needed(name))

    def get_attribute_string(self, name):
        args = Arguments()
        return decoded(lib.PMIx_Get_attribute_string(args.needed(name)))

    def get_attribute_name(self, key):
        args = Arguments()
        return decoded(lib.PMIx_Get_attribute_name(args.text(key)))

    def info_directives_string(self, directives):
        return taken(lib.PMIx_Info_directives_string(directives))


# Methods whose function returns the name of a number.
_NAMES = {
    "error_string": lib.PMIx_Error_string,
    "proc_state_string": lib.PMIx_Proc_state_string,
    "scope_string": lib.PMIx_Scope_string,
    "persistence_string": lib.PMIx_Persistence_string,
    "data_range_string": lib.PMIx_Data_range_string,
    "data_type_string": lib.PMIx_Data_type_string,
    "alloc_directive_string": lib.PMIx_Alloc_directive_string,
    "iof_channel_string": lib.PMIx_IOF_channel_string,
    "job_state_string": lib.PMIx_Job_state_string,
    "link_state_string": lib.PMIx_Link_state_string,
    "device_type_string": lib.PMIx_Device_type_string,
    "value_comparison_string": lib.PMIx_Value_comparison_string,
    "group_operation_string": lib.PMIx_Group_operation_string,
    "resource_block_directive_string":
        lib.PMIx_Resource_block_directive_string,
    "alloc_inheritance_string": lib.PMIx_Alloc_inheritance_string,
}


def _namer(function):
    return lambda self, number: decoded(function(number))


for _method, _function in _NAMES.items():
    setattr(Texts, _method, _namer(_function))
