// A TLS identity made from the cluster key, so that a cluster without a
// certificate authority still has mutual TLS.
#ifndef CANOPY_SERVER_SECURITY_IDENTITY_H_
#define CANOPY_SERVER_SECURITY_IDENTITY_H_

#include <string>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace canopy::security {

// Host name that derived certificates carry; the dialling side asks for it.
inline constexpr char kDerivedServerName[] = "agent.canopy.internal";

// The same of a scheduler, which agents dial.
inline constexpr char kSchedulerServerName[] = "scheduler.canopy.internal";

struct TlsIdentity {
  std::string root_pem;         // the only authority to trust
  std::string certificate_pem;  // own certificate, signed by it
  std::string private_key_pem;  // of own certificate
};

// Derives the cluster's authority (a P-256 key pair that HKDF makes from the
// key, the same in every agent) and lets it sign a fresh key pair for this
// process. Who does not know the key can neither sign nor be believed.
Result<TlsIdentity> DeriveIdentity(const ClusterKey& key);

// The same for a scheduler, which does not know the key: it may serve under
// kSchedulerServerName and dial nobody, so it passes for no agent.
Result<TlsIdentity> DeriveSchedulerIdentity(const ClusterKey& key);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_IDENTITY_H_
