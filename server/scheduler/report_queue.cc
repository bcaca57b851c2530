#include "server/scheduler/report_queue.h"

#include <algorithm>
#include <utility>

namespace canopy::scheduler {
namespace {

// Returns a name for the record of a job. Each job has one record, even if jobs
// share a placement.
std::string NameOf(const v1::JobRecord& record) {
  return record.placement().request_id() + " " +
         std::to_string(record.placement().attempt()) + " " + record.nspace();
}

}  // namespace

void ReportQueue::SetStore(ReportStore* store, const StoredReports& stored) {
  store_ = store;
  if (stored.series != 0) {
    Take(stored);
  } else {
    Note(store_->Begin(series_));
  }
  for (const v1::Report& report : reports_) {
    if (report.sequence() > stored.reserved) Store(report);
  }
}

// Takes a predecessor's reports. The reports that this agent has already added
// follow them with new numbers.
void ReportQueue::Take(const StoredReports& stored) {
  series_ = stored.series;
  last_ = reserved_ = stored.reserved;
  lost_ += stored.lost;
  std::deque<v1::Report> own = std::exchange(reports_, {});
  bytes_ = states_ = 0;
  for (const auto& [number, bytes] : stored.records) {
    v1::Report report;
    report.set_sequence(number);
    if (!report.mutable_record()->ParseFromString(bytes)) continue;
    earlier_.insert(NameOf(report.record()));
    Push(std::move(report));
  }
  for (v1::Report& report : own) {
    if (IsToldAlready(report)) continue;
    report.set_sequence(++last_);
    Push(std::move(report));
  }
}

bool ReportQueue::IsToldAlready(const v1::Report& report) const {
  return report.has_record() && earlier_.contains(NameOf(report.record()));
}

const v1::Report* ReportQueue::Add(v1::Report report) {
  if (IsToldAlready(report)) return nullptr;
  MakeRoom(report.ByteSizeLong());
  report.set_sequence(++last_);
  report.set_records_lost(lost_);
  Store(report);
  Push(std::move(report));
  return &reports_.back();
}

void ReportQueue::Push(v1::Report report) {
  bytes_ += report.ByteSizeLong();
  if (!report.has_record()) ++states_;
  reports_.push_back(std::move(report));
}

void ReportQueue::Store(const v1::Report& report) {
  if (store_ == nullptr) return;
  if (report.sequence() > reserved_) {
    reserved_ = report.sequence() + kReserve;
    Note(store_->Reserve(reserved_));
  }
  if (!report.has_record()) return;
  Note(store_->Add(report.sequence(), report.record().SerializeAsString()));
}

void ReportQueue::MakeRoom(size_t bytes) {
  while (!reports_.empty() &&
         (reports_.size() >= kMaxReports || bytes_ + bytes > kMaxBytes)) {
    const auto state =
        states_ == 0 ? reports_.end()
                     : std::ranges::find_if(reports_, [](const auto& report) {
                         return !report.has_record();
                       });
    Drop(state == reports_.end() ? reports_.begin() : state);
  }
}

void ReportQueue::Drop(std::deque<v1::Report>::iterator which) {
  bytes_ -= which->ByteSizeLong();
  if (!which->has_record()) {
    --states_;
  } else {
    if (lost_++ == 0) {
      warn_(
          "the scheduler takes no records of ended jobs: the oldest are "
          "lost");
    }
    if (store_ != nullptr) Note(store_->Lose(which->sequence(), lost_));
  }
  reports_.erase(which);
}

void ReportQueue::Acknowledge(uint64_t sequence) {
  bool records = false;
  while (!reports_.empty() && reports_.front().sequence() <= sequence) {
    bytes_ -= reports_.front().ByteSizeLong();
    if (reports_.front().has_record()) {
      records = true;
    } else {
      --states_;
    }
    reports_.pop_front();
  }
  if (records && store_ != nullptr) Note(store_->Remove(sequence));
}

void ReportQueue::Note(const Status& status) {
  if (status.ok() || std::exchange(warned_, true)) return;
  warn_("records of ended jobs would not survive a restart of this agent: " +
        status.message());
}

}  // namespace canopy::scheduler
