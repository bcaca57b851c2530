#include "client/cli/run/loader_errors.h"

#include <algorithm>
#include <array>

namespace canopy::cli {
namespace {

constexpr std::array<std::string_view, 5> kWords = {
    "symbol lookup error: ", "undefined symbol: ",
    "error while loading shared libraries: ", "Error relocating ",
    "Error loading shared library "};

}  // namespace

bool HasLoaderError(std::string_view output) {
  return std::ranges::any_of(kWords, [output](std::string_view words) {
    return output.find(words) != std::string_view::npos;
  });
}

}  // namespace canopy::cli
