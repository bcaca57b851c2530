// A TLS identity derived from the cluster key, so that a cluster without a
// certificate authority still has mutual TLS.
#ifndef CANOPY_SERVER_SECURITY_IDENTITY_H_
#define CANOPY_SERVER_SECURITY_IDENTITY_H_

#include <string>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace canopy::security {

// Host name in derived certificates; the dialling side requires it.
inline constexpr char kDerivedServerName[] = "agent.canopy.internal";

// Host name in the certificate of a scheduler, which agents dial.
inline constexpr char kSchedulerServerName[] = "scheduler.canopy.internal";

struct TlsIdentity {
  std::string root_pem;         // the only trusted authority
  std::string certificate_pem;  // own certificate, signed by the authority
  std::string private_key_pem;  // key of the own certificate
};

// Derives the cluster's authority (a P-256 key pair that HKDF derives from the
// key, the same in every agent). The authority signs a fresh key pair for this
// process. Without the key it is impossible to sign a certificate that agents
// accept. Returns an error if OpenSSL fails.
Result<TlsIdentity> DeriveIdentity(const ClusterKey& key);

// Derives an identity for a scheduler that does not know the key. The scheduler
// can only serve under kSchedulerServerName and cannot dial, so it cannot act
// as an agent.
Result<TlsIdentity> DeriveSchedulerIdentity(const ClusterKey& key);

// Returns the token by which agents prove to a scheduler to which overlay they
// belong: 64 hexadecimal digits that are derived from the key and do not reveal
// it.
std::string DeriveSchedulerToken(const ClusterKey& key);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_IDENTITY_H_
