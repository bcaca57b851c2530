#include "server/core/iof/output_cache.h"

#include <algorithm>

namespace canopy::core {
namespace {

uint64_t LimitOf(const JobForwarding& forwarding, uint64_t free) {
  const uint64_t wanted =
      forwarding.cache_size == 0
          ? kDefaultCache
          : std::min<uint64_t>(forwarding.cache_size, kMaxCache);
  return std::min(wanted, std::max(kLeastCache, free / 2));
}

}  // namespace

OutputCache::OutputCache(uint32_t num_nodes, const JobForwarding& forwarding,
                         uint64_t free)
    : limit_(LimitOf(forwarding, free)),
      keeps_oldest_(forwarding.keeps_oldest),
      seen_(num_nodes) {}

void OutputCache::Add(const JobOutput& output) {
  if (output.node >= seen_.size()) return;
  uint64_t& seen = seen_[output.node];
  const uint64_t size = output.data.size();
  if (output.end > seen + size) missed_ += output.end - size - seen;
  seen = std::max(seen, output.end);
  if (output.data.empty()) {
    closed_[{output.rank, output.channel}] = output.node;
    return;
  }
  JobOutput kept = output;
  const uint64_t room = keeps_oldest_ ? limit_ - size_ : limit_;
  if (kept.data.size() > room) {
    const uint64_t excess = kept.data.size() - room;
    Drop(output, excess);
    kept.data = keeps_oldest_ ? kept.data.Slice(0, room)
                              : kept.data.Slice(excess, room);
    if (keeps_oldest_ && kept.end != 0) kept.end -= excess;
  }
  if (kept.data.empty()) return;
  size_ += kept.data.size();
  kept_.push_back(std::move(kept));
  DropOldest();
}

// Each piece has an overhead, so the number of pieces is bounded, too.
void OutputCache::DropOldest() {
  const size_t max_pieces = 256 + limit_ / 16;
  while (size_ > limit_ || kept_.size() > max_pieces) {
    JobOutput& oldest = kept_.front();
    const uint64_t part =
        size_ > limit_ ? std::min<uint64_t>(size_ - limit_, oldest.data.size())
                       : oldest.data.size();
    Drop(oldest, part);
    size_ -= part;
    oldest.data = oldest.data.Slice(part, oldest.data.size());
    if (oldest.data.empty()) kept_.pop_front();
  }
}

void OutputCache::Drop(const JobOutput& output, uint64_t bytes) {
  dropped_[{output.rank, output.channel}] += bytes;
}

void OutputCache::Fill(bool from_now, Puller* puller) const {
  uint64_t dropped = 0;
  if (!from_now) {
    for (const auto& [channel, bytes] : dropped_) {
      if (puller->Wants(channel.first, channel.second)) dropped += bytes;
    }
    for (const JobOutput& output : kept_) puller->Add(output);
  }
  puller->Begin(seen_, dropped + (from_now ? 0 : missed_), from_now);
  for (const auto& [channel, node] : closed_) {
    puller->Add({node, 0, channel.first, channel.second, {}});
  }
}

void OutputCache::Refill(Puller* puller) const {
  for (const JobOutput& output : kept_) puller->Add(output);
  for (const auto& [channel, node] : closed_) {
    puller->Add({node, 0, channel.first, channel.second, {}});
  }
}

}  // namespace canopy::core
