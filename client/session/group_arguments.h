// Checks of the arguments of group calls.
#ifndef CANOPY_CLIENT_SESSION_GROUP_ARGUMENTS_H_
#define CANOPY_CLIENT_SESSION_GROUP_ARGUMENTS_H_

#include <set>
#include <span>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "pmix.h"

namespace canopy::client {

// The functions return a PMIx status.

// Returns PMIX_ERR_BAD_PARAM unless `name` may be the name of a group. It may
// not be the name of a job, and PMIX_GROUP_ID may not contradict it.
int CheckGroupName(const Session& session, const char* name,
                   const InfoArray& directives);

// Adds each process of `procs` to `*listed`, including the processes that
// wildcards stand for. Errors: PMIX_ERR_BAD_PARAM for an entry that does not
// name processes, PMIX_ERR_NOT_FOUND for the wildcard of a job whose size is
// not known to this process, PMIX_ERR_OUT_OF_RESOURCE for more than kMaxInvited
// processes.
int ListProcesses(Session& session, std::span<const pmix_proc_t> procs,
                  std::set<ProcId>* listed);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_ARGUMENTS_H_
