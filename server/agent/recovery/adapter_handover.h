// The handover of this agent's adapters and core.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_ADAPTER_HANDOVER_H_
#define CANOPY_SERVER_AGENT_RECOVERY_ADAPTER_HANDOVER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "server/agent/bring_up/file_limit.h"
#include "server/agent/recovery/handover.h"
#include "server/agent/wiring/control_endpoints.h"
#include "server/agent/wiring/local_adapters.h"
#include "server/agent/wiring/overlay_adapter.h"
#include "server/control/job_manager.h"
#include "server/runtime/runtime.h"

namespace canopy::agent {

// The objects that take part in a handover. All of them outlive
// AdapterHandover.
struct HandoverParts {
  AgentRuntime* runtime = nullptr;
  LocalAdapters* adapters = nullptr;
  OverlayAdapter* overlay = nullptr;
  ControlEndpoints* control = nullptr;
  control::JobManager* job_manager = nullptr;
  FileLimit* files = nullptr;
  std::string directory;  // the runtime directory
  std::function<void()> fail;
};

// Loop thread only.
class AdapterHandover : public HandoverActions {
 public:
  explicit AdapterHandover(HandoverParts parts);

  void Announce(uint32_t downtime_ms) override;
  void AnnounceToNeighbours(uint32_t downtime_ms,
                            std::function<void()> announced) override;
  bool AllIdentified() const override;
  void ReadClients() override;
  void Drain() override;
  void FlushReplies() override;
  void Execute(const std::string& program) override;
  void Exit() override;
  void Fail() override;

 private:
  const HandoverParts parts_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_ADAPTER_HANDOVER_H_
