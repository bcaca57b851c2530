#include "server/scheduler/pending_releases.h"

#include <algorithm>

namespace canopy::scheduler {

PendingReleases::Key PendingReleases::KeyOf(
    const v1::JobReleasedRequest& release) {
  return {release.placement().request_id(), release.placement().attempt()};
}

std::vector<v1::JobReleasedRequest> PendingReleases::SetStore(
    ReportStore* store,
    const std::vector<std::pair<uint64_t, std::string>>& stored) {
  store_ = store;
  std::vector<v1::JobReleasedRequest> out;
  for (const auto& [number, bytes] : stored) {
    last_ = std::max(last_, number);
    v1::JobReleasedRequest release;
    if (!release.ParseFromString(bytes)) continue;
    numbers_[KeyOf(release)] = number;
    out.push_back(std::move(release));
  }
  return out;
}

void PendingReleases::Add(const v1::JobReleasedRequest& release) {
  if (store_ == nullptr) return;
  const auto [it, is_new] = numbers_.try_emplace(KeyOf(release), last_ + 1);
  if (!is_new) return;
  ++last_;
  Note(store_->AddRelease(it->second, release.SerializeAsString()));
}

void PendingReleases::Remove(const v1::JobReleasedRequest& release) {
  const auto number = numbers_.extract(KeyOf(release));
  if (!number.empty()) Note(store_->RemoveRelease(number.mapped()));
}

void PendingReleases::Note(const Status& status) {
  if (status.ok() || std::exchange(warned_, true)) return;
  warn_("a restart of this agent could delay that slots are free again: " +
        status.message());
}

}  // namespace canopy::scheduler
