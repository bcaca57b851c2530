// The users who call an agent.
#ifndef CANOPY_SERVER_CONTROL_CALLER_H_
#define CANOPY_SERVER_CONTROL_CALLER_H_

#include <cstdint>
#include <string>

#include "common/status.h"

namespace canopy::control {

// The user on whose behalf a launcher or a command calls. Jobs run as this
// user.
struct Caller {
  uint32_t uid = 0;
  uint32_t gid = 0;
  // The name that every node of the job must have for `uid`. Empty for the
  // user of the agents, whose processes they start without root's rights.
  std::string user;
  // May see and end the jobs of all users, drain and remove nodes, and end the
  // overlay.
  bool is_operator = false;
  // May also get the cluster key and name programs that run as agents: the user
  // of the agents, and root.
  bool owns_agents = false;

  // Returns true if the caller may see and end the jobs of this user.
  bool MayControl(uint32_t owner) const { return is_operator || owner == uid; }
};

// Returns the user of this agent, who owns the agents.
Caller OwnUser();

// Returns the user of this name on this machine. Root and the members of the
// group `operators` are operators; an empty name is no group. Returns
// kErrNoPermissions if there is no such user here. Any thread; may block on the
// system's user database.
Result<Caller> FindUser(const std::string& name, const std::string& operators);

// Returns the name of a user of this machine, or kErrNoPermissions if the user
// has no name. Any thread; may block on the system's user database.
Result<std::string> NameOfUser(uint32_t uid);

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_CALLER_H_
