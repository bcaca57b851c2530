// What is free again, as long as the scheduler has not been told.
#ifndef CANOPY_SERVER_SCHEDULER_PENDING_RELEASES_H_
#define CANOPY_SERVER_SCHEDULER_PENDING_RELEASES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "protos/host_module.pb.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// By the placement, which is released once. They outlive this process. Loop
// thread only.
class PendingReleases {
 public:
  using Warn = std::function<void(const std::string& text)>;

  explicit PendingReleases(Warn warn) : warn_(std::move(warn)) {}
  PendingReleases(const PendingReleases&) = delete;
  PendingReleases& operator=(const PendingReleases&) = delete;

  // From now on they are stored. Returns what a predecessor has left.
  std::vector<v1::JobReleasedRequest> SetStore(
      ReportStore* store,
      const std::vector<std::pair<uint64_t, std::string>>& stored);
  void Add(const v1::JobReleasedRequest& release);
  // It was told, or need not be. Ignored when there is none.
  void Remove(const v1::JobReleasedRequest& release);

 private:
  using Key = std::pair<std::string, uint32_t>;

  static Key KeyOf(const v1::JobReleasedRequest& release);
  void Note(const Status& status);

  const Warn warn_;
  ReportStore* store_ = nullptr;
  bool warned_ = false;
  uint64_t last_ = 0;
  std::map<Key, uint64_t> numbers_;  // of those that are stored
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_PENDING_RELEASES_H_
