#include "server/scheduler/played_scheduler.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <utility>

#include "server/scheduler/callback_threads.h"

namespace canopy::scheduler {

namespace v1 = hostmodule::v1;

// The caller that takes it from the scheduler must finish it once.
class HeldCall : public grpc::ServerUnaryReactor {
 public:
  HeldCall(PlayedScheduler* owner, size_t number, v1::HostReply* reply)
      : owner_(owner), number_(number), reply_(reply) {}

  void Answer(const v1::HostReply& reply) {
    *reply_ = reply;
    Finish(grpc::Status::OK);
  }
  void OnCancel() override { owner_->OnCallCancelled(number_); }
  void OnDone() override { delete this; }

 private:
  PlayedScheduler* const owner_;
  const size_t number_;
  v1::HostReply* const reply_;
};

// Writes one update after the other, then finishes.
class HeldPlace : public grpc::ServerWriteReactor<v1::PlacementUpdate> {
 public:
  HeldPlace(PlayedScheduler* owner, size_t number)
      : owner_(owner), number_(number) {}

  void Update(const v1::PlacementUpdate& update) {
    {
      const MutexLock lock(mutex_);
      queue_.push_back(update);
      if (queue_.size() > 1) return;
    }
    WriteNext();
  }
  // Must be the last call.
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
  std::deque<v1::PlacementUpdate> queue_;  // the first is being written
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

void PlayedScheduler::Start(const std::vector<v1::Slot>& slots) {
  {
    const MutexLock lock(mutex_);
    slots_ = slots;
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

void PlayedScheduler::Reply(size_t number, const v1::HostReply& reply) {
  if (HeldCall* const call = TakeCall(number)) call->Answer(reply);
}

void PlayedScheduler::Fail(size_t number) {
  HeldCall* const call = TakeCall(number);
  if (call != nullptr) call->Finish({grpc::StatusCode::INTERNAL, "exception"});
}

// The lock prevents that it is finished meanwhile.
void PlayedScheduler::Update(size_t number, const v1::PlacementUpdate& update) {
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
    v1::GetCapabilitiesReply* reply) {
  reply->set_name("played");
  {
    const MutexLock lock(mutex_);
    for (const v1::Slot slot : slots_) reply->add_slots(slot);
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerWriteReactor<v1::PlacementUpdate>* PlayedScheduler::PlaceJob(
    Context*, const v1::PlaceJobRequest* request) {
  const MutexLock lock(mutex_);
  auto* const place = new HeldPlace(this, places_.size());
  places_.push_back({*request, false, place});
  return place;
}

grpc::ServerUnaryReactor* PlayedScheduler::JobLaunched(
    Context* context, const v1::JobLaunchedRequest* request,
    v1::JobLaunchedReply*) {
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
    v1::JobReleasedReply*) {
  {
    const MutexLock lock(mutex_);
    released_.push_back(request->placement());
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* PlayedScheduler::Hold(v1::Slot slot,
                                                const v1::HostCall& call,
                                                v1::HostReply* reply) {
  const MutexLock lock(mutex_);
  auto* const held = new HeldCall(this, calls_.size(), reply);
  calls_.push_back({slot, call, false, held});
  return held;
}

grpc::ServerUnaryReactor* PlayedScheduler::Allocate(
    Context*, const v1::AllocateRequest* request, v1::HostReply* reply) {
  return Hold(v1::SLOT_ALLOCATE, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::ControlSession(
    Context*, const v1::ControlSessionRequest* request, v1::HostReply* reply) {
  return Hold(v1::SLOT_CONTROL_SESSION, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::BlockResources(
    Context*, const v1::BlockResourcesRequest* request, v1::HostReply* reply) {
  return Hold(v1::SLOT_BLOCK_RESOURCES, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::Log(Context*,
                                               const v1::LogRequest* request,
                                               v1::HostReply* reply) {
  return Hold(v1::SLOT_LOG, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::Monitor(
    Context*, const v1::MonitorRequest* request, v1::HostReply* reply) {
  return Hold(v1::SLOT_MONITOR, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::GetCredential(
    Context*, const v1::GetCredentialRequest* request, v1::HostReply* reply) {
  return Hold(v1::SLOT_GET_CREDENTIAL, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::ValidateCredential(
    Context*, const v1::ValidateCredentialRequest* request,
    v1::HostReply* reply) {
  return Hold(v1::SLOT_VALIDATE_CREDENTIAL, request->call(), reply);
}

grpc::ServerUnaryReactor* PlayedScheduler::ConnectTool(
    Context*, const v1::ConnectToolRequest* request, v1::HostReply* reply) {
  return Hold(v1::SLOT_CONNECT_TOOL, request->call(), reply);
}

}  // namespace canopy::scheduler
