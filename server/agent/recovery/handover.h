// The planned replacement of an agent by a successor: by another program in the
// same process, or by a later process.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_HANDOVER_H_
#define CANOPY_SERVER_AGENT_RECOVERY_HANDOVER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/event_loop.h"

namespace canopy::agent {

// The operations of a handover on the agent's adapters and core. Loop thread
// only.
class HandoverActions {
 public:
  virtual ~HandoverActions() = default;

  // Makes launchers, shims and clients of this node wait for the successor for
  // `downtime_ms`. The successor accepts connections that are made from now on.
  virtual void Announce(uint32_t downtime_ms) = 0;
  // Makes the neighbours wait too. Calls `announced` when each of them has
  // received the announcement or cannot be reached; calls it before returning
  // only if there are no neighbours.
  virtual void AnnounceToNeighbours(uint32_t downtime_ms,
                                    std::function<void()> announced) = 0;
  // Returns true if the peers of all connections have identified themselves.
  virtual bool AllIdentified() const = 0;
  // Turns the data that clients have sent into inputs of the core. No data is
  // read afterwards.
  virtual void ReadClients() = 0;
  // Handles all queued inputs with all their actions.
  virtual void Drain() = 0;
  // Sends queued replies as far as the sockets accept them. Also sends replies
  // of the control service, one of which is the reply to the request for the
  // handover.
  virtual void FlushReplies() = 0;
  // Executes the program in this process. Returns only if the execution fails.
  virtual void Execute(const std::string& program) = 0;
  // Ends this process, and keeps what a successor needs.
  virtual void Exit() = 0;
  // Ends the agent, because it cannot be replaced although its peers wait for a
  // successor.
  virtual void Fail() = 0;
};

// The stages in their order.
enum class HandoverStage : uint8_t {
  kNone,
  kAnnounce,
  kIdentify,
  kReadClients,
  kDrain,
  kFlushReplies,
  kExecute,
};

// Returns the name of a stage for logs, such as "announce".
const char* NameOf(HandoverStage stage);

// Performs one handover. Before the process changes, requests are read
// to their end and replies are flushed. The successor recovers everything else
// from shims, clients and the other agents, as after a restart. So an agent
// that is killed in any stage is recovered like any other. Loop thread only.
class Handover {
 public:
  // The time, in milliseconds, for which peers wait for the successor.
  static constexpr uint32_t kDowntimeMs = 30000;

  // `loop` and `actions` outlive this object.
  Handover(EventLoop* loop, HandoverActions* actions);

  // Begins a handover; later calls are ignored. `program` is an executable
  // file. `current` is the program to execute if `program` cannot be executed,
  // because peers that wait for a successor must get one.
  void Begin(std::string program, std::string current);
  // Like Begin, but ends this process. Another process, which a service manager
  // starts, succeeds this agent within `downtime_ms`.
  void BeginExit(uint32_t downtime_ms);

  // Returns the stage that has begun.
  HandoverStage stage() const { return stage_; }

 private:
  void Announce(uint32_t downtime_ms);
  void Enter(HandoverStage stage);
  void Identify();
  void Finish();

  EventLoop* const loop_;
  HandoverActions* const actions_;
  HandoverStage stage_ = HandoverStage::kNone;
  std::string program_;  // empty: the process ends
  std::string current_;
  int64_t identify_until_ = 0;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_HANDOVER_H_
