#include "common/support/ignored_directives.h"

#include <atomic>
#include <utility>

#include "common/required.h"
#include "common/values/info_list.h"

namespace canopy::support {
namespace {

// The object is never destroyed, because a process may end while a thread uses
// the object.
std::atomic<IgnoredDirectives*>& Instance() {
  static std::atomic<IgnoredDirectives*> instance{new IgnoredDirectives};
  return instance;
}

}  // namespace

IgnoredDirectives& IgnoredDirectives::OfProcess() { return *Instance().load(); }

void IgnoredDirectives::ResetInChild() { Instance() = new IgnoredDirectives; }

void IgnoredDirectives::Note(std::string_view function, std::string_view key) {
  const MutexLock lock(mu_);
  if (unreported_.size() + reported_.size() >= kMaxReported) return;
  Directive directive{std::string(function), std::string(key)};
  if (!report_) {
    if (!reported_.contains(directive)) {
      unreported_.insert(std::move(directive));
    }
    return;
  }
  if (reported_.insert(std::move(directive)).second) report_(function, key);
}

void IgnoredDirectives::SetReport(Report report) {
  const MutexLock lock(mu_);
  report_ = std::move(report);
  for (const Directive& one : unreported_) report_(one.function, one.key);
  reported_.merge(unreported_);
  unreported_.clear();
}

void IgnoredDirectives::End() {
  const MutexLock lock(mu_);
  report_ = {};
  unreported_.clear();
  reported_.clear();
}

int NotHonoured(std::string_view function, const pmix_info_t& info) {
  if (MustHonour(info.flags)) return PMIX_ERR_NOT_SUPPORTED;
  IgnoredDirectives::OfProcess().Note(function, KeyOf(info));
  return PMIX_SUCCESS;
}

}  // namespace canopy::support
