#include "server/overlay/reassembly.h"

#include <string>

namespace canopy::overlay {
namespace {

// From this size on a message that came in one piece is not copied out of its
// frame.
constexpr size_t kShareFrom = size_t{64} << 10;

Bytes Whole(const Bytes& piece) {
  if (piece.size() >= kShareFrom) return piece;
  return Bytes(std::string(piece.view()));
}

Bytes Join(const Rope& pieces, size_t size) {
  std::string all;
  all.reserve(size);
  for (const Bytes& b : pieces) all += b.view();
  return Bytes(std::move(all));
}

}  // namespace

Result<std::optional<Bytes>> Reassembly::Add(const Packet& packet) {
  const Key key(packet.source, packet.message);
  auto it = partials_.find(key);
  if (it == partials_.end()) {
    if (!packet.more) return std::optional(Whole(packet.piece));
    it = partials_.emplace(key, Partial()).first;
  }
  Partial& partial = it->second;
  partial.idle = false;
  const size_t n = packet.piece.size();
  const bool overflow = !partial.dropped && bytes_ + n > limit_;
  if (overflow) {
    bytes_ -= partial.size;
    partial = Partial();
    partial.dropped = true;
  }
  if (partial.dropped) {
    if (!packet.more) partials_.erase(it);
    if (!overflow) return std::optional<Bytes>();
    return Status(kErrOutOfResource,
                  "message from node " + std::to_string(packet.source) +
                      " is over the limit of " + std::to_string(limit_) +
                      " bytes and was dropped");
  }
  partial.pieces.push_back(packet.piece);
  partial.size += n;
  bytes_ += n;
  if (packet.more) return std::optional<Bytes>();
  Bytes whole = Join(partial.pieces, partial.size);
  Forget(it);
  return std::optional(std::move(whole));
}

void Reassembly::Forget(std::map<Key, Partial>::iterator it) {
  bytes_ -= it->second.size;
  partials_.erase(it);
}

void Reassembly::DropSource(NodeId source) {
  auto it = partials_.lower_bound({source, 0});
  while (it != partials_.end() && it->first.first == source) {
    Forget(it++);
  }
}

void Reassembly::Sweep() {
  for (auto it = partials_.begin(); it != partials_.end();) {
    const auto here = it++;
    if (here->second.idle) {
      Forget(here);
    } else {
      here->second.idle = true;
    }
  }
}

}  // namespace canopy::overlay
