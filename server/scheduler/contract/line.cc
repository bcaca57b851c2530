#include "server/scheduler/contract/line.h"

#include "common/text.h"

namespace canopy::scheduler {
namespace {

// Returns the last boundary between UTF-8 characters up to `end`.
size_t CutBefore(const std::string& text, size_t end) {
  constexpr size_t kLongest = 4;
  size_t at = end;
  while (at > end - kLongest && (text[at] & 0xc0) == 0x80) --at;
  return (text[at] & 0xc0) == 0x80 ? end : at;
}

}  // namespace

std::string LineOf(const std::string& text) {
  if (text.size() <= kMaxLine) return Printable(text);
  return Printable(text.substr(0, CutBefore(text, kMaxLine))) + "...";
}

}  // namespace canopy::scheduler
