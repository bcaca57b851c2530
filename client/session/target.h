// Checks of the processes and keys that callers name.
#ifndef CANOPY_CLIENT_SESSION_TARGET_H_
#define CANOPY_CLIENT_SESSION_TARGET_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "client/session/lookup.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "pmix.h"

namespace canopy::client {

// Sets *target to `proc`: null means the caller, an empty namespace the
// caller's namespace. Returns PMIX_ERR_BAD_PARAM for a rank whose data cannot
// be requested.
int ResolveTarget(const Session& session, const pmix_proc_t* proc,
                  Target* target);

// Returns the namespace as text, even if it is not terminated.
std::string_view NspaceOf(const pmix_proc_t& proc);

// Returns views of the processes, for a frame.
std::vector<ProcView> ViewsOf(std::span<const pmix_proc_t> procs);

// Reads the text of `key`, which is empty for null. Returns false if the key is
// too long.
bool ReadKey(const char* key, std::string_view* text);

// Returns true if one of `procs` names a group of the caller. The agent
// replaces the name of a group by the members.
bool NamesGroup(const Session& session, std::span<const pmix_proc_t> procs);

// Returns true if `procs` include the caller: by its rank, by a wildcard or, as
// far as this process knows, by a group.
bool NamesCaller(const Session& session, std::span<const pmix_proc_t> procs);

// Returns PMIX_SUCCESS if `procs` (null: the caller's namespace) can take part
// in a collective and include the caller, otherwise another PMIx status.
int CheckParticipants(Session& session, const pmix_proc_t* procs,
                      size_t nprocs);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_TARGET_H_
