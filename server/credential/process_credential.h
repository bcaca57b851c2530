// Credentials of processes: the identity of a process in bytes that any agent
// of the same overlay can check and only such an agent can create.
#ifndef CANOPY_SERVER_CREDENTIAL_PROCESS_CREDENTIAL_H_
#define CANOPY_SERVER_CREDENTIAL_PROCESS_CREDENTIAL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "server/security/cluster_key.h"

namespace canopy::credential {

// The content of a credential about its owner.
struct Holder {
  ProcId proc;
  uint32_t uid = 0;
  uint32_t gid = 0;
  NodeId node = 0;       // whose agent has issued it
  int64_t issued_s = 0;  // since the epoch

  bool operator==(const Holder&) const = default;
};

// Validity of a credential in seconds. Clocks of nodes may differ by up to
// kClockSkewS.
inline constexpr int64_t kLifetimeS = 300;
inline constexpr int64_t kClockSkewS = 60;
inline constexpr size_t kMaxCredentialBytes = 512;

// Value type; thread-safe.
class CredentialKey {
 public:
  // Derived from the cluster key for this purpose and this overlay, because
  // several overlays may have the same cluster key.
  CredentialKey(const security::ClusterKey& key, std::string_view overlay);

  // Returns at most kMaxCredentialBytes.
  std::string Issue(const Holder& holder) const;
  // Returns no value if no agent of the overlay has issued the credential, or
  // it is not valid at `now_s`.
  std::optional<Holder> Check(std::string_view credential, int64_t now_s) const;

 private:
  security::ClusterKey key_;
};

}  // namespace canopy::credential

#endif  // CANOPY_SERVER_CREDENTIAL_PROCESS_CREDENTIAL_H_
