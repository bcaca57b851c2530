// Calls of the control service by users to whom the agents do not belong. An
// agent that serves all users has a socket for their commands. It forwards each
// call to the member that the call names, and adds the user, whom the kernel
// has identified. Only agents and holders of the cluster key can make calls
// with that addition (docs/design/users.md).
#ifndef CANOPY_COMMON_USER_CALLS_H_
#define CANOPY_COMMON_USER_CALLS_H_

#include <string>
#include <string_view>

namespace canopy {

// The gRPC metadata of a command's call: the name of the member that is called.
// Without it, the agent that receives the call executes it.
inline constexpr char kMemberMetadata[] = "canopy-member";
// The gRPC metadata of a forwarded call: the name of the user who makes it.
// Without it, a call is one of the agents' own user.
inline constexpr char kUserMetadata[] = "canopy-user";

// Returns the path of the socket for all users in an agent's runtime directory.
inline std::string UsersSocketIn(std::string_view directory) {
  return std::string(directory) + "/users.sock";
}

}  // namespace canopy

#endif  // CANOPY_COMMON_USER_CALLS_H_
