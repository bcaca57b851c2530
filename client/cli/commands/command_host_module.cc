#include <grpcpp/create_channel.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json_text.h"
#include "client/cli/commands/commands.h"
#include "client/cli/host_module/check.h"
#include "client/cli/host_module/check.pb.h"
#include "client/cli/host_module/findings.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "server/security/credentials.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxSeconds = 600;
constexpr uint32_t kMillisecondsPerSecond = 1000;

struct Options {
  uint32_t timeout_ms = 5 * kMillisecondsPerSecond;
  security::SecurityConfig security;
};

OptionTable Table(Options* to) {
  return {{"timeout", 1, "SECONDS", "time for each answer (5)",
           SetNumber(&to->timeout_ms, 1, kMaxSeconds, kMillisecondsPerSecond)},
          {"tls-ca", 1, "FILE", "the service's CA: then TLS is used",
           SetText(&to->security.ca_path)},
          {"tls-cert", 1, "FILE", "our certificate for it",
           SetText(&to->security.certificate_path)},
          {"tls-key", 1, "FILE", "its private key",
           SetText(&to->security.private_key_path)}};
}

Status CheckOptions(Options* options) {
  security::SecurityConfig& security = options->security;
  const bool any = !security.ca_path.empty() ||
                   !security.certificate_path.empty() ||
                   !security.private_key_path.empty();
  const bool all = !security.ca_path.empty() &&
                   !security.certificate_path.empty() &&
                   !security.private_key_path.empty();
  if (any && !all) {
    return Status(kErrBadParam,
                  "--tls-ca, --tls-cert and --tls-key go together");
  }
  security.mode =
      all ? security::SecurityMode::kFiles : security::SecurityMode::kPlaintext;
  return Status();
}

int Check(const std::string& address, const Options& options, bool json) {
  const auto credentials =
      security::MakeChannelCredentials(options.security, address);
  if (!credentials.ok()) return Fail(credentials.status());
  const v1::HostModuleCheck check =
      CheckHostModule(grpc::CreateChannel(address, *credentials),
                      static_cast<int>(options.timeout_ms));
  const bool written =
      WriteAll(STDOUT_FILENO, json ? JsonText(check) : CheckText(check));
  return written && check.conforms() ? 0 : kExitFailure;
}

}  // namespace

int HostModuleCommand(const CommandLine& line) {
  Options options;
  SharedOptions shared;
  const CommandInfo info = {
      "host-module",
      "[options] check ADDRESS",
      "Tests whether the scheduler's service at unix:PATH or HOST:PORT does\n"
      "what agents expect of it (protos/host_module.proto). Plays an overlay\n"
      "of its own, with jobs that nobody starts. Prints a line for each slot;\n"
      "fails when one is not as it should be.\n",
      Table(&options),
      2,
      2};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  if (shared.words[0] != "check") {
    return FailUsage(
        "host-module",
        Status(kErrBadParam, "there is no 'host-module " + shared.words[0] +
                                 "'; there is 'check'"));
  }
  const Status status = CheckOptions(&options);
  if (!status.ok()) return FailUsage("host-module", status);
  return Check(shared.words[1], options, shared.json);
}

}  // namespace canopy::cli
