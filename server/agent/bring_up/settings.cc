#include "server/agent/bring_up/settings.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/hex.h"
#include "server/agent/bring_up/addresses.h"
#include "server/security/cluster_key.h"

namespace canopy::agent {
namespace {

constexpr uint32_t kDefaultLossTimeoutMs = 5000;

}  // namespace

std::string Beside(const char* variable, const std::string& relative) {
  if (const char* path = std::getenv(variable); path != nullptr) return path;
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / relative).lexically_normal();
}

uint32_t LossMs(const bootstrap::v1::Config& config) {
  return config.loss_timeout_ms() != 0 ? config.loss_timeout_ms()
                                       : kDefaultLossTimeoutMs;
}

uint32_t GraceMs(const bootstrap::v1::Config& config) {
  return config.restart_grace_ms() != 0 ? config.restart_grace_ms()
                                        : LossMs(config) / 5 * 2;
}

Result<security::SecurityConfig> MakeSecurity(
    const bootstrap::v1::Config& config) {
  security::SecurityConfig out;
  Result<security::ClusterKey> key =
      security::ClusterKey::FromHex(ToHex(config.cluster_key()));
  if (!key.ok()) return key.status();
  out.key = *key;
  if (config.security() == "files") {
    out.mode = security::SecurityMode::kFiles;
    out.ca_path = config.tls_ca();
    out.certificate_path = config.tls_cert();
    out.private_key_path = config.tls_key();
    out.caller_names.assign(config.tls_names().begin(),
                            config.tls_names().end());
  } else if (config.security() == "plaintext") {
    out.mode = security::SecurityMode::kPlaintext;
    out.plaintext_anywhere = true;
  } else if (config.security() != "tls") {
    return Status(kErrBadParam,
                  "security mode '" + config.security() +
                      "' is unknown; it is tls, files or plaintext");
  }
  return out;
}

std::string ListenAddress(const bootstrap::v1::Config& config) {
  const std::string host =
      config.listen().empty() ? OwnAddress() : config.listen();
  const bool has_port =
      host.find(':',
                host.rfind(']') == std::string::npos ? 0 : host.rfind(']')) !=
      std::string::npos;
  return has_port ? host : host + ":0";
}

}  // namespace canopy::agent
