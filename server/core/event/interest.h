// Tracks which lifecycle events are wanted in which part of the tree.
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

// Every agent sends each neighbour the codes that its own clients or its other
// neighbours want, whenever these change, so an event is forwarded only to
// where a client wants it. Codes are bits (LifecycleBit). Not synchronised.
class Interest {
 public:
  // A client of this agent has registered or deregistered the code.
  void Add(int code);
  void Remove(int code);

  // The codes wanted behind the neighbour, as far as it has reported.
  uint32_t Of(NodeId neighbour) const;
  // Records the interest in a neighbour's message. Returns the codes that are
  // new; 0 if a later message has overtaken this one.
  uint32_t Take(NodeId src, const EventMessage& message);
  // The neighbour's agent is new: it wants nothing and knows nothing.
  void Forget(NodeId node);
  // Calls Forget for all nodes that are not alive.
  void ForgetLost(const Tree& tree);

  // Returns what each neighbour must be sent now, and records it as sent.
  std::vector<std::pair<NodeId, uint32_t>> TakeNews(
      const std::vector<NodeId>& neighbours);

  // Encodes interest as an event that no process may see; agents of the
  // previous release drop it.
  static EventMessage Encode(NodeId self, uint64_t number, uint32_t codes);
  static bool IsEncoded(const EventMessage& message);

 private:
  struct Told {
    uint32_t codes = 0;
    uint64_t number = 0;  // of the message
  };

  uint32_t own() const;

  std::array<uint32_t, 32> clients_ = {};  // registered clients, by bit
  std::map<NodeId, Told> wanted_;          // reported by neighbours
  std::map<NodeId, uint32_t> told_;  // sent to neighbours; absent: nothing
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_INTEREST_H_
