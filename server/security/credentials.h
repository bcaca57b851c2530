// How agents authenticate and protect the connections between them.
#ifndef CANOPY_SERVER_SECURITY_CREDENTIALS_H_
#define CANOPY_SERVER_SECURITY_CREDENTIALS_H_

#include <memory>
#include <optional>
#include <string>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace canopy::security {

enum class SecurityMode {
  kDerived,    // mutual TLS with an identity made from the cluster key
  kFiles,      // mutual TLS with certificates of the operator's authority
  kPlaintext,  // no TLS; on loopback and Unix sockets only, unless allowed
};

struct SecurityConfig {
  SecurityMode mode = SecurityMode::kDerived;
  // Needed by kDerived. With the others optional; whenever there is a key,
  // both ends of a link also prove that they know it.
  std::optional<ClusterKey> key;
  // kFiles: PEM files.
  std::string ca_path;
  std::string certificate_path;
  std::string private_key_path;
  // kFiles: the name to ask for in the peer's certificate; empty: the host
  // part of the dialled address.
  std::string server_name;
  // kPlaintext on other than local addresses.
  bool plaintext_anywhere = false;
};

// "unix:..." or a literal loopback address or "localhost", with any port.
bool IsLocalAddress(const std::string& address);

// The status says why the configuration does not work: a missing key or file,
// or plaintext on an address that is not local.
Result<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const SecurityConfig& config, const std::string& listen_address);
Result<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const SecurityConfig& config, const std::string& dialled_address);

// What a certificate is asked for on a channel; empty: gRPC's default.
std::string ServerNameOverride(const SecurityConfig& config);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_CREDENTIALS_H_
