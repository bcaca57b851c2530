#include "client/cli/base/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/cli/base/file_util.h"

namespace canopy::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSilence = std::chrono::milliseconds(500);
constexpr char kErase[] = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine(int fd, bool enabled)
    : fd_(fd),
      enabled_(enabled && isatty(fd) == 1),
      visible_from_(Clock::now() + kSilence) {}

void ProgressLine::Set(std::string text) { text_ = std::move(text); }

int ProgressLine::Tick() {
  if (!enabled_ || text_.empty() || text_ == shown_) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      visible_from_ - Clock::now());
  if (left.count() > 0) return static_cast<int>(left.count()) + 1;
  (void)WriteAll(fd_, kErase + text_);
  shown_ = text_;
  return -1;
}

void ProgressLine::Clear() {
  text_.clear();
  if (!std::exchange(shown_, {}).empty()) (void)WriteAll(fd_, kErase);
}

}  // namespace canopy::cli
