"""A library with its unit test, and a unit test: most targets of the project."""

# For code that is called millions of times and keeps structures of some hundred
# bytes on its stack. GCC zeroes these by an instruction that takes longer to
# begin than they take to be zeroed one by one.
ZERO_BY_MOVES = select({
    "//build:optimised_x86_64": [
        "-mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign",
    ],
    "//conditions:default": [],
})

# What every unit test links.
_TEST_MAIN = "@system//:gtest_main"

_PRECOMPILED = ["//build:gtest_precompiled"]
_WITH_PRECOMPILED = ["-include", "$(BINDIR)/build/gtest_precompiled.h"]

def _with_sanitizers(what):
    """What a build has to which a missing include makes no difference."""
    return select({"//build:sanitized": what, "//conditions:default": []})

def canopy_library(
        name,
        srcs = None,
        hdrs = None,
        copts = [],
        deps = [],
        test_deps = [],
        test_size = "small",
        test_tags = [],
        test_data = [],
        **kwargs):
    """A cc_library NAME and, where NAME_test.cc exists, a cc_test NAME_test.

    The files are those that have the library's name: NAME.h, NAME.cc if there is
    one, and NAME_test.cc. A test that needs more than what is here is a cc_test
    of its own beside it, with another name.

    Args:
      name: of the library.
      srcs: where they are others than NAME.cc.
      hdrs: where they are others than NAME.h.
      copts: as of cc_library.
      deps: of the library. The headers that it includes are theirs.
      test_deps: of the test, beside the library and the main program.
      test_size: as of cc_test.
      test_tags: as of cc_test; say beside no_asan and no_tsan why.
      test_data: files that the test reads or runs.
      **kwargs: as of cc_library.
    """
    native.cc_library(
        name = name,
        srcs = native.glob([name + ".cc"], allow_empty = True) if srcs == None else srcs,
        hdrs = [name + ".h"] if hdrs == None else hdrs,
        copts = copts + _with_sanitizers(_WITH_PRECOMPILED),
        deps = deps + _with_sanitizers(_PRECOMPILED),
        **kwargs
    )
    if native.glob([name + "_test.cc"], allow_empty = True):
        canopy_test(
            name = name + "_test",
            size = test_size,
            data = test_data,
            tags = test_tags,
            deps = [":" + name] + test_deps,
        )

def canopy_test(name, deps = [], size = "small", copts = [], **kwargs):
    """A unit test NAME of NAME.cc that is not of the one library of its name.

    Args:
      name: of the test; ends with _test.
      deps: beside the main program of GoogleTest.
      size: as of cc_test.
      copts: as of cc_test.
      **kwargs: as of cc_test.
    """
    native.cc_test(
        name = name,
        size = size,
        srcs = [name + ".cc"],
        copts = copts + _WITH_PRECOMPILED,
        deps = deps + [_TEST_MAIN] + _PRECOMPILED,
        **kwargs
    )
