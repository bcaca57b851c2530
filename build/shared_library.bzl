"""Shared libraries that are loaded into other people's programs."""

def hidden_shared_library(
        name,
        version_script,
        linkopts = [],
        additional_linker_inputs = [],
        **kwargs):
    """A shared library that exports what its version script names and no more.

    It carries its C++ runtime and needs the C library alone, but for what
    `linkopts` add. Nothing is left undefined, except by debug builds: what
    sanitizers want of their runtime is in the program alone. Never -Bsymbolic:
    programs may hold the copy of a data symbol that counts.

    Args:
      name: file and SONAME.
      version_script: target of the linker script.
      linkopts: further ones.
      additional_linker_inputs: what they refer to.
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
            # The toolchain names libstdc++ itself, so -static-libstdc++ would
            # not do: this copy is found first and nothing is left for that one.
            "-Wl,-Bstatic,-lstdc++,-Bdynamic",
            # What the compiler refers to weakly for functions without a body is
            # in it, and need not be looked for in every program.
            "-Wl,-u,__cxa_pure_virtual",
            "-Wl,--as-needed",
        ] + linkopts + select({
            "//build:debug": [],
            "//conditions:default": ["-Wl,-z,defs"],
        }),
        linkshared = 1,
        **kwargs
    )
