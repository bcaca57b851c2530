#include "server/core/event/interest.h"

#include <bit>
#include <cstddef>

#include "server/core/data_range.h"
#include "server/core/event/event_cache.h"

namespace canopy::core {

void Interest::Add(int code) {
  const uint32_t bit = LifecycleBit(code);
  if (bit != 0) ++clients_[static_cast<size_t>(std::countr_zero(bit))];
}

void Interest::Remove(int code) {
  const uint32_t bit = LifecycleBit(code);
  if (bit != 0) --clients_[static_cast<size_t>(std::countr_zero(bit))];
}

uint32_t Interest::own() const {
  uint32_t codes = 0;
  for (size_t i = 0; i < clients_.size(); ++i) {
    if (clients_[i] > 0) codes |= uint32_t{1} << i;
  }
  return codes;
}

uint32_t Interest::Of(NodeId neighbour) const {
  const auto it = wanted_.find(neighbour);
  return it == wanted_.end() ? 0 : it->second.codes;
}

uint32_t Interest::Take(NodeId src, const EventMessage& message) {
  // An older agent may have forwarded the message. It then describes the
  // interest of its origin, not that of the sender.
  if (message.origin != src) return 0;
  Told& told = wanted_[src];
  if (message.number <= told.number) return 0;
  const auto codes = static_cast<uint32_t>(message.status);
  const uint32_t news = codes & ~told.codes;
  told = {codes, message.number};
  return news;
}

void Interest::Forget(NodeId node) {
  wanted_.erase(node);
  told_.erase(node);
}

void Interest::ForgetLost(const Tree& tree) {
  std::erase_if(wanted_, [&](const auto& e) { return !tree.alive(e.first); });
  std::erase_if(told_, [&](const auto& e) { return !tree.alive(e.first); });
}

std::vector<std::pair<NodeId, uint32_t>> Interest::TakeNews(
    const std::vector<NodeId>& neighbours) {
  // others[i] is the interest behind all neighbours from i on; `before`
  // collects the interest behind the neighbours before i.
  std::vector<uint32_t> others(neighbours.size() + 1);
  for (size_t i = neighbours.size(); i-- > 0;) {
    others[i] = others[i + 1] | Of(neighbours[i]);
  }
  std::vector<std::pair<NodeId, uint32_t>> news;
  uint32_t before = own();
  for (size_t i = 0; i < neighbours.size(); ++i) {
    const uint32_t codes = before | others[i + 1];
    before |= Of(neighbours[i]);
    const auto it = told_.find(neighbours[i]);
    if (codes == (it == told_.end() ? 0 : it->second)) continue;
    told_[neighbours[i]] = codes;
    news.emplace_back(neighbours[i], codes);
  }
  return news;
}

EventMessage Interest::Encode(NodeId self, uint64_t number, uint32_t codes) {
  EventMessage message;
  message.origin = self;
  message.number = number;
  message.request = kAgentsEvent;
  message.status = static_cast<int>(codes);
  message.source = {"", self};
  message.range = static_cast<uint8_t>(DataRange::kCustom);
  return message;
}

bool Interest::IsEncoded(const EventMessage& message) {
  return message.source.nspace.empty();
}

}  // namespace canopy::core
