#include "client/cli/run/job_environment.h"

#include <algorithm>
#include <string_view>

namespace canopy::cli {
namespace {

constexpr std::string_view kOfOuterJob[] = {"PMIX_", "PMI_", "PMI2_",
                                            "CANOPY_"};
constexpr std::string_view kUserSettings[] = {
    "PMIX_MCA_", "CANOPY_CONTEXT=", "CANOPY_SHIM=", "CANOPY_LIBRARY_DIR="};

bool StartsWithOneOf(std::string_view text, const auto& starts) {
  return std::ranges::any_of(
      starts, [&](std::string_view start) { return text.starts_with(start); });
}

}  // namespace

std::vector<std::string> InheritedEnvironment(const char* const* environ) {
  std::vector<std::string> out;
  for (const char* const* entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    if (StartsWithOneOf(text, kOfOuterJob) &&
        !StartsWithOneOf(text, kUserSettings)) {
      continue;
    }
    out.emplace_back(text);
  }
  return out;
}

void SetVariables(const std::vector<std::string>& entries,
                  std::vector<std::string>* environment) {
  for (const std::string& entry : entries) {
    const std::string_view start =
        std::string_view(entry).substr(0, entry.find('=') + 1);
    const auto same = std::ranges::find_if(
        *environment,
        [start](const std::string& e) { return e.starts_with(start); });
    if (same == environment->end()) {
      environment->push_back(entry);
    } else {
      *same = entry;
    }
  }
}

}  // namespace canopy::cli
