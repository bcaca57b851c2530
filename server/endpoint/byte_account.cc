#include "server/endpoint/byte_account.h"

namespace canopy::endpoint {
namespace {

bool HasRoom(size_t held, size_t bytes, size_t limit) {
  return held == 0 || (held < limit && bytes <= limit - held);
}

}  // namespace

size_t ByteAccount::Of(const Counts& counts, const std::string& key) {
  const auto it = counts.find(key);
  return it == counts.end() ? 0 : it->second;
}

size_t ByteAccount::Change(Counts* counts, const std::string& key, size_t less,
                           size_t more) {
  const auto it = counts->try_emplace(key).first;
  const size_t now = it->second - less + more;
  it->second = now;
  if (now == 0) counts->erase(it);
  return now;
}

bool ByteAccount::Charge(const ByteHolder& holder, size_t bytes) {
  const size_t of_job = Of(jobs_, holder.job);
  if (!HasRoom(Of(clients_, holder.client), bytes, limits_.client) ||
      !HasRoom(of_job, bytes, limits_.job) ||
      (of_job > 0 && !HasRoom(all_, bytes, limits_.all))) {
    return false;
  }
  Change(&clients_, holder.client, 0, bytes);
  Change(&jobs_, holder.job, 0, bytes);
  all_ += bytes;
  return true;
}

void ByteAccount::Release(const ByteHolder& holder, size_t bytes) {
  Change(&clients_, holder.client, bytes, 0);
  Change(&jobs_, holder.job, bytes, 0);
  all_ -= bytes;
}

size_t ByteAccount::SetQueued(const ByteHolder& holder, size_t before,
                              size_t now) {
  return Change(&queued_, holder.client, before, now);
}

size_t ByteAccount::HeldByJob(const std::string& job) const {
  return Of(jobs_, job);
}

}  // namespace canopy::endpoint
