// Process groups between the core and the host: converts a node's contribution
// to a construct or destruct to the form for the host, and the host's answer to
// the core's result (PMIx Standard, chapter "Process Sets and Groups").
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
  // `jobs` outlives this object.
  explicit HostedGroups(const HostedJobs* jobs) : jobs_(*jobs) {}

  // Returns true if the host need not be called: all members run on this node,
  // and no member requests a context id, which only the host can assign.
  bool IsOurs(const core::CollectiveUp& up) const;

  // Returns the directives for the host: the directives of this node's members
  // (`asked`), with one info for each member in place of the infos that the
  // members share.
  static InfoList DirectivesOf(const core::CollectiveUp& up, InfoList asked);

  // Returns the result with which the core releases a successful operation.
  // `answer` is the host's: the context id, the members (by default all) and
  // the infos that the members share (by default those of this node). Fails
  // with kErrNotSupported if a context id was requested and the host has
  // assigned none, and with kErrUnpackFailure if the members are malformed.
  Result<Bytes> ResultOf(const core::CollectiveUp& up, const InfoList& answer);

 private:
  std::vector<ProcId> Expand(const std::vector<ProcId>& participants) const;

  const HostedJobs& jobs_;
  uint64_t made_ = 0;  // number of the last group; unique in this server only
};

}  // namespace canopy::library

#endif  // CANOPY_SERVER_LIBRARY_HOSTED_GROUPS_H_
