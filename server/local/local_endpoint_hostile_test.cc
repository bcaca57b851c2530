#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "server/local/local_endpoint_test_base.h"
#include "server/net/line_limit.h"

namespace canopy::local {
namespace {

TEST_F(LocalEndpointTest, FalseClaimsOfAnIdentityAreRejected) {
  const struct {
    ProcId claimed;
    std::string token;
  } lies[] = {
      {{"job", 0}, Token(1)},       // another rank's token
      {{"job", 0}, ""},             // no token
      {{"job", 2}, Token(0)},       // runs on another node
      {{"job", 99}, Token(0)},      // there is no such rank
      {{"other-job", 0}, Token(0)}  // there is no such job
  };
  size_t logged = 0;
  for (const auto& lie : lies) {
    TestClient client(path());
    client.Hello(lie.claimed, lie.token);
    Settle();
    EXPECT_EQ(StatusOf(client.Next()), kErrInvalidCred);
    EXPECT_FALSE(client.Pump());
    EXPECT_EQ(log_.size(), ++logged);
  }
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(LocalEndpointTest, AProcessIsAcceptedWithoutAToken) {
  endpoint_->OnProcess("job", 0, getpid());
  TestClient client(path());
  client.Hello({"job", 0}, "");
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), 0);
}

// Each reading of the clock advances it by 100 us, as if each message took that
// time.
class LocalFloodTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->budget.now = [this] { return now_ += 100'000; };
  }
  size_t GetsOf(core::ClientId client) const {
    size_t count = 0;
    for (const auto& get : sink_.All<core::GetArrived>()) {
      count += get.client == client;
    }
    return count;
  }
  int64_t now_ = 0;
};

TEST_F(LocalFloodTest, AFloodingClientDoesNotDelayOthers) {
  auto flood = Connected(0);
  auto other = Connected(1);
  std::string gets;
  constexpr size_t kGets = 2000;
  for (uint64_t tag = 10; tag < 10 + kGets; ++tag) {
    gets += TestClient::Frame(FrameType::kGet, tag, GetOf({"job", 2}));
  }
  flood->SendRaw(gets);
  loop_.RunOnce(0);
  // The flooding client gets two turns of half a millisecond: one when its data
  // arrives, and one at the end of the round of the loop.
  EXPECT_GT(GetsOf(IdOf(0)), 0u);
  EXPECT_LE(GetsOf(IdOf(0)), 12u);
  other->Send(FrameType::kGet, 1, GetOf({"job", 2}));
  for (int round = 0; round < 2; ++round) loop_.RunOnce(0);
  EXPECT_EQ(GetsOf(IdOf(1)), 1u);
  EXPECT_LE(GetsOf(IdOf(0)), 36u);
  // The endpoint still serves all requests of the flooding client, which sends
  // no further data.
  for (int round = 0; round < 1000 && GetsOf(IdOf(0)) < kGets; ++round) {
    loop_.RunOnce(-1);
  }
  EXPECT_EQ(GetsOf(IdOf(0)), kGets);
}

TEST_F(LocalFloodTest, WaitingRequestsAreHandledBeforeAHandover) {
  auto flood = Connected(0);
  std::string gets;
  for (uint64_t tag = 10; tag < 110; ++tag) {
    gets += TestClient::Frame(FrameType::kGet, tag, GetOf({"job", 2}));
  }
  flood->SendRaw(gets);
  loop_.RunOnce(0);
  EXPECT_LT(GetsOf(IdOf(0)), 100u);
  flood->SendRaw(TestClient::Frame(FrameType::kGet, 200, GetOf({"job", 2})));
  endpoint_->Quiesce();
  EXPECT_EQ(GetsOf(IdOf(0)), 101u);
}

TEST_F(LocalEndpointTest, GarbageEndsOnlyItsConnection) {
  auto good = Connected(0);
  const std::string bad[] = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      TestClient::Frame(FrameType::kFinalize, 1, ""),
      TestClient::Frame(FrameType::kHello, 1, "junk"),
      std::string(64, '\xff'),
      TestClient::Frame(FrameType::kHello, 1, std::string(5000, 'h')),
  };
  for (const std::string& bytes : bad) {
    log_.clear();
    TestClient client(path());
    client.SendRaw(bytes);
    Settle();
    while (client.Next().has_value()) {
    }
    EXPECT_FALSE(client.Pump());
    EXPECT_EQ(log_.size(), 1u);
  }
  good->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
}

