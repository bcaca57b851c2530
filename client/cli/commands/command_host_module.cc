#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json.h"
#include "client/cli/commands/commands.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/context/key_bytes.h"
#include "client/cli/host_module/check.h"
#include "client/cli/host_module/check.pb.h"
#include "client/cli/host_module/findings.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "server/security/cluster_key.h"
#include "server/security/credentials.h"
#include "server/security/identity.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxSeconds = 600;
constexpr uint32_t kMillisecondsPerSecond = 1000;

struct Options {
  uint32_t timeout_ms = 5 * kMillisecondsPerSecond;
  security::SecurityConfig security;
  std::string key_file;
  std::string junit_file;
};

OptionTable OptionsOf(Options* to) {
  return {{"timeout", 1, "SECONDS", "time limit for each answer (5)",
           SetMilliseconds(&to->timeout_ms, 1, kMaxSeconds)},
          {"tls-ca", 1, "FILE", "CA certificate of the service; enables TLS",
           SetText(&to->security.ca_path)},
          {"tls-cert", 1, "FILE", "client certificate for the service",
           SetText(&to->security.certificate_path)},
          {"tls-key", 1, "FILE", "private key of the client certificate",
           SetText(&to->security.private_key_path)},
          {"key-file", 1, "FILE",
           "file with the cluster key, as for 'canopy up'\n"
           "(default: the key of the overlay)",
           SetText(&to->key_file)},
          {"junit", 1, "FILE", "write the checked cases in the form of JUnit",
           SetText(&to->junit_file)}};
}

// Returns the cluster key of the key file, or else the key of the running
// overlay.
Result<security::ClusterKey> FindKey(const Options& options,
                                     const std::string& context) {
  if (!options.key_file.empty()) {
    return security::ClusterKey::Load(options.key_file);
  }
  const Result<v1::Context> overlay = NeedContext(context);
  if (!overlay.ok()) return overlay.status();
  if (overlay->security() != "tls") {
    return Status(kErrNotSupported,
                  "context '" + overlay->name() + "' has --security " +
                      overlay->security() +
                      ": a scheduler needs nothing of its cluster key");
  }
  return ClusterKeyOf(overlay->cluster_key());
}

// Sets the certificates that MakeCertificate creates, if the address is
// reachable from other machines and no certificate files are given.
Status UseClusterKey(const std::string& address, const std::string& context,
                     Options* options) {
  security::SecurityConfig& security = options->security;
  if (security.mode == security::SecurityMode::kFiles ||
      security::IsLocalAddress(address)) {
    return Status();
  }
  Result<security::ClusterKey> key = FindKey(*options, context);
  if (!key.ok()) return key.status();
  security.mode = security::SecurityMode::kDerived;
  security.key = *key;
  return Status();
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

// Writes the file, in place of the file of an earlier check.
Status WriteJUnit(const std::string& path, const v1::HostModuleCheck& check) {
  std::ofstream out(path, std::ios::trunc);
  out << JUnitText(check) << std::flush;
  if (out) return {};
  return {kErrJobSysOpFailed, path + ": " + std::strerror(errno)};
}

// Waits until the channel is connected. Returns false if it is not connected in
// time.
bool Connects(grpc::Channel* channel, uint32_t timeout_ms) {
  const auto deadline =
      std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms);
  grpc_connectivity_state state = channel->GetState(true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE ||
        !channel->WaitForStateChange(state, deadline)) {
      return false;
    }
    state = channel->GetState(true);
  }
  return true;
}

int Check(const std::string& address, const Options& options, bool json) {
  const auto credentials =
      security::MakeChannelCredentials(options.security, address);
  if (!credentials.ok()) return Fail(credentials.status());
  grpc::ChannelArguments arguments;
  if (options.security.mode == security::SecurityMode::kDerived) {
    arguments.SetSslTargetNameOverride(security::kSchedulerServerName);
  }
  const auto channel =
      grpc::CreateCustomChannel(address, *credentials, arguments);
  if (!Connects(channel.get(), options.timeout_ms)) {
    return Fail(Status(kErrUnreach, "no service answers at " + address +
                                        "; is the scheduler running, and is "
                                        "its address right?"));
  }
  const v1::HostModuleCheck check =
      CheckHostModule(channel, static_cast<int>(options.timeout_ms));
  if (!options.junit_file.empty()) {
    const Status made = WriteJUnit(options.junit_file, check);
    if (!made.ok()) return Fail(made);
  }
  return PrintText(json ? DocumentText(CheckDocument(check)) : CheckText(check),
                   check.conforms() ? 0 : kExitFailure);
}

