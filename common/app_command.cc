#include "common/app_command.h"

#include <string_view>
#include <utility>

namespace canopy {
namespace {

// Returns the last component, ignoring slashes at the end of the path.
std::string_view LastComponent(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/") return path;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

AppCommand CommandOf(const char* cmd, char* const* argv) {
  AppCommand command;
  for (; argv != nullptr && *argv != nullptr; ++argv) {
    command.argv.emplace_back(*argv);
  }
  if (cmd != nullptr) {
    command.program = cmd;
  } else if (!command.argv.empty()) {
    command.program = command.argv[0];
  }
  if (command.program.empty()) return command;
  const std::string name(LastComponent(command.program));
  if (command.argv.empty() || LastComponent(command.argv[0]) != name) {
    command.argv.insert(command.argv.begin(), name);
  }
  return command;
}

}  // namespace canopy
