#include "server/kubernetes/device_plugin/device_plugin.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "server/kubernetes/device_plugin/directory_watch.h"
#include "server/kubernetes/device_plugin/file_identity.h"
#include "server/kubernetes/device_plugin/plugin_service.h"
#include "server/kubernetes/device_plugin/plugin_socket.h"
#include "server/kubernetes/device_plugin/registration_call.h"
#include "server/rpc/without_reflection.h"

namespace canopy::kubernetes {
namespace {

constexpr char kEndpoint[] = "canopy.sock";
constexpr char kKubeletSocket[] = "kubelet.sock";
// A request that names all devices has half of this size.
constexpr int kMaxRequest = 2 << 20;
constexpr int kMaxCallsOfConnection = 64;

// Keeps gRPC until the process ends. The end of its last user would wait for
// gRPC's threads, which takes up to ten seconds.
void KeepGrpc() {
  static const bool kept = [] {
    grpc_init();
    return true;
  }();
  (void)kept;
}

std::unique_ptr<grpc::Server> MakeServer(PluginService* service) {
  KeepGrpc();
  grpc::ServerBuilder builder;
  builder.SetOption(std::make_unique<rpc::WithoutReflection>());
  builder.SetMaxReceiveMessageSize(kMaxRequest);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMaxCallsOfConnection);
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

}  // namespace

// The plugin's state follows from the files of the directory, the state of the
// registration and the number of watches. Advance is called after each change
// of these, and does what is missing.
struct DevicePlugin::Impl {
  Impl(EventLoop* the_loop, DevicePluginOptions the_options, DeviceSet set);
  ~Impl();

  std::string PathOf(const std::string& name) const {
    return options.plugin_dir + "/" + name;
  }
  bool IsRegistered() const { return accepted && service.watches() > 0; }
  void Advance();
  Status EnsureRegistration();
  void Meet(const FileIdentity& other);
  void Register();
  void OnAnswer(const Status& status);
  void OnWatches();
  void Lose(std::string reason);
  void Report(std::string reason);
  void WakeIn(int64_t ns);

