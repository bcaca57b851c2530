// The functions of a fuzz target. tests/fuzz/fuzz.bzl makes a program for
// libFuzzer of it (tests/fuzz/run.py runs all of them), and a test that runs
// its seeds.
#ifndef CANOPY_TESTS_FUZZ_FUZZ_H_
#define CANOPY_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Returns 0 for any bytes. Aborts if an invariant is violated; the sanitizers
// find other errors.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace canopy::fuzz {

// Returns valid inputs of every kind, with which the search starts. The current
// directory must be the workspace's root.
std::vector<std::string> Seeds();

}  // namespace canopy::fuzz

#endif  // CANOPY_TESTS_FUZZ_FUZZ_H_
