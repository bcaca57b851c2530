#include "server/agent/bring_up/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/event_loop.h"
#include "common/mutex.h"
#include "common/text.h"
#include "common/thread_annotations.h"
#include "server/net/log_gate.h"

namespace canopy::agent {
namespace {

constexpr char kEscapedText = '*';

// The conversion kEscapedText of a log pattern: writes a line's text with its
// control characters escaped.
class EscapedText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& line, const std::tm&,
              spdlog::memory_buf_t& to) override {
    const std::string text =
        Printable(std::string_view(line.payload.data(), line.payload.size()));
    to.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedText>();
  }
};

// Limits the log lines of the whole process. It has a mutex, because not only
// the loop's thread logs when an agent ends.
class Gate {
 public:
  std::optional<std::string> Admit(const core::LogLine& line) {
    const MutexLock lock(mutex_);
    return gate_.Admit(line.text, EventLoop::Now(), line.uid);
  }

 private:
  Mutex mutex_;
  net::LogGate gate_ CANOPY_GUARDED_BY(mutex_);
};

Gate& TheGate() {
  static Gate* const gate = new Gate;
  return *gate;
}

spdlog::level::level_enum LevelOf(core::LogLine::Level level) {
  switch (level) {
    case core::LogLine::Level::kInfo:
      return spdlog::level::info;
    case core::LogLine::Level::kWarning:
      return spdlog::level::warn;
    case core::LogLine::Level::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void SetLogPattern(const std::string& node) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedText>(kEscapedText)
      .set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l canopyd[%P] " + node + ": %*");
  spdlog::set_formatter(std::move(formatter));
}

// Lines of the level "info" are off by default; an operator who turns them on
// gets all of them.
void Log(const core::LogLine& line) {
  const spdlog::level::level_enum level = LevelOf(line.level);
  if (!spdlog::should_log(level)) return;
  if (line.level == core::LogLine::Level::kInfo) {
    return spdlog::log(level, "{}", line.text);
  }
  const std::optional<std::string> text = TheGate().Admit(line);
  if (text) spdlog::log(level, "{}", *text);
}

}  // namespace canopy::agent
