#include "server/kubernetes/device_plugin/plugin_service.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <utility>
#include <vector>

#include "server/rpc/status.h"

namespace canopy::kubernetes {
namespace {

using DeviceWriter = grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>;

// A watch that ends at once.
class RefusedWatch : public DeviceWriter {
 public:
  explicit RefusedWatch(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

// One call of ListAndWatch. gRPC's OnDone deletes it. Its state belongs to the
// mutex of the service. The state determines the next action under the mutex,
// and the action follows without it: the object exists until an action that
// was begun has ended, because Finish is the last one.
class PluginService::Watch : public DeviceWriter {
 public:
  enum class Action { kNone, kWrite, kFinish };

  explicit Watch(PluginService* service) : service_(service) {}

  void End(const grpc::Status& status) {
    if (!end_) end_ = status;
  }
  // Determines the next action while the devices have this health.
  Action Next(bool healthy);
  void Act(Action action);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // Changes the state by `change`, and acts.
  void Proceed(const std::function<void()>& change);

  PluginService* const service_;
  std::optional<bool> sent_;
  bool writing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;  // the status with which the call ends
  v1beta1::ListAndWatchResponse message_;
};

PluginService::Watch::Action PluginService::Watch::Next(bool healthy) {
  if (writing_ || finished_) return Action::kNone;
  if (end_) {
    finished_ = true;
    return Action::kFinish;
  }
  if (sent_ == healthy) return Action::kNone;
  writing_ = true;
  sent_ = healthy;
  return Action::kWrite;
}

void PluginService::Watch::Act(Action action) {
  if (action == Action::kFinish) Finish(*end_);
  if (action != Action::kWrite) return;
  message_ = service_->devices_->List(*sent_);
  StartWrite(&message_);
}

void PluginService::Watch::Proceed(const std::function<void()>& change) {
  Action next;
  {
    const MutexLock lock(service_->mutex_);
    change();
    next = Next(service_->healthy_);
  }
  Act(next);
}

void PluginService::Watch::OnWriteDone(bool ok) {
  Proceed([this, ok] {
    writing_ = false;
    if (!ok) End(grpc::Status::CANCELLED);
  });
}

void PluginService::Watch::OnCancel() {
  Proceed([this] { End(grpc::Status::CANCELLED); });
}

void PluginService::Watch::OnDone() {
  service_->Remove(this);
  delete this;
}

bool PluginService::Add(Watch* watch) {
  {
    const MutexLock lock(mutex_);
    if (watches_.size() >= kMaxWatches) return false;
    watches_.insert(watch);
  }
  on_watches_();
  return true;
}

void PluginService::Remove(Watch* watch) {
  {
    const MutexLock lock(mutex_);
    watches_.erase(watch);
  }
  on_watches_();
}

void PluginService::ForAll(const std::function<void(Watch*)>& change) {
  std::vector<std::pair<Watch*, Watch::Action>> actions;
  {
    const MutexLock lock(mutex_);
    for (Watch* const watch : watches_) {
      change(watch);
      const Watch::Action next = watch->Next(healthy_);
      // Without an action, the watch may end as soon as the mutex is free.
      if (next != Watch::Action::kNone) actions.emplace_back(watch, next);
    }
  }
  for (const auto& [watch, action] : actions) watch->Act(action);
}

void PluginService::SetHealthy(bool healthy) {
  {
    const MutexLock lock(mutex_);
    healthy_ = healthy;
  }
  ForAll([](Watch*) {});
}

void PluginService::EndWatches() {
  const grpc::Status end(grpc::StatusCode::UNAVAILABLE,
                         "the agent registers again or ends");
  ForAll([&end](Watch* watch) { watch->End(end); });
}

size_t PluginService::watches() const {
  const MutexLock lock(mutex_);
  return watches_.size();
}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(
    grpc::CallbackServerContext* context, const v1beta1::Empty*,
    v1beta1::DevicePluginOptions*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

DeviceWriter* PluginService::ListAndWatch(grpc::CallbackServerContext*,
                                          const v1beta1::Empty*) {
  auto* const watch = new Watch(this);
  if (!Add(watch)) {
    delete watch;
    return new RefusedWatch({grpc::StatusCode::RESOURCE_EXHAUSTED,
                             "the devices have as many watches as they may"});
  }
  Watch::Action next;
  {
    const MutexLock lock(mutex_);
    next = watch->Next(healthy_);
  }
  watch->Act(next);
  return watch;
}

grpc::ServerUnaryReactor* PluginService::Allocate(
    grpc::CallbackServerContext* context,
    const v1beta1::AllocateRequest* request,
    v1beta1::AllocateResponse* response) {
  const Status status = devices_->Allocate(*request, response);
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(rpc::ToGrpc(rpc::ToAbsl(status)));
  return reactor;
}

}  // namespace canopy::kubernetes
