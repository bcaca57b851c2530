// The planned end of an agent in favour of a successor, which is another
// program in the same process.
#ifndef CANOPY_SERVER_AGENT_RECOVERY_HANDOVER_H_
#define CANOPY_SERVER_AGENT_RECOVERY_HANDOVER_H_

#include <cstdint>
#include <functional>
#include <string>

#include "common/event_loop.h"

namespace canopy::agent {

// What a handover acts upon: the adapters of the agent and its core. Loop
// thread.
class HandoverActions {
 public:
  virtual ~HandoverActions() = default;

  // Launchers, shims and clients of this node wait so long for the successor;
  // connections made from now on are left to it.
  virtual void Announce(uint32_t downtime_ms) = 0;
  // The neighbours wait too. `announced` runs when each of them knows or cannot
  // be reached, and not in the call itself when there are any.
  virtual void AnnounceToNeighbours(uint32_t downtime_ms,
                                    std::function<void()> announced) = 0;
  // No connection is left whose peer has not identified itself.
  virtual bool AllIdentified() const = 0;
  // What clients have sent becomes inputs of the core; nothing is read after
  // that.
  virtual void ReadClients() = 0;
  // Every input that was queued, with all its actions.
  virtual void Drain() = 0;
  // Queued replies, as far as the sockets take them, and answers of the control
  // service: the requester of the handover must have its own.
  virtual void FlushReplies() = 0;
  // Executes the program in this process. Returns when that fails.
  virtual void Execute(const std::string& program) = 0;
  // The agent cannot be replaced, although its peers wait for a successor.
  virtual void Fail() = 0;
};

// In their order.
enum class HandoverStage : uint8_t {
  kNone,
  kAnnounce,
  kIdentify,
  kReadClients,
  kDrain,
  kFlushReplies,
  kExecute,
};

// "announce", for logs.
const char* NameOf(HandoverStage stage);

// Requests are read to their end and replies flushed; the rest the successor
// recovers, as after a restart, from shims, clients and the other agents. So an
// agent that is killed in any stage is recovered like any other. Loop thread.
class Handover {
 public:
  // How long peers wait for the successor.
  static constexpr uint32_t kDowntimeMs = 30000;

  // Both outlive it.
  Handover(EventLoop* loop, HandoverActions* actions);

  // Begins once; a later call is ignored. `program` is an executable file, and
  // `current` the program to which the agent returns when that fails: whoever
  // waits for a successor must get one.
  void Begin(std::string program, std::string current);

  // The one that has begun.
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
