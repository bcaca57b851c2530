// Prints the steps of a command with their times, for --verbose.
#ifndef CANOPY_CLIENT_CLI_BASE_TIMELINE_H_
#define CANOPY_CLIENT_CLI_BASE_TIMELINE_H_

#include <chrono>
#include <string>

namespace canopy::cli {

// Prints "canopy: [  0.012 s] TEXT" on standard error, if enabled.
class Timeline {
 public:
  explicit Timeline(bool enabled)
      : enabled_(enabled), start_(std::chrono::steady_clock::now()) {}
  void Note(const std::string& text) const;

 private:
  const bool enabled_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_TIMELINE_H_
