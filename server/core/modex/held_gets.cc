#include "server/core/modex/held_gets.h"

#include <algorithm>

namespace canopy::core {
namespace {

// Removes `id` from the set at `key`, and removes the set if it becomes empty.
template <typename Map, typename Key>
void EraseFrom(Map* map, const Key& key, uint64_t id) {
  const auto it = map->find(key);
  it->second.erase(id);
  if (it->second.empty()) map->erase(it);
}

}  // namespace

uint64_t HeldGets::Add(HeldGet get) {
  const uint64_t id = next_++;
  by_target_[get.target][get.key].insert(id);
  if (get.node == kNoNode) by_client_[get.client].insert(id);
  if (get.deadline != kNever) deadlines_.emplace(get.deadline, id);
  ++num_of_job_[get.job];
  all_.emplace(id, std::move(get));
  return id;
}

void HeldGets::Drop(uint64_t id) {
  const auto it = all_.find(id);
  if (it == all_.end()) return;
  const HeldGet& get = it->second;
  const auto keys = by_target_.find(get.target);
  EraseFrom(&keys->second, get.key, id);
  if (keys->second.empty()) by_target_.erase(keys);
  if (get.node == kNoNode) EraseFrom(&by_client_, get.client, id);
  deadlines_.erase({get.deadline, id});
  const auto of_job = num_of_job_.find(get.job);
  if (--of_job->second == 0) num_of_job_.erase(of_job);
  all_.erase(it);
}

size_t HeldGets::NumOfJob(const std::string& job) const {
  const auto it = num_of_job_.find(job);
  return it == num_of_job_.end() ? 0 : it->second;
}

void HeldGets::PutOff(uint64_t id, TimeNs now, TimeNs deadline) {
  HeldGet& get = all_.at(id);
  deadlines_.erase({get.deadline, id});
  deadlines_.emplace(deadline, id);
  get.deadline = deadline;
  get.since = now;
}

HeldGet* HeldGets::Find(uint64_t id) {
  const auto it = all_.find(id);
  return it == all_.end() ? nullptr : &it->second;
}

std::vector<uint64_t> HeldGets::Of(const ProcId& target,
                                   std::string_view key) const {
  const auto keys = by_target_.find(target);
  if (keys == by_target_.end()) return {};
  const auto ids = keys->second.find(key);
  if (ids == keys->second.end()) return {};
  return {ids->second.begin(), ids->second.end()};
}

std::vector<uint64_t> HeldGets::OfTarget(const ProcId& target) const {
  std::vector<uint64_t> out;
  const auto keys = by_target_.find(target);
  if (keys == by_target_.end()) return out;
  for (const auto& [key, ids] : keys->second) {
    out.insert(out.end(), ids.begin(), ids.end());
  }
  std::ranges::sort(out);
  return out;
}

std::vector<uint64_t> HeldGets::OfJob(const std::string& nspace) const {
  std::vector<uint64_t> out;
  for (auto it = by_target_.lower_bound({nspace, 0});
       it != by_target_.end() && it->first.nspace == nspace; ++it) {
    for (const auto& [key, ids] : it->second) {
      out.insert(out.end(), ids.begin(), ids.end());
    }
  }
  std::ranges::sort(out);
  return out;
}

std::vector<uint64_t> HeldGets::OfClient(ClientId client) const {
  const auto it = by_client_.find(client);
  if (it == by_client_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

size_t HeldGets::NumOfClient(ClientId client) const {
  const auto it = by_client_.find(client);
  return it == by_client_.end() ? 0 : it->second.size();
}

std::vector<ClientId> HeldGets::Clients() const {
  std::vector<ClientId> out;
  for (const auto& [client, ids] : by_client_) out.push_back(client);
  return out;
}

TimeNs HeldGets::NextDeadline() const {
  return deadlines_.empty() ? kNever : deadlines_.begin()->first;
}

uint64_t HeldGets::FirstExpired(TimeNs now) const {
  return NextDeadline() > now || deadlines_.empty()
             ? 0
             : deadlines_.begin()->second;
}

}  // namespace canopy::core
