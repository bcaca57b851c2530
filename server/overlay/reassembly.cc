#include "server/overlay/reassembly.h"

#include <string>
#include <utility>

namespace canopy::overlay {
namespace {

// From this size on, a message that arrived in one piece is not copied out of
// its frame.
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

Reassembly::Added Reassembly::Add(const Packet& packet) {
  const Key key(packet.source, packet.message);
  auto it = partials_.find(key);
  if (it == partials_.end()) {
    if (!packet.more) return {Outcome::kWhole, Whole(packet.piece)};
    it = partials_.emplace(key, Partial()).first;
  }
  Partial& partial = it->second;
  partial.idle = false;
  const size_t n = packet.piece.size();
  if (partial.dropped || bytes_ + n > limit_) return Drop(it, packet);
  partial.pieces.push_back(packet.piece);
  partial.size += n;
  bytes_ += n;
  if (packet.more) return {Outcome::kIncomplete, {}};
  Bytes whole = Join(partial.pieces, partial.size);
  Forget(it);
  return {Outcome::kWhole, std::move(whole)};
}

// Drops a piece of a message that exceeds the limit. Only the first call for a
// message reports it, and returns the message's first piece.
Reassembly::Added Reassembly::Drop(Partials::iterator it,
                                   const Packet& packet) {
  Partial& partial = it->second;
  Added added{Outcome::kIncomplete, {}};
  if (!partial.dropped) {
    added.outcome = Outcome::kRefused;
    added.bytes =
        partial.pieces.empty() ? packet.piece : partial.pieces.front();
    bytes_ -= partial.size;
    partial = Partial();
    partial.dropped = true;
  }
  if (!packet.more) partials_.erase(it);
  return added;
}

void Reassembly::Forget(Partials::iterator it) {
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
