// Requests of connected clients, and their answers.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/hex.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/host.h"
#include "server/openpmix/endpoint_testing.h"
#include "tests/codec/hex.h"

namespace canopy::openpmix {
namespace {

TEST_F(OpenPmixEndpointTest, StatusAnswersAreEncodedInTheFormOfThePeer) {
  const UniqueFd modern = Join();
  Send(modern, Message(101, "02 03 02 01 02 08 6e737800 feffffff0f 02 00"));
  const auto fences = sink_.All<core::CollectiveArrived>();
  ASSERT_EQ(fences.size(), 1u);
  EXPECT_EQ(fences[0].request, 101u);
  EXPECT_EQ(Receive(modern), "");
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(modern), 101), "0200");
  const UniqueFd old = Join("3.2.3", "v3");
  Send(old, Message(300, "00000001 05"));
  Answer(300, kErrTimeout);
  EXPECT_EQ(Body(Receive(old), 300), "00000001ffffffe8");
}

TEST_F(OpenPmixEndpointTest, UnsupportedRequestsAreAnsweredAtOnce) {
  const UniqueFd modern = Join();
  EXPECT_EQ(Ask(modern, 101, "02 20"), "025d");  // -47
  EXPECT_EQ(Ask(modern, 102, "02 7f"), "025d");
  const UniqueFd old = Join("3.2.3", "v3");
  EXPECT_EQ(Ask(old, 103, "00000001 7f"), "00000001ffffffd1");
}

TEST_F(OpenPmixEndpointTest, JobInfoStartsWithTheNamespace) {
  const UniqueFd modern = Join();
  const std::string info = Ask(modern, 101, "02 00");
  EXPECT_TRUE(info.starts_with("02086e737800"));
  EXPECT_EQ(info, Ask(modern, 102, "02 27 02 04 6b00"));
  const UniqueFd old = Join("3.2.3", "v3");
  EXPECT_TRUE(
      Ask(old, 101, "00000001 00").starts_with("00000001000000046e737800"));
}

TEST_F(OpenPmixEndpointTest, JobInfoIsEncodedOnceForEachForm) {
  const UniqueFd first = Join();
  const UniqueFd second = Join("4.2.9");
  const std::string one = Ask(first, 101, "02 00");
  EXPECT_EQ(endpoint_->num_job_infos(kTestJob), 1u);
  EXPECT_EQ(Ask(second, 101, "02 00"), one);
  EXPECT_EQ(endpoint_->num_job_infos(kTestJob), 1u);
  const UniqueFd old = Join("3.2.3", "v3");
  Ask(old, 101, "00000001 00");
  EXPECT_EQ(endpoint_->num_job_infos(kTestJob), 2u);
}

// Rank 1 of "nsx" is on this node; its data is sent in one object.
TEST_F(OpenPmixEndpointTest, AGetReturnsCommittedData) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 04 02 08 6e737800 02 01 02 00 02 04 6b00"));
  const auto gets = sink_.All<core::GetArrived>();
  ASSERT_EQ(gets.size(), 1u);
  EXPECT_EQ(gets[0].target, (ProcId{kTestJob, 1}));
  EXPECT_EQ(gets[0].key, "k");
  Answer(101, kSuccess, Unhex("04 6b00 0e 05"));
  // STATUS 0, then an object of 14 bytes: PROC nsx 1, and the KVAL.
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "020d"
            "02086e73780001"
            "02046b000e05");
  Send(fd, Message(102, "02 04 02 08 6e737800 02 01 02 00 02 04 6b00"));
  Answer(102, kErrNotFound);
  EXPECT_EQ(Body(Receive(fd), 102), "025b");
}

TEST_F(OpenPmixEndpointTest, ASequentialReaderGetsTheDataOfTheNextRanks) {
  segment_.Publish(1, "k", Value::Uint32(7));
  segment_.Publish(2, "k", Value::Uint32(8));
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 04 02 08 6e737800 02 01 02 00 02 04 6b00"));
  Answer(101, kSuccess, Unhex("04 6b00 0e 07"));
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "020d"
            "02086e73780001"
            "02046b000e07"
            "020d"
            "02086e73780002"
            "02046b000e08");
}

