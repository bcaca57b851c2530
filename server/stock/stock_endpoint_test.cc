#include "server/stock/stock_endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <optional>
#include <variant>

#include "common/codec/decoder.h"
#include "server/stock/endpoint_testing.h"
#include "server/stock/handshake.h"
#include "tests/codec/hex.h"

namespace canopy::stock {
namespace {

// -------------------------------------------------------------- identity ---

TEST_F(StockEndpointTest, AClientOfThisJobIsServed) {
  const UniqueFd fd = Join();
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_EQ(connected[0].proc, (ProcId{kTestJob, 0}));
  EXPECT_EQ(KindOf(connected[0].client), ClientKind::kStock);
  EXPECT_EQ(endpoint_->num_connections(), 1u);
  EXPECT_EQ(Receive(fd), "");
  // Whoever vouches for it, the kernel knows better.
  std::string vouched = Greeting(kTestJob, 0);
  vouched.replace(kHeaderSize, 7, std::string("munge\0\0", 7));
  vouched.erase(kHeaderSize + 6, 1);
  vouched[8] -= 1;
  const UniqueFd other = Connect();
  Send(other, vouched);
  EXPECT_EQ(Receive(other).size(), 8u);
}

TEST_F(StockEndpointTest, FalseClaimsAreRefused) {
  ExpectRefusal(Greeting("other", 0), "does not run here");
  ExpectRefusal(Greeting(kTestJob, 2), "does not run here");
  ExpectRefusal(Greeting(kTestJob, kRankWildcard), "does not run here");
  ExpectRefusal(Greeting(kTestJob, 0, "2.1", "v21"), "not known");
  ExpectRefusal(Greeting(kTestJob, 0, "4.2.2", "v41", 0), "credential");
  std::string odd = Greeting(kTestJob, 0);
  odd.replace(kHeaderSize, 6, "kerbos");
  ExpectRefusal(odd, "kerbos");
  ExpectRefusal("GET / HTTP/1.1\r\n\r\n", "does not speak");
  ExpectRefusal(Unhex("ffffffff ffffffff ffffffff 00000000"), "4294967295");
  ExpectRefusal(Greeting(kTestJob, 0, "5.0.0", "v41", kUid, 2), "kind 2");
  proof_->holders.clear();
  ExpectRefusal(Greeting(kTestJob, 0), "made this connection");
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(StockEndpointTest, ConnectionsOfStrangersAreNotKept) {
  proof_->owner.uid = 65534;
  const UniqueFd fd = Connect();
  EXPECT_EQ(Receive(fd), "closed");
  proof_->owner.uid = kUid;
  proof_->gone = true;
  const UniqueFd gone = Connect();
  EXPECT_EQ(Receive(gone), "closed");
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

// The agent's own user may connect, but is not the job's.
TEST_F(StockEndpointTest, TheAgentsUserIsNotEverybody) {
  proof_->owner.uid = geteuid();
  ExpectRefusal(Greeting(kTestJob, 0, "4.2.2", "v41", geteuid()),
                "job is uid 1000's");
}

// What the kernel says of a process of another user, with nothing faked.
TEST_F(StockEndpointTest, AnotherUsersClaimIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kOther = 65534;
  StockOptions options;
  options.proof = MakeHostPeerProof();
  options.server = {"srv", 0};
  options.job_data = [this](const std::string&) { return segment_.reader(); };
  options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
  endpoint_ =
      std::make_unique<StockEndpoint>(loop_.get(), &sink_, std::move(options));
  ASSERT_TRUE(endpoint_->Start().ok());
  job_ = MakeTestJob(kTestJob, geteuid());
  // A job of that user too, so that it may connect at all.
  const auto other = MakeTestJob("other", kOther);
  AddJob();
  endpoint_->AddJob({other, std::make_shared<JobLayout>(*other)});
  endpoint_->OnProcess(kTestJob, 0, getpid());
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  const UniqueFd lifeline(fds[1]);
  const UniqueFd mine = Connect();
  const UniqueFd theirs = Connect();
  const pid_t child = fork();
  if (child == 0) {
    close(fds[1]);
    if (setresuid(kOther, kOther, kOther) != 0) _exit(1);
    // Its claim and its credential are those of the rank.
    const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_storage address;
    socklen_t size = sizeof address;
    getpeername(mine.get(), reinterpret_cast<sockaddr*>(&address), &size);
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
      _exit(2);
    }
    const std::string greeting =
        Greeting(kTestJob, 0, "4.2.2", "v41", geteuid());
    (void)send(fd.get(), greeting.data(), greeting.size(), MSG_NOSIGNAL);
    char end;
    _exit(read(fd.get(), &end, 1) == 0 ? 0 : 3);
  }
  // Until the child has been refused.
  int status = -1;
  while (waitpid(child, &status, WNOHANG) == 0) loop_->RunOnce(10);
  EXPECT_EQ(status, 0);
  ASSERT_FALSE(log_.empty());
  EXPECT_NE(log_.back().find("job is uid 0's"), std::string::npos)
      << log_.back();
  EXPECT_TRUE(sink_.inputs.empty());
  // The rank itself is served.
  Send(mine, Greeting(kTestJob, 0, "4.2.2", "v41", 0));
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
}

TEST_F(StockEndpointTest, WhoConnectsBeforeItsProcessIsKnownWaits) {
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 1) + Message(101, "02 05"));
  EXPECT_EQ(Receive(fd), "");
  EXPECT_TRUE(sink_.inputs.empty());
  endpoint_->OnProcess(kTestJob, 1, kPid);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_EQ(Receive(fd).size(), 8u);
}

TEST_F(StockEndpointTest, ConnectionsOfARankAreLimited) {
  StockOptions options;
  options.max_connections_per_rank = 2;
  Make(std::move(options));
  const UniqueFd a = Join();
  UniqueFd b = Join();
  ExpectRefusal(Greeting(kTestJob, 0), "too many");
  b.Reset();
  Turn();
  const UniqueFd c = Join();
}

// ------------------------------------------------------------- hostility ---

TEST_F(StockEndpointTest, SilenceAndHalfGreetingsEnd) {
  StockOptions options;
  options.hello_timeout_ns = 1000 * 1000;
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

TEST_F(StockEndpointTest, TheOldestSilentConnectionMakesRoom) {
  StockOptions options;
  options.max_unidentified = 3;
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

TEST_F(StockEndpointTest, GarbageEndsOneConnectionOnly) {
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
    EXPECT_EQ(Receive(fd), "closed") << Hex(bad);
    EXPECT_EQ(sink_.All<core::ClientGone>().back().client, client_);
  }
  client_ = good_client;
  EXPECT_EQ(Ask(good, 101, "02 06 02 00 02 00"), "025d");
}

TEST_F(StockEndpointTest, ATagIsUsedOnceAtATime) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 05"));
  Send(fd, Message(101, "02 05"));
  EXPECT_EQ(Receive(fd), "closed");
}

TEST_F(StockEndpointTest, MessagesMayComeInAnyPieces) {
  const UniqueFd fd = Connect();
  const std::string all = Greeting(kTestJob, 0) + Message(101, "02 05") +
                          Message(1, "") + Message(102, "02 05");
  for (const char c : all) Send(fd, std::string(1, c));
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 2u);
  EXPECT_EQ(Receive(fd).size(), 8u);
}

