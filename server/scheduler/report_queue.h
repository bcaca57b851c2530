// The reports that the scheduler has not acknowledged.
#ifndef CANOPY_SERVER_SCHEDULER_REPORT_QUEUE_H_
#define CANOPY_SERVER_SCHEDULER_REPORT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// Numbers reports, and keeps at most kMaxReports and kMaxBytes of them. Above
// these limits, the oldest reports of states are dropped first, then the oldest
// records; dropped records are counted. Records and the series in which they
// are numbered outlive this process: a number is never used twice in a series.
// Loop thread only.
class ReportQueue {
 public:
  static constexpr size_t kMaxReports = 10'000;
  static constexpr size_t kMaxBytes = 16u << 20;
  // The store reserves numbers in groups of this size.
  static constexpr uint64_t kReserve = 1024;

  using Warn = std::function<void(const std::string& text)>;

  // `series` is used if no predecessor has begun a series.
  ReportQueue(uint64_t series, Warn warn)
      : series_(series), warn_(std::move(warn)) {}
  ReportQueue(const ReportQueue&) = delete;
  ReportQueue& operator=(const ReportQueue&) = delete;

  // Adds a predecessor's reports before the present ones, and stores records
  // from now on. Called once, before the series is sent to the scheduler.
  void SetStore(ReportStore* store, const StoredReports& stored);

  uint64_t series() const { return series_; }
  // Returns the reports in the order of their numbers, which have gaps.
  const std::deque<v1::Report>& reports() const { return reports_; }
  uint64_t first() const {
    return reports_.empty() ? last_ + 1 : reports_.front().sequence();
  }
  uint64_t last() const { return last_; }
  uint64_t lost() const { return lost_; }
  bool has_records() const { return states_ < reports_.size(); }

  // Adds a report. Returns it in the form to be sent, or null if a predecessor
  // has already reported this record. Valid until the next call.
  const v1::Report* Add(v1::Report report);
  // Removes the reports up to this number, which the scheduler has received.
  void Acknowledge(uint64_t sequence);

 private:
  void Take(const StoredReports& stored);
  bool IsToldAlready(const v1::Report& report) const;
  void Push(v1::Report report);
  void MakeRoom(size_t bytes);
  void Drop(std::deque<v1::Report>::iterator which);
  void Store(const v1::Report& report);
  void Note(const Status& status);

  uint64_t series_;
  const Warn warn_;
  ReportStore* store_ = nullptr;
  std::deque<v1::Report> reports_;
  size_t bytes_ = 0;
  size_t states_ = 0;  // number of reports that are not records
  uint64_t last_ = 0;  // number of the newest report
  uint64_t reserved_ = 0;
  uint64_t lost_ = 0;
  bool warned_ = false;            // whether a failure to store was logged
  std::set<std::string> earlier_;  // jobs whose records a predecessor has added
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_REPORT_QUEUE_H_
