"""Writes the library that leaves one attribute out of the calls of a program:
a function for each PMIx function that takes or gives attributes, which does its
work with drop.h and calls the real function, or its non-blocking form."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(HERE, "..", "..", "..", "client", "include")
sys.path.insert(0, os.path.join(INCLUDE, "gen"))
import tables  # noqa: E402

SLOTS = 64
# A call of these functions without any attribute is an error, so it would not
# show the effect of an ignored attribute.
NEED_ONE = {"PMIx_Job_control", "PMIx_Log", "PMIx_Allocation_request",
            "PMIx_IOF_push", "PMIx_Process_monitor", "PMIx_Session_control"}
PARAMETER = re.compile(r"(.*?)(\w+)(\[\])?$")


def parameters(prototype):
    """Returns (type, name) of each parameter; an array is a pointer."""
    inner = prototype[prototype.rindex("(") + 1:prototype.rindex(")")]
    for text in inner.split(", "):
        kind, name, array = PARAMETER.match(text.strip()).groups()
        yield kind.strip() + (" *" if array else ""), name


def bare(kind):
    """Returns the type without const and spaces."""
    return re.sub(r"\bconst\b|\s", "", kind)


def inputs(function, found):
    """Yields statements that replace the inputs that the caller passes."""
    for (kind, name), (_, count) in zip(found, found[1:] + [("", "")]):
        kind = bare(kind)
        if kind == "pmix_info_t*" and name != "monitor":
            yield f'{name} = In("{function}", {name}, &{count});'
        elif kind == "pmix_app_t*":
            yield f'{name} = InApps("{function}", {name}, {count});'
        elif kind == "pmix_query_t*":
            yield f'{name} = InQueries("{function}", {name}, {count});'


def outputs(function, found):
    """Yields statements that change the outputs that the caller receives."""
    for (kind, name), (_, count) in zip(found, found[1:] + [("", "")]):
        kind = bare(kind)
        if kind == "pmix_info_t**":
            yield f'OutResults("{function}", given, {name}, {count});'
        elif kind == "pmix_value_t**":
            yield (f"if (given == PMIX_SUCCESS && {name} != NULL) "
                   f'OutValue("{function}", *{name});')


def pretends(function, found):
    """Returns the statement that completes a call that has no work left."""
    names = {bare(kind): name for kind, name in found}
    info = names.get("pmix_info_cbfunc_t", "NULL")
    operation = names.get("pmix_op_cbfunc_t", "NULL")
    if not function.endswith("_nb") and function not in (
            "PMIx_IOF_push", "PMIx_Session_control"):
        results = [name for kind, name in found if bare(kind) == "pmix_info_t**"]
        clear = "".join(f"if ({name} != NULL) *{name} = NULL; "
                        for name in results)
        return clear + "return PMIX_SUCCESS;"
    if (info, operation) == ("NULL", "NULL"):
        return "return PMIX_SUCCESS;"
    if function == "PMIx_IOF_push":
        return (f"return {operation} == NULL ? PMIX_SUCCESS : "
                f"Pretend({info}, {operation}, cbdata);")
    return f"return Pretend({info}, {operation}, cbdata);"


def emptied(function, found):
    """Yields the statements before and after the replacement of inputs, for a
    call that must not lose its only attribute."""
    if function.removesuffix("_nb") not in NEED_ONE:
        return "", ""
    counts = [found[i + 1][1] for i, (kind, name) in enumerate(found)
              if bare(kind) == "pmix_info_t*" and name != "monitor"]
    first = counts[0]
    leave = pretends(function, found)
    before = f"const size_t had = {first};"
    condition = f"had > 0 && {first} == 0"
    if function == "PMIx_IOF_push":
        condition += " && (bo == NULL || bo->size == 0)"
    after = f"if ({condition}) {{ {leave} }}"
    if "monitor" in (name for _, name in found):
        before, after = "", (f'if (monitor != NULL && Drops("{function}", '
                             f"monitor->key)) {{ {leave} }}")
    return before, after


# The callback of a non-blocking form by its type, with the members of Waiting
# that are set to the last parameters of the blocking form.
FORMS = {"pmix_info_cbfunc_t": ("OnInfos", ("infos", "count")),
         "pmix_validation_cbfunc_t": ("OnValidated", ("infos", "count")),
         "pmix_op_cbfunc_t": ("OnOp", ()),
         "pmix_value_cbfunc_t": ("OnValue", ("value",)),
         "pmix_spawn_cbfunc_t": ("OnSpawn", ("nspace",)),
         "pmix_credential_cbfunc_t": ("OnCredential", ("bytes",)),
         "pmix_device_dist_cbfunc_t": ("OnDistances", ("distances", "count"))}


def nonblocking(row, found, forms):
    """Returns the statement that carries a blocking call out by its
    non-blocking form, if there is one."""
    form = forms.get(row.name + "_nb")
    if not form:
        return ""
    kind = list(parameters(form.prototype))[-2][0]
    names = [name for _, name in found]
    if kind == "pmix_lookup_cbfunc_t":
        return (f"if (g_nonblocking && {names[0]} != NULL) {{ "
                "Waiting waiting = WAITING; waiting.data = data; "
                "waiting.num_data = ndata; return Await(&waiting, "
                f"{form.name}(KeysOf(data, ndata), info, ninfo, OnFound, "
                "&waiting)); }")
    callback, members = FORMS[kind]
    given = names[:len(names) - len(members)]
    last = names[len(given):]
    assign = "".join(f"waiting.{member} = {name}; "
                     for member, name in zip(members, last))
    # If the caller gives no place for the result, only the blocking form
    # reports the error.
    optional = kind in ("pmix_info_cbfunc_t", "pmix_spawn_cbfunc_t",
                        "pmix_validation_cbfunc_t")
    condition = "".join(f" && {name} != NULL" for name in
                        ([] if optional else last))
    if kind == "pmix_value_cbfunc_t":
        condition += " && !OnlyBlocking(info, ninfo)"
    return (f"if (g_nonblocking{condition}) {{ Waiting waiting = WAITING; "
            f"{assign}return Await(&waiting, {form.name}("
            f"{', '.join([*given, callback, '&waiting'])})); }}")


def wrapper(row, callbacks, forms):
    """Returns the function that replaces a function of the library, or None."""
    function, found = row.name, list(parameters(row.prototype))
    statements = list(inputs(function, found))
    before, after = emptied(function, found)
    if bare(found[1][0] if len(found) > 1 else "") == "char*" and \
            function in ("PMIx_Get", "PMIx_Get_nb"):
        statements.append(f'if (key != NULL && Drops("{function}", key)) '
                          "key = NO_SUCH_KEY;")
    for kind, name in found:
        if kind in callbacks:
            statements.append(f'{name} = Wrap_{kind}("{function}", {name});')
    results = list(outputs(function, found))
    if not statements and not results:
        return None
    names = ", ".join(name for _, name in found)
    lines = [row.prototype + " {", nonblocking(row, found, forms),
             f"static __typeof__(&{function}) real;",
             f'if (real == NULL) real = (__typeof__(real))Real("{function}");',
             before, *statements, after,
             f"const pmix_status_t given = real({names});",
             *results, "return given;", "}"]
    return "\n".join(filter(None, lines)) + "\n"


def thunk(row):
    """Returns the functions that replace callbacks of one type."""
    kind, found = row.name, list(parameters(row.prototype))
    if kind == "pmix_notification_fn_t":
        changed = ["ninfo = Out(slot->function, info, ninfo);"]
    elif kind == "pmix_value_cbfunc_t":
        changed = ["OutValue(slot->function, kv);"]
    else:
        changed = ["ninfo = Out(slot->function, info, ninfo);",
                   "if (ninfo == 0) info = NULL;"]
    shape = ", ".join(f"{k} {n}" for k, n in found)
    names = ", ".join(n for _, n in found)
    lines = [f"static Slot g_{kind}[kSlots];"]
    for number in range(SLOTS):
        lines += [f"static void Thunk{number}_{kind}({shape}) {{",
                  f"const Slot *slot = &g_{kind}[{number}];", *changed,
                  f"(({kind})slot->callback)({names});", "}"]
    lines += [f"static const {kind} kThunks_{kind}[kSlots] = {{",
              ", ".join(f"Thunk{number}_{kind}" for number in range(SLOTS)),
              "};",
              f"static {kind} Wrap_{kind}(const char *function, {kind} callback) {{",
              "if (callback == NULL || g_seen_path == NULL) return callback;",
              f"return kThunks_{kind}[SlotOf(g_{kind}, (void *)callback, "
              "function)];", "}"]
    return "\n".join(lines) + "\n"


def takes_attributes(row):
    return "pmix_info_t " in row.prototype or row.name == "pmix_value_cbfunc_t"


def source():
    """Returns the text of the library."""
    rows = tables.read_table(os.path.join(INCLUDE, "tables", "functions.tsv"))
    callbacks = {row.name: row for row in rows
                 if row.kind == "callback" and row.group == "callback" and
                 takes_attributes(row) and
                 row.name != "pmix_event_notification_cbfunc_fn_t" and
                 row.name != "pmix_setup_application_cbfunc_t"}
    forms = {row.name: row for row in rows if row.name.endswith("_nb")}
    parts = ["#define _GNU_SOURCE", '#include "nonblocking.h"']
    parts += [thunk(row) for row in callbacks.values()]
    for row in rows:
        if row.kind == "function" and row.role != "util" and \
                row.prototype.startswith("pmix_status_t ") and \
                re.search("pmix_(info|app|query|value)_t", row.prototype):
            parts.append(wrapper(row, callbacks, forms) or "")
    return "\n".join(parts)


if __name__ == "__main__":
    print(source())
