#include "server/core/collective/member_lookup.h"

#include <string>
#include <utility>
#include <vector>

#include "server/core/collective/collective_plan.h"
#include "server/core/collective/collective_text.h"

namespace canopy::core {

bool MemberLookup::Resolve(const StepContext& step, Series& series) const {
  if (series.members) return true;
  std::vector<std::string> unknown =
      UnknownNspaces(series.id.participants, jobs_, kMaxMapsAtOnce);
  if (!unknown.empty()) {
    for (std::string& nspace : unknown) step.Post(MapWanted{std::move(nspace)});
    return false;
  }
  if (!series.SetMembers(jobs_, tree_, self_)) {
    step.out.push_back(LogLine{LogLine::Level::kWarning,
                               std::string(NameOf(series.id.op)) + " of " +
                                   ToString(series.id.participants.front()) +
                                   " and others names no such process"});
  }
  series.ApplyReattached();
  return true;
}

}  // namespace canopy::core
