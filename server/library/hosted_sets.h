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

// The longest name; at most so many sets, and members of one.
inline constexpr size_t kMaxSetName = 255;
inline constexpr size_t kMaxSets = 4096;
inline constexpr size_t kMaxSetMembers = 65536;

// Loop thread only.
class HostedSets {
 public:
  // Sets are `self`'s, the server's. `jobs` outlives this.
  HostedSets(ProcId self, const HostedJobs* jobs)
      : self_(std::move(self)), jobs_(*jobs) {}

  // The event that makes the set known to the processes of this node. Members
  // of namespaces that are not registered here are taken as they are.
  // kErrBadParam: no name, no members, a namespace's name, a rank that its
  // namespace does not have; kErrExists; kErrNotFound: a wildcard of a
  // namespace that is not registered here; kErrOutOfResource.
  Result<core::EventRaised> Define(const std::string& name,
                                   const std::vector<ProcId>& members);
  // The event that ends it. kErrNotFound.
  Result<core::EventRaised> Delete(const std::string& name);

 private:
  Status AddMember(const ProcId& member, std::set<ProcId>* all) const;

  const ProcId self_;
  const HostedJobs& jobs_;
  std::set<std::string> names_;
  uint64_t number_ = 0;  // of the last event
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_SETS_H_
