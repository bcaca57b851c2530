#include "server/kubernetes/gateway/pod_gateway.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/unix_socket.h"
#include "server/shim/protocol.h"

namespace canopy::kubernetes {
namespace {

using process::FrameHeader;
using process::FrameType;
using process::JoinPod;
using process::Notice;

std::string FrameOf(FrameType type, const std::string& payload) {
  FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.type = static_cast<uint8_t>(type);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
         payload;
}

// A shim in a pod.
class Shim {
 public:
  explicit Shim(const std::string& path) {
    auto fd = ConnectUnix(path);
    EXPECT_TRUE(fd.ok());
    if (fd.ok()) fd_ = std::move(*fd);
  }
  void Send(const std::string& bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void Join(uint32_t version = process::kShimProtocolVersion) {
    Send(FrameOf(FrameType::kJoinPod, Encode(JoinPod{version, {"./solver"}})));
  }
  // Returns the status of the notice that has arrived; 9999: there is none.
  int Status() {
    Read();
    FrameHeader header;
    if (in_.size() < sizeof header) return 9999;
    std::memcpy(&header, in_.data(), sizeof header);
    Notice notice;
    EXPECT_TRUE(process::Decode(
        std::string_view(in_).substr(sizeof header, header.length), &notice));
    return notice.status;
  }
  bool IsClosed() {
    Read();
    return closed_;
  }
  void Leave() { fd_.Reset(); }

 private:
  void Read() {
    char buffer[4096];
    ssize_t n;
    while ((n = recv(fd_.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
      in_.append(buffer, static_cast<size_t>(n));
    }
    closed_ = closed_ || n == 0;
  }

  UniqueFd fd_;
  std::string in_;
  bool closed_ = false;
};

class PodGatewayTest : public testing::Test {
 protected:
  PodGatewayTest() {
    directory_ = "/tmp/canopy-test-XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    PodGateway::Parts parts;
    parts.loop = &loop_;
    parts.node = "n1";
    parts.identify = [this](int) -> Result<PodGateway::Peer> {
      if (peer_.empty()) return Status(kErrNoPermissions, "is in no pod");
      return PodGateway::Peer{peer_, "c1"};
    };
    parts.find_pod = [this](const std::string& uid) {
      const auto pod = pods_.find(uid);
      return pod == pods_.end() ? nullptr : &pod->second;
    };
    parts.join = [this](Arrival arrival, Joined done) -> std::function<void()> {
      arrivals_.push_back(std::move(arrival));
      done_ = std::move(done);
      return [this] { ++withdrawn_; };
    };
    parts.holds = [](const std::string&) { return true; };
    parts.log = [](const std::string&) {};
    gateway_.emplace(std::move(parts));
    EXPECT_TRUE(gateway_->Start(path()).ok());
    AddPod("p1");
  }
  ~PodGatewayTest() override {
    gateway_.reset();
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }

  void AddPod(const std::string& uid) {
    Pod pod;
    pod.nspace = "physics";
    pod.name = "solver-0";
    pod.uid = uid;
    pod.owner = {"Job", "solver", "u1", "batch/v1"};
    pod.labels["batch.kubernetes.io/job-completion-index"] = "0";
    Container container;
    container.ranks = 8;
    container.container_id = "c1";
    pod.containers.push_back(container);
    pods_[uid] = pod;
  }
  std::string path() const { return directory_ + "/pods.sock"; }
  void Settle() {
    for (int i = 0; i < 8; ++i) loop_.RunOnce(0);
  }
  static JobSpec JobOf(const std::string& host_job) {
    JobSpec job;
    job.nspace = "canopy-1-1";
    job.host_job = host_job;
    return job;
  }

  EventLoop loop_;
  std::string directory_;
  std::string peer_ = "p1";  // the pod of those who connect; empty: none
  std::map<std::string, Pod> pods_;
  std::vector<Arrival> arrivals_;
  Joined done_;
  int withdrawn_ = 0;
  std::optional<PodGateway> gateway_;
};

TEST_F(PodGatewayTest, ThePodsObjectDescribesItsArrival) {
  Shim shim(path());
  shim.Join();
  Settle();
  ASSERT_EQ(arrivals_.size(), 1u);
  EXPECT_EQ(arrivals_[0].node, "n1");
  EXPECT_EQ(arrivals_[0].ranks, 8u);
  EXPECT_EQ(arrivals_[0].argv, std::vector<std::string>{"./solver"});
}

TEST_F(PodGatewayTest, TheJobTakesTheConnectionOfItsPod) {
  Shim shim(path());
  shim.Join();
  Settle();
  done_(Status());
  const auto connection =
      gateway_->TakeShim(JobOf(GangName("physics", "solver", "u1")));
  ASSERT_TRUE(connection.has_value());
  ASSERT_TRUE(connection->ok());
  EXPECT_EQ(send(connection->value().get(), "x", 1, 0), 1);
  EXPECT_EQ(gateway_->PodOf("canopy-1-1"), "p1");
  EXPECT_EQ(gateway_->num_waiting(), 0u);
}

TEST_F(PodGatewayTest, TheJobMayArriveBeforeTheAnswerOfTheGang) {
  Shim shim(path());
  shim.Join();
  Settle();
  const auto connection =
      gateway_->TakeShim(JobOf(GangName("physics", "solver", "u1")));
  ASSERT_TRUE(connection.has_value() && connection->ok());
  done_(Status());
  EXPECT_FALSE(shim.IsClosed());
}

TEST_F(PodGatewayTest, AJobWhosePodHasLeftIsNotStarted) {
  const auto connection =
      gateway_->TakeShim(JobOf(GangName("physics", "solver", "u1")));
  ASSERT_TRUE(connection.has_value());
  EXPECT_EQ(connection->code(), kErrJobFailedToLaunch);
}

TEST_F(PodGatewayTest, JobsOfLaunchersHaveNoPods) {
  EXPECT_FALSE(gateway_->TakeShim(JobOf("")).has_value());
  EXPECT_EQ(gateway_->PodOf("canopy-1-2"), "");
}

TEST_F(PodGatewayTest, ARefusedPodReceivesTheReason) {
  Shim shim(path());
  shim.Join();
  Settle();
  done_(Status(kErrTimeout, "1 of 4 pods missing"));
  EXPECT_EQ(shim.Status(), kErrTimeout);
  EXPECT_TRUE(shim.IsClosed());
}

TEST_F(PodGatewayTest, APodThatLeavesIsWithdrawn) {
  Shim shim(path());
  shim.Join();
  Settle();
  shim.Leave();
  Settle();
  EXPECT_EQ(withdrawn_, 1);
  EXPECT_EQ(gateway_->num_waiting(), 0u);
}

TEST_F(PodGatewayTest, APodThatTheApiServerReportsLateIsServed) {
  pods_.clear();
  Shim shim(path());
  shim.Join();
  Settle();
  EXPECT_TRUE(arrivals_.empty());
  AddPod("p1");
  gateway_->OnPods();
  EXPECT_EQ(arrivals_.size(), 1u);
  gateway_->OnPods();
  EXPECT_EQ(arrivals_.size(), 1u);
}

TEST_F(PodGatewayTest, AProcessInNoPodIsRefused) {
  peer_.clear();
  Shim shim(path());
  Settle();
  EXPECT_EQ(shim.Status(), kErrNoPermissions);
  EXPECT_TRUE(shim.IsClosed());
}

TEST_F(PodGatewayTest, AnotherReleaseIsRefused) {
  Shim shim(path());
  shim.Join(process::kShimProtocolVersion + 1);
  Settle();
  EXPECT_EQ(shim.Status(), kErrNotSupported);
}

TEST_F(PodGatewayTest, OnlyTheExpectedFrameIsAccepted) {
  const std::string huge(sizeof(FrameHeader), '\xff');
  for (const std::string& bytes :
       {FrameOf(FrameType::kExits, ""), huge,
        FrameOf(FrameType::kJoinPod, "malformed"),
        FrameOf(FrameType::kJoinPod, Encode(JoinPod())) + "more"}) {
    Shim shim(path());
    shim.Send(bytes);
    Settle();
    EXPECT_TRUE(shim.IsClosed());
  }
  EXPECT_TRUE(arrivals_.empty());
}

TEST_F(PodGatewayTest, TheConnectionsOfAPodAreLimited) {
  std::vector<std::unique_ptr<Shim>> shims;
  for (size_t i = 0; i <= PodGateway::kMaxOfPod; ++i) {
    shims.push_back(std::make_unique<Shim>(path()));
  }
  Settle();
  EXPECT_EQ(shims.back()->Status(), kErrOutOfResource);
  EXPECT_FALSE(shims.front()->IsClosed());
}

}  // namespace
}  // namespace canopy::kubernetes
