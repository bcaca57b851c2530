#include "server/scheduler/played_scheduler.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <utility>

#include "client/include/pmix_tables.h"
#include "protos/canopy/hostmodule/v1/error_details.pb.h"
#include "server/scheduler/callback_threads.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

namespace {

// Returns an error whose details contain the PMIx status.
grpc::Status ErrorOf(int pmix_status, const std::string& text) {
  v1::ErrorInfo info;
  info.set_reason(FindConstant("pmix_status_t", pmix_status)->name.data());
  info.set_domain("pmix.org");
  v1::Status details;
  google::protobuf::Any* const any = details.add_details();
  any->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  any->set_value(info.SerializeAsString());
  return {grpc::StatusCode::FAILED_PRECONDITION, text,
          details.SerializeAsString()};
}

}  // namespace

// A held call. The caller that takes it from the scheduler must finish it once.
class HeldCall : public grpc::ServerUnaryReactor {
 public:
  using Put = std::function<void(const v1::Info&)>;

  HeldCall(PlayedScheduler* owner, size_t number, Put put)
      : owner_(owner), number_(number), put_(std::move(put)) {}

  void Answer(const v1::Info& result) {
    if (put_ != nullptr) put_(result);
    Finish(grpc::Status::OK);
  }
  void OnCancel() override { owner_->OnCallCancelled(number_); }
  void OnDone() override { delete this; }

 private:
  PlayedScheduler* const owner_;
  const size_t number_;
  const Put put_;
};

// A held call of PlaceJob. Writes the updates one after the other, then
// finishes.
class HeldPlace : public grpc::ServerWriteReactor<v1::PlaceJobResponse> {
 public:
  HeldPlace(PlayedScheduler* owner, size_t number)
      : owner_(owner), number_(number) {}

  void Update(const v1::PlaceJobResponse& update) {
    {
      const MutexLock lock(mutex_);
      queue_.push_back(update);
      if (queue_.size() > 1) return;
    }
    WriteNext();
  }
  // Ends the call after all updates. No other function may be called
  // afterwards.
  void End(const grpc::Status& status) {
    {
      const MutexLock lock(mutex_);
      ends_ = true;
      end_ = status;
      if (!queue_.empty()) return;
    }
    Finish(status);
  }
  void OnWriteDone(bool) override {
    {
      const MutexLock lock(mutex_);
      queue_.pop_front();
      if (queue_.empty() && !ends_) return;
      if (!queue_.empty()) return WriteNext();
    }
    Finish(end_);
  }
  void OnCancel() override { owner_->OnPlaceCancelled(number_); }
  void OnDone() override { delete this; }

 private:
  void WriteNext() { StartWrite(&queue_.front()); }

  PlayedScheduler* const owner_;
  const size_t number_;
  Mutex mutex_;
  std::deque<v1::PlaceJobResponse> queue_;  // the first is being written
  bool ends_ = false;
  grpc::Status end_;
};

PlayedScheduler::PlayedScheduler() {
  KeepCallbackThreads();
  char folder[] = "/tmp/played-scheduler-XXXXXX";
  folder_ = mkdtemp(folder);
}

PlayedScheduler::~PlayedScheduler() {
  Stop();
  unlink((folder_ + "/socket").c_str());
  rmdir(folder_.c_str());
}

