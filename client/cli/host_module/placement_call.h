// A call of PlaceJob and its results.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CALL_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CALL_H_

#include <grpcpp/client_context.h>

#include <optional>
#include <string>
#include <thread>

#include "client/cli/host_module/probe.h"
#include "client/cli/host_module/status_text.h"
#include "common/mutex.h"
#include "common/status.h"
#include "common/thread_annotations.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/scheduler/contract/call_end.h"

namespace canopy::cli {

class PlacementCall {
 public:
  // Sends the request. `probe` must outlive this object.
  PlacementCall(const Probe* probe, hostmodule::v1::PlaceJobRequest request);
  // Cancels the call.
  ~PlacementCall();
  PlacementCall(const PlacementCall&) = delete;
  PlacementCall& operator=(const PlacementCall&) = delete;

  const hostmodule::v1::PlaceJobRequest& request() const { return request_; }
  // Waits for the decision or the end of the stream. Returns false if neither
  // happens in time.
  bool Wait(int milliseconds);
  // Waits, after the decision, for the end of the stream. Returns a description
  // of an error on the stream, or an empty string.
  std::string WaitEnd(int milliseconds);
  // Return the decision, or no value before it. An error after which an agent
  // repeats the request is not a refusal.
  std::optional<hostmodule::v1::Granted> granted();
  std::optional<Status> refused();
  // Returns, as text, the result so far: "no decision", "a grant of check1:2",
  // "a refusal with ..." and so on.
  std::string Outcome();
  void Cancel();

 private:
  void Run();
  void Take(const hostmodule::v1::PlaceJobResponse& update)
      CANOPY_REQUIRES(mutex_);
  bool Decided() const CANOPY_REQUIRES(mutex_) { return granted_ || ended_; }

  const Probe* const probe_;
  const hostmodule::v1::PlaceJobRequest request_;
  grpc::ClientContext context_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<hostmodule::v1::Granted> granted_ CANOPY_GUARDED_BY(mutex_);
  std::string problem_ CANOPY_GUARDED_BY(mutex_);  // the first problem
  bool ended_ CANOPY_GUARDED_BY(mutex_) = false;
  scheduler::CallEnd end_ CANOPY_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CALL_H_