TEST_F(StockEndpointTest, WhoDoesNotReadIsNotReadFrom) {
  StockOptions options;
  options.pause_reading_bytes = 1000;
  Make(std::move(options));
  const UniqueFd fd = Join();
  // More than the kernel takes.
  Encoder infos;
  infos.PutSize(1);
  infos.PutString("k");
  infos.PutUint32(0);
  infos.PutUint16(PMIX_BYTE_OBJECT);
  infos.PutBytes(std::string(1 << 20, 'x'));
  const Bytes info(infos.Take());
  for (int i = 0; i < 32; ++i) {
    endpoint_->Notify({client_, -5, {"x", 0}, 0, info});
  }
  Turn();
  const size_t before = sink_.inputs.size();
  Send(fd, Message(102, "02 05"));
  EXPECT_EQ(sink_.inputs.size(), before);
  for (int i = 0; i < 10000 && sink_.inputs.size() == before; ++i) {
    (void)Receive(fd);
    loop_->RunOnce(1);
  }
  EXPECT_EQ(sink_.inputs.size(), before + 1);
}

// -------------------------------------------------------------- requests ---

TEST_F(StockEndpointTest, StatusAnswersInBothForms) {
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

TEST_F(StockEndpointTest, WhatIsNotServedIsAnsweredAtOnce) {
  const UniqueFd modern = Join();
  EXPECT_EQ(Ask(modern, 101, "02 06 02 00 02 00"), "025d");  // -47
  EXPECT_EQ(Ask(modern, 102, "02 7f"), "025d");
  const UniqueFd old = Join("3.2.3", "v3");
  EXPECT_EQ(Ask(old, 103, "00000001 7f"), "00000001ffffffd1");
}

TEST_F(StockEndpointTest, JobInfoStartsWithTheNamespace) {
  const UniqueFd modern = Join();
  const std::string info = Ask(modern, 101, "02 00");
  EXPECT_TRUE(info.starts_with("02086e737800"));
  EXPECT_EQ(info, Ask(modern, 102, "02 27 02 04 6b00"));
  const UniqueFd old = Join("3.2.3", "v3");
  EXPECT_TRUE(
      Ask(old, 101, "00000001 00").starts_with("00000001000000046e737800"));
}

TEST_F(StockEndpointTest, JobInfoIsMadeOnceForEachForm) {
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

// Gets. Rank 1 of "nsx" is on this node; its data goes in one object.
TEST_F(StockEndpointTest, GetOfCommittedData) {
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

TEST_F(StockEndpointTest, WhoGoesThroughTheRanksGetsTheNextAlong) {
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

TEST_F(StockEndpointTest, GetOfAKeyOfWhomeverItIs) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 04 02 08 6e737800 02 ffffffff0f 02 00 02 04 6b00"));
  Answer(101, kSuccess, Unhex("04 6a00 0e 01 04 6b00 0e 05"));
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "0211"
            "02086e737800ffffffff0f"
            "02046b000e05");
}

TEST_F(StockEndpointTest, ReservedKeysComeFromJobData) {
  const UniqueFd fd = Join();
  // pmix.job.size of any rank.
  const std::string answer = Ask(fd, 101,
                                 "02 04 02 08 6e737800 02 feffffff0f 02 00"
                                 "02 1c 706d69782e6a6f622e73697a6500");
  EXPECT_TRUE(sink_.All<core::GetArrived>().empty());
  EXPECT_TRUE(answer.ends_with("021c706d69782e6a6f622e73697a65000e03"))
      << answer;
  // One that is not there is for the core to refuse.
  Send(fd, Message(102,
                   "02 04 02 08 6e737800 02 feffffff0f 02 00"
                   "02 0e 706d69782e7800"));
  EXPECT_EQ(sink_.All<core::GetArrived>().size(), 1u);
}

TEST_F(StockEndpointTest, DirectoriesAreMadeForThoseWhoLearnTheirNames) {
  std::vector<ProcId> made;
  StockOptions options;
  options.make_directory = [&made](const ProcId& proc) {
    made.push_back(proc);
  };
  Make(std::move(options));
  const std::string name = Hex("pmix.pdir");
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
  EXPECT_NE(answer.find(Hex("/run/1")), std::string::npos) << answer;
  EXPECT_EQ(made, (std::vector<ProcId>{{kTestJob, 1}}));
  // Those that would not ask are told.
  const UniqueFd old = Join("4.1.2");
  EXPECT_NE(Ask(old, 100, "02 00").find(name), std::string::npos);
  EXPECT_EQ(made.back(), (ProcId{kTestJob, 0}));
}

TEST_F(StockEndpointTest, AnswersFitThePeer) {
  const UniqueFd fd = Join("4.1.2", "v41");
  Send(fd, Message(101, "02 04 02 08 6e737800 02 01 02 00 02 04 6b00"));
  Encoder kval;
  kval.PutKval("k", Value::ByteObject(std::string(17 << 20, 'x')).raw());
  Answer(101, kSuccess, kval.Take());
  EXPECT_EQ(Body(Receive(fd), 101), "0239");  // -29, out of resource
}

TEST_F(StockEndpointTest, Events) {
  const UniqueFd fd = Join();
  endpoint_->Notify(
      {client_, -5, {"x", 2}, 3, Bytes(Unhex("01 04 6b00 00 0e 05"))});
  EXPECT_EQ(Body(Receive(fd), kEventTag),
            "020c"
            "0209"
            "0204780002"
            "0201"
            "0204"
            "6b00"
            "000e05");
}

TEST_F(StockEndpointTest, ResultsOfJobControl) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 12 02 00 02 00"));
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101), "02000200");
}

