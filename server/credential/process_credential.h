// Credentials of processes: bytes that state the identity of a process. Only an
// agent of the same overlay can create them, and any such agent can check them.
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

// The identity that a credential states.
struct Holder {
  ProcId proc;
  uint32_t uid = 0;
  uint32_t gid = 0;
  NodeId node = 0;       // the node of the agent that issued the credential
  int64_t issued_s = 0;  // since the epoch

  bool operator==(const Holder&) const = default;
};

// The validity of a credential in seconds. Clocks of nodes may differ by up to
// kClockSkewS.
inline constexpr int64_t kLifetimeS = 300;
inline constexpr int64_t kClockSkewS = 60;
inline constexpr size_t kMaxCredentialBytes = 512;

// Value type; thread-safe.
class CredentialKey {
 public:
  // Derives a key of its own for the credentials of this overlay, because the
  // cluster key has other uses, and several overlays may share it.
  CredentialKey(const security::ClusterKey& key, std::string_view overlay);

  // Returns a credential of at most kMaxCredentialBytes.
  std::string Issue(const Holder& holder) const;
  // Returns no value if no agent of the overlay has issued the credential, or
  // if it is not valid at `now_s` (seconds since the epoch).
  std::optional<Holder> Check(std::string_view credential, int64_t now_s) const;

 private:
  security::ClusterKey key_;
};

}  // namespace canopy::credential

#endif  // CANOPY_SERVER_CREDENTIAL_PROCESS_CREDENTIAL_H_
