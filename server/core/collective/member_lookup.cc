#include "server/core/collective/member_lookup.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/collective/collective_plan.h"
#include "server/core/collective/collective_text.h"

namespace canopy::core {
namespace {

// Returns the user of all these processes; no value if they have several users,
// so that none is charged with a line that names its processes.
std::optional<uint32_t> OneUserOf(const std::vector<ProcId>& procs,
                                  const JobTable& jobs) {
  std::optional<uint32_t> user;
  for (const ProcId& proc : procs) {
    const auto owner = jobs.OwnerOf(proc);
    if (!owner || owner->uid != user.value_or(owner->uid)) return std::nullopt;
    user = owner->uid;
  }
  return user;
}

}  // namespace

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
                                   " and others names no such process",
                               OneUserOf(series.id.participants, jobs_)});
  }
  series.ApplyReattached();
  return true;
}

}  // namespace canopy::core
