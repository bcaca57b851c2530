#include "client/tools/gdb_output.h"

#include <algorithm>
#include <charconv>

namespace canopy::tools {
namespace {

constexpr std::string_view kLwp = "(LWP ";

std::string_view TakeLine(std::string_view* text) {
  const size_t end = text->find('\n');
  const std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  return line;
}

// Returns the thread of a line "Thread 4.1 (Thread 0x7f04 (LWP 26033) "app"):",
// or the process of "Thread 1 (process 17):", which has no threads. Returns 0
// for any other line.
int LwpOf(std::string_view line) {
  if (!line.starts_with("Thread ") || !line.ends_with(':')) return 0;
  size_t at = line.find(kLwp);
  if (at != std::string_view::npos) {
    at += kLwp.size();
  } else {
    constexpr std::string_view kProcess = "(process ";
    at = line.find(kProcess);
    if (at == std::string_view::npos) return 0;
    at += kProcess.size();
  }
  int lwp = 0;
  std::from_chars(line.data() + at, line.data() + line.size(), lwp);
  return lwp;
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns the position of the parenthesis that opens the arguments: the partner
// of the last parenthesis, because names in C++ may contain parentheses too.
size_t ArgumentsOf(std::string_view call) {
  int depth = 0;
  for (size_t i = call.size(); i-- > 0;) {
    if (call[i] == ')') ++depth;
    if (call[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string ParseFrame(std::string_view line) {
  if (!line.starts_with('#')) return "";
  const size_t number = line.find_first_of(" \t");
  if (number == std::string_view::npos) return "";
  std::string_view rest = line.substr(line.find_first_not_of(" \t", number));
  if (rest.starts_with("0x")) {
    const size_t in = rest.find(" in ");
    if (in == std::string_view::npos) return "";
    rest.remove_prefix(in + 4);
  }
  std::string place;
  if (const size_t at = rest.rfind(") at "); at != std::string_view::npos) {
    place = " at " + std::string(BaseName(rest.substr(at + 5)));
    rest = rest.substr(0, at + 1);
  } else if (const size_t from = rest.rfind(") from ");
             from != std::string_view::npos) {
    place = " from " + std::string(BaseName(rest.substr(from + 7)));
    rest = rest.substr(0, from + 1);
  }
  std::string_view name = rest.substr(0, ArgumentsOf(rest));
  while (name.ends_with(' ')) name.remove_suffix(1);
  return std::string(name) + place;
}

std::vector<ThreadStack> ParseStacks(std::string_view text) {
  std::vector<ThreadStack> stacks;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    if (const int lwp = LwpOf(line); lwp != 0) {
      stacks.push_back({lwp, {}});
      inside = true;
      continue;
    }
    std::string frame = inside ? ParseFrame(line) : "";
    if (!frame.empty()) {
      stacks.back().frames.push_back(std::move(frame));
    } else if (line.empty() || line.starts_with('[')) {
      inside = false;
    }
  }
  for (ThreadStack& stack : stacks) std::ranges::reverse(stack.frames);
  return stacks;
}

std::vector<std::string> Complaints(std::string_view text) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const bool is_complaint =
        line.starts_with("ptrace: ") || line.starts_with("Could not attach") ||
        line.starts_with("warning: process ") || line.starts_with("Can't ");
    if (is_complaint && std::ranges::count(found, line) == 0) {
      found.emplace_back(line);
    }
  }
  return found;
}

}  // namespace canopy::tools
