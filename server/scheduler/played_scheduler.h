// A scheduler that a test controls: a gRPC service in this process.
#ifndef CANOPY_SERVER_SCHEDULER_PLAYED_SCHEDULER_H_
#define CANOPY_SERVER_SCHEDULER_PLAYED_SCHEDULER_H_

#include <grpcpp/server.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "protos/host_module.grpc.pb.h"
#include "protos/host_module.pb.h"

namespace canopy::scheduler {

class HeldCall;
class HeldPlace;

// Holds calls until the test answers them, with success or failure, or stops
// the service. Thread-safe.
class PlayedScheduler : public hostmodule::v1::HostModule::CallbackService {
 public:
  // A request of a process; these calls differ only in their requests.
  struct Call {
    hostmodule::v1::Slot slot = hostmodule::v1::SLOT_UNSPECIFIED;
    hostmodule::v1::HostCall call;
    bool cancelled = false;  // the agent cancelled it, or its connection ended
    HeldCall* held = nullptr;  // set until it is answered or cancelled
  };
  struct Place {
    hostmodule::v1::PlaceJobRequest request;
    bool cancelled = false;
    HeldPlace* held = nullptr;  // see Call
  };

  // Serves in a directory of its own, which is removed with it.
  PlayedScheduler();
  ~PlayedScheduler() override;
  std::string address() const { return "unix:" + folder_ + "/socket"; }

  void Start(const std::vector<hostmodule::v1::Slot>& slots);
  // All calls end with the connections. The recorded calls are kept.
  void Stop();

  std::vector<Call> calls() const;
  std::vector<Place> places() const;
  std::vector<hostmodule::v1::Placement> launched() const;
  std::vector<hostmodule::v1::Placement> released() const;

  // These answer calls()[number], and have no effect on a call that is over.
  void Reply(size_t number, const hostmodule::v1::HostReply& reply);
  void Fail(size_t number);
  // Sends an update for places()[number], which stays open.
  void Update(size_t number, const hostmodule::v1::PlacementUpdate& update);
  void EndPlace(size_t number, bool fails);

 private:
  friend class HeldCall;
  friend class HeldPlace;
  using Context = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;

  Unary* GetCapabilities(Context* context,
                         const hostmodule::v1::GetCapabilitiesRequest* request,
                         hostmodule::v1::GetCapabilitiesReply* reply) override;
  grpc::ServerWriteReactor<hostmodule::v1::PlacementUpdate>* PlaceJob(
      Context* context,
      const hostmodule::v1::PlaceJobRequest* request) override;
  Unary* JobLaunched(Context* context,
                     const hostmodule::v1::JobLaunchedRequest* request,
                     hostmodule::v1::JobLaunchedReply* reply) override;
  Unary* JobReleased(Context* context,
                     const hostmodule::v1::JobReleasedRequest* request,
                     hostmodule::v1::JobReleasedReply* reply) override;
  Unary* Allocate(Context* context,
                  const hostmodule::v1::AllocateRequest* request,
                  hostmodule::v1::HostReply* reply) override;
  Unary* ControlSession(Context* context,
                        const hostmodule::v1::ControlSessionRequest* request,
                        hostmodule::v1::HostReply* reply) override;
  Unary* BlockResources(Context* context,
                        const hostmodule::v1::BlockResourcesRequest* request,
                        hostmodule::v1::HostReply* reply) override;
  Unary* Log(Context* context, const hostmodule::v1::LogRequest* request,
             hostmodule::v1::HostReply* reply) override;
  Unary* Monitor(Context* context,
                 const hostmodule::v1::MonitorRequest* request,
                 hostmodule::v1::HostReply* reply) override;
  Unary* GetCredential(Context* context,
                       const hostmodule::v1::GetCredentialRequest* request,
                       hostmodule::v1::HostReply* reply) override;
  Unary* ValidateCredential(
      Context* context,
      const hostmodule::v1::ValidateCredentialRequest* request,
      hostmodule::v1::HostReply* reply) override;

  Unary* ConnectTool(Context* context,
                     const hostmodule::v1::ConnectToolRequest* request,
                     hostmodule::v1::HostReply* reply) override;

  Unary* Hold(hostmodule::v1::Slot slot, const hostmodule::v1::HostCall& call,
              hostmodule::v1::HostReply* reply);
  // These return null if the call is over.
  HeldCall* TakeCall(size_t number);
  HeldPlace* TakePlace(size_t number);
  void OnCallCancelled(size_t number);
  void OnPlaceCancelled(size_t number);

  std::string folder_;
  std::unique_ptr<grpc::Server> server_;
  mutable Mutex mutex_;
  std::vector<hostmodule::v1::Slot> slots_ CANOPY_GUARDED_BY(mutex_);
  std::vector<Call> calls_ CANOPY_GUARDED_BY(mutex_);
  std::vector<Place> places_ CANOPY_GUARDED_BY(mutex_);
  std::vector<hostmodule::v1::Placement> launched_ CANOPY_GUARDED_BY(mutex_);
  std::vector<hostmodule::v1::Placement> released_ CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_PLAYED_SCHEDULER_H_
