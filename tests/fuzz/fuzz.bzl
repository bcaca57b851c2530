"""Fuzz targets."""

def fuzz_target(name, srcs, deps, data = [], size = "small"):
    """A fuzz target, whose sources define what tests/fuzz/fuzz.h declares.

    NAME is a program that links only with --config=fuzz. NAME_test runs the seeds
    and inputs that differ little from them; SIZE is the size of that test.
    """
    native.cc_library(
        name = name + "_lib",
        testonly = True,
        srcs = srcs,
        deps = deps + ["//tests/fuzz"],
        alwayslink = True,
    )
    native.cc_binary(
        name = name,
        testonly = True,
        data = data,
        tags = [
            "fuzz",
            "manual",
        ],
        deps = [
            ":" + name + "_lib",
            "//tests/fuzz:write_seeds",
        ],
    )
    native.cc_test(
        name = name + "_test",
        size = size,
        data = data,
        deps = [
            ":" + name + "_lib",
            "//tests/fuzz:replay",
        ],
    )
