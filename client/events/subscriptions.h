// Which event codes the handlers of this process want, so that the agent is
// told once about each.
#ifndef CANOPY_CLIENT_EVENTS_SUBSCRIPTIONS_H_
#define CANOPY_CLIENT_EVENTS_SUBSCRIPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "client/events/handler.h"
#include "common/mutex.h"
#include "pmix.h"

namespace canopy::client {

// What has to be told to the agent.
struct SubscriptionChange {
  bool all = false;  // the default handlers' wish
  std::vector<pmix_status_t> codes;

  bool empty() const { return !all && codes.empty(); }
  // Payload of kEventsWanted and kEventsUnwanted.
  std::string Encode() const;
};

// Thread-safe. Handlers of events from this very process need no agent.
class Subscriptions {
 public:
  // What is wanted now and was not before.
  SubscriptionChange Add(const HandlerSpec& spec);
  // What is not wanted any more.
  SubscriptionChange Remove(const HandlerSpec& spec);
  // All that is wanted.
  SubscriptionChange Now() const;
  // Some handler wants events from elsewhere.
  bool any() const;

 private:
  mutable Mutex mu_;
  size_t defaults_ CANOPY_GUARDED_BY(mu_) = 0;
  std::map<pmix_status_t, size_t> codes_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_SUBSCRIPTIONS_H_