void PlayedScheduler::Start(const std::vector<v1::Feature>& features) {
  {
    const MutexLock lock(mutex_);
    features_ = features;
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

void PlayedScheduler::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

// ---------------------------------------------------------- what it heard ---

std::vector<PlayedScheduler::Call> PlayedScheduler::calls() const {
  const MutexLock lock(mutex_);
  return calls_;
}

std::vector<PlayedScheduler::Place> PlayedScheduler::places() const {
  const MutexLock lock(mutex_);
  return places_;
}

std::vector<v1::Placement> PlayedScheduler::launched() const {
  const MutexLock lock(mutex_);
  return launched_;
}

std::vector<v1::Placement> PlayedScheduler::released() const {
  const MutexLock lock(mutex_);
  return released_;
}

// -------------------------------------------------------- what it answers ---

HeldCall* PlayedScheduler::TakeCall(size_t number) {
  const MutexLock lock(mutex_);
  return std::exchange(calls_.at(number).held, nullptr);
}

HeldPlace* PlayedScheduler::TakePlace(size_t number) {
  const MutexLock lock(mutex_);
  return std::exchange(places_.at(number).held, nullptr);
}

void PlayedScheduler::Reply(size_t number, int pmix_status,
                            const v1::Info& result) {
  HeldCall* const call = TakeCall(number);
  if (call == nullptr) return;
  if (pmix_status != 0) return call->Finish(ErrorOf(pmix_status, ""));
  call->Answer(result);
}

void PlayedScheduler::Fail(size_t number) {
  HeldCall* const call = TakeCall(number);
  if (call != nullptr) call->Finish({grpc::StatusCode::INTERNAL, "exception"});
}

// The lock prevents the call from being finished during the update.
void PlayedScheduler::Update(size_t number,
                             const v1::PlaceJobResponse& update) {
  const MutexLock lock(mutex_);
  HeldPlace* const place = places_.at(number).held;
  if (place != nullptr) place->Update(update);
}

void PlayedScheduler::EndPlace(size_t number, bool fails) {
  HeldPlace* const place = TakePlace(number);
  if (place == nullptr) return;
  place->End(fails ? grpc::Status(grpc::StatusCode::INTERNAL, "exception")
                   : grpc::Status::OK);
}

void PlayedScheduler::Refuse(size_t number, int pmix_status,
                             const std::string& why) {
  HeldPlace* const place = TakePlace(number);
  if (place != nullptr) place->End(ErrorOf(pmix_status, why));
}

void PlayedScheduler::OnCallCancelled(size_t number) {
  {
    const MutexLock lock(mutex_);
    calls_.at(number).cancelled = true;
  }
  if (HeldCall* const call = TakeCall(number)) {
    call->Finish(grpc::Status::CANCELLED);
  }
}

void PlayedScheduler::OnPlaceCancelled(size_t number) {
  {
    const MutexLock lock(mutex_);
    places_.at(number).cancelled = true;
  }
  if (HeldPlace* const place = TakePlace(number)) {
    place->End(grpc::Status::CANCELLED);
  }
}

// ------------------------------------------------------------ the service ---

grpc::ServerUnaryReactor* PlayedScheduler::GetCapabilities(
    Context* context, const v1::GetCapabilitiesRequest*,
    v1::GetCapabilitiesResponse* reply) {
  reply->set_name("played");
  {
    const MutexLock lock(mutex_);
    for (const v1::Feature it : features_) reply->add_features(it);
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::PlaceJobResponse>* PlayedScheduler::PlaceJob(
    Context*, const v1::PlaceJobRequest* request) {
  const MutexLock lock(mutex_);
  auto* const place = new HeldPlace(this, places_.size());
  places_.push_back({*request, false, place});
  return place;
}

grpc::ServerUnaryReactor* PlayedScheduler::JobLaunched(
    Context* context, const v1::JobLaunchedRequest* request,
    v1::JobLaunchedResponse*) {
  {
    const MutexLock lock(mutex_);
    launched_.push_back(request->placement());
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* PlayedScheduler::JobReleased(
    Context* context, const v1::JobReleasedRequest* request,
    v1::JobReleasedResponse*) {
  {
    const MutexLock lock(mutex_);
    released_.push_back(request->placement());
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* PlayedScheduler::Hold(
    v1::Feature feature, const v1::HostCall& call,
    std::function<void(const v1::Info&)> put) {
  const MutexLock lock(mutex_);
  auto* const held = new HeldCall(this, calls_.size(), std::move(put));
  calls_.push_back({feature, call, false, held});
  return held;
}

grpc::ServerUnaryReactor* PlayedScheduler::Allocate(
    Context*, const v1::AllocateRequest* request,
    v1::AllocateResponse* response) {
  return Hold(v1::FEATURE_ALLOCATE, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::ControlSession(
    Context*, const v1::ControlSessionRequest* request,
    v1::ControlSessionResponse* response) {
  return Hold(v1::FEATURE_CONTROL_SESSION, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::BlockResources(
    Context*, const v1::BlockResourcesRequest* request,
    v1::BlockResourcesResponse* response) {
  return Hold(v1::FEATURE_BLOCK_RESOURCES, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::Log(Context*,
                                               const v1::LogRequest* request,
                                               v1::LogResponse* response) {
  return Hold(v1::FEATURE_LOG, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::Monitor(
    Context*, const v1::MonitorRequest* request,
    v1::MonitorResponse* response) {
  return Hold(v1::FEATURE_MONITOR, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::GetCredential(
    Context*, const v1::GetCredentialRequest* request,
    v1::GetCredentialResponse* response) {
  return Hold(v1::FEATURE_GET_CREDENTIAL, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::ValidateCredential(
    Context*, const v1::ValidateCredentialRequest* request,
    v1::ValidateCredentialResponse* response) {
  return Hold(v1::FEATURE_VALIDATE_CREDENTIAL, request->call(),
              [response](const v1::Info& i) { *response->add_results() = i; });
}

grpc::ServerUnaryReactor* PlayedScheduler::ConnectTool(
    Context*, const v1::ConnectToolRequest* request, v1::ConnectToolResponse*) {
  return Hold(v1::FEATURE_CONNECT_TOOL, request->call(), nullptr);
}

}  // namespace canopy::scheduler
