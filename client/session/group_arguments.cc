#include "client/session/group_arguments.h"

#include <string>
#include <string_view>

#include "client/session/group_invitation_events.h"
#include "client/session/target.h"
#include "common/job_name.h"

namespace canopy::client {
namespace {

// Lists the processes that one entry stands for.
int ListOne(Session& session, const pmix_proc_t& proc,
            std::set<ProcId>* listed) {
  const std::string nspace(NspaceOf(proc));
  const JobView* job = session.namespaces().Find(nspace);
  if (nspace.empty()) return PMIX_ERR_BAD_PARAM;
  if (proc.rank == PMIX_RANK_WILDCARD) {
    if (job == nullptr) return PMIX_ERR_NOT_FOUND;
    if (job->num_ranks() > kMaxInvited) return PMIX_ERR_OUT_OF_RESOURCE;
    for (Rank rank = 0; rank < job->num_ranks(); ++rank) {
      listed->insert({nspace, rank});
    }
    return PMIX_SUCCESS;
  }
  if (!IsProcessRank(proc.rank) ||
      (job != nullptr && proc.rank >= job->num_ranks())) {
    return PMIX_ERR_BAD_PARAM;
  }
  listed->insert({nspace, proc.rank});
  return PMIX_SUCCESS;
}

// Returns true if a directive names another group than the call.
bool NamesAnother(const InfoArray& directives, std::string_view name) {
  for (size_t i = 0; i < directives.size; ++i) {
    if (KeyOf(directives.infos[i]) != PMIX_GROUP_ID) continue;
    const pmix_value_t& value = directives.infos[i].value;
    if (value.type != PMIX_STRING || value.data.string == nullptr ||
        name != value.data.string) {
      return true;
    }
  }
  return false;
}

}  // namespace

int CheckGroupName(const Session& session, const char* name,
                   const InfoArray& directives) {
  if (name == nullptr || !directives.ok()) return PMIX_ERR_BAD_PARAM;
  const std::string_view text = name;
  if (text.empty() || text.size() > kMaxNspaceLen ||
      text == session.self().nspace || IsJobName(text) ||
      NamesAnother(directives, text)) {
    return PMIX_ERR_BAD_PARAM;
  }
  return PMIX_SUCCESS;
}

int ListProcesses(Session& session, std::span<const pmix_proc_t> procs,
                  std::set<ProcId>* listed) {
  for (const pmix_proc_t& proc : procs) {
    const int rc = ListOne(session, proc, listed);
    if (rc != PMIX_SUCCESS) return rc;
    if (listed->size() > kMaxInvited) return PMIX_ERR_OUT_OF_RESOURCE;
  }
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
