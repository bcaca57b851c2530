#include "client/session/abort_op.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "client/session/target.h"
#include "common/describe.h"
#include "common/local/calls.h"

namespace canopy::client {
namespace {

constexpr int kMaxWaitForEndMs = 30'000;
constexpr size_t kMaxMessage = 64 * 1024;

int CheckTargets(const pmix_proc_t* procs, size_t nprocs) {
  if (procs == nullptr && nprocs > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < nprocs; ++i) {
    const bool named =
        IsProcessRank(procs[i].rank) || procs[i].rank == kRankWildcard;
    if (!named || NspaceOf(procs[i]).empty()) return PMIX_ERR_BAD_PARAM;
  }
  return PMIX_SUCCESS;
}

bool Includes(const pmix_proc_t* procs, size_t nprocs, const ProcId& self) {
  if (nprocs == 0) return true;
  return std::any_of(procs, procs + nprocs, [&](const pmix_proc_t& proc) {
    return NspaceOf(proc) == self.nspace &&
           (proc.rank == kRankWildcard || proc.rank == self.rank);
  });
}

}  // namespace

int Abort(Session& session, int status, const char* message,
          const pmix_proc_t* procs, size_t nprocs) {
  const int rc = CheckTargets(procs, nprocs);
  if (rc != PMIX_SUCCESS) return rc;
  const ChannelRef channel = session.job_channel();
  if (channel == nullptr) return PMIX_ERR_UNREACH;
  local::Abort frame;
  frame.status = status;
  if (message != nullptr) {
    frame.text = {message, strnlen(message, kMaxMessage)};
  }
  frame.targets = ViewsOf({procs, nprocs});
  const Reply reply =
      channel->Call(local::FrameType::kAbort, wire::Encode(frame));
  if (reply.status == PMIX_SUCCESS && Includes(procs, nprocs, session.self())) {
    channel->WaitForEnd(kMaxWaitForEndMs);
  }
  return reply.status;
}

}  // namespace canopy::client
