// The calls of the control service that give one answer.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTROL_CLIENT_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTROL_CLIENT_H_

#include <memory>
#include <string>

#include "client/cli/control/control_target.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// A connection to one agent's control service. kErrUnreach: it does not
// answer; other failures carry the agent's own words.
class ControlClient {
 public:
  // Dials and waits until the connection stands, at most `timeout_ms`.
  static Result<ControlClient> Connect(const ControlTarget& target,
                                       int timeout_ms);
  ~ControlClient();
  ControlClient(ControlClient&&) noexcept;
  ControlClient& operator=(ControlClient&&) noexcept;

  // `ask_all`: each agent is asked whether it is there, which takes a while
  // when one is not.
  Result<control::v1::StatusReply> GetStatus(bool ask_all = false);
  Result<control::v1::ListJobsReply> ListJobs();
  Result<control::v1::WhyReply> Why(const std::string& nspace);
  Status SignalJob(const std::string& nspace, int signal);
  // Returns when the jobs are ended (see --force) and the agents leave.
  Status Shutdown(bool force);
  // The agent makes way for that program; returns before it does.
  Status Replace(const std::string& program);

 private:
  struct Impl;
  explicit ControlClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTROL_CLIENT_H_
