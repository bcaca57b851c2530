// Authentication of connections that claim to be a rank.
#ifndef CANOPY_SERVER_LOCAL_IDENTITY_H_
#define CANOPY_SERVER_LOCAL_IDENTITY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/posix/unix_socket.h"
#include "common/status.h"

namespace canopy::local {

// The registered properties of the rank that a connection claims to be.
struct RegisteredProcess {
  uint32_t uid = 0;   // uid of the job
  std::string token;  // the secret by which its process proves its identity
  // The pid of the rank's process; 0: not started, or not started by this
  // agent.
  int pid = 0;
};

// Decides about a connection by the credentials that the kernel provides. The
// only claim of the peer that counts is the knowledge of the token.
class IdentityPolicy {
 public:
  virtual ~IdentityPolicy() = default;
  // Returns success, or kErrInvalidCred with the reason for the log.
  virtual Status Check(const PeerCredentials& peer,
                       const RegisteredProcess& process,
                       std::string_view token) = 0;
};

// The policy for processes in the agent's own user and pid namespaces: the uid
// must be the job's, and the peer must know the token or be the rank's process
// or a descendant of it.
class HostIdentityPolicy : public IdentityPolicy {
 public:
  Status Check(const PeerCredentials& peer, const RegisteredProcess& process,
               std::string_view token) override;
};

// Returns true if the tokens are equal and not empty. Takes constant time,
// independent of the position of a difference.
bool SameToken(std::string_view a, std::string_view b);

// Returns 32 hexadecimal digits from the system's random source; an empty
// string if that fails.
std::string MakeToken();

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_IDENTITY_H_
