#include "server/core/collective/connections.h"

#include <algorithm>

#include "common/status.h"

namespace canopy::core {

void Connections::OnCompleted(CollectiveOp op,
                              const std::vector<ProcId>& participants,
                              int status) {
  if (status == kSuccess && op == CollectiveOp::kConnect) {
    lists_.insert(participants);
  } else if (op == CollectiveOp::kDisconnect) {
    lists_.erase(participants);
  }
}

void Connections::Recover(const std::vector<ProcId>& participants,
                          bool connected) {
  if (connected) {
    lists_.insert(participants);
  } else {
    lists_.erase(participants);
  }
}

void Connections::DropJob(const std::string& nspace) {
  std::erase_if(lists_, [&](const std::vector<ProcId>& procs) {
    return std::ranges::any_of(
        procs, [&](const ProcId& proc) { return proc.nspace == nspace; });
  });
}

std::vector<std::vector<ProcId>> Connections::Of(const ProcId& proc) const {
  std::vector<std::vector<ProcId>> out;
  const ProcId all = {proc.nspace, kRankWildcard};
  for (const std::vector<ProcId>& procs : lists_) {
    const bool several = procs.front().nspace != procs.back().nspace;
    if (several && (std::ranges::binary_search(procs, proc) ||
                    std::ranges::binary_search(procs, all))) {
      out.push_back(procs);
    }
  }
  return out;
}

}  // namespace canopy::core
