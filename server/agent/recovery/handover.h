// The planned replacement of an agent by a successor, which is another program
// in the same process.
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

  // Lets launchers, shims and clients of this node wait for the successor for
  // `downtime_ms`. Connections made from now on are left to the successor.
  virtual void Announce(uint32_t downtime_ms) = 0;
  // Lets the neighbours wait too. `announced` runs when each of them knows or
  // cannot be reached; it runs during the call only if there are no neighbours.
  virtual void AnnounceToNeighbours(uint32_t downtime_ms,
                                    std::function<void()> announced) = 0;
  // Returns whether the peers of all connections have identified themselves.
  virtual bool AllIdentified() const = 0;
  // Turns the data that clients have sent into inputs of the core. Nothing is
  // read afterwards.
  virtual void ReadClients() = 0;
  // Handles every queued input, with all its actions.
  virtual void Drain() = 0;
  // Sends queued replies, as far as the sockets take them, and replies of the
  // control service: the requester of the handover must receive its own.
  virtual void FlushReplies() = 0;
  // Executes the program in this process. Returns only if that fails.
  virtual void Execute(const std::string& program) = 0;
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

// Requests are read to their end and replies are flushed. The successor
// recovers the rest from shims, clients and the other agents, as after a
// restart. So an agent that is killed in any stage is recovered like any other.
// Loop thread only.
class Handover {
 public:
  // How long peers wait for the successor.
  static constexpr uint32_t kDowntimeMs = 30000;

  // Both arguments outlive this object.
  Handover(EventLoop* loop, HandoverActions* actions);

  // Begins a handover once; later calls are ignored. `program` is an executable
  // file. `current` is the program to which the agent returns if that cannot be
  // executed, because peers that wait for a successor must get one.
  void Begin(std::string program, std::string current);

  // The stage that has begun.
  HandoverStage stage() const { return stage_; }

 private:
  void Enter(HandoverStage stage);
  void Identify();
  void Finish();

  EventLoop* const loop_;
  HandoverActions* const actions_;
  HandoverStage stage_ = HandoverStage::kNone;
  std::string program_;
  std::string current_;
  int64_t identify_until_ = 0;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_RECOVERY_HANDOVER_H_
