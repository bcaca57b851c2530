#include "client/cli/options/job_variables.h"

#include <utility>

#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

void PutPathBefore(const std::string& name, const std::string& path,
                   const Environment& environment,
                   std::vector<std::string>* to) {
  const std::string start = name + "=";
  for (std::string& entry : *to) {
    if (!entry.starts_with(start)) continue;
    entry = start + path + ":" + entry.substr(start.size());
    return;
  }
  const char* const old = environment(name.c_str());
  const bool rest = old != nullptr && *old != '\0';
  to->push_back(start + path + (rest ? std::string(":") + old : ""));
}

}  // namespace

Option::Apply SetVariable(std::vector<std::string>* to, std::string prefix) {
  return [to, prefix = std::move(prefix)](const TypedOption& typed) {
    to->push_back(prefix + typed.values[0] + "=" + typed.values[1]);
    return Status();
  };
}

Option::Apply ExportVariable(std::vector<std::string>* to,
                             const Environment* environment,
                             std::vector<std::string>* warnings) {
  return [=](const TypedOption& typed) {
    const std::string& text = typed.values[0];
    const size_t equals = text.find('=');
    if (text.empty() || equals == 0) {
      return WrongValue(typed, "NAME or NAME=VALUE");
    }
    if (equals != std::string::npos) {
      to->push_back(text);
      return Status();
    }
    const char* const value = (*environment)(text.c_str());
    if (value == nullptr) {
      warnings->push_back(typed.name + " " + text +
                          ": the variable is not set; ignored");
      return Status();
    }
    to->push_back(text + "=" + value);
    return Status();
  };
}

Option::Apply ExportVariables(std::vector<std::string>* to,
                              const Environment* environment,
                              std::vector<std::string>* warnings) {
  const Option::Apply export_one = ExportVariable(to, environment, warnings);
  return [export_one](const TypedOption& typed) {
    for (const std::string& entry : Split(typed.values[0], ',')) {
      if (entry == "ALL") continue;
      if (entry == "NONE") {
        return WrongValue(typed, "ALL, NAME or NAME=VALUE, or a list of them");
      }
      if (Status s = export_one({typed.name, {entry}}); !s.ok()) return s;
    }
    return Status();
  };
}

Option::Apply PutBefore(
    std::vector<std::string>* to, const Environment* environment,
    std::vector<std::pair<std::string, std::string>> paths_and_suffixes) {
  return [to, environment,
          paths = std::move(paths_and_suffixes)](const TypedOption& typed) {
    for (const auto& [name, suffix] : paths) {
      PutPathBefore(name, typed.values[0] + suffix, *environment, to);
    }
    return Status();
  };
}

}  // namespace canopy::cli
