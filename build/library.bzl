"""The targets of a folder: its library, the sources of its tests, its tests."""

# Options for code that is called millions of times and keeps structures of some
# hundred bytes on its stack. By default GCC zeroes such structures by an
# instruction whose start takes longer than zeroing them by moves.
ZERO_BY_MOVES = select({
    "//build:optimised_x86_64": [
        "-mmemset-strategy=unrolled_loop:256:noalign,libcall:-1:noalign",
    ],
    "//conditions:default": [],
})

# The main program, which every unit test links.
_TEST_MAIN = "@system//:gtest_main"

_PRECOMPILED = ["//build:gtest_precompiled"]
_WITH_PRECOMPILED = ["-include", "$(BINDIR)/build/gtest_precompiled.h"]

def _with_sanitizers(what):
    """Returns `what` for sanitized builds, and an empty list for others.

    Sanitized builds need not find missing includes.
    """
    return select({"//build:sanitized": what, "//conditions:default": []})

def canopy_library(
        name,
        srcs = None,
        deps = [],
        test_deps = [],
        test_size = "small",
        **kwargs):
    """A library of one header and its source, outside of a folder's room.

    The targets are a cc_library NAME of NAME.h and, if it exists, NAME.cc; and
    a cc_test NAME_test, if NAME_test.cc exists. A test that needs further
    attributes is a cc_test of its own beside the library, with another name.

    Args:
      name: of the library.
      srcs: the sources, if they are not NAME.cc.
      deps: of the library: the libraries whose headers it includes.
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

# With more sources at once, a compiler would need more than a gigabyte of
# memory, and compiling after a change of one source would take longer.
_SOURCES_COMPILED_AT_ONCE = 6

# GCC takes text under another file name for a header, and warns of types that
# several sources would share if they included that header.
_JOINED_HEAD = " ".join([
    "'#if defined(__GNUC__) && !defined(__clang__)'",
    "'#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"'",
    "'#endif'",
])

# Sources that are not part of a folder's library.
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
    """Returns the files that an entry of `without` names."""
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

    NAME has all sources of the folder, so a new file needs no line here. The
    library `testing` has the sources that the tests of this folder and of
    others share, and each file *_test.cc is a cc_test. tests/layering compares
    the dependencies with the includes, and checks that the files of a folder do
    not include each other in a circle.

    Args:
      name: the name of the folder.
      deps: of the library: libraries of other folders.
      without: files of the folder that belong to targets of their own. An entry
        without a dot stands for a header, its source and its test.
      also: sources of the library whose names look like those of tests.
      testing: files of `testing` beside *_testing.h and *_testing.cc.
      testing_deps: of `testing`, beside the library.
      test_deps: of all tests, beside the library and `testing`.
      test_tags: of all tests; a comment beside no_asan and no_tsan gives the
        reason.
      tests: further attributes of single tests: for the name of a test, a
        dictionary of attributes of cc_test.
      testonly: as of cc_library. Such sources are compiled one by one.
      joined: False if programs and tests link some of the sources without the
        others, because the linker takes whole translation units.
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
    """Returns source files, each of which has the text of several of `srcs`.

    Reading headers takes most of the time of compiling a source, so a folder's
    sources are compiled several at a time. The compiler's messages have the
    names of the sources. Sources that are compiled together share one anonymous
    namespace, so the same name in two of them does not compile. `./test lint`
    compiles each source by itself, which shows missing includes.

    Args:
      name: the name of the library.
      srcs: in the order in which they are joined.

    Returns:
      the labels of the source files to compile.
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
    """A unit test NAME of NAME.cc, if canopy_library does not declare it.

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