  EventLoop* const loop;
  const DevicePluginOptions options;
  const DeviceSet devices;
  const std::shared_ptr<bool> alive = std::make_shared<bool>(true);
  PluginService service;
  std::unique_ptr<grpc::Server> server;
  PluginSocket socket;
  DirectoryWatch watch;
  // The kubelet's socket to which the members below refer.
  std::optional<FileIdentity> kubelet;
  std::unique_ptr<RegistrationCall> call;  // while it runs
  bool accepted = false;
  // Times of EventLoop::Now. No attempt for the same kubelet is made before
  // `next_attempt_ns`, and the plugin is registered since `registered_ns`.
  int64_t next_attempt_ns = 0;
  std::optional<int64_t> registered_ns;
  int64_t pause_ns = 0;
  std::optional<EventLoop::TimerId> timer;
  std::string problem = "the kubelet has not answered yet";
};

DevicePlugin::Impl::Impl(EventLoop* the_loop, DevicePluginOptions the_options,
                         DeviceSet set)
    : loop(the_loop),
      options(std::move(the_options)),
      devices(std::move(set)),
      service(&devices,
              [this, weak = std::weak_ptr<bool>(alive)] {
                loop->Post([this, weak] {
                  if (!weak.expired()) OnWatches();
                });
              }),
      server(MakeServer(&service)),
      socket(loop, PathOf(kEndpoint),
             [this](UniqueFd fd) {
               grpc::AddInsecureChannelFromFd(server.get(), fd.Release());
             }),
      watch(loop, options.plugin_dir, [this] { Advance(); }) {}

DevicePlugin::Impl::~Impl() {
  if (timer) loop->CancelTimer(*timer);
  call.reset();
  socket.Close();
  if (server == nullptr) return;
  // No call waits for this thread, so they end at once.
  service.EndWatches();
  server->Shutdown(std::chrono::system_clock::now() +
                   std::chrono::milliseconds(50));
  server->Wait();
}

void DevicePlugin::Impl::Advance() {
  Status status = watch.Start();
  if (status.ok()) status = socket.Open();
  if (status.ok()) status = EnsureRegistration();
  if (!status.ok()) Lose(status.message());
}

Status DevicePlugin::Impl::EnsureRegistration() {
  const std::string path = PathOf(kKubeletSocket);
  const std::optional<FileIdentity> now = IdentityOf(path);
  if (!now) return Status(kErrNotFound, "no kubelet listens on " + path);
  if (kubelet != now) Meet(*now);
  const bool is_due = EventLoop::Now() >= next_attempt_ns;
  if (call != nullptr || IsRegistered() || !is_due) return Status();
  if (accepted) {
    return Status(kErrTimeout, "the kubelet does not watch the devices");
  }
  Register();
  return Status();
}

// Forgets the previous kubelet, which has no more use for its watch.
void DevicePlugin::Impl::Meet(const FileIdentity& other) {
  kubelet = other;
  call.reset();
  accepted = false;
  next_attempt_ns = 0;
  pause_ns = 0;
  service.EndWatches();
}

void DevicePlugin::Impl::Register() {
  const RegistrationRequest request = {PathOf(kKubeletSocket), kEndpoint,
                                       options.resource};
  call = std::make_unique<RegistrationCall>(
      loop, request, [this](const Status& status) { OnAnswer(status); });
}

void DevicePlugin::Impl::OnAnswer(const Status& status) {
  call.reset();
  if (!status.ok()) return Lose("registration failed: " + status.message());
  accepted = true;
  next_attempt_ns = EventLoop::Now() + options.watch_time_ns;
  WakeIn(options.watch_time_ns);
  OnWatches();
}

void DevicePlugin::Impl::OnWatches() {
  if (IsRegistered()) {
    if (!registered_ns) registered_ns = EventLoop::Now();
    Report("");
  } else if (registered_ns) {
    Lose("the kubelet has ended its watch of the devices");
  }
}

// Called when the plugin is not registered and has to try again after a pause.
// The pauses begin anew after a registration that has lasted longer than any.
void DevicePlugin::Impl::Lose(std::string reason) {
  const int64_t now = EventLoop::Now();
  if (registered_ns && now - *registered_ns > options.longest_pause_ns) {
    pause_ns = 0;
  }
  registered_ns.reset();
  call.reset();
  accepted = false;
  Report(std::move(reason));
  pause_ns = std::clamp(pause_ns * 2, options.first_pause_ns,
                        options.longest_pause_ns);
  next_attempt_ns = now + pause_ns;
  WakeIn(pause_ns);
}

void DevicePlugin::Impl::Report(std::string reason) {
  if (problem == reason) return;
  problem = std::move(reason);
  if (!options.log) return;
  if (problem.empty()) {
    options.log("the kubelet offers " + options.resource + " of this node");
  } else {
    options.log("the kubelet does not offer " + options.resource +
                " of this node: " + problem);
  }
}

void DevicePlugin::Impl::WakeIn(int64_t ns) {
  if (timer) loop->CancelTimer(*timer);
  timer = loop->AddTimer(ns, [this] {
    timer.reset();
    Advance();
  });
}

DevicePlugin::DevicePlugin(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

DevicePlugin::~DevicePlugin() = default;

Result<std::unique_ptr<DevicePlugin>> DevicePlugin::Start(
    EventLoop* loop, DevicePluginOptions options) {
  Result<DeviceSet> devices = DeviceSet::Make(options.devices);
  if (!devices.ok()) return devices.status();
  auto impl =
      std::make_unique<Impl>(loop, std::move(options), *std::move(devices));
  if (impl->server == nullptr) {
    return Status(kErrServerFailedRequest, "cannot start the device plugin");
  }
  impl->Advance();
  return std::unique_ptr<DevicePlugin>(new DevicePlugin(std::move(impl)));
}

void DevicePlugin::SetHealthy(bool healthy) {
  impl_->service.SetHealthy(healthy);
}

bool DevicePlugin::registered() const { return impl_->IsRegistered(); }

const std::string& DevicePlugin::problem() const { return impl_->problem; }

}  // namespace canopy::kubernetes
