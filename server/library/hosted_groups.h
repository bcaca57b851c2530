// Process groups between the core and the host: what a node brings to their
// construction and end, as the host gets it, and what the core makes of its
// answer (PMIx Standard, chapter "Process Sets and Groups").
#ifndef CANOPY_SERVER_LIBRARY_HOSTED_GROUPS_H_
#define CANOPY_SERVER_LIBRARY_HOSTED_GROUPS_H_

#include <cstdint>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "server/core/messages.h"
#include "server/library/hosted_jobs.h"

namespace canopy::library {

// Loop thread only.
class HostedGroups {
 public:
  // `jobs` outlives this.
  explicit HostedGroups(const HostedJobs* jobs) : jobs_(*jobs) {}

  // All members run here, and nobody asks for what only a host has: it is not
  // asked.
  bool IsOurs(const core::CollectiveUp& up) const;

  // `asked`, the directives of the members of this node, with what they share:
  // one info for each.
  static InfoList DirectivesOf(const core::CollectiveUp& up, InfoList asked);

  // What the core releases the operation with after a success. `answer`, the
  // host's: the context id, the members (all, when it does not tell) and what
  // all of them share. Where it tells nothing of the last, that is what those
  // of this node share. kErrNotSupported: a context id was asked for, and there
  // is none. kErrUnpackFailure: the members are none.
  Result<Bytes> ResultOf(const core::CollectiveUp& up, const InfoList& answer);

 private:
  std::vector<ProcId> Expand(const std::vector<ProcId>& participants) const;

  const HostedJobs& jobs_;
  uint64_t made_ = 0;  // groups; their numbers are of this server alone
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_GROUPS_H_
