// Authentication and protection of the connections between agents.
#ifndef CANOPY_SERVER_SECURITY_CREDENTIALS_H_
#define CANOPY_SERVER_SECURITY_CREDENTIALS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace canopy::security {

enum class SecurityMode {
  kDerived,    // mutual TLS; the identity is derived from the cluster key
  kFiles,      // mutual TLS with certificates of the operator's authority
  kPlaintext,  // no TLS; on loopback and Unix sockets only, unless allowed
};

struct SecurityConfig {
  SecurityMode mode = SecurityMode::kDerived;
  // Required by kDerived and optional otherwise. If there is a key, both ends
  // of a link also prove that they know it.
  std::optional<ClusterKey> key;
  // kFiles: PEM files.
  std::string ca_path;
  std::string certificate_path;
  std::string private_key_path;
  // kFiles: the name required in the peer's certificate; empty: the host part
  // of the dialled address.
  std::string server_name;
  // Allows kPlaintext on non-local addresses.
  bool plaintext_anywhere = false;
  // kFiles: names of certificates whose owners need no proof of the key
  // (PeerRule::names).
  std::vector<std::string> caller_names;
};

// Returns true for "unix:...", a literal loopback address and "localhost", with
// any port.
bool IsLocalAddress(const std::string& address);

// The error states why the configuration is invalid: a key or file is missing,
// or plaintext is used on an address that is not local.
Result<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const SecurityConfig& config, const std::string& listen_address);
Result<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const SecurityConfig& config, const std::string& dialled_address);

// Does the same as MakeChannelCredentials. With kFiles and a key, each call
// also carries the proof that PeerRule requires. Links need no such proof,
// because they have a handshake of their own.
Result<std::shared_ptr<grpc::ChannelCredentials>> MakeCallerCredentials(
    const SecurityConfig& config, const std::string& dialled_address);

// Returns the name required in a peer's certificate; an empty text stands for
// gRPC's default.
std::string ServerNameOverride(const SecurityConfig& config);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_CREDENTIALS_H_
