// Which lifecycle events are wanted where in the tree.
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

// Every agent tells each neighbour the codes that are wanted by its own clients
// or behind its other neighbours, when they change: so an event goes only where
// somebody wants it. Codes are bits (LifecycleBit). Not synchronised.
class Interest {
 public:
  // A client here has registered for the code, or has it no more.
  void Add(int code);
  void Remove(int code);

  // What is wanted behind the neighbour, as far as it has told.
  uint32_t Of(NodeId neighbour) const;
  // What is new in it; a message that others have overtaken has nothing new.
  uint32_t Take(NodeId src, const EventMessage& message);
  // It begins anew: it wants nothing, and was told nothing.
  void Forget(NodeId node);
  // The same for all that are not alive.
  void ForgetLost(const Tree& tree);

  // What the neighbours are to be told now, and counts as told.
  std::vector<std::pair<NodeId, uint32_t>> TakeNews(
      const std::vector<NodeId>& neighbours);

  // As an event that no process may see: agents of the release before pass it
  // on to nobody.
  static EventMessage Encode(NodeId self, uint64_t number, uint32_t codes);
  static bool IsEncoded(const EventMessage& message);

 private:
  struct Told {
    uint32_t codes = 0;
    uint64_t number = 0;  // of the message
  };

  uint32_t own() const;

  std::array<uint32_t, 32> clients_ = {};  // how many, by bit
  std::map<NodeId, Told> wanted_;          // by others
  std::map<NodeId, uint32_t> told_;        // to others; none: nothing
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_INTEREST_H_
