// config: shows the settings and the source of each value.
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/table.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/config/settings.h"
#include "client/cli/config/the_config.h"
#include "client/cli/options/command_line.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

std::vector<std::string> ConfigFiles() {
  return Config::Files([](const char* name) { return std::getenv(name); });
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string ConfigText(const Config& config) {
  Table table({"KEY", "VALUE", "FROM", "MEANING"});
  for (const Setting& setting : Settings()) {
    const ConfigValue& value = config.at(setting.key);
    table.Add({std::string(setting.key), value.text.empty() ? "-" : value.text,
               value.source, std::string(setting.meaning)});
  }
  std::string text = table.ToString();
  for (const std::string& file : ConfigFiles()) {
    text += "file " + file + (Exists(file) ? "\n" : " (does not exist)\n");
  }
  return text;
}

Json ConfigDocument(const Config& config) {
  Json out;
  out["settings"] = Json::array();
  for (const Setting& setting : Settings()) {
    const ConfigValue& value = config.at(setting.key);
    Json one;
    one["key"] = setting.key;
    one["value"] = TextOrNull(value.text);
    one["source"] = value.source;
    one["variable"] = setting.variable;
    one["meaning"] = setting.meaning;
    out["settings"].push_back(std::move(one));
  }
  out["files"] = Json::array();
  for (const std::string& file : ConfigFiles()) {
    Json one;
    one["file"] = file;
    one["exists"] = Exists(file);
    out["files"].push_back(std::move(one));
  }
  return out;
}

}  // namespace

int ConfigCommand(const CommandLine& line) {
  const CommandInfo info = {
      "config",
      "[KEY] [options]",
      "Shows the settings, their values, and where each value comes from: a\n"
      "line of /etc/canopy/canopy.toml or ~/.config/canopy/canopy.toml, or a\n"
      "variable of the environment, which stands above the files. With KEY:\n"
      "prints the value of that setting.\n",
      {},
      0,
      1};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  const Config& config = *TheConfig();
  if (shared.words.empty()) {
    if (shared.json) return PrintDocument(ConfigDocument(config));
    return PrintText(ConfigText(config));
  }
  const std::string& key = shared.words[0];
  if (FindSetting(key) == nullptr) {
    return FailUsage("config",
                     Status(kErrBadParam, "there is no setting '" + key +
                                              "'; 'canopy config' lists them"));
  }
  if (shared.json) {
    Json out;
    out["key"] = key;
    out["value"] = TextOrNull(config.at(key).text);
    out["source"] = config.at(key).source;
    return PrintDocument(out);
  }
  return PrintText(config.at(key).text + "\n");
}

}  // namespace canopy::cli
