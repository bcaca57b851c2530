#include "common/job_name.h"

#include <cstdio>

namespace canopy {
namespace {

constexpr std::string_view kPrefix = "canopy-";
constexpr size_t kInstanceDigits = 8;

bool AllOf(std::string_view text, std::string_view digits) {
  return !text.empty() &&
         text.find_first_not_of(digits) == std::string_view::npos;
}

}  // namespace

std::string JobName(uint32_t instance, uint32_t number) {
  char name[64];
  std::snprintf(name, sizeof name, "canopy-%08x-%u", instance, number);
  return name;
}

bool IsJobName(std::string_view name) {
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const size_t dash = name.find('-');
  return dash == kInstanceDigits &&
         AllOf(name.substr(0, dash), "0123456789abcdef") &&
         AllOf(name.substr(dash + 1), "0123456789");
}

}  // namespace canopy
