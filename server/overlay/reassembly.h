// Reassembles messages from the packets that arrive for this agent.
#ifndef CANOPY_SERVER_OVERLAY_REASSEMBLY_H_
#define CANOPY_SERVER_OVERLAY_REASSEMBLY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "server/overlay/frame.h"

namespace canopy::overlay {

// Pure state; loop thread.
class Reassembly {
 public:
  // `limit`: bytes of all messages under way together.
  explicit Reassembly(size_t limit) : limit_(limit) {}

  // The whole message when this was its last piece, in memory of its own (a
  // small message does not keep a large frame alive). Error: over the limit;
  // the message is dropped and its later pieces are ignored.
  Result<std::optional<Bytes>> Add(const Packet& packet);

  // Forgets the unfinished messages of a source that is lost.
  void DropSource(NodeId source);
  // Called after the loss of a member: drops messages without a new piece since
  // the previous call, whose other pieces were lost.
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

  void Forget(std::map<Key, Partial>::iterator it);

  size_t limit_;
  size_t bytes_ = 0;
  std::map<Key, Partial> partials_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_REASSEMBLY_H_
