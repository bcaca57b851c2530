#include "common/toml/toml_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "common/string_util.h"

namespace canopy {

Result<toml::table> ReadToml(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) {
    return Status(kErrNotFound, path + ": " + std::strerror(errno));
  }
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    return Status(kErrBadParam, TomlPlace(path, error.source()) + ": " +
                                    std::string(error.description()));
  }
}

std::string TomlPlace(const std::string& path,
                      const toml::source_region& source) {
  return path + ":" + std::to_string(source.begin.line);
}

Status UnknownTomlKey(const std::string& place, std::string_view key,
                      std::span<const std::string_view> known) {
  std::string text = place + ": unknown key '" + std::string(key) + "'";
  const std::string_view nearest = Nearest(key, known);
  if (!nearest.empty()) {
    text += "; did you mean '" + std::string(nearest) + "'?";
  }
  return Status(kErrBadParam, text);
}

std::optional<std::string> TomlTexts(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  const toml::array* const list = node.as_array();
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  for (const toml::node& element : *list) {
    const auto* const text = element.as_string();
    if (text == nullptr) return std::nullopt;
    texts.push_back(text->get());
  }
  return Join(texts, ",");
}

}  // namespace canopy
