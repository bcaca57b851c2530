// The releases that the scheduler has not received yet.
#ifndef CANOPY_SERVER_SCHEDULER_PENDING_RELEASES_H_
#define CANOPY_SERVER_SCHEDULER_PENDING_RELEASES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// A placement is released once, so the placement identifies its release. The
// store keeps the releases for a successor of this process. Loop thread only.
class PendingReleases {
 public:
  using Warn = std::function<void(const std::string& text)>;

  explicit PendingReleases(Warn warn) : warn_(std::move(warn)) {}
  PendingReleases(const PendingReleases&) = delete;
  PendingReleases& operator=(const PendingReleases&) = delete;

  // Sets the store, which keeps all later releases. Returns the releases that a
  // predecessor has stored there.
  std::vector<v1::JobReleasedRequest> SetStore(
      ReportStore* store,
      const std::vector<std::pair<uint64_t, std::string>>& stored);
  // Adds a release, unless it is pending already. Has no effect if there is no
  // store.
  void Add(const v1::JobReleasedRequest& release);
  // Removes a release that was sent or is no longer needed. Has no effect if
  // there is no such release.
  void Remove(const v1::JobReleasedRequest& release);

 private:
  using Key = std::pair<std::string, uint32_t>;

  static Key KeyOf(const v1::JobReleasedRequest& release);
  void Note(const Status& status);

  const Warn warn_;
  ReportStore* store_ = nullptr;
  bool warned_ = false;
  uint64_t last_ = 0;
  std::map<Key, uint64_t> numbers_;  // numbers of stored releases
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_PENDING_RELEASES_H_
