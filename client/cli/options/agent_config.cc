#include "client/cli/options/agent_config.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "common/hosts.h"

namespace canopy::cli {
namespace {

constexpr std::chrono::seconds kUpTimeout{60};

void SetDefault(const std::string& value, std::string* to) {
  if (to->empty()) *to = value;
}

uint32_t Milliseconds(const Config& config, const char* key) {
  return static_cast<uint32_t>(config.Duration(key, {}).count());
}

}  // namespace

void UseConfig(const Config& config, AgentOptions* options) {
  SetDefault(config.Text("security"), &options->security);
  SetDefault(config.Text("listen"), &options->listen);
  SetDefault(config.Text("log-level"), &options->log_level);
  if (options->radix == 0) options->radix = config.Number("radix", 0);
  if (options->loss_timeout_ms == 0) {
    options->loss_timeout_ms = Milliseconds(config, "loss-timeout");
  }
}

Status UseConfig(const Config& config, bool allocated, UpOptions* options) {
  const bool named = options->emulate != 0 || !options->hosts.empty() ||
                     allocated || options->replace;
  if (!named && config.is_set("hosts")) {
    Result<std::vector<Host>> hosts = ParseHostList(config.Text("hosts"));
    if (!hosts.ok()) return hosts.status();
    options->hosts = *std::move(hosts);
  }
  UseConfig(config, &options->agents);
  if (options->restart_grace_ms == 0) {
    options->restart_grace_ms = Milliseconds(config, "restart-grace");
  }
  if (options->max_jobs_per_user == 0) {
    options->max_jobs_per_user = config.Number("max-jobs-per-user", 0);
  }
  if (options->max_procs_per_user == 0) {
    options->max_procs_per_user = config.Number("max-procs-per-user", 0);
  }
  if (options->timeout_seconds == 0) {
    options->timeout_seconds =
        static_cast<uint32_t>(std::chrono::ceil<std::chrono::seconds>(
                                  config.Duration("up-timeout", kUpTimeout))
                                  .count());
  }
  return Status();
}

}  // namespace canopy::cli
