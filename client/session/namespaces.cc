#include "client/session/namespaces.h"

#include <utility>

namespace canopy::client {

Namespaces::Namespaces(std::string own_nspace, std::unique_ptr<JobView> own)
    : own_nspace_(std::move(own_nspace)), own_(own.get()) {
  replaced_.push_back(std::move(own));
}

void Namespaces::ReplaceOwn(std::unique_ptr<JobView> own) {
  const WriterLock lock(mu_);
  own_.store(own.get(), std::memory_order_release);
  replaced_.push_back(std::move(own));
}

const JobView* Namespaces::Find(std::string_view nspace) const {
  if (nspace == own_nspace_) return own_.load();
  const ReaderLock lock(mu_);
  const auto it = others_.find(nspace);
  return it == others_.end() ? nullptr : it->second.get();
}

void Namespaces::Add(std::string nspace, std::unique_ptr<JobView> job) {
  // An agent never replaces the segment of this process's own job; a successor
  // does so by ReplaceOwn.
  if (nspace == own_nspace_) return;
  const WriterLock lock(mu_);
  std::unique_ptr<JobView>& slot = others_[std::move(nspace)];
  if (slot != nullptr) replaced_.push_back(std::move(slot));
  slot = std::move(job);
}

std::vector<std::pair<std::string, const JobView*>> Namespaces::All() const {
  std::vector<std::pair<std::string, const JobView*>> all;
  all.emplace_back(own_nspace_, own_.load());
  const ReaderLock lock(mu_);
  for (const auto& [nspace, job] : others_) all.emplace_back(nspace, job.get());
  return all;
}

}  // namespace canopy::client
