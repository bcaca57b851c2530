#include "server/security/credentials.h"

#include <arpa/inet.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/hosts.h"
#include "server/security/identity.h"
#include "server/security/peer_proof.h"

namespace canopy::security {
namespace {

constexpr size_t kMaxPemBytes = 1 << 20;

Result<std::string> ReadPem(const std::string& path, const char* what) {
  if (path.empty()) {
    return Status(kErrBadParam, std::string("TLS needs a ") + what + " file");
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxPemBytes, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.empty()) {
    return Status(kErrNotFound, std::string(what) + " file " + path +
                                    " cannot be read: " + strerror(errno));
  }
  return text;
}

Result<TlsIdentity> LoadIdentity(const SecurityConfig& config) {
  auto root = ReadPem(config.ca_path, "certificate authority");
  if (!root.ok()) return root.status();
  auto certificate = ReadPem(config.certificate_path, "certificate");
  if (!certificate.ok()) return certificate.status();
  auto key = ReadPem(config.private_key_path, "private key");
  if (!key.ok()) return key.status();
  return TlsIdentity{*root, *certificate, *key};
}

Result<TlsIdentity> Identity(const SecurityConfig& config) {
  if (config.mode == SecurityMode::kFiles) return LoadIdentity(config);
  if (!config.key.has_value()) {
    return Status(kErrInvalidCred,
                  "no cluster key: give one, TLS certificates, or ask for "
                  "plaintext by name");
  }
  return DeriveIdentity(*config.key);
}

Status CheckPlaintext(const SecurityConfig& config,
                      const std::string& address) {
  if (config.plaintext_anywhere || IsLocalAddress(address)) return Status();
  return Status(kErrNoPermissions,
                "plaintext on " + address +
                    " is refused: it is not a local address; use a cluster "
                    "key or TLS certificates, or ask for plaintext by name");
}

}  // namespace

bool IsLocalAddress(const std::string& address) {
  if (address.starts_with("unix:")) return true;
  const std::string host = HostOfAddress(address);
  if (host == "localhost" || address.starts_with("[::1]:")) return true;
  // A name such as 127.example.org must not count as a loopback address.
  in_addr ip;
  return inet_pton(AF_INET, host.c_str(), &ip) == 1 &&
         (ntohl(ip.s_addr) >> 24) == IN_LOOPBACKNET;
}

Result<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const SecurityConfig& config, const std::string& listen_address) {
  if (config.mode == SecurityMode::kPlaintext) {
    if (Status s = CheckPlaintext(config, listen_address); !s.ok()) return s;
    return grpc::InsecureServerCredentials();
  }
  auto identity = Identity(config);
  if (!identity.ok()) return identity.status();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity->root_pem;
  options.pem_key_cert_pairs.push_back(
      {identity->private_key_pem, identity->certificate_pem});
  return grpc::SslServerCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> MakeChannelCredentials(
    const SecurityConfig& config, const std::string& dialled_address) {
  if (config.mode == SecurityMode::kPlaintext) {
    if (Status s = CheckPlaintext(config, dialled_address); !s.ok()) return s;
    return grpc::InsecureChannelCredentials();
  }
  auto identity = Identity(config);
  if (!identity.ok()) return identity.status();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = identity->root_pem;
  options.pem_private_key = identity->private_key_pem;
  options.pem_cert_chain = identity->certificate_pem;
  return grpc::SslCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> MakeCallerCredentials(
    const SecurityConfig& config, const std::string& dialled_address) {
  auto channel = MakeChannelCredentials(config, dialled_address);
  if (!channel.ok() || config.mode != SecurityMode::kFiles || !config.key) {
    return channel;
  }
  auto certificate = ReadPem(config.certificate_path, "certificate");
  if (!certificate.ok()) return certificate.status();
  auto proof = CertificateProof(*config.key, *certificate);
  if (!proof.ok()) {
    return Status(proof.code(),
                  config.certificate_path + ": " + proof.status().message());
  }
  return grpc::CompositeChannelCredentials(
      *channel, grpc::AccessTokenCredentials(*proof));
}

std::string ServerNameOverride(const SecurityConfig& config) {
  switch (config.mode) {
    case SecurityMode::kDerived:
      return kDerivedServerName;
    case SecurityMode::kFiles:
      return config.server_name;
    case SecurityMode::kPlaintext:
      return {};
  }
  return {};
}

}  // namespace canopy::security
