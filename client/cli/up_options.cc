#include "client/cli/up_options.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/cli/string_util.h"

namespace canopy::cli {
namespace {

enum UpOptionId : int {
  kUpNodes,
  kUpHosts,
  kUpHostfile,
  kUpLaunchAgent,
  kUpRadix,
  kUpSecurity,
  kUpKeyFile,
  kUpTlsCa,
  kUpTlsCert,
  kUpTlsKey,
  kUpListen,
  kUpPmixListen,
  kUpTimeout,
  kUpReflection,
  kUpLossTimeout,
  kUpOrphanGrace,
  kUpRestartGrace,
  kUpReplace,
  kUpLogLevel,
  kUpVerbose,
  kUpQuiet,
};

constexpr uint32_t kMaxNodes = 1024;
constexpr uint32_t kMaxRadix = 1u << 16;
constexpr uint32_t kMaxSeconds = 24 * 3600;

constexpr OptionSpec kTable[] = {
    {kUpNodes, "nodes", 1, "K", "emulate K nodes, node1 to nodeK, here"},
    {kUpHosts, "hosts host H", 1, "A,B...", "one agent on each of these hosts"},
    {kUpHostfile, "hostfile machinefile", 1, "FILE",
     "the same from a file: lines of NAME [slots=N] [aliases=A,B]"},
    {kUpLaunchAgent, "launch-agent", 1, "COMMAND",
     "command that reaches a host; {host} stands for its name\n"
     "(default: 'ssh -x -o BatchMode=yes {host}')"},
    {kUpRadix, "radix", 1, "R", "children of an agent in the tree (32)"},
    {kUpSecurity, "security", 1, "MODE",
     "of agents' ports: tls (identities from the cluster key,\n"
     "the default), files (own certificates), or plaintext: then\n"
     "whoever can change what is sent between the nodes can run\n"
     "programs in your name"},
    {kUpKeyFile, "key-file", 1, "FILE",
     "cluster key, 64 hexadecimal digits (default: a new one)"},
    {kUpTlsCa, "tls-ca", 1, "FILE", "PEM files of --security files, with the"},
    {kUpTlsCert, "tls-cert", 1, "FILE", "same path on every node"},
    {kUpTlsKey, "tls-key", 1, "FILE", ""},
    {kUpListen, "listen", 1, "HOST",
     "address that agents listen on (default: each node's own)"},
    {kUpPmixListen, "pmix-listen", 1, "ADDRESS",
     "numeric address where programs that bring their own OpenPMIx\n"
     "library find the agent on their node (127.0.0.1)"},
    {kUpTimeout, "timeout", 1, "SECONDS",
     "time for the agents to come up (60)"},
    {kUpReflection, "reflection", 0, "",
     "agents tell what gRPC services they have"},
    {kUpLossTimeout, "loss-timeout", 1, "SECONDS",
     "a node that is silent for so long is lost (5)"},
    {kUpOrphanGrace, "orphan-grace", 1, "SECONDS",
     "processes live so long without their agent"},
    {kUpRestartGrace, "restart-grace", 1, "SECONDS",
     "an agent that is gone may be replaced for so long, by\n"
     "--replace, before its node counts as lost"},
    {kUpReplace, "replace", 0, "",
     "put a new agent in the place of each, also of those that\n"
     "are gone, one after the other; jobs go on"},
    {kUpLogLevel, "log-level", 1, "LEVEL",
     "of the agents: debug, info, warn, error"},
    {kUpVerbose, "verbose v", 0, "", "tell what is done and how long it takes"},
    {kUpQuiet, "quiet q", 0, "", "print nothing when all is well"},
};

Status Bad(const ParsedOption& option, const std::string& wanted) {
  return Status(kErrBadParam, "option '" + option.typed + "' wants " + wanted +
                                  ", not '" + option.values[0] + "'");
}

Status SetNumber(const ParsedOption& option, uint32_t min, uint32_t max,
                 uint32_t scale, uint32_t* out) {
  const auto n = ParseNumber(option.values[0], max);
  if (!n || *n < min) {
    return Bad(option, "a number from " + std::to_string(min) + " to " +
                           std::to_string(max));
  }
  *out = *n * scale;
  return Status();
}

Status AddHosts(Result<std::vector<Host>> more, std::vector<Host>* hosts) {
  if (!more.ok()) return more.status();
  for (Host& host : *more) {
    if (host.relative()) {
      return Status(kErrBadParam, "'" + host.name +
                                      "' picks from nodes that are up; name "
                                      "the hosts to start agents on");
    }
    hosts->push_back(std::move(host));
  }
  return Status();
}

Status ApplyNumber(const ParsedOption& option, UpOptions* options) {
  switch (option.id) {
    case kUpNodes:
      return SetNumber(option, 1, kMaxNodes, 1, &options->nodes);
    case kUpRadix:
      return SetNumber(option, 2, kMaxRadix, 1, &options->radix);
    case kUpTimeout:
      return SetNumber(option, 1, kMaxSeconds, 1, &options->timeout_seconds);
    case kUpLossTimeout:
      return SetNumber(option, 1, kMaxSeconds, 1000, &options->loss_timeout_ms);
    case kUpRestartGrace:
      return SetNumber(option, 0, kMaxSeconds, 1000,
                       &options->restart_grace_ms);
    default:
      return SetNumber(option, 0, kMaxSeconds, 1000, &options->orphan_grace_ms);
  }
}

Status ApplyLogLevel(const ParsedOption& option, UpOptions* options) {
  constexpr std::string_view kLevels[] = {"trace", "debug",   "info",
                                          "warn",  "warning", "error"};
  if (std::ranges::count(kLevels, option.values[0]) == 0) {
    return Bad(option, "debug, info, warn or error");
  }
  options->log_level = option.values[0];
  return Status();
}

Status ApplySecurity(const ParsedOption& option, UpOptions* options) {
  const std::string& mode = option.values[0];
  if (mode != "tls" && mode != "files" && mode != "plaintext") {
    return Bad(option, "tls, files or plaintext");
  }
  options->security = mode;
  return Status();
}

}  // namespace

std::span<const OptionSpec> UpOptionTable() { return kTable; }

Status ApplyUpOption(const ParsedOption& option, UpOptions* options) {
  const auto set = [&option](std::string* to) {
    *to = option.values[0];
    return Status();
  };
  switch (option.id) {
    case kUpHosts:
      return AddHosts(ParseHostList(option.values[0]), &options->hosts);
    case kUpHostfile:
      return AddHosts(LoadHostfile(option.values[0]), &options->hosts);
    case kUpLaunchAgent:
      return set(&options->launch_agent);
    case kUpSecurity:
      return ApplySecurity(option, options);
    case kUpKeyFile:
      return set(&options->key_file);
    case kUpTlsCa:
      return set(&options->tls_ca);
    case kUpTlsCert:
      return set(&options->tls_cert);
    case kUpTlsKey:
      return set(&options->tls_key);
    case kUpListen:
      return set(&options->listen);
    case kUpPmixListen:
      return set(&options->pmix_listen);
    case kUpLogLevel:
      return ApplyLogLevel(option, options);
    case kUpReflection:
      options->reflection = true;
      return Status();
    case kUpReplace:
      options->replace = true;
      return Status();
    case kUpVerbose:
      options->verbose = true;
      return Status();
    case kUpQuiet:
      options->quiet = true;
      return Status();
    default:
      return ApplyNumber(option, options);
  }
}

Status CheckUpOptions(const UpOptions& options) {
  if (options.nodes != 0 && !options.hosts.empty()) {
    return Status(kErrBadParam,
                  "--nodes emulates nodes on this machine and --hosts names "
                  "others; use one of them");
  }
  if (!options.launch_agent.empty() && options.hosts.empty()) {
    return Status(kErrBadParam,
                  "--launch-agent reaches hosts; name them with --hosts");
  }
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
  return Status();
}

}  // namespace canopy::cli
