// One event, and the attributes that decide which processes receive it.
#ifndef CANOPY_CLIENT_EVENTS_EVENT_H_
#define CANOPY_CLIENT_EVENTS_EVENT_H_

#include <memory>
#include <vector>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

struct Event {
  pmix_status_t status = 0;
  ProcId source;
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  InfoList infos;  // as passed to the handlers
  // These members are read from the infos:
  bool non_default = false;       // PMIX_EVENT_NON_DEFAULT
  bool cacheable = true;          // no PMIX_EVENT_DO_NOT_CACHE
  std::vector<ProcId> affected;   // PMIX_EVENT_AFFECTED_PROC(S)
  std::vector<ProcId> receivers;  // PMIX_EVENT_CUSTOM_RANGE
};

// Makes an event and reads the members that follow from the infos.
std::shared_ptr<const Event> MakeEvent(pmix_status_t status, ProcId source,
                                       pmix_data_range_t range, InfoList infos);

// Compare with patterns, in which an empty namespace matches any namespace, and
// a wildcard rank any rank. A wildcard rank of `proc` matches any rank too.
bool Matches(const ProcId& pattern, const ProcId& proc);
bool MatchesAny(const std::vector<ProcId>& patterns, const ProcId& proc);

// Returns the processes named by an info whose value is one process or an array
// of processes. The result is empty for any other value.
std::vector<ProcId> ProcsOfInfo(const pmix_info_t& info);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_EVENT_H_