TEST_F(StockEndpointTest, DataAfterARefresh) {
  const UniqueFd fd = Join();
  Send(fd, Message(101, "02 21 02 08 6e737800 02 01"));
  Answer(101, kSuccess, Unhex("04 6b00 0e 05"));
  EXPECT_EQ(Body(Receive(fd), 101), "020002046b000e05");
}

TEST_F(StockEndpointTest, ConnectTellsOfTheOthers) {
  const UniqueFd fd = Join();
  // Own namespace and one that is not known here any more.
  Send(fd, Message(101,
                   "02 0a 02 02 04 08 6e737800 feffffff0f"
                   "06 6f6f00 feffffff0f 02 00"));
  Answer(101, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 101),
            "0200"
            "0205"
            "02066f6f00");
}

TEST_F(StockEndpointTest, Resolving) {
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

TEST_F(StockEndpointTest, LogsOneLineAtATime) {
  const UniqueFd fd = Join();
  log_.clear();
  // TIME, pmix.log.stderr = "a\nb", no directives.
  EXPECT_EQ(Ask(fd, 101,
                "02 10 02 00 02 01 02 20 706d69782e6c6f672e73746465727200 00"
                "03 08 610a6200 02 00"),
            "0200");
  EXPECT_EQ(log_, (std::vector<std::string>{"nsx:0: a", "nsx:0: b"}));
}

TEST_F(StockEndpointTest, TheEndOfAJobEndsItsConnections) {
  const UniqueFd fd = Join();
  endpoint_->DropJob(kTestJob);
  EXPECT_EQ(Receive(fd), "closed");
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(StockEndpointTest, TheCoreMayClose) {
  const UniqueFd fd = Join();
  endpoint_->Close(client_, "reason");
  EXPECT_EQ(Receive(fd), "closed");
}

// ----------------------------------------------------------------- tools ---

class StockToolTest : public StockEndpointTest {
 protected:
  StockToolTest() { proof_->owner.uid = geteuid(); }
  std::string ToolGreeting(char kind) {
    return Greeting("my.tool", 4, "4.2.2", "v41", geteuid(), kind);
  }
};

TEST_F(StockToolTest, ANamelessToolGetsAName) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  const std::string welcome = Receive(fd);
  ASSERT_EQ(welcome.size(), 4u + 260 + 260 + 4);
  EXPECT_STREQ(welcome.c_str() + 4, "srv-tool0-1");
  EXPECT_STREQ(welcome.c_str() + 264, "srv");
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_TRUE(connected[0].is_tool);
  EXPECT_TRUE(Ask(fd, 101, "02 00").starts_with("0218"));
  // A fence is nothing for a tool.
  EXPECT_EQ(Ask(fd, 103, "02 03 02 01 02 08 6e737800 feffffff0f 02 00"),
            "025d");
  // pmix.qry.ns
  EXPECT_EQ(Ask(fd, 104, "02 0f 02 01 02 02 18 706d69782e7172792e6e7300 00"),
            "0200"
            "0201"
            "02"
            "18706d69782e7172792e6e7300"
            "00"
            "03"
            "086e737800");
  EXPECT_EQ(sink_.inputs.size(), 1u);
  // Events are.
  Send(fd, Message(105, "02 0d 02 00 02 00"));
  EXPECT_EQ(sink_.All<core::EventsWanted>().size(), 1u);
  client_ = connected[0].client;
  Answer(105, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 105), "0200");
}

