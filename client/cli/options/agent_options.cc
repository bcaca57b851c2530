#include "client/cli/options/agent_options.h"

#include <algorithm>
#include <utility>

#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxRadix = 1u << 16;
constexpr uint32_t kMaxLossSeconds = 24 * 3600;

Option::Apply SetNames(std::vector<std::string>* to) {
  return [to](const TypedOption& typed) {
    *to = Split(typed.values[0], ',');
    if (std::ranges::count(*to, "") == 0) return Status();
    return WrongValue(typed, "names separated by commas");
  };
}

void AddSecurity(AgentOptions* to, OptionTable* table) {
  table->push_back({"security", 1, "MODE",
                    "how agents protect their ports: tls (identities\n"
                    "from the cluster key, the default), files (your own\n"
                    "certificates), or plaintext: anyone who can modify\n"
                    "the traffic between nodes can then run programs in\n"
                    "your name",
                    SetOneOf(&to->security, {"tls", "files", "plaintext"})});
  table->push_back({"tls-ca", 1, "FILE",
                    "CA certificate for --security files: a PEM file at\n"
                    "the same path on every node",
                    SetText(&to->tls_ca)});
  table->push_back({"tls-cert", 1, "FILE",
                    "certificate of the agents (likewise)",
                    SetText(&to->tls_cert)});
  table->push_back({"tls-key", 1, "FILE",
                    "private key of the agents (likewise)",
                    SetText(&to->tls_key)});
  table->push_back({"tls-names", 1, "NAMES",
                    "names of certificates, separated by commas, whose\n"
                    "owners may use the agents without the cluster key\n"
                    "(default: none)",
                    SetNames(&to->tls_names)});
}

}  // namespace

void AddAgentOptions(AgentOptions* to, OptionTable* table) {
  table->push_back({"launch-agent", 1, "COMMAND",
                    "command that reaches another host; {host} stands\n"
                    "for its name (default:\n"
                    "'ssh -x -o BatchMode=yes {host}')",
                    SetText(&to->launch_agent)});
  table->push_back({"radix", 1, "R",
                    "children per agent in the tree, at least 2 (32)",
                    SetNumber(&to->radix, 2, kMaxRadix)});
  AddSecurity(to, table);
  table->push_back({"listen", 1, "HOST",
                    "listen address of agents (default: each node's own)",
                    SetText(&to->listen)});
  table->push_back({"pmix-listen", 1, "ADDRESS",
                    "numeric address on which agents serve programs that\n"
                    "bring their own OpenPMIx library (127.0.0.1)",
                    SetText(&to->pmix_listen)});
  table->push_back({"loss-timeout", 1, "SECONDS",
                    "time of silence after which a node is lost (5)",
                    SetMilliseconds(&to->loss_timeout_ms, 1, kMaxLossSeconds)});
  table->push_back({"log-level", 1, "LEVEL",
                    "log level of the agents: debug, info, warn, error",
                    SetOneOf(&to->log_level, {"trace", "debug", "info", "warn",
                                              "warning", "error"})});
}

Status CheckAgentOptions(const AgentOptions& options) {
  const bool files = options.security == "files";
  const bool all_named = !options.tls_ca.empty() && !options.tls_cert.empty() &&
                         !options.tls_key.empty();
  const bool any_named = !options.tls_ca.empty() || !options.tls_cert.empty() ||
                         !options.tls_key.empty();
  if ((files && !all_named) || (!files && any_named)) {
    return Status(kErrBadParam,
                  "--security files goes together with --tls-ca, --tls-cert "
                  "and --tls-key");
  }
  if (!files && !options.tls_names.empty()) {
    return Status(kErrBadParam, "--tls-names is for --security files");
  }
  return Status();
}

std::vector<std::string> GivenStartOptions(const AgentOptions& options) {
  const std::pair<bool, const char*> all[] = {
      {options.radix != 0, "--radix"},
      {!options.launch_agent.empty(), "--launch-agent"},
      {!options.tls_names.empty(), "--tls-names"},
      {!options.listen.empty(), "--listen"},
      {!options.pmix_listen.empty(), "--pmix-listen"},
      {options.loss_timeout_ms != 0, "--loss-timeout"},
      {!options.log_level.empty(), "--log-level"},
  };
  std::vector<std::string> given;
  for (const auto& [is_given, name] : all) {
    if (is_given) given.emplace_back(name);
  }
  return given;
}

}  // namespace canopy::cli
