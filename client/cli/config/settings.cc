#include "client/cli/config/settings.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/cluster/cluster_file.h"
#include "common/duration_text.h"
#include "common/hosts.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

using Kind = SettingKind;

constexpr uint32_t kDay = 24 * 3600;

constexpr Setting kSettings[] = {
    {"context", "CANOPY_CONTEXT", Kind::kText, "",
     "overlay that commands use if several are up"},
    {"cluster-file", "CANOPY_CLUSTER_FILE", Kind::kText, kClusterFile,
     "file of a cluster whose agents run as services"},
    {"hosts", "CANOPY_HOSTS", Kind::kHosts, "",
     "hosts of 'canopy up', where no option and no batch job names them"},
    {"launch-agent", "CANOPY_LAUNCH_AGENT", Kind::kText,
     "ssh -x -o BatchMode=yes {host}", "command that reaches a host"},
    {"radix", "CANOPY_RADIX", Kind::kNumber, "32",
     "children of each agent in the tree", "", 2, 1u << 16},
    {"security", "CANOPY_SECURITY", Kind::kWord, "tls",
     "how agents protect their ports", "tls plaintext"},
    {"listen", "CANOPY_LISTEN", Kind::kText, "",
     "address on which agents listen"},
    {"log-level", "CANOPY_LOG_LEVEL", Kind::kWord, "info",
     "log level of the agents", "trace debug info warn error"},
    {"up-timeout", "CANOPY_UP_TIMEOUT", Kind::kDuration, "60",
     "time limit for the start of agents by 'canopy up'", "", 1, kDay},
    {"loss-timeout", "CANOPY_LOSS_TIMEOUT", Kind::kDuration, "5",
     "time of silence after which a node is lost", "", 1, kDay},
    {"restart-grace", "CANOPY_RESTART_GRACE", Kind::kDuration, "0",
     "time for which an agent that has ended can be replaced", "", 0, kDay},
    {"max-jobs-per-user", "CANOPY_MAX_JOBS_PER_USER", Kind::kNumber, "2048",
     "jobs of one user that may run or be queued", "", 1, kMaxUserJobs},
    {"max-procs-per-user", "CANOPY_MAX_PROCS_PER_USER", Kind::kNumber, "",
     "processes of one user; 65536, or 4 for each slot if that is more", "", 1,
     kMaxUserProcs},
    {"output", "CANOPY_OUTPUT", Kind::kWord, "text",
     "format of what commands print", "text json"},
    {"color", "CANOPY_COLOR", Kind::kWord, "auto",
     "when commands print colours", "auto always never"},
};

Status Wrong(const std::string& wanted, const std::string& value) {
  return Status(kErrBadParam, "needs " + wanted + ", not '" + value + "'");
}

std::string Range(const Setting& setting) {
  return "from " + std::to_string(setting.min) + " to " +
         std::to_string(setting.max);
}

Status CheckDuration(const Setting& setting, const std::string& value) {
  const auto duration = ParseDuration(value);
  if (duration && *duration >= std::chrono::seconds(setting.min) &&
      *duration <= std::chrono::seconds(setting.max)) {
    return Status();
  }
  return Wrong("a time " + Range(setting) + " seconds, such as 90, 10m or 1:30",
               value);
}

Status CheckWord(const Setting& setting, const std::string& value) {
  const std::vector<std::string> words = Split(std::string(setting.words), ' ');
  if (std::ranges::count(words, value) > 0) return Status();
  return Wrong("one of " + Join(words, ", "), value);
}

Status CheckHosts(const std::string& value) {
  const Result<std::vector<Host>> hosts = ParseHostList(value);
  return hosts.ok() ? Status() : Wrong("hosts such as n[1-4],m", value);
}

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSetting(std::string_view key) {
  const auto* const found = std::ranges::find(kSettings, key, &Setting::key);
  return found == std::end(kSettings) ? nullptr : found;
}

Status CheckSetting(const Setting& setting, const std::string& value) {
  switch (setting.kind) {
    case Kind::kText:
      return value.empty() ? Wrong("a text", value) : Status();
    case Kind::kNumber: {
      const auto number = ParseNumber(value, setting.max);
      if (number && *number >= setting.min) return Status();
      return Wrong("a number " + Range(setting), value);
    }
    case Kind::kDuration:
      return CheckDuration(setting, value);
    case Kind::kWord:
      return CheckWord(setting, value);
    case Kind::kHosts:
      return CheckHosts(value);
  }
  return Status();
}

}  // namespace canopy::cli
