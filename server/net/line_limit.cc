#include "server/net/line_limit.h"

#include <algorithm>
#include <utility>

namespace canopy::net {
namespace {

constexpr char kAllOthers[] = "";

}  // namespace

// Returns the allowance of a source. A source that has its full allowance again
// need not be remembered.
LineLimit::Allowance& LineLimit::AllowanceOf(const std::string& source,
                                             int64_t now) {
  if (!allowances_.contains(source) && allowances_.size() >= kMaxSources) {
    std::erase_if(allowances_, [now](const auto& entry) {
      return now - entry.second.since >= kBurst * kSecondNs;
    });
  }
  const bool room =
      allowances_.contains(source) || allowances_.size() < kMaxSources;
  const auto [it, made] = allowances_.try_emplace(room ? source : kAllOthers);
  if (made) it->second.since = now;
  return it->second;
}

std::optional<std::string> LineLimit::Admit(const std::string& source,
                                            std::string text, int64_t now) {
  Allowance& allowance = AllowanceOf(source, now);
  const int64_t seconds = (now - allowance.since) / kSecondNs;
  allowance.since += seconds * kSecondNs;
  allowance.lines = std::min(kBurst, allowance.lines + seconds);
  if (allowance.lines == 0) {
    ++allowance.left_out;
    return std::nullopt;
  }
  --allowance.lines;
  const uint64_t left_out = std::exchange(allowance.left_out, 0);
  if (left_out > 0) {
    text += " (lines left out before it: " + std::to_string(left_out) + ")";
  }
  return text;
}

}  // namespace canopy::net
