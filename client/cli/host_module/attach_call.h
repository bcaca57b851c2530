// A call of Attach, in which the conformance check acts as the root agent of an
// overlay.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_ATTACH_CALL_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_ATTACH_CALL_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "client/cli/host_module/probe.h"
#include "common/mutex.h"
#include "common/thread_annotations.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::cli {

// The reports are numbered upwards from `first`. Used by one thread.
class AttachCall {
 public:
  // Opens the stream and sends the hello. `probe` must outlive this object.
  AttachCall(const Probe* probe, uint64_t incarnation, uint64_t first);
  // Cancels the call.
  ~AttachCall();
  AttachCall(const AttachCall&) = delete;
  AttachCall& operator=(const AttachCall&) = delete;

  // Waits for the host's hello. Returns no value if it does not arrive in time.
  std::optional<hostmodule::v1::HostHello> WaitHello(int milliseconds);
  // Sends a snapshot of several pages in which both nodes are up and `jobs`
  // exist.
  void SendSnapshot(const std::vector<hostmodule::v1::JobReport>& jobs,
                    uint32_t settle_ms);
  // Each function sends a report and returns its number.
  uint64_t ReportNode(const std::string& name, hostmodule::v1::NodeState state);
  uint64_t ReportRecord(const hostmodule::v1::JobRecord& record);
  // Each function waits for an event: the host's acknowledgement of the report
  // `sequence`, or the end of the call. Returns false if it does not happen in
  // time.
  bool WaitAcknowledged(uint64_t sequence, int milliseconds);
  bool WaitEnd(int milliseconds);
  // Returns a description of an invalid message from the host, or an empty
  // string. Commands are valid messages; they are answered with
  // PMIX_ERR_NOT_FOUND.
  std::string Problem();
  // Returns the number of the last report.
  uint64_t last_report();

 private:
  using Stream = grpc::ClientReaderWriter<hostmodule::v1::AttachRequest,
                                          hostmodule::v1::AttachResponse>;

  static hostmodule::v1::NodeReport MakeNode(const std::string& name,
                                             hostmodule::v1::NodeState state);
  uint64_t Send(hostmodule::v1::Report report);
  void Write(const hostmodule::v1::AttachRequest& message);
  void Run();
  void Take(const hostmodule::v1::AttachResponse& message)
      CANOPY_REQUIRES(mutex_);
  std::string ProblemOf(const hostmodule::v1::AttachResponse& message) const
      CANOPY_REQUIRES(mutex_);

  const Probe* const probe_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  Mutex write_mutex_;  // the reading thread writes too: it answers commands
  Mutex mutex_;
  CondVar changed_;
  std::optional<hostmodule::v1::HostHello> hello_ CANOPY_GUARDED_BY(mutex_);
  uint64_t acknowledged_ CANOPY_GUARDED_BY(mutex_) = 0;
  uint64_t next_ CANOPY_GUARDED_BY(mutex_);
  std::string problem_ CANOPY_GUARDED_BY(mutex_);
  bool ended_ CANOPY_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_ATTACH_CALL_H_
