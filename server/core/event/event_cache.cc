#include "server/core/event/event_cache.h"

#include <utility>

#include "server/core/pset/set_keys.h"

namespace canopy::core {
namespace {

size_t BytesOf(const CachedEvent& event) {
  size_t bytes = sizeof event + event.message.info.size();
  for (const ProcId& target : event.message.targets) {
    bytes += sizeof target + target.nspace.size();
  }
  return bytes;
}

}  // namespace

EventId IdOf(const EventMessage& message) {
  if (message.request != 0) return {message.source, message.request};
  return {{"", message.origin}, message.number};
}

CachedEvent& EventCache::Add(CachedEvent event) {
  bytes_ += BytesOf(event);
  ids_.insert(IdOf(event.message));
  events_.push_back(std::move(event));
  while (events_.size() > kMaxCachedEvents || bytes_ > kMaxCachedEventBytes) {
    bytes_ -= BytesOf(events_.front());
    ids_.erase(IdOf(events_.front().message));
    events_.pop_front();
  }
  return events_.back();
}

void EventCache::OnClientGone(ClientId client) {
  for (CachedEvent& event : events_) event.delivered.erase(client);
}

void EventCache::OnJobOver(const std::string& nspace) {
  std::erase_if(events_, [&](CachedEvent& event) {
    if (event.message.source.nspace != nspace || event.outlives_job) {
      return false;
    }
    event.job_over = true;
    if (event.message.status != kSetDefine) return false;
    bytes_ -= BytesOf(event);
    ids_.erase(IdOf(event.message));
    return true;
  });
}

}  // namespace canopy::core
