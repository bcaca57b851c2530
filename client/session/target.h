// Checks of what callers name: processes and keys.
#ifndef CANOPY_CLIENT_SESSION_TARGET_H_
#define CANOPY_CLIENT_SESSION_TARGET_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "client/session/lookup.h"
#include "client/session/session.h"
#include "common/wire.h"
#include "pmix.h"

namespace canopy::client {

// Null names the caller, an empty namespace the caller's. PMIX_ERR_BAD_PARAM
// for a rank whose data cannot be requested.
int ResolveTarget(const Session& session, const pmix_proc_t* proc,
                  Target* target);

// The text of a namespace, terminated or not.
std::string_view NspaceOf(const pmix_proc_t& proc);

// As frames name processes: Uint n, n x Proc.
void PutProcs(std::span<const pmix_proc_t> procs, WireWriter* out);

// The text of `key`; empty for null and "". False when it is too long.
bool ReadKey(const char* key, std::string_view* text);

// Whether a group of the caller is named in the place of a namespace. The agent
// replaces the name by the members.
bool NamesGroup(const Session& session, std::span<const pmix_proc_t> procs);

// Whether the caller is among `procs`: by its rank, by a wildcard or, as far as
// can be seen here, by a group.
bool NamesCaller(const Session& session, std::span<const pmix_proc_t> procs);

// Whether `procs` (null: the caller's namespace) can take part in a
// collective, and the caller is among them. Returns a PMIX status.
int CheckParticipants(Session& session, const pmix_proc_t* procs,
                      size_t nprocs);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_TARGET_H_
