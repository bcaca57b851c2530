// libFuzzer calls this first. With CANOPY_FUZZ_SEEDS in the environment the
// program writes its seeds into that directory and ends.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* directory = getenv("CANOPY_FUZZ_SEEDS");
  if (directory == nullptr) return 0;
  int number = 0;
  for (const std::string& seed : canopy::fuzz::Seeds()) {
    std::ofstream out(
        std::string(directory) + "/seed" + std::to_string(number++),
        std::ios::binary);
    if (!(out << seed)) exit(1);
  }
  exit(number > 0 ? 0 : 1);
}
