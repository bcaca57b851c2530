#include "server/pmi1/pmi1_wire.h"

namespace canopy::pmi1 {

const std::string& Command::Field(std::string_view key) const {
  static const std::string none;
  const auto it = fields.find(key);
  return it == fields.end() ? none : it->second;
}

Command ParseCommand(std::string_view line) {
  Command command;
  while (!line.empty()) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) break;
    const std::string key(line.substr(0, equals));
    line.remove_prefix(equals + 1);
    const size_t end =
        key == "value" ? line.size() : line.find_first_of(" \t\r");
    std::string value(line.substr(0, end));
    line.remove_prefix(std::min(end, line.size()));
    if (key == "cmd" || key == "mcmd") {
      command.name = std::move(value);
    } else {
      command.fields.insert_or_assign(key, std::move(value));
    }
  }
  return command;
}

}  // namespace canopy::pmi1
