#include "server/core/publish/quota.h"

#include "server/core/publish/publication.h"

namespace canopy::core {
namespace {

template <typename Uses, typename Key>
auto UseOf(const Uses& uses, const Key& key) {
  const auto it = uses.find(key);
  return it == uses.end() ? typename Uses::mapped_type() : it->second;
}

template <typename Uses, typename Key>
void Subtract(Uses& uses, const Key& key, size_t bytes) {
  const auto it = uses.find(key);
  if (it == uses.end()) return;
  it->second.bytes -= bytes;
  if (--it->second.keys == 0) uses.erase(it);
}

}  // namespace

bool PublishQuota::Fits(const Publication& p) const {
  const Use job = UseOf(jobs_, p.id.publisher.nspace);
  const Use user = UseOf(users_, p.uid);
  const size_t bytes = SizeOf(p);
  return job.keys < kMaxKeysOfJob && user.keys < kMaxKeysOfUser &&
         job.bytes + bytes <= kMaxBytesOfJob &&
         user.bytes + bytes <= kMaxBytesOfUser;
}

void PublishQuota::Add(const Publication& p) {
  for (Use* use : {&jobs_[p.id.publisher.nspace], &users_[p.uid]}) {
    ++use->keys;
    use->bytes += SizeOf(p);
  }
}

void PublishQuota::Remove(const Publication& p) {
  Subtract(jobs_, p.id.publisher.nspace, SizeOf(p));
  Subtract(users_, p.uid, SizeOf(p));
}

}  // namespace canopy::core
