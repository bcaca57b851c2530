// Adds hosts to the overlay while a job runs, on behalf of the job's spawns
// (PMIX_ADD_HOST).
#ifndef CANOPY_CLIENT_CLI_RUN_HOST_ADDER_H_
#define CANOPY_CLIENT_CLI_RUN_HOST_ADDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "client/cli/agents/node_start.h"
#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "protos/control.pb.h"

namespace canopy::cli {

// Executes the orders of the agent that controls the job, one at a time, on a
// thread of its own. OnOrder and OnReply are called on one thread, before the
// destructor.
class HostAdder {
 public:
  // Starts the agents of an order. Called on the thread of the order. It should
  // return soon after `options.interrupt_fd` becomes readable. `options` has
  // the hosts and the time limit.
  using Add =
      std::function<Status(OverlayRoot* root, const NodeStartOptions& options)>;
  using Send = std::function<void(const control::v1::RunRequest& request)>;

  // `send` may be called on the thread of an order.
  HostAdder(Add add, Send send);
  ~HostAdder();
  HostAdder(const HostAdder&) = delete;
  HostAdder& operator=(const HostAdder&) = delete;

  // Begins an order. Reports kErrResourceBusy if another one is in progress.
  void OnOrder(const control::v1::AddHosts& order);
  void OnReply(const control::v1::OrderedNodesReply& reply);
  // Interrupts the order in progress and waits until `add` has returned.
  // Further orders are ignored. Any thread.
  void Stop();

 private:
  class Root;

  // Returns an error if no order can begin now.
  Status Begin();
  void Execute(const control::v1::AddHosts& order);
  void Finish();
  void Report(uint64_t order, const Status& status) const;
  Result<control::v1::AddNodesReply> Ask(
      const control::v1::OrderedNodes& request, int timeout_ms);

  const Add add_;
  const Send send_;
  const UniqueFd interrupt_;
  std::thread thread_;
  Mutex mutex_;
  CondVar changed_;
  bool busy_ CANOPY_GUARDED_BY(mutex_) = false;  // `add` has not returned
  bool stopped_ CANOPY_GUARDED_BY(mutex_) = false;
  std::optional<control::v1::OrderedNodesReply> reply_
      CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_HOST_ADDER_H_
