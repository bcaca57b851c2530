// Frames of events.
#ifndef CANOPY_COMMON_LOCAL_EVENTS_H_
#define CANOPY_COMMON_LOCAL_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/describe_procs.h"
#include "common/local/collectives.h"

namespace canopy::local {

inline constexpr size_t kMaxCodes = 1 << 16;

// kEventsWanted and kEventsUnwanted.
struct Subscription {
  bool all = false;  // the events of every code
  std::vector<int> codes;
};

template <typename V>
void Describe(V& v, wire::Is<Subscription> auto& m) {
  v.Field(1, m.all);
  v.Bounded(2, m.codes, kMaxCodes);
}

// kNotify: the client raises an event.
struct Notify {
  int status = 0;
  uint8_t range = 0;                // pmix_data_range_t
  std::vector<ProcView> receivers;  // of the range PMIX_RANGE_CUSTOM
  std::string_view info;            // codec form
};

template <typename V>
void Describe(V& v, wire::Is<Notify> auto& m) {
  v.Field(1, m.status);
  v.Field(2, m.range);
  v.Bounded(3, m.receivers, kMaxProcs);
  v.Field(4, m.info);
}

// kEvent: an event for the client's handlers.
struct Event {
  int status = 0;
  ProcView source;
  uint8_t range = 0;      // pmix_data_range_t
  std::string_view info;  // codec form
  // `raiser` and `number` identify the event, because a restarted agent may
  // send events that its predecessor has sent.
  ProcView raiser;
  uint64_t number = 0;
};

template <typename V>
void Describe(V& v, wire::Is<Event> auto& m) {
  v.Field(1, m.status);
  v.Field(2, m.source);
  v.Field(3, m.range);
  v.Field(4, m.info);
  v.Field(5, m.raiser);
  v.Field(6, m.number);
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_EVENTS_H_
