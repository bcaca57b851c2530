#include "client/pmi/command_line.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace canopy::pmi {

namespace {

constexpr std::string_view kPrefix = "--pmi-";

std::optional<std::pair<std::string, std::string>> OptionOf(
    const char* argument) {
  if (argument == nullptr) return std::nullopt;
  std::string_view text = argument;
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) return std::nullopt;
  return std::pair(std::string(text.substr(0, equals)),
                   std::string(text.substr(equals + 1)));
}

}  // namespace

KeyValues LeadingOptions(int argc, const char* const* argv) {
  KeyValues found;
  for (int i = 0; i < argc; ++i) {
    auto option = OptionOf(argv[i]);
    if (!option) break;
    found.push_back(std::move(*option));
  }
  return found;
}

KeyValues ExtractOptions(int* argc, char** argv) {
  KeyValues found;
  int kept = 0;
  for (int i = 0; i < *argc; ++i) {
    if (auto option = OptionOf(argv[i])) {
      found.push_back(std::move(*option));
    } else {
      argv[kept++] = argv[i];
    }
  }
  *argc = kept;
  return found;
}

}  // namespace canopy::pmi
