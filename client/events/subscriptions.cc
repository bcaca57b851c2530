#include "client/events/subscriptions.h"

#include <set>

#include "common/describe.h"
#include "common/local/events.h"

namespace canopy::client {
namespace {

bool NeedsAgent(const HandlerSpec& spec) {
  return spec.range != PMIX_RANGE_PROC_LOCAL;
}

std::set<pmix_status_t> CodesOf(const HandlerSpec& spec) {
  return {spec.codes.begin(), spec.codes.end()};
}

}  // namespace

std::string SubscriptionChange::Encode() const {
  return wire::Encode(local::Subscription{all, codes});
}

SubscriptionChange Subscriptions::Add(const HandlerSpec& spec) {
  SubscriptionChange change;
  if (!NeedsAgent(spec)) return change;
  const MutexLock lock(mu_);
  if (spec.codes.empty()) change.all = defaults_++ == 0;
  for (const pmix_status_t code : CodesOf(spec)) {
    if (codes_[code]++ == 0) change.codes.push_back(code);
  }
  return change;
}

SubscriptionChange Subscriptions::Remove(const HandlerSpec& spec) {
  SubscriptionChange change;
  if (!NeedsAgent(spec)) return change;
  const MutexLock lock(mu_);
  if (spec.codes.empty()) change.all = --defaults_ == 0;
  for (const pmix_status_t code : CodesOf(spec)) {
    const auto it = codes_.find(code);
    if (it == codes_.end() || --it->second > 0) continue;
    codes_.erase(it);
    change.codes.push_back(code);
  }
  return change;
}

SubscriptionChange Subscriptions::Now() const {
  const MutexLock lock(mu_);
  SubscriptionChange wanted;
  wanted.all = defaults_ > 0;
  for (const auto& [code, handlers] : codes_) wanted.codes.push_back(code);
  return wanted;
}

bool Subscriptions::any() const {
  const MutexLock lock(mu_);
  return defaults_ > 0 || !codes_.empty();
}

}  // namespace canopy::client