TEST_F(StockToolTest, AToolMayBringItsName) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(4));
  EXPECT_EQ(Receive(fd).size(), 4u + 260 + 4);
  EXPECT_TRUE(Ask(fd, 101, "02 00").starts_with("02106d792e746f6f6c00"));
}

TEST_F(StockToolTest, ASingletonIsRefused) {
  ExpectRefusal(ToolGreeting(9), "no process of a job");
}

TEST_F(StockToolTest, ToolsOfOtherUsersAreRefused) {
  proof_->owner.uid = kUid;
  ExpectRefusal(Greeting("my.tool", 4, "4.2.2", "v41", kUid, 4),
                "another user");
}

TEST_F(StockToolTest, AToolThatClaimsARankMustBeIt) {
  proof_->owner.uid = kUid;
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 0, "4.2.2", "v41", kUid, 5));
  EXPECT_EQ(Receive(fd).size(), 4u + 260 + 4);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  proof_->holders.clear();
  ExpectRefusal(Greeting(kTestJob, 0, "4.2.2", "v41", kUid, 5),
                "made this connection");
}

TEST_F(StockToolTest, ToolsAreLimited) {
  StockOptions options;
  options.max_tools = 1;
  Make(std::move(options));
  proof_->owner.uid = geteuid();
  UniqueFd first = Connect();
  Send(first, ToolGreeting(3));
  ExpectRefusal(ToolGreeting(3), "one tool too many");
  first.Reset();
  Turn();
  const UniqueFd second = Connect();
  Send(second, ToolGreeting(3));
  EXPECT_EQ(Receive(second).size(), 4u + 260 + 260 + 4);
}

TEST(StockEndpoint, AddressesThatAreNone) {
  EventLoop loop;
  FakeSink sink;
  StockOptions options;
  options.address = "localhost";
  StockEndpoint endpoint(&loop, &sink, std::move(options));
  EXPECT_EQ(endpoint.Start().code(), kErrBadParam);
}

}  // namespace
}  // namespace canopy::stock
