// One line of progress on a terminal that goes away again.
#ifndef CANOPY_CLIENT_CLI_BASE_PROGRESS_LINE_H_
#define CANOPY_CLIENT_CLI_BASE_PROGRESS_LINE_H_

#include <chrono>
#include <string>

namespace canopy::cli {

// Shows nothing unless `fd` is a terminal and half a second has passed since
// it was made: short work stays silent. Single-threaded.
class ProgressLine {
 public:
  explicit ProgressLine(int fd, bool enabled = true);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Set(std::string text);
  // Draws what Set gave when it is time for it. Returns in how many ms to come
  // again; -1: nothing to draw.
  int Tick();
  // Erases the line; before anything else is written to the terminal.
  void Clear();

 private:
  const int fd_;
  const bool enabled_;
  const std::chrono::steady_clock::time_point visible_from_;
  std::string text_;
  std::string shown_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_BASE_PROGRESS_LINE_H_
