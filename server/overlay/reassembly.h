// Reassembles messages from the packets that arrive for this agent.
#ifndef CANOPY_SERVER_OVERLAY_REASSEMBLY_H_
#define CANOPY_SERVER_OVERLAY_REASSEMBLY_H_

#include <cstdint>
#include <map>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/overlay/frame.h"

namespace canopy::overlay {

// Pure state; loop thread only.
class Reassembly {
 public:
  // `limit` is the limit for the bytes of all incomplete messages together.
  explicit Reassembly(size_t limit) : limit_(limit) {}

  enum class Outcome {
    kIncomplete,
    kWhole,
    kRefused,  // exceeds the limit; its later pieces are ignored
  };
  struct Added {
    Outcome outcome;
    // kWhole: the message, in memory of its own, so that a small message does
    // not keep a large frame alive. kRefused: the first piece of the message.
    Bytes bytes;
  };
  // Adds the next piece of a message.
  Added Add(const Packet& packet);

  // Drops the incomplete messages of a source that is lost.
  void DropSource(NodeId source);
  // Called after the loss of a member. Drops messages that got no piece since
  // the previous call, because their other pieces were lost.
  void Sweep();

  size_t bytes() const { return bytes_; }

 private:
  struct Partial {
    Rope pieces;
    size_t size = 0;
    bool dropped = false;
    bool idle = false;  // no piece since the last Sweep
  };
  using Key = std::pair<NodeId, uint64_t>;

  using Partials = std::map<Key, Partial>;

  Added Drop(Partials::iterator it, const Packet& packet);
  void Forget(Partials::iterator it);

  size_t limit_;
  size_t bytes_ = 0;
  Partials partials_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_REASSEMBLY_H_
