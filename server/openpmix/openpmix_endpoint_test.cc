// The beginning and end of connections, and their messages.
#include "server/openpmix/openpmix_endpoint.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/hex.h"
#include "pmix_common.h"
#include "server/openpmix/endpoint_testing.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

TEST_F(OpenPmixEndpointTest, SilentAndUnidentifiedConnectionsAreClosedInTime) {
  OpenPmixOptions options;
  options.silence.timeout_ns = 1000 * 1000;
  options.silence.patience = 0;
  options.process_timeout_ns = 1000 * 1000;
  Make(std::move(options));
  const UniqueFd silent = Connect();
  const UniqueFd half = Connect();
  Send(half, Greeting(kTestJob, 0).substr(0, 20));
  const UniqueFd early = Connect();
  Send(early, Greeting(kTestJob, 1));
  while (endpoint_->num_connections() > 0) loop_->RunOnce(100);
  EXPECT_EQ(Receive(silent), "closed");
  EXPECT_EQ(Receive(half), "closed");
  EXPECT_EQ(Receive(early), "closed");
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(OpenPmixEndpointTest, TheOldestSilentConnectionIsEnded) {
  OpenPmixOptions options;
  options.silence.per_trusted = 3;
  Make(std::move(options));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(Connect());
  EXPECT_EQ(endpoint_->num_connections(), 3u);
  EXPECT_EQ(Receive(silent[0]), "closed");
  EXPECT_EQ(Receive(silent[1]), "closed");
  EXPECT_EQ(Receive(silent[4]), "");
  const UniqueFd fd = Join();
  EXPECT_EQ(Receive(silent[2]), "closed");
}

TEST_F(OpenPmixEndpointTest, GarbageEndsOneConnectionOnly) {
  const UniqueFd good = Join();
  const core::ClientId good_client = client_;
  for (const std::string& bad : {
           MakeHeader(101, UINT32_MAX),
           Message(101, "ff"),
           Message(101, "02 03 ff"),
           Message(101, "02 03 02 01"),
           MakeHeader(101, 0),
       }) {
    const UniqueFd fd = Join();
    Send(fd, bad);
    EXPECT_EQ(Receive(fd), "closed") << ToHex(bad);
    EXPECT_EQ(sink_.All<core::ClientGone>().back().client, client_);
  }
  client_ = good_client;
  EXPECT_EQ(Ask(good, 101, "02 20"), "025d");
}

TEST_F(OpenPmixEndpointTest, ASecondRequestWithAPendingTagEndsTheConnection) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 05"));
  Send(fd, Message(101, "02 05"));
  EXPECT_EQ(Receive(fd), "closed");
}

TEST_F(OpenPmixEndpointTest, MessagesMayArriveInAnyPieces) {
  const UniqueFd fd = Connect();
  const std::string all = Greeting(kTestJob, 0) + Message(101, "02 05") +
                          Message(1, "") + Message(102, "02 05");
  for (const char c : all) Send(fd, std::string(1, c));
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 2u);
  EXPECT_EQ(Receive(fd).size(), 8u);
}

TEST_F(OpenPmixEndpointTest, AClientThatDoesNotReadIsPaused) {
  OpenPmixOptions options;
  options.pause_reading_bytes = 1000;
  Make(std::move(options));
  const UniqueFd fd = Join();
  // 32 events of 1 MiB are more data than the kernel accepts.
  Encoder infos;
  infos.PutSize(1);
  infos.PutString("k");
  infos.PutUint32(0);
  infos.PutUint16(PMIX_BYTE_OBJECT);
  infos.PutBytes(std::string(1 << 20, 'x'));
  const Bytes info(infos.Take());
  for (uint64_t i = 0; i < 32; ++i) {
    endpoint_->Notify(
        {client_, std::make_shared<const core::ClientEvent>(core::ClientEvent{
                      {{"x", 0}, i}, -5, {"x", 0}, 0, info})});
  }
  RunRounds();
  const size_t before = sink_.inputs.size();
  Send(fd, Message(102, "02 05"));
  EXPECT_EQ(sink_.inputs.size(), before);
  for (int i = 0; i < 10000 && sink_.inputs.size() == before; ++i) {
    (void)Receive(fd);
    loop_->RunOnce(1);
  }
  EXPECT_EQ(sink_.inputs.size(), before + 1);
}

TEST_F(OpenPmixEndpointTest, AFloodingClientDoesNotDelayOthers) {
  int64_t now = 0;  // each message costs 100 us
  OpenPmixOptions options;
  options.budget.now = [&now] { return now += 100'000; };
  Make(std::move(options));
  const UniqueFd flood = Join();
  const core::ClientId flooder = client_;
  const UniqueFd other = Join();
  // Fences, which the core has to answer.
  std::string fences;
  constexpr uint32_t kFences = 2000;
  for (uint32_t tag = 0; tag < kFences; ++tag) {
    fences +=
        Message(tag + 1000, "02 03 02 01 02 08 6e737800 feffffff0f 02 00");
  }
  const auto fences_of = [this](core::ClientId client) {
    size_t count = 0;
    for (const auto& fence : sink_.All<core::CollectiveArrived>()) {
      count += fence.client == client;
    }
    return count;
  };
  ASSERT_EQ(send(flood.get(), fences.data(), fences.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(fences.size()));
  loop_->RunOnce(1000);
  // The flooding client gets two turns of half a millisecond: one when its data
  // arrives, and one at the end of the round of the loop.
  EXPECT_GT(fences_of(flooder), 0u);
  EXPECT_LE(fences_of(flooder), 12u);
  Send(other, Message(101, "02 03 02 01 02 08 6e737800 feffffff0f 02 00"));
  EXPECT_EQ(fences_of(client_), 1u);
  EXPECT_LE(fences_of(flooder), 60u);
  // The endpoint still serves all requests of the flooding client, which sends
  // no further data.
  for (int round = 0; round < 1000 && fences_of(flooder) < kFences; ++round) {
    loop_->RunOnce(-1);
  }
  EXPECT_EQ(fences_of(flooder), kFences);
}

TEST_F(OpenPmixEndpointTest, TheEndOfAJobEndsItsConnections) {
  const UniqueFd fd = Join();
  endpoint_->DropJob(kTestJob);
  EXPECT_EQ(Receive(fd), "closed");
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(OpenPmixEndpointTest, CloseEndsAConnection) {
  const UniqueFd fd = Join();
  endpoint_->Close(client_, "reason");
  EXPECT_EQ(Receive(fd), "closed");
}

TEST(OpenPmixEndpoint, InvalidAddressesAreRejected) {
  EventLoop loop;
  FakeSink sink;
  OpenPmixOptions options;
  options.address = "localhost";
  OpenPmixEndpoint endpoint(&loop, &sink, std::move(options));
  EXPECT_EQ(endpoint.Start().code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::openpmix
