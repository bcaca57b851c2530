// What gdb prints of the stacks of many processes ("thread apply all bt").
#ifndef CANOPY_CLIENT_TOOLS_GDB_OUTPUT_H_
#define CANOPY_CLIENT_TOOLS_GDB_OUTPUT_H_

#include <string>
#include <string_view>
#include <vector>

namespace canopy::tools {

struct ThreadStack {
  int lwp = 0;  // that of a process's first thread is the process
  // From the outermost: "main at app.c:12", "poll from libc.so.6", "??".
  std::vector<std::string> frames;
};

// Every thread, in the order printed. What is not of a stack is passed over.
std::vector<ThreadStack> ParseStacks(std::string_view text);

// The function and the place of one line "#N ...", without addresses and
// arguments; empty when it is none.
std::string ParseFrame(std::string_view line);

// The last lines that say why gdb could not do what it was told: one of each.
std::vector<std::string> Complaints(std::string_view text);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_GDB_OUTPUT_H_
