// Tracks, for each part of the tree, the lifecycle events for which clients in
// that part have registered.
#ifndef CANOPY_SERVER_CORE_EVENT_INTEREST_H_
#define CANOPY_SERVER_CORE_EVENT_INTEREST_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/event/lifecycle.h"
#include "server/core/messages.h"
#include "server/core/tree.h"

namespace canopy::core {

// Every agent sends each neighbour the codes that its own clients have
// registered or its other neighbours have reported, whenever these change. So
// an event is forwarded only towards clients that have registered for it. Codes
// are bits (LifecycleBit). Not synchronised.
class Interest {
 public:
  // Record that a client of this agent has registered or deregistered the code.
  void Add(int code);
  void Remove(int code);

  // Returns the codes with an interest behind the neighbour, as it has last
  // reported them.
  uint32_t Of(NodeId neighbour) const;
  // Records the interest in a neighbour's message. Returns the codes that are
  // new in it; 0 if a later message has overtaken this one.
  uint32_t Take(NodeId src, const EventMessage& message);
  // Called when the neighbour has a new agent, which has reported no interest
  // and has received none.
  void Forget(NodeId node);
  // Calls Forget for all nodes that are not alive.
  void ForgetLost(const Tree& tree);

  // Returns the codes that must be sent to each neighbour now, and records them
  // as sent.
  std::vector<std::pair<NodeId, uint32_t>> TakeNews(
      const std::vector<NodeId>& neighbours);

  // Encodes interest as an event that no process may see; agents of the
  // previous release drop it.
  static EventMessage Encode(NodeId self, uint64_t number, uint32_t codes);
  static bool IsEncoded(const EventMessage& message);

 private:
  struct Told {
    uint32_t codes = 0;
    uint64_t number = 0;  // number of the last message
  };

  uint32_t own() const;

  std::array<uint32_t, 32> clients_ = {};  // registered clients, by bit
  std::map<NodeId, Told> wanted_;          // reported by neighbours
  std::map<NodeId, uint32_t> told_;  // sent to neighbours; absent: nothing
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_INTEREST_H_
