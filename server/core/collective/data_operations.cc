#include "server/core/collective/data_operations.h"

#include "server/core/collective/collective_data.h"

namespace canopy::core {

Bytes FenceOperation::OwnContribution(const Series& series,
                                      Instance* instance) const {
  const bool carries_data =
      instance->collect && series.members->nodes.size() > 1;
  return carries_data ? OwnData(series, parts().modex, instance) : Bytes();
}

void FenceOperation::FillRelease(const CompletedCollective& completed,
                                 NodeId to, CollectiveDown* down) const {
  for (const auto& [node, contribution] : completed.contributions) {
    if (contribution.via != to && !contribution.data.empty()) {
      down->contributions.push_back({node, contribution.data});
    }
  }
}

void FenceOperation::FillRecovered(const Series& series, uint64_t /*sequence*/,
                                   CollectiveDown* down) const {
  if (!series.recovered_data) return;
  down->contributions =
      DataKnown(series, parts().self, parts().jobs, parts().modex);
}

void FenceOperation::StoreData(const StepContext& step,
                               const CompletedCollective& completed) const {
  PublishData(step, parts().self, completed.contributions, parts().jobs,
              &parts().modex);
}

// A fence has no lasting effect of its own, but its participants may be
// connected.
bool FenceOperation::IsInEffect(const CollectiveId& id) const {
  return parts().connections.Contains(id.participants);
}

void ConnectOperation::OnCompleted(const StepContext& /*step*/, Series& series,
                                   uint64_t /*sequence*/,
                                   const Instance& /*instance*/,
                                   CompletedCollective* completed) {
  parts().connections.OnCompleted(series.id.op, series.id.participants,
                                  completed->status);
}

}  // namespace canopy::core
