// Which events have come lately, over whatever connection: servers that hear of
// the same event bring it more than once.
#ifndef CANOPY_CLIENT_EVENTS_SEEN_EVENTS_H_
#define CANOPY_CLIENT_EVENTS_SEEN_EVENTS_H_

#include "common/mutex.h"
#include "common/recent_events.h"

namespace canopy::client {

// Thread-safe.
class SeenEvents {
 public:
  // False when it is known already.
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
