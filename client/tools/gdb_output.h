// The stacks of many processes as gdb prints them ("thread apply all bt").
#ifndef CANOPY_CLIENT_TOOLS_GDB_OUTPUT_H_
#define CANOPY_CLIENT_TOOLS_GDB_OUTPUT_H_

#include <string>
#include <string_view>
#include <vector>

namespace canopy::tools {

struct ThreadStack {
  int lwp = 0;  // the thread; for a first thread, the process
  // Frames from the outermost on: "main at app.c:12", "poll from libc.so.6",
  // "??".
  std::vector<std::string> frames;
};

// Returns every thread in the order printed. Lines of other content are
// skipped.
std::vector<ThreadStack> ParseStacks(std::string_view text);

// Returns the function and the place of one line "#N ...", without addresses
// and arguments, or an empty string if the line is not a frame.
std::string ParseFrame(std::string_view line);

// Returns the lines in which gdb reports that it could not attach, without
// duplicates.
std::vector<std::string> Complaints(std::string_view text);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_GDB_OUTPUT_H_
