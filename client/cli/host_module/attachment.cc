#include "client/cli/host_module/attachment.h"

#include <string>
#include <utility>

#include "server/scheduler/contract/times.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

constexpr uint32_t kSettleMs = 100;

}  // namespace

bool Attachment::Hello(uint64_t acknowledged) {
  const std::optional<v1h::HostHello> hello =
      call_->WaitHello(probe_->timeout_ms());
  if (!findings_->Expect(
          hello.has_value(), "the host's hello",
          "none in " + std::to_string(probe_->timeout_ms()) + " ms" +
              (call_->Problem().empty() ? std::string()
                                        : ", but " + call_->Problem()))) {
    return false;
  }
  const bool ours = hello->incarnation() == incarnation_;
  const uint64_t said = ours ? hello->acknowledged() : 0;
  findings_->Expect(said == acknowledged,
                    "a hello that acknowledges report " +
                        std::to_string(acknowledged) + " of this run",
                    std::to_string(said));
  return true;
}

bool Attachment::Attach(uint32_t settle_ms) {
  incarnation_ = static_cast<uint64_t>(NowMs()) * 1000 * 1000;
  call_ = std::make_unique<AttachCall>(probe_, incarnation_, 1);
  if (!Hello(0)) return false;
  call_->SendSnapshot({}, settle_ms);
  return true;
}

bool Attachment::Check() {
  findings_->Begin("a stream of reports");
  if (!Attach(kSettleMs)) return false;
  Reports();
  if (findings_->failed()) return true;
  findings_->Begin("a stream of the same and of another root agent");
  AnotherRun();
  return call_ != nullptr;
}

void Attachment::Reports() {
  (void)call_->ReportNode(kProbeNodes[0], v1h::NODE_STATE_UP);
  v1h::JobRecord record;
  record.mutable_placement()->set_request_id(probe_->NextId("record"));
  record.mutable_placement()->set_attempt(1);
  *record.mutable_caller() = probe_->caller();
  record.set_command("of a job that was granted before the check");
  record.set_host_job_id(probe_->NextId("recorded"));
  *record.mutable_end_time() = scheduler::TimestampOf(NowMs());
  const uint64_t last = call_->ReportRecord(record);
  findings_->Expect(call_->WaitAcknowledged(last, probe_->timeout_ms()),
                    "report " + std::to_string(last) + " acknowledged",
                    "no such acknowledgement in " +
                        std::to_string(probe_->timeout_ms()) + " ms");
  CheckProblems();
}

void Attachment::AnotherRun() {
  std::unique_ptr<AttachCall> old = std::move(call_);
  const uint64_t last = old->last_report();
  call_ = std::make_unique<AttachCall>(probe_, incarnation_, last + 1);
  if (!Hello(last)) return call_.reset();
  call_->SendSnapshot({}, kSettleMs);
  findings_->Expect(old->WaitEnd(probe_->timeout_ms()),
                    "the end of an older stream of the same overlay",
                    "it continues");
  ++incarnation_;
  call_ = std::make_unique<AttachCall>(probe_, incarnation_, 1);
  if (!Hello(0)) return call_.reset();
  call_->SendSnapshot({}, kSettleMs);
  Reports();
}

bool Attachment::Again(const std::vector<v1h::JobReport>& jobs,
                       uint32_t settle_ms) {
  CheckProblems();
  const uint64_t last = call_->last_report();
  call_ = std::make_unique<AttachCall>(probe_, incarnation_, last + 1);
  if (!Hello(last)) return false;
  call_->SendSnapshot(jobs, settle_ms);
  return true;
}

void Attachment::SetState(const char* node, v1h::NodeState state) {
  const uint64_t report = call_->ReportNode(node, state);
  findings_->Expect(call_->WaitAcknowledged(report, probe_->timeout_ms()),
                    "the report of a node's state acknowledged",
                    "no acknowledgement");
}

void Attachment::CheckProblems() {
  const std::string problem = call_->Problem();
  if (!problem.empty()) findings_->Fail("got " + problem);
}

}  // namespace canopy::cli
