#include "server/control/control_server.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/posix/unix_socket.h"
#include "protos/control.grpc.pb.h"

namespace canopy::control {
namespace {

class FakeService : public v1::Control::CallbackService {
 public:
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest*,
                                   v1::StatusReply* reply) override {
    reply->set_version("fake");
    auto* reactor = context->DefaultReactor();
    if (held != nullptr) {
      held->set_value(reactor);
    } else {
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }

  // If not null, the next call is passed here and stays without an answer.
  std::promise<grpc::ServerUnaryReactor*>* held = nullptr;
};

class ControlServerTest : public testing::Test {
 protected:
  ControlServerTest() {
    char path[] = "/tmp/control-test-XXXXXX";
    directory_ = mkdtemp(path);
    path_ = directory_ + "/control.sock";
  }
  ~ControlServerTest() override { rmdir(directory_.c_str()); }

  void Start() {
    server_ = std::make_unique<ControlServer>(&loop_);
    ASSERT_TRUE(server_->Start(path_, &service_).ok());
  }
  void Run() {
    thread_ = std::thread([this] { loop_.Run(); });
  }
  void Stop() {
    loop_.Stop();
    thread_.join();
    server_.reset();
  }

  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + path_,
                                     grpc::InsecureChannelCredentials(), args);
  }
  static bool Ask(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    v1::StatusReply reply;
    return v1::Control::NewStub(channel)->Status(&context, {}, &reply).ok() &&
           reply.version() == "fake";
  }

  std::string directory_;
  std::string path_;
  EventLoop loop_;
  FakeService service_;
  std::unique_ptr<ControlServer> server_;
  std::thread thread_;
};

TEST_F(ControlServerTest, ServesManyCallsAndRemovesItsSocketAtTheEnd) {
  Start();
  Run();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 20; ++i) channels.push_back(NewChannel());
  for (const auto& channel : channels) EXPECT_TRUE(Ask(channel));
  channels.clear();
  EXPECT_TRUE(Ask(NewChannel()));
  Stop();
  EXPECT_NE(stat(path_.c_str(), &info), 0);
}

// Sends the first bytes of HTTP/2 and returns the size of the reply, or 0 if
// the connection was rejected.
ssize_t Greet(int fd) {
  const std::string hello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
                          33);
  const timeval limit = {30, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)!send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
  char answer[256];
  const ssize_t n = recv(fd, answer, sizeof answer, 0);
  return n < 0 && errno == ECONNRESET ? 0 : n;
}

TEST_F(ControlServerTest, ContinuesAfterDescriptorsWereExhausted) {
  Start();
  // These clients wait until they are accepted, and use up the last
  // descriptors.
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 12; ++i) {
    auto client = ConnectUnix(path_);
    ASSERT_TRUE(client.ok());
    clients.push_back(*std::move(client));
  }
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(lowest);
  const rlimit tight = {static_cast<rlim_t>(lowest), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Run();
  int served = 0;
  for (const UniqueFd& client : clients) {
    const ssize_t n = Greet(client.get());
    EXPECT_GE(n, 0);
    if (n > 0) ++served;
  }
  EXPECT_GE(served, 3);
  EXPECT_LT(served, 12);
  // The loop continues its other work.
  std::binary_semaphore other_work(0);
  loop_.Post([&] { other_work.release(); });
  EXPECT_TRUE(other_work.try_acquire_for(std::chrono::seconds(30)));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  clients.clear();
  EXPECT_TRUE(Ask(NewChannel()));
  Stop();
}

TEST_F(ControlServerTest, AnUnansweredCallDoesNotDelayTheEndOfTheServer) {
  Start();
  Run();
  std::promise<grpc::ServerUnaryReactor*> held;
  service_.held = &held;
  std::thread client([this] { Ask(NewChannel()); });
  grpc::ServerUnaryReactor* const call = held.get_future().get();
  loop_.Post([this] {
    server_->LetAnswersLeave();
    loop_.Stop();
  });
  thread_.join();
  call->Finish(grpc::Status::OK);
  client.join();
  server_.reset();
}

}  // namespace
}  // namespace canopy::control
