"""The targets of a folder: its library, what its tests share, and its tests."""

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
        deps = [],
        test_deps = [],
        test_size = "small",
        **kwargs):
    """A library of one header and its source, where a folder's room will not do.

    It is a cc_library NAME of NAME.h and NAME.cc, if there is one; and, where
    NAME_test.cc exists, a cc_test NAME_test. A test that needs more than what is
    here is a cc_test of its own beside it, with another name.

    Args:
      name: of the library.
      srcs: where they are others than NAME.cc.
      deps: of the library. The headers that it includes are theirs.
      test_deps: of the test, beside the library and the main program.
      test_size: as of cc_test.
      **kwargs: as of cc_library.
    """
    _library(
        name = name,
        srcs = native.glob([name + ".cc"], allow_empty = True) if srcs == None else srcs,
        hdrs = [name + ".h"],
        deps = deps,
        **kwargs
    )
    if native.glob([name + "_test.cc"], allow_empty = True):
        canopy_test(
            name = name + "_test",
            size = test_size,
            deps = [":" + name] + test_deps,
        )

# More of them would take a compiler more than a gigabyte of memory, and longer
# after a change of one.
_SOURCES_COMPILED_AT_ONCE = 6

# GCC takes what it reads under another name for a header, and warns of types
# that several sources would have in common.
_JOINED_HEAD = " ".join([
    "'#if defined(__GNUC__) && !defined(__clang__)'",
    "'#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"'",
    "'#endif'",
])

# Sources that are no part of a folder's library.
_BESIDE = [
    "*_benchmark.cc",
    "*_fuzz.cc",
    "*_main.cc",
    "*_test.cc",
    "*_testing.cc",
    "*_testing.h",
    "main.cc",
]

def _files_of(entry):
    """The files that an entry of `without` names."""
    if "." in entry:
        return [entry]
    return [entry + ending for ending in (".cc", ".h", "_test.cc")]

def canopy_room(
        name,
        deps = [],
        without = [],
        also = [],
        testing = [],
        testing_deps = [],
        test_deps = [],
        test_tags = [],
        tests = {},
        testonly = False,
        joined = True,
        visibility = None):
    """The library of a folder, with its tests.

    NAME has all sources of the folder, whatever is added to it. `testing` has
    what the tests of this folder and of others share, and each file *_test.cc
    is a cc_test. tests/layering compares the dependencies with the includes, and
    the files of a folder with each other: they may not include each other in a
    circle.

    Args:
      name: that of the folder.
      deps: of the library, libraries of other folders.
      without: files of the folder that belong to targets of their own. An entry
        without a dot stands for a header, its source and its test.
      also: sources whose names look as if they were tests.
      testing: files of `testing` beside *_testing.h and *_testing.cc.
      testing_deps: of `testing`, beside the library.
      test_deps: of all tests, beside the library and `testing`.
      test_tags: of all tests; say beside no_asan and no_tsan why.
      tests: by the name of a test, what it needs beyond that: a dictionary of
        attributes of cc_test.
      testonly: as of cc_library. Such sources are compiled one by one.
      joined: False if programs and tests link some of the sources without the
        others: the linker takes whole translation units.
      visibility: as of cc_library.
    """
    left_out = [f for entry in without for f in _files_of(entry)]
    beside = _BESIDE + left_out + testing
    srcs = native.glob(["*.cc"], exclude = beside, allow_empty = True)
    hdrs = native.glob(["*.h"], exclude = beside, allow_empty = True)
    sources = srcs + [f for f in also if f.endswith(".cc")]
    _library(
        name = name,
        srcs = _joined(name, sources) if joined and not testonly else sources,
        hdrs = hdrs + [f for f in also if f.endswith(".h")],
        deps = deps,
        testonly = testonly,
        visibility = visibility,
    )
    near = [":" + name]
    shared = native.glob(
        ["*_testing.cc", "*_testing.h"],
        exclude = left_out + also,
        allow_empty = True,
    ) + testing
    if shared:
        _library(
            name = "testing",
            testonly = True,
            srcs = [f for f in shared if f.endswith(".cc")],
            hdrs = [f for f in shared if f.endswith(".h")],
            deps = near + testing_deps,
            visibility = visibility,
        )
        near = near + [":testing"]
    for file in native.glob(["*_test.cc"], exclude = left_out + also, allow_empty = True):
        test = file[:-len(".cc")]
        own = dict(tests.get(test, {}))
        canopy_test(
            name = test,
            deps = near + test_deps + own.pop("deps", []),
            tags = test_tags + own.pop("tags", []),
            **own
        )

def _joined(name, srcs):
    """Source files that have the text of several of `srcs` each.

    To read headers takes most of the time to compile a source, so a folder's
    sources are compiled several at a time. Their names for the compiler are those
    of the sources. What is in the anonymous namespace of one is seen by its
    neighbours: two of the same name do not compile. `./test lint` compiles each
    source by itself, which shows the includes that are missing.

    Args:
      name: that of the library.
      srcs: in the order in which they are joined.

    Returns:
      the labels of what is compiled.
    """
    count = -(-len(srcs) // _SOURCES_COMPILED_AT_ONCE)
    joined = []
    for i in range(count):
        few = srcs[i * len(srcs) // count:(i + 1) * len(srcs) // count]
        if len(few) == 1:
            joined += few
            continue
        target = "%s_sources_%d" % (name, i)
        native.genrule(
            name = target,
            srcs = few,
            outs = [target + ".cc"],
            cmd = "(printf '%%s\\n' %s; " % _JOINED_HEAD +
                  "for f in $(SRCS); do echo \"#line 1 \\\"$$f\\\"\"; cat $$f; done) > $@",
            tags = ["joined"],
            visibility = ["//visibility:private"],
        )
        joined.append(target)
    return joined

def _library(copts = [], deps = [], **kwargs):
    native.cc_library(
        copts = copts + _with_sanitizers(_WITH_PRECOMPILED),
        deps = deps + _with_sanitizers(_PRECOMPILED),
        **kwargs
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