TEST_F(LocalEndpointTest, GarbageAfterHelloClosesTheConnection) {
  const std::string bad[] = {
      TestClient::Frame(FrameType::kGet, 1, "junk"),
      TestClient::Frame(FrameType::kHello, 1, "again"),
      std::string(64, '\xff'),
  };
  for (const std::string& bytes : bad) {
    auto client = Connected(1);
    log_.clear();
    client->SendRaw(bytes);
    Settle();
    EXPECT_FALSE(client->Pump());
    EXPECT_EQ(log_.size(), 1u);
  }
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 3u);
}

TEST_F(LocalEndpointTest, AnUnknownRequestIsAnsweredAsNotSupported) {
  auto client = Connected(0);
  client->Send(static_cast<FrameType>(50), 3, "whatever");
  client->Send(static_cast<FrameType>(50), 0, "whatever");
  Settle();
  EXPECT_EQ(StatusOf(client->Next()), kErrNotSupported);
  EXPECT_FALSE(client->Next().has_value());
  EXPECT_TRUE(client->Pump());
}

TEST_F(LocalEndpointTest, WithoutFreeDescriptorsNewConnectionsAreClosed) {
  auto good = Connected(0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TestClient>(path()));
  }
  const int next = dup(null_.get());
  close(next);
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  Settle();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (auto& client : clients) EXPECT_FALSE(client->Pump());
  EXPECT_EQ(log_.size(), 1u);
  good->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_NE(Connected(1), nullptr);
}

TEST_F(LocalEndpointTest, TheLengthOfAFrameIsLimitedByItsType) {
  const struct {
    FrameType type;
    uint32_t length;
  } bad[] = {
      {FrameType::kFinalize, 65},
      {FrameType::kGet, 5000},
      {FrameType::kCollective, 33u << 20},
      {FrameType::kPublish, 67u << 20},
      {FrameType::kCommit, (256u << 20) + 1},
  };
  for (const auto& [type, length] : bad) {
    auto client = Connected(0);
    log_.clear();
    FrameHeader header;
    header.type = static_cast<uint16_t>(type);
    header.length = length;
    client->SendRaw({reinterpret_cast<const char*>(&header), sizeof header});
    Settle();
    EXPECT_FALSE(client->Pump()) << static_cast<int>(type);
    ASSERT_EQ(log_.size(), 1u);
    EXPECT_NE(log_[0].find("sent a frame of type"), std::string::npos);
  }
}

TEST_F(LocalEndpointTest, AFenceWithMoreNamesThanProcessesIsRefused) {
  auto client = Connected(0);
  std::vector<ProcView> many(70'000, ProcView{"nobody", 1});
  local::Collective fence;
  fence.series = {CollectiveOp::kFence, {}, many};
  const auto send = [&](uint64_t tag) {
    const std::string frame =
        TestClient::Frame(FrameType::kCollective, tag, wire::Encode(fence));
    for (size_t at = 0; at < frame.size(); at += 100000) {
      client->SendRaw(std::string_view(frame).substr(at, 100000));
      loop_.RunOnce(0);
    }
    Settle();
  };
  send(4);
  EXPECT_EQ(StatusOf(client->Next()), kErrOutOfResource);
  EXPECT_TRUE(sink_.All<core::CollectiveArrived>().empty());
  // The client is still served: a shorter list is accepted.
  many.resize(60'000);
  fence.series.participants = many;
  send(5);
  EXPECT_EQ(sink_.All<core::CollectiveArrived>().size(), 1u);
}

class HalfFrameTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->half_message_ns = 10'000'000;
  }
};

TEST_F(HalfFrameTest, AnIncompleteFrameEndsItsConnection) {
  auto good = Connected(1);
  auto half = Connected(0);
  const std::string commit =
      TestClient::Frame(FrameType::kCommit, 1, std::string(10000, 'c'));
  half->SendRaw(commit.substr(0, 5000));
  while (endpoint_->num_connections() == 2) loop_.RunOnce(100);
  EXPECT_FALSE(half->Pump());
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("of job:0: sent 5000 of 10016 bytes of a message"),
            std::string::npos)
      << log_[0];
  good->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
}

class TunedEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->silence.timeout_ns = 1;
    options->silence.patience = 0;
    options->max_connections_per_rank = 2;
    options->pause_reading_bytes = 100 << 10;
    options->max_queued_bytes = 2 << 20;
  }
};

TEST_F(TunedEndpointTest, SilenceBeforeHelloClosesTheConnection) {
  TestClient client(path());
  for (int i = 0; i < 4; ++i) loop_.RunOnce(10);
  EXPECT_FALSE(client.Pump());
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

class QuietEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->silence.timeout_ns = 1;
    options->silence.patience = 1;
  }
};

TEST_F(QuietEndpointTest, ASilentRankMaySendItsHelloLater) {
  TestClient client(path());
  for (int i = 0; i < 20; ++i) loop_.RunOnce(5);
  EXPECT_TRUE(client.Pump());
  client.Hello({"job", 0}, Token(0));
  Settle();
  EXPECT_EQ(StatusOf(client.Next()), 0);
}

