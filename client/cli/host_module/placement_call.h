// A call of PlaceJob, and all that comes of it.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CALL_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CALL_H_

#include <grpcpp/client_context.h>

#include <optional>
#include <string>
#include <thread>

#include "client/cli/host_module/probe.h"
#include "common/mutex.h"
#include "common/thread_annotations.h"
#include "protos/host_module.pb.h"

namespace canopy::cli {

class PlacementCall {
 public:
  // Asks. `probe` outlives this.
  PlacementCall(const Probe* probe, hostmodule::v1::PlaceJobRequest request);
  // Cancels it.
  ~PlacementCall();
  PlacementCall(const PlacementCall&) = delete;
  PlacementCall& operator=(const PlacementCall&) = delete;

  const hostmodule::v1::PlaceJobRequest& request() const { return request_; }
  // Waits until it is decided or its stream ends. False: neither.
  bool Wait(int milliseconds);
  // After the decision: waits until the stream ends as well, and returns what
  // was wrong on it, or nothing.
  std::string WaitEnd(int milliseconds);
  // Until it is there.
  std::optional<hostmodule::v1::Granted> granted();
  std::optional<hostmodule::v1::Refused> refused();
  // "nothing", "a grant of 2 slots", "status UNAVAILABLE"...
  std::string Outcome();
  void Cancel();

 private:
  void Run();
  void Take(const hostmodule::v1::PlacementUpdate& update)
      CANOPY_REQUIRES(mutex_);
  bool Decided() const CANOPY_REQUIRES(mutex_) {
    return granted_ || refused_ || ended_;
  }

  const Probe* const probe_;
  const hostmodule::v1::PlaceJobRequest request_;
  grpc::ClientContext context_;
  Mutex mutex_;
  CondVar changed_;
  std::optional<hostmodule::v1::Granted> granted_ CANOPY_GUARDED_BY(mutex_);
  std::optional<hostmodule::v1::Refused> refused_ CANOPY_GUARDED_BY(mutex_);
  std::string problem_ CANOPY_GUARDED_BY(mutex_);  // the first one
  bool ended_ CANOPY_GUARDED_BY(mutex_) = false;
  grpc::Status status_ CANOPY_GUARDED_BY(mutex_);
  std::thread thread_;
};

// "UNAVAILABLE (connection refused)".
std::string StatusText(const grpc::Status& status);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_PLACEMENT_CALL_H_
