#include "server/net/line_limit.h"

#include <utility>

namespace canopy::net {
namespace {

constexpr char kAllOthers[] = "";

}  // namespace

// Returns the lines of a source. A source that has its full allowance again
// need not be remembered.
LineLimit::Lines& LineLimit::LinesOf(const std::string& source, int64_t now) {
  if (!sources_.contains(source) && sources_.size() >= kMaxSources) {
    std::erase_if(sources_, [now](const auto& entry) {
      return entry.second.allowance.IsFull(now);
    });
  }
  const bool room = sources_.contains(source) || sources_.size() < kMaxSources;
  const LineAllowance all({burst_, 1}, now);
  return sources_.try_emplace(room ? source : kAllOthers, Lines{all})
      .first->second;
}

std::optional<std::string> LineLimit::Admit(const std::string& source,
                                            std::string text, int64_t now) {
  Lines& lines = LinesOf(source, now);
  if (!lines.allowance.Take(now)) {
    ++lines.left_out;
    return std::nullopt;
  }
  const uint64_t left_out = std::exchange(lines.left_out, 0);
  if (left_out > 0) {
    text += " (lines left out before it: " + std::to_string(left_out) + ")";
  }
  return text;
}

}  // namespace canopy::net
