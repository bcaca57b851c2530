#include "client/events/event.h"

#include <algorithm>
#include <utility>

#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy::client {

bool Matches(const ProcId& pattern, const ProcId& proc) {
  if (!pattern.nspace.empty() && pattern.nspace != proc.nspace) return false;
  return pattern.rank == kRankWildcard || proc.rank == kRankWildcard ||
         pattern.rank == proc.rank;
}

bool MatchesAny(const std::vector<ProcId>& patterns, const ProcId& proc) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const ProcId& p) { return Matches(p, proc); });
}

std::vector<ProcId> ProcsOfInfo(const pmix_info_t& info) {
  std::vector<ProcId> procs;
  if (const auto one = ProcOf(info.value)) procs.push_back(*one);
  if (const auto many = ProcsOf(info.value)) {
    for (const pmix_proc_t& proc : *many) procs.push_back(FromC(proc));
  }
  return procs;
}

std::shared_ptr<const Event> MakeEvent(pmix_status_t status, ProcId source,
                                       pmix_data_range_t range,
                                       InfoList infos) {
  auto event = std::make_shared<Event>();
  event->status = status;
  event->source = std::move(source);
  event->range = range;
  event->infos = std::move(infos);
  for (const pmix_info_t& info : event->infos) {
    const std::string_view key = KeyOf(info);
    const bool set = ValueTruth(info.value) == PMIX_BOOL_TRUE;
    if (key == PMIX_EVENT_NON_DEFAULT) {
      event->non_default = set;
    } else if (key == PMIX_EVENT_DO_NOT_CACHE) {
      event->cacheable = !set;
    } else if (key == PMIX_EVENT_CUSTOM_RANGE) {
      event->receivers = ProcsOfInfo(info);
    } else if (key == PMIX_EVENT_AFFECTED_PROC ||
               key == PMIX_EVENT_AFFECTED_PROCS) {
      for (ProcId& proc : ProcsOfInfo(info)) {
        event->affected.push_back(std::move(proc));
      }
    }
  }
  return event;
}

}  // namespace canopy::client
