// The events received recently, over all connections. Several servers may
// report the same event.
#ifndef CANOPY_CLIENT_EVENTS_SEEN_EVENTS_H_
#define CANOPY_CLIENT_EVENTS_SEEN_EVENTS_H_

#include "common/mutex.h"
#include "common/recent_events.h"

namespace canopy::client {

// Thread-safe.
class SeenEvents {
 public:
  // Records an event. Returns false if it is already known.
  bool Note(const ProcView& raiser, uint64_t number) {
    const MutexLock lock(mu_);
    return recent_.Note(raiser, number);
  }

 private:
  Mutex mu_;
  RecentEvents recent_ CANOPY_GUARDED_BY(mu_){kRecentOfProcess};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_SEEN_EVENTS_H_
