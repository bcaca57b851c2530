// The events that announce the definition and the end of a process set (PMIx
// Standard, chapter "Process Sets and Groups").
#ifndef CANOPY_SERVER_CORE_PSET_SET_EVENTS_H_
#define CANOPY_SERVER_CORE_PSET_SET_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// The definer of a set, and a number that distinguishes the set, or its
// deletion, from the definer's other sets. A set and its deletion are numbered
// separately.
struct SetEventSource {
  ProcId definer;
  uint64_t number = 0;
};

// Returns the EventRaised::id of a definition.
uint64_t DefinitionId(uint64_t number);

// Returns the event PMIX_PROCESS_SET_DEFINE. The members are processes, without
// wildcards.
EventRaised SetDefined(const SetEventSource& source, const std::string& name,
                       const std::vector<ProcId>& members);
// Returns PMIX_PROCESS_SET_DEFINE for an application of a job. The definer is
// the job as a whole (kRankWildcard).
EventRaised SetOfApplication(const SetEventSource& source,
                             const std::string& name,
                             const std::vector<ProcId>& members);

// Returns PMIX_PROCESS_SET_DELETE, with the definer's namespace as its source.
EventRaised SetDeleted(const SetEventSource& source, const std::string& name);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_SET_EVENTS_H_