TEST_F(OpenPmixEndpointTest, AGetOfAnUndefinedRankReturnsOnlyTheRequestedKey) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 04 02 08 6e737800 02 ffffffff0f 02 00 02 04 6b00"));
  Answer(101, kSuccess, Unhex("04 6a00 0e 01 04 6b00 0e 05"));
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "0211"
            "02086e737800ffffffff0f"
            "02046b000e05");
}

TEST_F(OpenPmixEndpointTest, ReservedKeysComeFromJobData) {
  const UniqueFd fd = Join();
  // pmix.job.size of any rank.
  const std::string answer = Ask(fd, 101,
                                 "02 04 02 08 6e737800 02 feffffff0f 02 00"
                                 "02 1c 706d69782e6a6f622e73697a6500");
  EXPECT_TRUE(sink_.All<core::GetArrived>().empty());
  EXPECT_TRUE(answer.ends_with("021c706d69782e6a6f622e73697a65000e03"))
      << answer;
  // The core rejects a key that does not exist.
  Send(fd, Message(102,
                   "02 04 02 08 6e737800 02 feffffff0f 02 00"
                   "02 0e 706d69782e7800"));
  EXPECT_EQ(sink_.All<core::GetArrived>().size(), 1u);
}

TEST_F(OpenPmixEndpointTest, ARanksDirectoryIsCreatedWhenItsNameIsSent) {
  std::vector<ProcId> made;
  OpenPmixOptions options;
  options.make_directory = [&made](const ProcId& proc) {
    made.push_back(proc);
  };
  Make(std::move(options));
  const std::string name = ToHex("pmix.pdir");
  const UniqueFd fd = Join();
  EXPECT_EQ(Ask(fd, 100, "02 00").find(name), std::string::npos);
  // pmix.lrank of rank 1
  EXPECT_EQ(Ask(fd, 101,
                "02 04 02 08 6e737800 02 01 02 00"
                "02 16 706d69782e6c72616e6b00")
                .find(name),
            std::string::npos);
  EXPECT_TRUE(made.empty());
  const std::string answer =
      Ask(fd, 102, "02 04 02 08 6e737800 02 01 02 00 02 14" + name + "00");
  EXPECT_NE(answer.find(ToHex("/run/1")), std::string::npos) << answer;
  EXPECT_EQ(made, (std::vector<ProcId>{{kTestJob, 1}}));
  // A client of this version would not request the name of its directory, so it
  // gets the name with the job info.
  const UniqueFd old = Join("4.1.2");
  EXPECT_NE(Ask(old, 100, "02 00").find(name), std::string::npos);
  EXPECT_EQ(made.back(), (ProcId{kTestJob, 0}));
}

TEST_F(OpenPmixEndpointTest, AnAnswerAboveThePeersLimitIsAnError) {
  const UniqueFd fd = Join("4.1.2", "v41");
  Send(fd, Message(101, "02 04 02 08 6e737800 02 01 02 00 02 04 6b00"));
  Encoder kval;
  kval.PutKval("k", Value::ByteObject(std::string(17 << 20, 'x')).raw());
  Answer(101, kSuccess, kval.Take());
  EXPECT_EQ(Body(Receive(fd), 101), "0239");  // -29, out of resource
}

TEST_F(OpenPmixEndpointTest, AnEventIsSentOnceToAPeer) {
  const UniqueFd fd = Join();
  const core::NotifyClient event{
      client_, std::make_shared<const core::ClientEvent>(
                   core::ClientEvent{{{"x", 2}, 7},
                                     -5,
                                     {"x", 2},
                                     3,
                                     Bytes(Unhex("01 04 6b00 00 0e 05"))})};
  endpoint_->Notify(event);
  EXPECT_EQ(Body(Receive(fd), kEventTag),
            "020c"
            "0209"
            "0204780002"
            "0201"
            "0204"
            "6b00"
            "000e05");
  endpoint_->Notify(event);
  EXPECT_EQ(Receive(fd), "");
}

TEST_F(OpenPmixEndpointTest, JobControlReturnsItsResults) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 12 02 00 02 00"));
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101), "02000200");
}

// The bytes "cd" precede the other results.
TEST_F(OpenPmixEndpointTest, GetCredentialReturnsTheBytesBeforeOtherResults) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 14 02 00"));
  const std::string credential = "14 706d69782e6372656400 00 1b 02 6364";
  Answer(101, kSuccess, Unhex("02" + credential + "04 6b00 00 0e 05"));
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "02026364"
            "0201"
            "02046b00000e05");
  Send(fd, Message(102, "02 14 02 00"));
  Answer(102, kErrNotSupported);
  EXPECT_EQ(Body(Receive(fd), 102), "025d");
}