TEST_F(QuietEndpointTest, AnIncompleteHelloMustBeCompletedInTime) {
  TestClient client(path());
  client.SendRaw("half");
  for (int i = 0; i < 4; ++i) loop_.RunOnce(10);
  EXPECT_FALSE(client.Pump());
  EXPECT_EQ(log_.size(), 1u);
}

class CrowdedEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->silence.per_trusted = 3;
  }
  // Returns silent connections, all of which the endpoint has accepted.
  std::vector<std::unique_ptr<TestClient>> Silent(int count) {
    std::vector<std::unique_ptr<TestClient>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(std::make_unique<TestClient>(path()));
    }
    loop_.RunOnce(0);
    return all;
  }
};

TEST_F(CrowdedEndpointTest, TheOldestSilentConnectionIsEnded) {
  const auto held = Silent(4);
  EXPECT_FALSE(held[0]->Pump());
  EXPECT_TRUE(held[3]->Pump());
  EXPECT_NE(Connected(0), nullptr);
  EXPECT_TRUE(held[3]->Pump());
}

// The endpoint's loop has many other connections to serve.
TEST_F(CrowdedEndpointTest, AConnectionWithAnUnreadHelloIsNotClosed) {
  TestClient first(path());
  first.Hello({"job", 0}, Token(0));
  std::vector<std::unique_ptr<TestClient>> more;
  for (int i = 0; i < 5; ++i) {
    more.push_back(std::make_unique<TestClient>(path()));
  }
  Settle();
  EXPECT_EQ(StatusOf(first.Next()), 0);
}

TEST_F(CrowdedEndpointTest, ManySilentConnectionsCauseFewLogLines) {
  for (int i = 0; i < 20; ++i) Silent(10);
  EXPECT_GE(log_.size(), 1u);
  EXPECT_LE(log_.size(), static_cast<size_t>(net::LineLimit::kBurst) + 1);
}

class OthersEndpointTest : public LocalEndpointTest {
 protected:
  static constexpr uid_t kStranger = 65534;
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
    LocalEndpointTest::SetUp();
    ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
    ASSERT_EQ(chmod(path().c_str(), 0666), 0);
  }
  void TearDown() override {
    if (endpoint_) LocalEndpointTest::TearDown();
  }
  // Returns a client of another user.
  std::unique_ptr<TestClient> Foreign() {
    EXPECT_EQ(seteuid(kStranger), 0);
    auto client = std::make_unique<TestClient>(path());
    EXPECT_EQ(seteuid(0), 0);
    return client;
  }
};

TEST_F(OthersEndpointTest, AUserWithoutAJobIsRefusedAtOnce) {
  auto client = Foreign();
  Settle();
  EXPECT_EQ(StatusOf(client->Next()), kErrNoPermissions);
  EXPECT_FALSE(client->Pump());
  EXPECT_EQ(endpoint_->num_connections(), 0u);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_[0],
            "refusing a connection of uid 65534, which has no job here");
}

class CappedEndpointTest : public LocalEndpointTest {
 protected:
  void Tune(LocalOptions* options) override {
    options->max_connections_per_rank = 2;
    options->pause_reading_bytes = 100 << 10;
    options->max_queued_bytes = 2 << 20;
  }
};

TEST_F(CappedEndpointTest, ConnectionsOfARankAreLimited) {
  auto first = Connected(0);
  auto second = Connected(0);
  TestClient third(path());
  third.Hello({"job", 0}, Token(0));
  Settle();
  EXPECT_EQ(StatusOf(third.Next()), kErrResourceBusy);
  first->Disconnect();
  Settle();
  EXPECT_NE(Connected(0), nullptr);
}

TEST_F(CappedEndpointTest, AClientThatDoesNotReadIsPausedAndThenClosed) {
  auto client = Connected(0);
  core::ClientEvent large;
  large.info = Bytes(std::string(100 << 10, 'e'));
  const core::NotifyClient event{
      IdOf(0), std::make_shared<const core::ClientEvent>(large)};
  for (int i = 0; i < 8; ++i) endpoint_->Notify(event);
  Settle();
  client->Send(FrameType::kFinalize, 5, "");
  Settle();
  EXPECT_TRUE(sink_.All<core::FinalizeArrived>().empty());
  int events = 0;
  for (int i = 0; i < 50 && events < 8; ++i) {
    while (client->Next().has_value()) ++events;
    Settle();
  }
  EXPECT_EQ(events, 8);
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_TRUE(log_.empty());
  for (int i = 0; i < 40; ++i) endpoint_->Notify(event);
  Settle();
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
}

}  // namespace
}  // namespace canopy::local
