// Credentials of processes: who a process is, in bytes that any agent of the
// same overlay can check and nobody else can make.
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

// What a credential says of its owner.
struct Holder {
  ProcId proc;
  uint32_t uid = 0;
  uint32_t gid = 0;
  NodeId node = 0;       // whose agent has issued it
  int64_t issued_s = 0;  // since the epoch

  bool operator==(const Holder&) const = default;
};

// A credential is valid for this long. Clocks of nodes may differ by as much as
// kClockSkewS.
inline constexpr int64_t kLifetimeS = 300;
inline constexpr int64_t kClockSkewS = 60;
inline constexpr size_t kMaxCredentialBytes = 512;

// Value type; thread-safe.
class CredentialKey {
 public:
  // Derived from the cluster key for this purpose and this overlay: overlays
  // may have the same cluster key.
  CredentialKey(const security::ClusterKey& key, std::string_view overlay);

  // At most kMaxCredentialBytes.
  std::string Issue(const Holder& holder) const;
  // Nothing for what no agent of the overlay has issued, and for what is not
  // valid at `now_s`.
  std::optional<Holder> Check(std::string_view credential, int64_t now_s) const;

 private:
  security::ClusterKey key_;
};

}  // namespace canopy::credential

#endif  // CANOPY_SERVER_CREDENTIAL_PROCESS_CREDENTIAL_H_
