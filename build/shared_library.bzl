"""Shared libraries that are loaded into users' programs."""

# The linker finds these instead of the C library of this machine, so that the
# library also loads with older C libraries (docs/design/loading.md). Builds for
# other CPU types are linked with the C library of this machine: the symbol
# versions of the table are those of x86-64.
_STUBS = ["//build/libc_stubs"]
_LINK_WITH_STUBS = ["-L$(BINDIR)/build/libc_stubs", "-ldl", "-lpthread"]

def _on_x86_64(what):
    return select({
        "//build:optimised_x86_64": what,
        "//conditions:default": [],
    })

def hidden_shared_library(
        name,
        version_script,
        deps = [],
        linkopts = [],
        additional_linker_inputs = [],
        **kwargs):
    """A shared library that exports only the symbols of its version script.

    The library contains its C++ runtime, and needs only the C library and the
    libraries in `linkopts`. No symbol stays undefined, except in debug builds,
    because only programs contain the runtime of sanitizers. Debug builds use
    the C library of this machine, because sanitizers replace its functions.
    -Bsymbolic must not be used: a program may have the valid copy of a data
    symbol.

    Args:
      name: file and SONAME.
      version_script: target of the linker script.
      deps: as of cc_binary.
      linkopts: further options.
      additional_linker_inputs: files to which the options refer.
      **kwargs: as of cc_binary.
    """
    native.cc_binary(
        name = name,
        additional_linker_inputs =
            [version_script] + additional_linker_inputs + _on_x86_64(_STUBS),
        deps = deps + select({
            "//build:debug": [],
            "//conditions:default": ["//client/abi:libc_names"],
        }),
        linkopts = [
            "-Wl,-soname,%s" % name,
            "-Wl,--version-script=$(location %s)" % version_script,
            "-Wl,--exclude-libs,ALL",
            "-Wl,--gc-sections",
            "-Wl,-z,relro,-z,now",
            "-static-libgcc",
            # The toolchain itself names libstdc++, so -static-libstdc++ has no
            # effect. The static library is named here, and found before the
            # toolchain's.
            "-Wl,-Bstatic,-lstdc++,-Bdynamic",
            # The function to which the compiler refers weakly, for functions
            # without a body, is in the library, so the loader need not search
            # for it in each program.
            "-Wl,-u,__cxa_pure_virtual",
            "-Wl,--as-needed",
        ] + linkopts + _on_x86_64(_LINK_WITH_STUBS) + select({
            "//build:debug": [],
            "//conditions:default": ["-Wl,-z,defs"],
        }),
        linkshared = 1,
        **kwargs
    )
