#include "server/kubernetes/device_plugin/fake_kubelet_testing.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>
#include <stdexcept>
#include <thread>
#include <utility>

namespace canopy::kubernetes {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(30);

// One watch of a plugin's devices.
struct DeviceWatch {
  grpc::ClientContext context;
  std::thread thread;
};

}  // namespace

struct FakeKubelet::State {
  // Waits until `holds` returns true, with the mutex held.
  void Await(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    const MutexLock lock(mutex);
    while (!holds()) {
      if (!changed.WaitUntil(mutex, end)) {
        throw std::runtime_error("the kubelet has waited in vain");
      }
    }
  }
  void Change(const std::function<void()>& change) {
    const MutexLock lock(mutex);
    change();
    changed.NotifyAll();
  }

  Mutex mutex;
  CondVar changed;
  grpc::Status refusal;
  bool watches = true;
  std::vector<v1beta1::RegisterRequest> registrations;
  int newest = 0;  // number of the last watch that was begun
  std::vector<v1beta1::Device> devices;  // as it has sent last; empty: it ended
  std::list<DeviceWatch> open;
};

class FakeKubelet::Service : public v1beta1::Registration::Service {
 public:
  Service(std::string directory, std::shared_ptr<State> state)
      : directory_(std::move(directory)), state_(std::move(state)) {}

  grpc::Status Register(grpc::ServerContext*,
                        const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    grpc::Status refusal;
    bool watches = false;
    state_->Change([&] {
      state_->registrations.push_back(*request);
      refusal = state_->refusal;
      watches = state_->watches;
    });
    if (!refusal.ok()) return refusal;
    std::shared_ptr<v1beta1::DevicePlugin::Stub> stub = Connect(*request);
    if (stub == nullptr) {
      return {grpc::StatusCode::UNKNOWN, "failed to dial device plugin"};
    }
    if (watches) Watch(std::move(stub));
    return grpc::Status::OK;
  }

 private:
  std::shared_ptr<v1beta1::DevicePlugin::Stub> Connect(
      const v1beta1::RegisterRequest& request) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    auto stub = v1beta1::DevicePlugin::NewStub(grpc::CreateCustomChannel(
        "unix:" + directory_ + "/" + request.endpoint(),
        grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::DevicePluginOptions options;
    const grpc::Status status =
        stub->GetDevicePluginOptions(&context, {}, &options);
    return status.ok() ? std::move(stub) : nullptr;
  }

  void Watch(std::shared_ptr<v1beta1::DevicePlugin::Stub> stub) {
    state_->Change([&] {
      DeviceWatch& watch = state_->open.emplace_back();
      const int number = ++state_->newest;
      watch.thread = std::thread([state = state_, stub = std::move(stub),
                                  number, context = &watch.context] {
        auto reader = stub->ListAndWatch(context, {});
        v1beta1::ListAndWatchResponse list;
        while (reader->Read(&list)) {
          state->Change([&] {
            if (number != state->newest) return;
            state->devices.assign(list.devices().begin(), list.devices().end());
          });
        }
        (void)reader->Finish();
        state->Change([&] {
          if (number == state->newest) state->devices.clear();
        });
      });
    });
  }

  const std::string directory_;
  const std::shared_ptr<State> state_;
};

FakeKubelet::FakeKubelet(std::string directory)
    : directory_(std::move(directory)),
      socket_(directory_ + "/kubelet.sock"),
      state_(std::make_shared<State>()) {}

FakeKubelet::~FakeKubelet() { Stop(); }

void FakeKubelet::Start() {
  for (const auto& entry : fs::directory_iterator(directory_)) {
    if (entry.is_socket()) fs::remove(entry.path());
  }
  service_ = std::make_unique<Service>(directory_, state_);
  // Under its name, the socket listens from the beginning, so that the first
  // attempt to register never fails.
  const std::string draft = socket_ + ".new";
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + draft, grpc::InsecureServerCredentials());
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) throw std::runtime_error("no kubelet");
  fs::rename(draft, socket_);
}

void FakeKubelet::Stop() {
  if (server_ != nullptr) fs::remove(socket_);
  Kill();
}

void FakeKubelet::Kill() {
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  EndWatches();
}

void FakeKubelet::Refuse(const grpc::Status& status) {
  state_->Change([&] { state_->refusal = status; });
}

void FakeKubelet::SetWatches(bool watches) {
  state_->Change([&] { state_->watches = watches; });
}

void FakeKubelet::EndWatches() {
  std::list<DeviceWatch> open;
  state_->Change([&] { open.swap(state_->open); });
  for (DeviceWatch& watch : open) {
    watch.context.TryCancel();
    watch.thread.join();
  }
}

int FakeKubelet::registrations() const {
  int count = 0;
  state_->Change(
      [&] { count = static_cast<int>(state_->registrations.size()); });
  return count;
}

v1beta1::RegisterRequest FakeKubelet::last_registration() const {
  v1beta1::RegisterRequest last;
  state_->Change([&] { last = state_->registrations.back(); });
  return last;
}

void FakeKubelet::AwaitRegistrations(int count) const {
  state_->Await([&] {
    return state_->registrations.size() >= static_cast<size_t>(count);
  });
}

std::vector<std::string> FakeKubelet::AwaitDevices(bool healthy) const {
  const std::string health = healthy ? "Healthy" : "Unhealthy";
  std::vector<std::string> ids;
  state_->Await([&] {
    ids.clear();
    for (const v1beta1::Device& device : state_->devices) {
      if (device.health() == health) ids.push_back(device.id());
    }
    return !ids.empty() && ids.size() == state_->devices.size();
  });
  return ids;
}

void FakeKubelet::AwaitNoDevices() const {
  state_->Await([&] { return state_->devices.empty(); });
}

}  // namespace canopy::kubernetes
