#include "server/kubernetes/device_plugin/device_plugin.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "protos/kubernetes/deviceplugin/v1beta1/api.grpc.pb.h"
#include "server/kubernetes/device_plugin/fake_kubelet_testing.h"
#include "server/kubernetes/device_plugin/file_identity.h"
#include "server/kubernetes/device_plugin/plugin_service.h"

namespace canopy::kubernetes {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(30);

class DevicePluginTest : public testing::Test {
 protected:
  DevicePluginTest() {
    std::string path = "/tmp/device-plugin-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    options_.plugin_dir = path;
    options_.devices = {16, {{"/run/canopy", "/run/canopy"}}, {"A=1"}};
    options_.first_pause_ns = 1'000'000;
    options_.longest_pause_ns = 20'000'000;
    options_.log = [this](const std::string& line) { log_.push_back(line); };
    kubelet_ = std::make_unique<FakeKubelet>(path);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~DevicePluginTest() override {
    StopPlugin();
    loop_.Stop();
    thread_.join();
    kubelet_.reset();
    fs::remove_all(directory_);
  }

  void OnLoop(std::function<void()> work) {
    std::promise<void> done;
    loop_.Post([&] {
      work();
      done.set_value();
    });
    done.get_future().get();
  }
  void StartPlugin() {
    OnLoop([this] {
      auto plugin = DevicePlugin::Start(&loop_, options_);
      EXPECT_TRUE(plugin.ok()) << plugin.status().message();
      if (plugin.ok()) plugin_ = *std::move(plugin);
    });
  }
  void StopPlugin() {
    OnLoop([this] { plugin_.reset(); });
  }
  void SetHealthy(bool healthy) {
    OnLoop([&] { plugin_->SetHealthy(healthy); });
  }
  bool IsRegistered() {
    bool registered = false;
    OnLoop([&] {
      registered = plugin_->registered();
      EXPECT_EQ(plugin_->problem().empty(), registered);
    });
    return registered;
  }
  std::string Problem() {
    std::string problem;
    OnLoop([&] { problem = plugin_->problem(); });
    return problem;
  }
  // Waits until `holds` returns true on the loop.
  void Await(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    bool held = false;
    while (!held && std::chrono::steady_clock::now() < end) {
      OnLoop([&] { held = holds(); });
      if (!held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(held);
  }
  void AwaitRegistered(bool registered) {
    Await([&] { return plugin_->registered() == registered; });
  }
  void AwaitProblem(const std::string& part) {
    Await([&] { return plugin_->problem().find(part) != std::string::npos; });
  }

  fs::path Socket() const { return directory_ / "canopy.sock"; }
  std::unique_ptr<v1beta1::DevicePlugin::Stub> Stub(
      const std::string& authority = "") const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    if (!authority.empty()) {
      arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
    }
    return v1beta1::DevicePlugin::NewStub(grpc::CreateCustomChannel(
        "unix:" + Socket().string(), grpc::InsecureChannelCredentials(),
        arguments));
  }
  grpc::Status Allocate(const std::vector<std::string>& ids,
                        v1beta1::AllocateResponse* response) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::AllocateRequest request;
    auto* const container = request.add_container_requests();
    for (const std::string& id : ids) container->add_devices_ids(id);
    return Stub()->Allocate(&context, request, response);
  }

  EventLoop loop_;
  std::thread thread_;
  fs::path directory_;
  DevicePluginOptions options_;
  std::vector<std::string> log_;  // of the loop thread
  std::unique_ptr<FakeKubelet> kubelet_;
  std::unique_ptr<DevicePlugin> plugin_;
};

TEST_F(DevicePluginTest, RegistersAndSendsItsDevices) {
  kubelet_->Start();
  StartPlugin();
  EXPECT_EQ(kubelet_->AwaitDevices(true).size(), 16u);
  const v1beta1::RegisterRequest request = kubelet_->last_registration();
  EXPECT_EQ(request.version(), "v1beta1");
  EXPECT_EQ(request.endpoint(), "canopy.sock");
  EXPECT_EQ(request.resource_name(), "canopy.dev/rank");
  EXPECT_FALSE(request.options().pre_start_required());
  EXPECT_FALSE(request.options().get_preferred_allocation_available());
  AwaitRegistered(true);
  EXPECT_EQ(Problem(), "");
  EXPECT_EQ(kubelet_->registrations(), 1);
  OnLoop([this] {
    EXPECT_EQ(log_, std::vector<std::string>{
                        "the kubelet offers canopy.dev/rank of this node"});
  });
}

TEST_F(DevicePluginTest, WaitsForAKubeletThatStartsLater) {
  StartPlugin();
  EXPECT_FALSE(IsRegistered());
  EXPECT_NE(Problem().find("no kubelet listens on " + directory_.string()),
            std::string::npos);
  EXPECT_TRUE(fs::is_socket(Socket()));
  kubelet_->Start();
  EXPECT_EQ(kubelet_->AwaitDevices(true).size(), 16u);
  AwaitRegistered(true);
}

TEST_F(DevicePluginTest, WaitsForADirectoryThatIsMadeLater) {
  fs::remove(directory_);
  StartPlugin();
  EXPECT_FALSE(IsRegistered());
  EXPECT_NE(Problem().find("cannot watch directory"), std::string::npos);
  fs::create_directory(directory_);
  kubelet_->Start();
  EXPECT_EQ(kubelet_->AwaitDevices(true).size(), 16u);
  AwaitRegistered(true);
}

TEST_F(DevicePluginTest, RegistersAgainWithAKubeletThatHasRestarted) {
  // Only the directory tells that there is another kubelet.
  options_.first_pause_ns = 60'000'000'000;
  options_.longest_pause_ns = 60'000'000'000;
  kubelet_->Start();
  StartPlugin();
  AwaitRegistered(true);
  for (int restart = 1; restart <= 3; ++restart) {
    kubelet_->Stop();
    AwaitRegistered(false);
    kubelet_->Start();
    kubelet_->AwaitRegistrations(restart + 1);
    EXPECT_EQ(kubelet_->AwaitDevices(true).size(), 16u);
    AwaitRegistered(true);
    EXPECT_TRUE(fs::is_socket(Socket()));
  }
}

TEST_F(DevicePluginTest, SocketOfAKubeletThatWasKilledIsNoKubelet) {
  kubelet_->Start();
  StartPlugin();
  AwaitRegistered(true);
  kubelet_->Kill();
  AwaitProblem("registration failed");
  EXPECT_FALSE(IsRegistered());
  kubelet_->Start();
  kubelet_->AwaitDevices(true);
  AwaitRegistered(true);
}

TEST_F(DevicePluginTest, RemovedSocketIsMadeAnew) {
  kubelet_->Start();
  StartPlugin();
  AwaitRegistered(true);
  fs::remove(Socket());
  Await([this] { return fs::is_socket(Socket()); });
  v1beta1::AllocateResponse response;
  EXPECT_TRUE(Allocate({"slot-1"}, &response).ok());
  EXPECT_TRUE(IsRegistered());
}

TEST_F(DevicePluginTest, RegistersAgainAfterTheKubeletHasEndedItsWatch) {
  kubelet_->Start();
  StartPlugin();
  AwaitRegistered(true);
  kubelet_->EndWatches();
  kubelet_->AwaitRegistrations(2);
  kubelet_->AwaitDevices(true);
  AwaitRegistered(true);
}

TEST_F(DevicePluginTest, RefusedRegistrationIsRepeatedWithItsReason) {
  kubelet_->Refuse({grpc::StatusCode::UNKNOWN, "unsupported version"});
  kubelet_->Start();
  StartPlugin();
  kubelet_->AwaitRegistrations(3);
  AwaitProblem("unsupported version");
  EXPECT_FALSE(IsRegistered());
  kubelet_->Refuse(grpc::Status::OK);
  kubelet_->AwaitDevices(true);
  AwaitRegistered(true);
  // The same reason is logged once.
  OnLoop([this] { EXPECT_EQ(log_.size(), 2u); });
}

TEST_F(DevicePluginTest, KubeletThatDoesNotWatchIsNotRegistered) {
  options_.watch_time_ns = 10'000'000;
  kubelet_->SetWatches(false);
  kubelet_->Start();
  StartPlugin();
  kubelet_->AwaitRegistrations(3);
  AwaitProblem("does not watch");
  kubelet_->SetWatches(true);
  kubelet_->AwaitDevices(true);
  AwaitRegistered(true);
}

TEST_F(DevicePluginTest, HealthOfTheDevicesIsSentWhenItChanges) {
  kubelet_->Start();
  StartPlugin();
  kubelet_->AwaitDevices(true);
  for (const bool healthy : {false, true, false}) {
    SetHealthy(healthy);
    EXPECT_EQ(kubelet_->AwaitDevices(healthy).size(), 16u);
  }
  AwaitRegistered(true);
  kubelet_->EndWatches();
  kubelet_->AwaitRegistrations(2);
  kubelet_->AwaitDevices(false);
  AwaitRegistered(true);
}

TEST_F(DevicePluginTest, ManyChangesEndInTheLastOne) {
  options_.devices.devices = DeviceSet::kMaxDevices;
  kubelet_->Start();
  StartPlugin();
  kubelet_->AwaitDevices(true);
  OnLoop([this] {
    for (int i = 0; i < 999; ++i) plugin_->SetHealthy(i % 2 == 1);
  });
  EXPECT_EQ(kubelet_->AwaitDevices(false).size(), DeviceSet::kMaxDevices);
}

TEST_F(DevicePluginTest, AllocatesDevicesWithoutAKubelet) {
  StartPlugin();
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(Allocate({"slot-0", "slot-9"}, &response).ok());
  ASSERT_EQ(response.container_responses_size(), 1);
  const auto& container = response.container_responses(0);
  EXPECT_EQ(container.envs().at("CANOPY_RANKS"), "2");
  EXPECT_EQ(container.envs().at("A"), "1");
  ASSERT_EQ(container.mounts_size(), 1);
  EXPECT_EQ(container.mounts(0).container_path(), "/run/canopy");
  EXPECT_TRUE(container.mounts(0).read_only());
}

TEST_F(DevicePluginTest, AllocationDoesNotWaitForTheLoop) {
  StartPlugin();
  v1beta1::AllocateResponse response;
  ASSERT_TRUE(Allocate({"slot-0"}, &response).ok());
  const auto stub = Stub();
  // The connection is accepted by the loop, and a call over it is not.
  grpc::ClientContext first;
  v1beta1::DevicePluginOptions ignored;
  ASSERT_TRUE(stub->GetDevicePluginOptions(&first, {}, &ignored).ok());
  grpc::Status status;
  OnLoop([&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1beta1::AllocateRequest request;
    request.add_container_requests()->add_devices_ids("slot-1");
    status = stub->Allocate(&context, request, &response);
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(DevicePluginTest, InvalidDevicesAreRefused) {
  StartPlugin();
  std::vector<std::string> too_many;
  for (int i = 0; i <= 16; ++i) too_many.push_back("slot-" + std::to_string(i));
  for (const auto& ids :
       {std::vector<std::string>{"gpu-1"}, std::vector<std::string>{},
        std::vector<std::string>{"slot-1", "slot-1"}, too_many,
        std::vector<std::string>(1 << 17, "slot-1")}) {
    v1beta1::AllocateResponse response;
    const grpc::Status status = Allocate(ids, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_FALSE(status.error_message().empty());
  }
}

TEST_F(DevicePluginTest, RequestBeyondTheLimitOfMessagesIsRefused) {
  StartPlugin();
  v1beta1::AllocateResponse response;
  EXPECT_EQ(Allocate({std::string(4 << 20, 'x')}, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// The Go client of Kubernetes 1.20 sends the path of the socket as the
// authority, which not every server accepts.
TEST_F(DevicePluginTest, AuthorityMayBeAPath) {
  StartPlugin();
  const auto stub = Stub("/var/lib/kubelet/device-plugins/canopy.sock");
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  auto reader = stub->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(reader->Read(&list)) << reader->Finish().error_message();
  EXPECT_EQ(list.devices_size(), 16);
  context.TryCancel();
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(DevicePluginTest, NumberOfWatchesIsLimited) {
  StartPlugin();
  const auto stub = Stub();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<
      std::unique_ptr<grpc::ClientReader<v1beta1::ListAndWatchResponse>>>
      readers;
  v1beta1::ListAndWatchResponse list;
  for (size_t i = 0; i <= PluginService::kMaxWatches; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    readers.push_back(stub->ListAndWatch(contexts.back().get(), {}));
    EXPECT_EQ(readers.back()->Read(&list), i < PluginService::kMaxWatches);
  }
  EXPECT_EQ(readers.back()->Finish().error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  readers.pop_back();
  for (auto& context : contexts) context->TryCancel();
  for (auto& reader : readers) (void)reader->Finish();
}

TEST_F(DevicePluginTest, WatchWithoutARegistrationDoesNotCount) {
  StartPlugin();
  const auto stub = Stub();
  grpc::ClientContext context;
  auto reader = stub->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  ASSERT_TRUE(reader->Read(&list));
  EXPECT_FALSE(IsRegistered());
  context.TryCancel();
  (void)reader->Finish();
}

TEST_F(DevicePluginTest, PluginThatEndsLeavesNothingBehind) {
  kubelet_->Start();
  StartPlugin();
  kubelet_->AwaitDevices(true);
  AwaitRegistered(true);
  StopPlugin();
  kubelet_->AwaitNoDevices();
  kubelet_->Stop();
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(DevicePluginTest, PluginEndsDuringItsRegistration) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    kubelet_->Start();
    StartPlugin();
    StopPlugin();
    kubelet_->Stop();
    EXPECT_TRUE(fs::is_empty(directory_));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience);
}

TEST_F(DevicePluginTest, PluginOfAnotherProcessIsLeftAlone) {
  kubelet_->Start();
  StartPlugin();
  AwaitRegistered(true);
  const fs::path other = directory_ / "other.sock";
  std::ofstream(other) << "no socket";
  fs::rename(other, Socket());
  AwaitProblem("another process has replaced");
  EXPECT_FALSE(IsRegistered());
  const auto file = IdentityOf(Socket());
  fs::remove(Socket());
  AwaitRegistered(true);
  EXPECT_NE(IdentityOf(Socket()), file);
}

TEST_F(DevicePluginTest, InvalidOptionsAreRefused) {
  options_.devices.devices = 0;
  OnLoop([this] {
    EXPECT_EQ(DevicePlugin::Start(&loop_, options_).code(), kErrBadParam);
  });
  EXPECT_TRUE(fs::is_empty(directory_));
}

}  // namespace
}  // namespace canopy::kubernetes
