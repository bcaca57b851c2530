// Sends the reports of the root agent to the scheduler, and executes the
// scheduler's commands.
#ifndef CANOPY_SERVER_SCHEDULER_REPORTS_H_
#define CANOPY_SERVER_SCHEDULER_REPORTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/ports/job_commands_port.h"
#include "server/scheduler/backoff.h"
#include "server/scheduler/command_history.h"
#include "server/scheduler/job_placement.h"
#include "server/scheduler/link.h"
#include "server/scheduler/pending_releases.h"
#include "server/scheduler/report_queue.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

// Loop thread only.
class Reports : public JobListener {
 public:
  struct Options {
    EventLoop* loop = nullptr;  // these objects outlive this one
    Link* link = nullptr;
    JobCommandsPort* commands = nullptr;
    // The start of this agent in ns since 1970. It identifies the agent's
    // series of reports, unless a predecessor has stored one.
    uint64_t incarnation = 0;
    ReportStore* store = nullptr;  // null: this agent has no successor
    uint32_t settle_ms = 0;        // v1::SnapshotPage::settle_time
    std::function<std::vector<v1::NodeReport>()> nodes;
    std::function<std::vector<v1::JobReport>()> jobs;
    // Repeats a release that a predecessor may not have sent.
    std::function<void(const v1::JobReleasedRequest& release)> release_again;
    std::function<int64_t()> wall_clock_ms;
  };

  explicit Reports(Options options);
  ~Reports() override;
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // Sets whether this agent is the root; only the root attaches.
  void SetRoot(bool root);

  // Returns true if the scheduler is connected and has not acknowledged all
  // records.
  bool AwaitsRecords() const { return greeted_ && queue_.has_records(); }
  // Notifies the scheduler that the overlay ends. This is the last message of
  // the stream.
  void SayGoodbye();
  // Returns true if messages of the stream are still to be sent.
  bool Writes() const { return greeted_ && call_->writes(); }

  void OnJob(const v1::JobReport& report) override;
  void OnRecord(const v1::JobRecord& record) override;
  void OnReleasing(const v1::JobReleasedRequest& release) override {
    releases_.Add(release);
  }
  void OnReleased(const v1::JobReleasedRequest& release) override {
    releases_.Remove(release);
  }
  // Queues a report about a node.
  void OnNode(const v1::NodeReport& report);

 private:
  void Attach();
  void TakeStore();
  void OnLeft(const std::string& command);
  void OnMessage(uint64_t number, const v1::AttachResponse& message);
  void OnHello(const v1::HostHello& hello);
  void SendSnapshot();
  void AttachLater(const CallEnd& end);
  // Returns false if the scheduler has requested no reports of jobs in this
  // state.
  bool Wants(v1::JobState state) const;
  void OnCommand(const v1::Command& command);
  v1::CommandResult Execute(const v1::Command& command);
  void Launch(const v1::Command& command);
  void End(v1::CommandResult result, bool keep);
  void Answer(const v1::CommandResult& result);
  void OnEnd(uint64_t number, const CallEnd& end);
  void Add(v1::Report report);
  void Send(const v1::Report& report);

  const Options options_;
  bool root_ = false;
  std::shared_ptr<AttachCall> call_;        // null: none
  uint64_t number_ = 0;                     // number of the call
  bool greeted_ = false;                    // the host has answered
  Backoff backoff_;                         // after streams that failed
  std::optional<v1::ReportFilter> filter_;  // of the last stream
  ReportQueue queue_;
  PendingReleases releases_;
  CommandHistory history_;
  bool stores_ = false;
  // False after the destruction of this object; shared with callbacks.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_REPORTS_H_