// Rank 2 of "x" has published "k" = 5.
TEST_F(OpenPmixEndpointTest, ALookupReturnsTheFoundValues) {
  const std::string found = Unhex("01 04 7800 02 04 6b00 0e 05");
  const std::string request = "02 07 02 e807 02 01 02 04 6b00 02 00";
  const UniqueFd modern = Join();
  Send(modern, Message(101, request));
  ASSERT_EQ(sink_.All<core::LookupArrived>().size(), 1u);
  Answer(101, kSuccess, found);
  EXPECT_EQ(Body(Receive(modern), 101), "020002010204780002046b000e05");
  Send(modern, Message(102, request));
  Answer(102, kErrPartialSuccess, found);
  EXPECT_EQ(Body(Receive(modern), 102), "026702010204780002046b000e05");
  Send(modern, Message(103, request));
  Answer(103, kErrNotFound);
  EXPECT_EQ(Body(Receive(modern), 103), "025b");
  const UniqueFd old = Join("3.2.3", "v3");
  Send(old, Message(300,
                    "00000001 07 00000001 000003e8 00000001 000f"
                    "0000000000000001 00000001 00000002 6b00"
                    "00000001 000f 0000000000000000"));
  Answer(300, kSuccess, found);
  EXPECT_EQ(Body(Receive(old), 300),
            "0000000100000000"
            "00000001000f0000000000000001"
            "00000001"
            "00000002780000000002"
            "000000026b00"
            "000e00000005");
}

TEST_F(OpenPmixEndpointTest, ARefreshReturnsTheDataOfTheTarget) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 21 02 08 6e737800 02 01"));
  Answer(101, kSuccess, Unhex("04 6b00 0e 05"));
  EXPECT_EQ(Body(Receive(fd), 101), "020002046b000e05");
}

TEST_F(OpenPmixEndpointTest, AConnectReturnsTheJobInfoOfTheOtherJobs) {
  const UniqueFd fd = Join();
  // The connect names the client's own namespace, and one that is not known
  // here any more.
  Send(fd, Message(101,
                   "02 0a 02 02 04 08 6e737800 feffffff0f"
                   "06 6f6f00 feffffff0f 02 00"));
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "0205"
            "02066f6f00");
}

TEST_F(OpenPmixEndpointTest, ResolveReturnsPeersAndNodes) {
  const UniqueFd fd = Join();
  // node2 of nsx: rank 2; all nodes of nsx.
  EXPECT_EQ(Ask(fd, 101, "02 25 02 0c 6e6f64653200 02 08 6e737800"),
            "0200"
            "0201"
            "02086e73780002");
  EXPECT_EQ(Ask(fd, 102, "02 26 02 08 6e737800"),
            "0200"
            "0218"
            "6e6f6465312c6e6f64653200");
  EXPECT_EQ(Ask(fd, 103, "02 26 02 04 7800"), "025b");
}

class OpenPmixLogTest : public OpenPmixEndpointTest {
 protected:
  // TIME, pmix.log.stderr = "a\nb", no directives.
  static constexpr char kError[] =
      "02 10 02 00 02 01 02 20 706d69782e6c6f672e73746465727200 00"
      "03 08 610a6200 02 00";

  OpenPmixLogTest() {
    OpenPmixOptions options;
    options.put_text = [this](ProcessText text, TextDone done) {
      texts_.push_back(std::move(text));
      done_.push_back(std::move(done));
    };
    Make(std::move(options));
  }

  std::vector<ProcessText> texts_;
  std::vector<TextDone> done_;
};

