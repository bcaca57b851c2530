// A scheduler that a test controls: a gRPC service in this process.
#ifndef CANOPY_SERVER_SCHEDULER_PLAYED_SCHEDULER_H_
#define CANOPY_SERVER_SCHEDULER_PLAYED_SCHEDULER_H_

#include <grpcpp/server.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "protos/canopy/hostmodule/v1/host_module.grpc.pb.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::scheduler {

class HeldCall;
class HeldPlace;

// Holds calls until the test answers them, with success or failure, or stops
// the service. Thread-safe.
class PlayedScheduler
    : public hostmodule::v1::HostModuleService::CallbackService {
 public:
  // A call about a request of a process. `feature` identifies the function that
  // was called.
  struct Call {
    hostmodule::v1::Feature feature = hostmodule::v1::FEATURE_UNSPECIFIED;
    hostmodule::v1::HostCall call;
    bool cancelled = false;    // by the agent or the end of the connection
    HeldCall* held = nullptr;  // set until the call is answered or cancelled
  };
  struct Place {
    hostmodule::v1::PlaceJobRequest request;
    bool cancelled = false;
    HeldPlace* held = nullptr;  // set until the call is answered or cancelled
  };

  // Serves in a new directory, which the destructor removes.
  PlayedScheduler();
  ~PlayedScheduler() override;
  std::string address() const { return "unix:" + folder_ + "/socket"; }

  void Start(const std::vector<hostmodule::v1::Feature>& features);
  // Ends all connections, and so all calls. The recorded calls are kept.
  void Stop();

  std::vector<Call> calls() const;
  std::vector<Place> places() const;
  std::vector<hostmodule::v1::Placement> launched() const;
  std::vector<hostmodule::v1::Placement> released() const;

  // These functions answer calls()[number]. They have no effect on a call that
  // is over. A PMIx status other than success is sent as an error whose details
  // contain the status.
  void Reply(size_t number, int pmix_status,
             const hostmodule::v1::Info& result);
  void Fail(size_t number);
  // Sends an update for places()[number], which stays open.
  void Update(size_t number, const hostmodule::v1::PlaceJobResponse& update);
  void EndPlace(size_t number, bool fails);
  void Refuse(size_t number, int pmix_status, const std::string& why);

 private:
  friend class HeldCall;
  friend class HeldPlace;
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetCapabilities(
      Context* context, const hostmodule::v1::GetCapabilitiesRequest* request,
      hostmodule::v1::GetCapabilitiesResponse* reply) override;
  grpc::ServerWriteReactor<hostmodule::v1::PlaceJobResponse>* PlaceJob(
      Context* context,
      const hostmodule::v1::PlaceJobRequest* request) override;
  Unary* JobLaunched(Context* context,
                     const hostmodule::v1::JobLaunchedRequest* request,
                     hostmodule::v1::JobLaunchedResponse* reply) override;
  Unary* JobReleased(Context* context,
                     const hostmodule::v1::JobReleasedRequest* request,
                     hostmodule::v1::JobReleasedResponse* reply) override;
  Unary* Allocate(Context* context,
                  const hostmodule::v1::AllocateRequest* request,
                  hostmodule::v1::AllocateResponse* response) override;
  Unary* ControlSession(
      Context* context, const hostmodule::v1::ControlSessionRequest* request,
      hostmodule::v1::ControlSessionResponse* response) override;
  Unary* BlockResources(
      Context* context, const hostmodule::v1::BlockResourcesRequest* request,
      hostmodule::v1::BlockResourcesResponse* response) override;
  Unary* Log(Context* context, const hostmodule::v1::LogRequest* request,
             hostmodule::v1::LogResponse* response) override;
  Unary* Monitor(Context* context,
                 const hostmodule::v1::MonitorRequest* request,
                 hostmodule::v1::MonitorResponse* response) override;
  Unary* GetCredential(
      Context* context, const hostmodule::v1::GetCredentialRequest* request,
      hostmodule::v1::GetCredentialResponse* response) override;
  Unary* ValidateCredential(
      Context* context,
      const hostmodule::v1::ValidateCredentialRequest* request,
      hostmodule::v1::ValidateCredentialResponse* response) override;

  Unary* ConnectTool(Context* context,
                     const hostmodule::v1::ConnectToolRequest* request,
                     hostmodule::v1::ConnectToolResponse* response) override;

  // Stores the call. `put` adds an info to the response; an empty function: the
  // response has none.
  Unary* Hold(hostmodule::v1::Feature feature,
              const hostmodule::v1::HostCall& call,
              std::function<void(const hostmodule::v1::Info&)> put);
  // These functions return null if the call is over.
  HeldCall* TakeCall(size_t number);
  HeldPlace* TakePlace(size_t number);
  void OnCallCancelled(size_t number);
  void OnPlaceCancelled(size_t number);

  std::string folder_;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  std::vector<hostmodule::v1::Feature> features_ CANOPY_GUARDED_BY(mutex_);
  std::vector<Call> calls_ CANOPY_GUARDED_BY(mutex_);
  std::vector<Place> places_ CANOPY_GUARDED_BY(mutex_);
  std::vector<hostmodule::v1::Placement> launched_ CANOPY_GUARDED_BY(mutex_);
  std::vector<hostmodule::v1::Placement> released_ CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_PLAYED_SCHEDULER_H_
