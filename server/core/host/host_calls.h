// What local processes ask of the host (HostOp) while it decides.
#ifndef CANOPY_SERVER_CORE_HOST_HOST_CALLS_H_
#define CANOPY_SERVER_CORE_HOST_HOST_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/step/action.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"
#include "server/core/step/host.h"

namespace canopy::core {

// Calls under way of one process; more are refused (kErrOutOfResource).
inline constexpr size_t kMaxHostCalls = 64;

// Not synchronised. `jobs` outlives it.
class HostCalls {
 public:
  explicit HostCalls(const JobTable& jobs) : jobs_(jobs) {}
  // Numbers start at this time, so that late answers to a predecessor match
  // none of them.
  void set_began(TimeNs when) { next_ += static_cast<uint64_t>(when); }

  void OnArrived(const HostCallArrived& in, Actions* actions);
  void OnAnswered(const HostAnswered& in, Actions* actions);
  void OnClientGone(ClientId client);
  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    ClientId client = 0;
    RequestId request = 0;
  };

  int Refusal(const ProcId* caller, ClientId client) const;

  const JobTable& jobs_;
  std::map<uint64_t, Call> calls_;  // by the number of the AskHost
  uint64_t next_ = 1;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_HOST_CALLS_H_
