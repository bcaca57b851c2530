#include "client/cli/config/config.h"

#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "client/cli/config/settings.h"
#include "common/duration_text.h"
#include "common/string_util.h"
#include "common/toml/toml_file.h"

namespace canopy::cli {
namespace {

constexpr char kSystemFile[] = "/etc/canopy/canopy.toml";
constexpr char kDefault[] = "default";

// Returns a TOML value as text, or no value if its type does not fit the
// setting.
std::optional<std::string> TextOf(const toml::node& node,
                                  const Setting& setting) {
  if (const auto* text = node.as_string()) return text->get();
  const bool numeric = setting.kind == SettingKind::kNumber ||
                       setting.kind == SettingKind::kDuration;
  if (const auto* number = node.as_integer(); number != nullptr && numeric) {
    return std::to_string(number->get());
  }
  if (const auto* number = node.as_floating_point();
      number != nullptr && setting.kind == SettingKind::kDuration) {
    return std::to_string(number->get());
  }
  if (setting.kind != SettingKind::kHosts) return {};
  return TomlTexts(node);
}

Status UnknownKey(const std::string& place, std::string_view key) {
  std::vector<std::string_view> known;
  for (const Setting& setting : Settings()) known.push_back(setting.key);
  const Status unknown = UnknownTomlKey(place, key, known);
  return Status(unknown.code(),
                unknown.message() + " ('canopy config' lists the keys)");
}

std::string TypeOf(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::kNumber:
      return "a number";
    case SettingKind::kDuration:
      return "a number of seconds, or a text such as \"10m\"";
    case SettingKind::kHosts:
      return "a text, or a list of texts";
    default:
      return "a text";
  }
}

}  // namespace

std::vector<std::string> Config::Files(const Environment& environment) {
  std::vector<std::string> files = {kSystemFile};
  const char* const config = environment("XDG_CONFIG_HOME");
  const char* const home = environment("HOME");
  if (config != nullptr && *config == '/') {
    files.push_back(std::string(config) + "/canopy/canopy.toml");
  } else if (home != nullptr && *home == '/') {
    files.push_back(std::string(home) + "/.config/canopy/canopy.toml");
  }
  return files;
}

Result<Config> Config::Load(const std::vector<std::string>& files,
                            const Environment& environment) {
  Config config;
  for (const Setting& setting : Settings()) {
    config.values_[std::string(setting.key)] = {std::string(setting.fallback),
                                                kDefault};
  }
  for (const std::string& path : files) {
    if (Status s = config.ReadFile(path); !s.ok()) return s;
  }
  for (const Setting& setting : Settings()) {
    const std::string variable(setting.variable);
    const char* const value = environment(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (Status s = config.Set(setting.key, value, variable); !s.ok()) return s;
  }
  return config;
}

Result<Config> Config::Load() {
  const Environment environment = [](const char* name) {
    return std::getenv(name);
  };
  return Load(Files(environment), environment);
}

Status Config::ReadFile(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return Status();
  const Result<toml::table> table = ReadToml(path);
  if (!table.ok()) return table.status();
  for (const auto& [key, node] : *table) {
    const Setting* const setting = FindSetting(key.str());
    const std::string place = TomlPlace(path, key.source());
    if (setting == nullptr) return UnknownKey(place, key.str());
    std::optional<std::string> text = TextOf(node, *setting);
    if (!text) {
      return Status(kErrBadParam, place + ": '" + std::string(key.str()) +
                                      "' needs " + TypeOf(*setting));
    }
    if (Status s = Set(key.str(), *std::move(text), place); !s.ok()) return s;
  }
  return Status();
}

Status Config::Set(std::string_view key, std::string text, std::string source) {
  const Status status = CheckSetting(*FindSetting(key), text);
  if (!status.ok()) {
    const bool variable = source == FindSetting(key)->variable;
    return Status(kErrBadParam,
                  source + (variable ? "" : ": '" + std::string(key) + "'") +
                      " " + status.message());
  }
  values_[std::string(key)] = {std::move(text), std::move(source)};
  return Status();
}

const ConfigValue& Config::at(std::string_view key) const {
  return values_.find(key)->second;
}

bool Config::is_set(std::string_view key) const {
  return at(key).source != kDefault;
}

std::string Config::Text(std::string_view key) const {
  return is_set(key) ? at(key).text : "";
}

uint32_t Config::Number(std::string_view key, uint32_t otherwise) const {
  if (!is_set(key)) return otherwise;
  return ParseNumber(at(key).text, UINT32_MAX).value_or(otherwise);
}

std::chrono::milliseconds Config::Duration(
    std::string_view key, std::chrono::milliseconds otherwise) const {
  if (!is_set(key)) return otherwise;
  return ParseDuration(at(key).text).value_or(otherwise);
}

}  // namespace canopy::cli
