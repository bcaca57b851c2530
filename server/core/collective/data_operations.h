// Fence, connect and disconnect as operations: collectives that carry committed
// data and have no result.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_DATA_OPERATIONS_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_DATA_OPERATIONS_H_

#include <cstdint>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/operation.h"
#include "server/core/collective/series.h"
#include "server/core/messages.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// The operation of PMIx_Fence. A contribution contains the data that the node's
// participants have committed since the last collective of the series.
class FenceOperation : public Operation {
 public:
  using Operation::Operation;

  bool may_end_differently() const override { return true; }
  Bytes OwnContribution(const Series& series,
                        Instance* instance) const override;
  void FillRelease(const CompletedCollective& completed, NodeId to,
                   CollectiveDown* down) const override;
  void FillRecovered(const Series& series, uint64_t sequence,
                     CollectiveDown* down) const override;
  void StoreData(const StepContext& step,
                 const CompletedCollective& completed) const override;
  bool IsInEffect(const CollectiveId& id) const override;
};

// The operation of PMIx_Connect and PMIx_Disconnect. It transports data like a
// fence, and records whether the participants are connected.
class ConnectOperation : public FenceOperation {
 public:
  using FenceOperation::FenceOperation;

  bool may_end_differently() const override { return false; }
  void OnCompleted(const StepContext& step, Series& series, uint64_t sequence,
                   const Instance& instance,
                   CompletedCollective* completed) override;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_DATA_OPERATIONS_H_
