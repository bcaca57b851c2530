// The event codes that the handlers of this process accept. The agent is
// notified once of each code.
#ifndef CANOPY_CLIENT_EVENTS_SUBSCRIPTIONS_H_
#define CANOPY_CLIENT_EVENTS_SUBSCRIPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "client/events/handler.h"
#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

// A change of which the agent must be notified.
struct SubscriptionChange {
  bool all = false;  // all events, for default handlers
  std::vector<pmix_status_t> codes;

  bool empty() const { return !all && codes.empty(); }
  // Returns the payload of kEventsWanted and kEventsUnwanted.
  std::string Encode() const;
};

// Thread-safe. Add and Remove ignore handlers with the range
// PMIX_RANGE_PROC_LOCAL: these accept only events of this process, which need
// no agent.
class Subscriptions {
 public:
  // Adds a handler's codes. Returns the codes that no other handler has.
  SubscriptionChange Add(const HandlerSpec& spec);
  // Removes a handler's codes. Returns the codes that no other handler has.
  SubscriptionChange Remove(const HandlerSpec& spec);
  // Returns all codes of the handlers.
  SubscriptionChange Now() const;
  // Returns true if some handler accepts events of other processes.
  bool any() const;

 private:
  mutable Mutex mu_;
  size_t defaults_ CANOPY_GUARDED_BY(mu_) = 0;
  std::map<pmix_status_t, size_t> codes_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_SUBSCRIPTIONS_H_
