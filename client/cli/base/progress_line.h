// A line of progress on a terminal, which is erased at the end.
#ifndef CANOPY_CLIENT_CLI_BASE_PROGRESS_LINE_H_
#define CANOPY_CLIENT_CLI_BASE_PROGRESS_LINE_H_

#include <chrono>
#include <string>

namespace canopy::cli {

// Shows nothing unless `fd` is a terminal and half a second has passed since
// construction, so that short work prints nothing. Used by one thread.
class ProgressLine {
 public:
  explicit ProgressLine(int fd, bool enabled = true);
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Set(std::string text);
  // Draws the text that was set, if it is due. Returns the time until the next
  // call in milliseconds, or -1 if there is nothing to draw.
  int Tick();
  // Erases the line. Called before anything else is written to the terminal.
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
