#include "common/scheduler_address.h"

#include <charconv>
#include <string>

namespace canopy {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kMaxPath = 107;  // sun_path without its terminator
constexpr int kLastPort = 65535;

bool IsHostAndPort(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view port = address.substr(colon + 1);
  int number = 0;
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() &&
         number > 0 && number <= kLastPort;
}

}  // namespace

Status CheckSchedulerAddress(std::string_view address) {
  if (address.starts_with(kUnix)) {
    const std::string_view path = address.substr(kUnix.size());
    if (path.starts_with('/') && path.size() <= kMaxPath) return {};
  } else if (IsHostAndPort(address)) {
    return {};
  }
  return {kErrBadParam, "'" + std::string(address) +
                            "' is not the address of a scheduler; use "
                            "unix:/PATH or HOST:PORT"};
}

}  // namespace canopy