TEST_F(OpenPmixLogTest, ALogRequestIsAnsweredAfterItsTextsAreInserted) {
  const UniqueFd fd = Join();
  EXPECT_EQ(Ask(fd, 101, kError), "");
  ASSERT_EQ(texts_.size(), 1u);
  EXPECT_EQ(texts_[0].proc, (ProcId{kTestJob, 0}));
  EXPECT_EQ(texts_[0].client, client_);
  EXPECT_EQ(texts_[0].request, 101u);
  EXPECT_FALSE(texts_[0].again);
  ASSERT_EQ(texts_[0].pieces.size(), 1u);
  EXPECT_TRUE(texts_[0].pieces[0].is_error);
  EXPECT_EQ(texts_[0].pieces[0].text, "a\nb");
  done_[0](kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101), "0200");
  Ask(fd, 102, kError);
  done_[1](kErrOutOfResource);
  EXPECT_EQ(Body(Receive(fd), 102), "0239");
}

TEST_F(OpenPmixLogTest, TextsThatPrecedeAnAbortAreInserted) {
  const UniqueFd fd = Join();
  // The text and an "abort" of all processes with status 0 arrive in one write.
  Send(fd, Message(101, kError) + Message(102, "02 01 02 00 02 02 00 02 00"));
  ASSERT_EQ(texts_.size(), 1u);
  ASSERT_EQ(sink_.All<core::AbortArrived>().size(), 1u);
}

TEST_F(OpenPmixLogTest, TextsAreForwardedToAHostThatLogs) {
  OpenPmixOptions options;
  options.host_logs = true;
  Make(std::move(options));
  const UniqueFd fd = Join();
  EXPECT_EQ(Ask(fd, 101, kError), "");
  const auto calls = sink_.All<core::HostCallArrived>();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].op, HostOp::kLog);
  host_call::Log call;
  ASSERT_TRUE(wire::Decode(calls[0].call, &call));
  InfoList data;
  ASSERT_TRUE(DecodeInfos(call.data, &data));
  EXPECT_EQ(data.FindString(PMIX_LOG_STDERR), "a\nb");
  InfoList directives;
  ASSERT_TRUE(DecodeInfos(call.infos, &directives));
  EXPECT_TRUE(directives.empty());
}

TEST_F(OpenPmixLogTest, ADisconnectedClientIsNotAnswered) {
  {
    const UniqueFd fd = Join();
    Ask(fd, 101, kError);
  }
  RunRounds();
  EXPECT_EQ(endpoint_->num_connections(), 0u);
  done_[0](kSuccess);
  const UniqueFd fd = Join();
  Ask(fd, 101, kError);
  endpoint_.reset();
  done_[1](kSuccess);
}

TEST_F(OpenPmixLogTest, IgnoredLogDirectivesAreLoggedOnce) {
  const UniqueFd fd = Join();
  log_.clear();
  for (uint32_t tag = 101; tag < 103; ++tag) {
    // pmix.log.stderr = "x" and, as a directive, k\n = 5.
    Ask(fd, tag,
        "02 10 02 00 02 01 02 20 706d69782e6c6f672e73746465727200 00"
        "03 04 7800 02 01 02 06 6b0a00 00 0e 05");
  }
  EXPECT_EQ(texts_.size(), 2u);
  EXPECT_EQ(log_, std::vector<std::string>{
                      "nsx:0: the directive k\\n of PMIx_Log is ignored"});
}

TEST_F(OpenPmixEndpointTest, DirectivesWithoutAnEffectAreLoggedOnce) {
  const UniqueFd fd = Join();
  log_.clear();
  // A get of k with the info k\n = 5: twice without flags, and then with the
  // flag that makes the info required.
  for (uint32_t tag = 101; tag < 103; ++tag) {
    Send(fd, Message(tag,
                     "02 04 02 08 6e737800 02 03 02 01 02 06 6b0a00 00"
                     "0e 05 02 04 6b00"));
  }
  EXPECT_EQ(Ask(fd, 103,
                "02 04 02 08 6e737800 02 03 02 01 02 06 6b0a00 01 0e 05"
                "02 04 6b00"),
            "025d");
  EXPECT_EQ(log_, std::vector<std::string>{
                      "nsx:0: the directive k\\n of PMIx_Get is ignored"});
}

TEST_F(OpenPmixEndpointTest, TextsAreRefusedIfNoOutputIsConfigured) {
  const UniqueFd fd = Join();
  log_.clear();
  EXPECT_EQ(Ask(fd, 101,
                "02 10 02 00 02 01 02 20 706d69782e6c6f672e73746465727200 00"
                "03 08 610a6200 02 00"),
            "025d");
  EXPECT_TRUE(log_.empty());
}

}  // namespace
}  // namespace canopy::openpmix
