// The authorization of callers whose TLS certificate alone is not sufficient:
// with SecurityMode::kFiles, any program of the site may own a certificate of
// the operator's authority.
#ifndef CANOPY_SERVER_SECURITY_PEER_PROOF_H_
#define CANOPY_SERVER_SECURITY_PEER_PROOF_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace grpc {
class AuthMetadataProcessor;
}

namespace canopy::security {

// Returns the proof that the owner of a certificate knows the cluster key: 64
// hexadecimal digits, which a caller sends as its bearer token. The proof is
// valid with this certificate only, so a server that receives it cannot use it
// without the certificate's private key. `certificate_pem` may be a chain; the
// proof is that of its first certificate. Returns kErrBadParam if the text
// contains no certificate.
Result<std::string> CertificateProof(const ClusterKey& key,
                                     std::string_view certificate_pem);

// The callers that a server accepts, among those whose certificates its
// authority has signed.
struct PeerRule {
  ClusterKey key;
  // Names of certificates (common name or subjectAltName) whose owners need no
  // proof.
  std::vector<std::string> names;
  // Called with a line for the log when a caller is refused, once for each name
  // and for at most 256 names. Any thread. May be null.
  std::function<void(const std::string& reason)> refused;
};

// Returns the check for each call of a server with TLS: it requires that the
// caller proves that it knows the key, or has one of the names. Health and
// reflection are served to every caller. A refused call ends with
// UNAUTHENTICATED and the reason.
std::shared_ptr<grpc::AuthMetadataProcessor> MakePeerCheck(PeerRule rule);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_PEER_PROOF_H_
