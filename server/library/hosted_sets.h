// Process sets that the host defines (PMIx Standard, chapter "Process Sets and
// Groups").
#ifndef CANOPY_SERVER_LIBRARY_HOSTED_SETS_H_
#define CANOPY_SERVER_LIBRARY_HOSTED_SETS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/client_inputs.h"
#include "server/library/hosted_jobs.h"

namespace canopy::library {

// The limits of the length of a name, of the number of sets, and of the members
// of a set.
inline constexpr size_t kMaxSetName = 255;
inline constexpr size_t kMaxSets = 4096;
inline constexpr size_t kMaxSetMembers = 65536;

// Loop thread only.
class HostedSets {
 public:
  // `self`, the server, is the source of the events about sets. `jobs` outlives
  // the object.
  HostedSets(ProcId self, const HostedJobs* jobs)
      : self_(std::move(self)), jobs_(*jobs) {}

  // Defines a set. Returns the event that announces it to the processes of this
  // node. Members in namespaces that are not registered here are not checked.
  // Errors: kErrBadParam for a name that is empty, too long or the name of a
  // namespace, for no members, and for a rank that its namespace does not have;
  // kErrExists if there is a set of that name; kErrNotFound for a wildcard of a
  // namespace that is not registered here; kErrOutOfResource for too many
  // members or sets.
  Result<core::EventRaised> Define(const std::string& name,
                                   const std::vector<ProcId>& members);
  // Deletes a set. Returns the event that announces its end, or kErrNotFound.
  Result<core::EventRaised> Delete(const std::string& name);

 private:
  Status AddMember(const ProcId& member, std::set<ProcId>* all) const;

  const ProcId self_;
  const HostedJobs& jobs_;
  std::set<std::string> names_;
  uint64_t number_ = 0;  // number of the last event
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_SETS_H_
