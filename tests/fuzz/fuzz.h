// What a fuzz target consists of. tests/fuzz/fuzz.bzl makes of it a program for
// libFuzzer (tests/fuzz/run.py runs all of them) and a test that goes over its
// seeds.
#ifndef CANOPY_TESTS_FUZZ_FUZZ_H_
#define CANOPY_TESTS_FUZZ_FUZZ_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Whatever the bytes, this returns 0. It aborts when something that must hold
// does not; the sanitizers do the rest.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace canopy::fuzz {

// Good inputs of every kind, which are where the search begins. Run from the
// workspace's root.
std::vector<std::string> Seeds();

}  // namespace canopy::fuzz

#endif  // CANOPY_TESTS_FUZZ_FUZZ_H_
