// The events by which whoever defines a process set makes it known, and ends it
// (PMIx Standard, chapter "Process Sets and Groups").
#ifndef CANOPY_SERVER_CORE_PSET_SET_EVENTS_H_
#define CANOPY_SERVER_CORE_PSET_SET_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// Who defines it, and a number that tells this set, or its deletion, from all
// others of that one; the set and its deletion have numbers of their own.
struct SetEventSource {
  ProcId definer;
  uint64_t number = 0;
};

// EventRaised::id of a definition.
uint64_t DefinitionId(uint64_t number);

// PMIX_PROCESS_SET_DEFINE. Members are processes, without wildcards.
EventRaised SetDefined(const SetEventSource& source, const std::string& name,
                       const std::vector<ProcId>& members);
// The same of an application of a job, whose launcher defines it.
EventRaised SetOfApplication(const SetEventSource& source,
                             const std::string& name,
                             const std::vector<ProcId>& members);

// PMIX_PROCESS_SET_DELETE, by the namespace of who has defined it.
EventRaised SetDeleted(const SetEventSource& source, const std::string& name);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_SET_EVENTS_H_