// Writes certificates into the directory. Existing files are not replaced,
// because a service may be using them.
Status MakeCertificate(const security::ClusterKey& key,
                       const std::string& directory) {
  const auto identity = security::DeriveSchedulerIdentity(key);
  if (!identity.ok()) return identity.status();
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return Status(kErrJobSysOpFailed, directory + ": " + std::strerror(errno));
  }
  const std::pair<const char*, const std::string*> files[] = {
      {"ca.pem", &identity->root_pem},
      {"cert.pem", &identity->certificate_pem},
      {"key.pem", &identity->private_key_pem}};
  for (const auto& [name, text] : files) {
    const std::string path = directory + "/" + name;
    if (access(path.c_str(), F_OK) == 0) {
      return Status(kErrExists, path + " is there already");
    }
  }
  for (const auto& [name, text] : files) {
    const Status status = MakeFile(directory + "/" + name, *text);
    if (!status.ok()) return status;
  }
  return Status();
}

// Returns the key from which the token is derived. Unlike certificates, the
// token exists with every kind of security.
Result<security::ClusterKey> FindKeyOfToken(const Options& options,
                                            const std::string& context) {
  if (!options.key_file.empty()) return FindKey(options, context);
  const Result<v1::Context> overlay = NeedContext(context);
  if (!overlay.ok()) return overlay.status();
  return ClusterKeyOf(overlay->cluster_key());
}

int PrintToken(const Options& options, const SharedOptions& shared) {
  const auto key = FindKeyOfToken(options, shared.context);
  if (!key.ok()) return Fail(key.status());
  const std::string token = security::DeriveSchedulerToken(*key);
  return PrintText(shared.json ? DocumentText(Json{{"token", token}})
                               : token + "\n");
}

// Returns an error if the words are not a request.
Status CheckWords(const std::vector<std::string>& words, bool json) {
  const std::string& verb = words[0];
  if (verb != "check" && verb != "certificate" && verb != "token") {
    return Status(kErrBadParam, "there is no 'host-module " + verb +
                                    "'; there are 'check', 'certificate' and "
                                    "'token'");
  }
  if (verb == "token") {
    if (words.size() == 1) return Status();
    return Status(kErrBadParam, "'token' takes no argument");
  }
  if (words.size() != 2) {
    return Status(kErrBadParam,
                  "'" + verb + "' takes " +
                      (verb == "check" ? "an ADDRESS" : "a DIRECTORY"));
  }
  if (json && verb == "certificate") {
    return Status(kErrNotSupported,
                  "'canopy host-module certificate' prints no JSON");
  }
  return Status();
}

int Certificate(const std::string& directory, const Options& options,
                const std::string& context) {
  const Result<security::ClusterKey> key = FindKey(options, context);
  if (!key.ok()) return Fail(key.status());
  const Status status = MakeCertificate(*key, directory);
  return status.ok() ? 0 : Fail(status);
}

}  // namespace

int HostModuleCommand(const CommandLine& line) {
  Options options;
  SharedOptions shared;
  const CommandInfo info = {
      "host-module",
      "[options] check ADDRESS | certificate DIRECTORY | token",
      "check: tests whether the scheduler's service at unix:PATH or\n"
      "HOST:PORT behaves as agents expect (protos/canopy/\n"
      "hostmodule/v1/host_module.proto).\n"
      "Simulates an overlay with jobs that are never started. Prints a line\n"
      "for each slot, and fails if a slot does not behave as expected.\n"
      "certificate: creates ca.pem, cert.pem and key.pem from the cluster\n"
      "key, for a scheduler on another machine. With these files, the\n"
      "scheduler serves TLS and trusts only the agents of this overlay.\n"
      "token: prints the token by which the agents of the overlay prove\n"
      "their identity to a scheduler.\n",
      OptionsOf(&options),
      1,
      2};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Status status = CheckOptions(&options);
  if (!status.ok()) return FailUsage("host-module", status);
  status = CheckWords(shared.words, shared.json);
  if (!status.ok()) return FailUsage("host-module", status);
  if (shared.words[0] == "certificate") {
    return Certificate(shared.words[1], options, shared.context);
  }
  if (shared.words[0] == "token") return PrintToken(options, shared);
  status = UseClusterKey(shared.words[1], shared.context, &options);
  if (!status.ok()) return Fail(status);
  return Check(shared.words[1], options, shared.json);
}

}  // namespace canopy::cli
