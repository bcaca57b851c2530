// Waiting for agents of this machine to be gone.
#ifndef CANOPY_CLIENT_CLI_AGENT_END_H_
#define CANOPY_CLIENT_CLI_AGENT_END_H_

#include <string>
#include <vector>

#include "client/cli/context.pb.h"

namespace canopy::cli {

// An agent process of this machine, pinned so that its number can not come to
// mean another process.
class LocalAgent {
 public:
  // The member's process if it is an agent of this user on this machine.
  static std::vector<LocalAgent> Of(const v1::Context& context);
  ~LocalAgent();
  LocalAgent(LocalAgent&& other) noexcept;
  LocalAgent& operator=(LocalAgent&&) = delete;

  const std::string& node() const { return node_; }
  // False: it is still there after `timeout_ms`.
  bool WaitEnd(int timeout_ms) const;
  void Kill() const;

 private:
  LocalAgent(std::string node, int pid_fd);

  std::string node_;
  int pid_fd_ = -1;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_AGENT_END_H_
