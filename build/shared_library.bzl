"""Shared libraries that are loaded into users' programs."""

def hidden_shared_library(
        name,
        version_script,
        linkopts = [],
        additional_linker_inputs = [],
        **kwargs):
    """A shared library that exports only the symbols of its version script.

    The library contains its C++ runtime, and needs only the C library and the
    libraries in `linkopts`. No symbol stays undefined, except in debug builds,
    because only programs contain the runtime of sanitizers. -Bsymbolic must not
    be used: a program may have the valid copy of a data symbol.

    Args:
      name: file and SONAME.
      version_script: target of the linker script.
      linkopts: further options.
      additional_linker_inputs: files to which the options refer.
      **kwargs: as of cc_binary.
    """
    native.cc_binary(
        name = name,
        additional_linker_inputs = [version_script] + additional_linker_inputs,
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
        ] + linkopts + select({
            "//build:debug": [],
            "//conditions:default": ["-Wl,-z,defs"],
        }),
        linkshared = 1,
        **kwargs
    )
