// The unary calls of the control service.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTROL_CLIENT_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTROL_CLIENT_H_

#include <memory>
#include <string>

#include "client/cli/control/control_target.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// A connection to one agent's control service. The calls block and fail like
// FromGrpc (control_channel.h).
class ControlClient {
 public:
  // Connects and waits until the connection is established, for at most
  // `timeout_ms`.
  static Result<ControlClient> Connect(const ControlTarget& target,
                                       int timeout_ms);
  ~ControlClient();
  ControlClient(ControlClient&&) noexcept;
  ControlClient& operator=(ControlClient&&) noexcept;

  // Returns the agent's view of the overlay. With `ask_all`, every agent of the
  // overlay is queried, which takes a while if an agent does not answer.
  Result<control::v1::StatusReply> GetStatus(bool ask_all = false);
  Result<control::v1::ListJobsReply> ListJobs();
  // Returns the waiting operations of one job, or of all jobs if `nspace` is
  // empty.
  Result<control::v1::WhyReply> Why(const std::string& nspace);
  Status SignalJob(const std::string& nspace, int signal);
  // Shuts down the overlay. With `force`, first ends the jobs; otherwise fails
  // with kErrResourceBusy while jobs run. Returns when the jobs have ended and
  // the agents are ending, or kErrTimeout after a minute.
  Status Shutdown(bool force);
  // Execute the calls of the same names, at the root.
  Result<control::v1::AddNodesReply> AddNodes(
      const control::v1::AddNodesRequest& request);
  Result<control::v1::DecideNodesReply> DecideNodes(
      const control::v1::DecideNodesRequest& request);
  // Requests that the agent replace its program by `program`; returns before
  // the replacement.
  Status Replace(const std::string& program);

 private:
  struct Impl;
  explicit ControlClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTROL_CLIENT_H_
