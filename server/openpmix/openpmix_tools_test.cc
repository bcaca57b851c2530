// Programs that do not belong to a job.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/hex.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "server/core/step/host.h"
#include "server/openpmix/endpoint_testing.h"
#include "server/ports/fake_fd_store.h"

namespace canopy::openpmix {
namespace {

class OpenPmixToolTest : public OpenPmixEndpointTest {
 protected:
  OpenPmixToolTest() { proof_->owner.uid = geteuid(); }
  std::string ToolGreeting(char kind) {
    return Greeting("my.tool", 4, "4.2.2", "v41", geteuid(), kind);
  }
};

TEST_F(OpenPmixToolTest, AToolWithoutANameGetsOne) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  const std::string welcome = Receive(fd);
  ASSERT_EQ(welcome.size(), 4u + 260 + 260 + 4);
  const std::string named = welcome.c_str() + 4;
  EXPECT_TRUE(named.starts_with("srv-tool0-")) << named;
  EXPECT_STREQ(welcome.c_str() + 264, "srv");
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_TRUE(connected[0].is_tool);
  EXPECT_TRUE(Ask(fd, 101, "02 00").starts_with("022a"));
  // A tool cannot take part in a fence.
  EXPECT_EQ(Ask(fd, 103, "02 03 02 01 02 08 6e737800 feffffff0f 02 00"),
            "025d");
  EXPECT_EQ(sink_.inputs.size(), 1u);
  // The tool has no output here: pmix.log.stderr = "x".
  EXPECT_EQ(Ask(fd, 106,
                "02 10 02 00 02 01 02 20 706d69782e6c6f672e73746465727200 00"
                "03 04 7800 02 00"),
            "025d");
  // Queries are served: pmix.qry.ns.
  client_ = connected[0].client;
  Send(fd, Message(104, "02 0f 02 01 02 02 18 706d69782e7172792e6e7300 00"));
  ASSERT_EQ(sink_.All<core::QueryArrived>().size(), 1u);
  Answer(104, kErrNotFound);
  EXPECT_EQ(Body(Receive(fd), 104), "025b");
  // A tool can also register for events.
  Send(fd, Message(105, "02 0d 02 00 02 00"));
  EXPECT_EQ(sink_.All<core::EventsWanted>().size(), 1u);
  Answer(105, kSuccess);
  EXPECT_EQ(Body(Receive(fd), 105), "0200");
  // A tool can also publish and look up data; this is a lookup.
  Send(fd, Message(107, "02 07 02 e807 02 01 02 04 6b00 02 00"));
  EXPECT_EQ(sink_.All<core::LookupArrived>().size(), 1u);
  Answer(107, kErrNotFound);
  EXPECT_EQ(Body(Receive(fd), 107), "025b");
}

// The agent reads on behalf of the library, which has no read requests.
TEST_F(OpenPmixToolTest, TheEndpointReadsOutputForATool) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  Receive(fd);
  client_ = sink_.All<core::ClientConnected>().at(0).client;
  const auto answer = [this](size_t nth, const OutputRun& run) {
    const auto asked = sink_.All<core::HostCallArrived>().at(nth);
    endpoint_->Reply(
        {client_, asked.request, kSuccess, Bytes(wire::Encode(run))});
  };
  // The puller has the number 7 and gets the standard output of rank 1 of nsx.
  Send(fd, Message(101, "02 16 02 01 02 08 6e737800 01 02 00 02 02 02 07"));
  const auto first = sink_.All<core::HostCallArrived>().at(0);
  EXPECT_EQ(first.op, HostOp::kReadOutput);
  EXPECT_EQ(first.targets, (std::vector<ProcId>{{"nsx", 1}}));
  OutputRead read;
  ASSERT_TRUE(wire::Decode(first.call.view(), &read));
  EXPECT_EQ(read.channels, kOutputChannel);
  EXPECT_TRUE(read.redirects);
  OutputRun run;
  run.cursor = "cursor";
  answer(0, run);
  EXPECT_EQ(Body(Receive(fd), 101), "02000201");
  run.pieces = {{1, kOutputChannel, Bytes(std::string("text"))}};
  answer(1, run);
  EXPECT_EQ(Body(Receive(fd), 2),
            "02086e7378000102020207020002047465"
            "7874");
  ASSERT_EQ(sink_.All<core::HostCallArrived>().size(), 3u);
  ASSERT_TRUE(
      wire::Decode(sink_.All<core::HostCallArrived>()[2].call.view(), &read));
  EXPECT_EQ(read.cursor, "cursor");
  // The client stops its puller, for which the agent has the number 1.
  EXPECT_EQ(Ask(fd, 102, "02 1d 02 00 02 01"), "0200");
  ASSERT_TRUE(wire::Decode(sink_.All<core::HostCallArrived>().at(3).call.view(),
                           &read));
  EXPECT_TRUE(read.ends);
  EXPECT_EQ(Ask(fd, 103, "02 1d 02 00 02 01"), "025b");
}

// The event has the status -172, and names the agent and the lost output. No
// further output is read.
TEST_F(OpenPmixToolTest, LostOutputRaisesAnEvent) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  Receive(fd);
  client_ = sink_.All<core::ClientConnected>().at(0).client;
  Send(fd, Message(101, "02 16 02 01 02 08 6e737800 01 02 00 02 02 02 07"));
  const auto answer = [this](size_t nth, int status, const Bytes& bytes) {
    const auto asked = sink_.All<core::HostCallArrived>().at(nth);
    endpoint_->Reply({client_, asked.request, status, bytes});
  };
  answer(0, kSuccess, Bytes(wire::Encode(OutputRun{})));
  EXPECT_EQ(Body(Receive(fd), 101), "02000201");
  answer(1, kErrOutOfResource, {});
  const std::string event = Body(Receive(fd), 0);
  EXPECT_TRUE(
      event.starts_with("02"
                        "0c"
                        "02"
                        "d702"))
      << event;
  EXPECT_NE(event.find(ToHex("pmix.evproc")), std::string::npos) << event;
  EXPECT_NE(event.find(ToHex("canopy.iof.channels")), std::string::npos);
  EXPECT_EQ(sink_.All<core::HostCallArrived>().size(), 2u);
}

TEST_F(OpenPmixToolTest, APullOfForbiddenOutputIsRefused) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  Receive(fd);
  client_ = sink_.All<core::ClientConnected>().at(0).client;
  Send(fd, Message(101, "02 16 02 01 02 08 6e737800 01 02 00 02 02 02 07"));
  endpoint_->Reply({client_,
                    sink_.All<core::HostCallArrived>().at(0).request,
                    kErrNotSupported,
                    {}});
  EXPECT_EQ(Body(Receive(fd), 101), "025d");
  // Standard input alone is not output.
  EXPECT_EQ(Ask(fd, 102, "02 16 02 01 02 08 6e737800 01 02 00 02 01 02 07"),
            "025d");
}

TEST_F(OpenPmixToolTest, AToolKeepsItsOwnName) {
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(4));
  EXPECT_EQ(Receive(fd).size(), 4u + 260 + 4);
  EXPECT_TRUE(Ask(fd, 101, "02 00").starts_with("02106d792e746f6f6c00"));
}

TEST_F(OpenPmixToolTest, ASingletonsGreetingIsRefused) {
  ExpectRefusal(ToolGreeting(9), "no process of a job");
}

TEST_F(OpenPmixToolTest, ToolsOfOtherUsersAreRefused) {
  proof_->owner.uid = kUid;
  ExpectRefusal(Greeting("my.tool", 4, "4.2.2", "v41", kUid, 4),
                "another user");
}

TEST_F(OpenPmixToolTest, ToolsOfJobOwnersAreServedIfConfigured) {
  OpenPmixOptions options;
  options.serves_job_owners = true;
  Make(std::move(options));
  proof_->owner.uid = kUid;
  const UniqueFd fd = Connect();
  Send(fd, Greeting("my.tool", 4, "4.2.2", "v41", kUid, 4));
  EXPECT_NE(Receive(fd), "");
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_TRUE(connected[0].of_other_user);
  EXPECT_EQ(connected[0].uid, kUid);
  EXPECT_EQ(connected[0].gid, core::kUnknownGroup);
  // A get of pmix.job.size for a job of the tool's user.
  const std::string get =
      "02 04 02 08 6e737800 02 feffffff0f 02 00"
      "02 1c 706d69782e6a6f622e73697a6500";
  EXPECT_NE(Ask(fd, 101, get), "");
  EXPECT_TRUE(sink_.All<core::GetArrived>().empty());
}

// The core decides about a job of another user.
TEST_F(OpenPmixToolTest, AToolOfAnotherUserDoesNotReadJobData) {
  OpenPmixOptions options;
  options.serves_job_owners = true;
  Make(std::move(options));
  auto other = std::make_shared<JobSpec>(*job_);
  other->nspace = "other";
  other->uid = kUid + 1;
  endpoint_->AddJob({other, std::make_shared<JobLayout>(*other)});
  proof_->owner.uid = kUid + 1;
  const UniqueFd fd = Connect();
  Send(fd, Greeting("my.tool", 4, "4.2.2", "v41", kUid + 1, 4));
  EXPECT_NE(Receive(fd), "");
  Send(fd, Message(101,
                   "02 04 02 08 6e737800 02 feffffff0f 02 00"
                   "02 1c 706d69782e6a6f622e73697a6500"));
  EXPECT_EQ(sink_.All<core::GetArrived>().size(), 1u);
  EXPECT_EQ(Receive(fd), "");
  // Nor does the tool learn where the processes of the other user's job are.
  EXPECT_EQ(Ask(fd, 102, "02 25 02 02 00 02 08 6e737800"), "025b");
  EXPECT_EQ(Ask(fd, 103, "02 26 02 08 6e737800"), "025b");
}

TEST_F(OpenPmixToolTest, AToolMayClaimOnlyTheRankOfItsProcess) {
  proof_->owner.uid = kUid;
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 0, "4.2.2", "v41", kUid, 5));
  EXPECT_EQ(Receive(fd).size(), 4u + 260 + 4);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  proof_->holders.clear();
  ExpectRefusal(Greeting(kTestJob, 0, "4.2.2", "v41", kUid, 5),
                "made this connection");
}

// ------------------------------------------ tools of other machines ---

class OpenPmixAdoptedTest : public OpenPmixToolTest {
 protected:
  // No process on this machine has made the connection.
  OpenPmixAdoptedTest() { proof_->gone = true; }
  UniqueFd Adopted() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                         ends),
              0);
    endpoint_->Adopt(UniqueFd(ends[0]));
    return UniqueFd(ends[1]);
  }
};

// On its own machine, the tool's user has another uid.
TEST_F(OpenPmixAdoptedTest, ARelayedToolIsServed) {
  const UniqueFd fd = Adopted();
  Send(fd, Greeting("my.tool", 4, "4.2.2", "v41", geteuid() + 1, 4));
  EXPECT_EQ(Receive(fd).substr(0, 4), std::string(4, '\0'));
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_TRUE(connected[0].is_tool);
  EXPECT_EQ(connected[0].proc, (ProcId{"my.tool", 4}));
  EXPECT_EQ(connected[0].uid, geteuid());
}

TEST_F(OpenPmixAdoptedTest, ARelayedClientCannotBeARank) {
  for (const char kind : {0, 4, 5}) {
    const UniqueFd fd = Adopted();
    Send(fd, Greeting(kTestJob, 0, "4.2.2", "v41", geteuid(), kind));
    EXPECT_EQ(Receive(fd), "closed");
    ASSERT_FALSE(log_.empty());
    EXPECT_NE(log_.back().find("on another machine"), std::string::npos);
  }
  const UniqueFd singleton = Adopted();
  Send(singleton, Greeting("alone", 0, "4.2.2", "v41", geteuid(), 9));
  EXPECT_EQ(Receive(singleton), "closed");
  const UniqueFd garbage = Adopted();
  Send(garbage, std::string(64, 'x'));
  EXPECT_EQ(Receive(garbage), "closed");
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(OpenPmixToolTest, TheNumberOfToolsIsLimited) {
  OpenPmixOptions options;
  options.tools = std::make_shared<endpoint::ToolRegistry>(ProcId{"srv", 0}, 1);
  Make(std::move(options));
  proof_->owner.uid = geteuid();
  UniqueFd first = Connect();
  Send(first, ToolGreeting(3));
  ExpectRefusal(ToolGreeting(3), "exceeds the number of tools");
  first.Reset();
  RunRounds();
  const UniqueFd second = Connect();
  Send(second, ToolGreeting(3));
  EXPECT_EQ(Receive(second).size(), 4u + 260 + 260 + 4);
}

// ------------------------------------------------- decisions of the host ---

class OpenPmixAskingTest : public OpenPmixToolTest {
 protected:
  OpenPmixAskingTest() { MakeAsking(nullptr); }
  void MakeAsking(FdStorePort* fd_store) {
    OpenPmixOptions options;
    options.fd_store = fd_store;
    options.ask = [this](const endpoint::Newcomer& who,
                         std::function<void(endpoint::Verdict)> done) {
      asked_.push_back(who);
      done_ = std::move(done);
    };
    Make(std::move(options));
  }
  std::vector<endpoint::Newcomer> asked_;
  std::function<void(endpoint::Verdict)> done_;
};

TEST_F(OpenPmixAskingTest, ARankIsServedWhenTheHostHasAnswered) {
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 0, "4.2.2", "v41") + Message(103, "02 00"));
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(asked_[0].proc, (ProcId{kTestJob, 0}));
  EXPECT_EQ(Receive(fd), "");
  EXPECT_TRUE(sink_.inputs.empty());
  done_({});
  // The welcome is followed by the answer to the request that the client has
  // sent together with its greeting.
  EXPECT_GT(Receive(fd).size(), 8u);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
}

TEST_F(OpenPmixAskingTest, ARefusedToolsConnectionIsClosed) {
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 0, "4.2.2", "v41"));
  done_({kErrNoPermissions, {}});
  EXPECT_EQ(Receive(fd), "closed");
  EXPECT_TRUE(sink_.inputs.empty());
  // The rejected connection does not count towards the limit of the rank.
  const UniqueFd again = Connect();
  Send(again, Greeting(kTestJob, 0, "4.2.2", "v41"));
  done_({});
  EXPECT_NE(Receive(again), "closed");
}

TEST_F(OpenPmixAskingTest, AClientThatLeavesBeforeTheHostAnswersIsForgotten) {
  proof_->owner.uid = geteuid();
  UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  ASSERT_EQ(asked_.size(), 1u);
  fd.Reset();
  RunRounds();
  done_({});
  RunRounds();
  EXPECT_TRUE(sink_.inputs.empty());
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

TEST_F(OpenPmixAskingTest, AToolGetsTheNameThatTheHostGives) {
  proof_->owner.uid = geteuid();
  const UniqueFd fd = Connect();
  Send(fd, ToolGreeting(3));
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_TRUE(asked_[0].is_tool);
  EXPECT_EQ(asked_[0].proc.nspace, "");
  done_({0, {"given", 2}});
  EXPECT_STREQ(Receive(fd).c_str() + 4, "given");
  EXPECT_EQ(sink_.All<core::ClientConnected>().at(0).proc,
            (ProcId{"given", 2}));
  const UniqueFd other = Connect();
  Send(other, ToolGreeting(3));
  done_({0, {"given", 2}});
  EXPECT_EQ(Receive(other), "closed");
}

// As long as a shim may hold the connection, the greeting stays in the socket
// for a successor of this agent.
TEST_F(OpenPmixAskingTest, TheGreetingOfAToolWithAHeldConnectionIsReadOnce) {
  FakeFdStore fd_store;
  const auto own = std::make_shared<JobSpec>(*job_);
  own->uid = geteuid();
  job_ = own;
  MakeAsking(&fd_store);
  proof_->owner.uid = geteuid();
  const UniqueFd fd = Connect();
  EXPECT_EQ(fd_store.connections.size(), 1u);
  Send(fd, ToolGreeting(3) + Message(105, "02 0d 02 00 02 00"));
  ASSERT_EQ(asked_.size(), 1u);
  EXPECT_EQ(Receive(fd), "");
  done_({});
  EXPECT_EQ(Receive(fd).size(), 4u + 260 + 260 + 4);
  EXPECT_EQ(sink_.All<core::EventsWanted>().size(), 1u);
  EXPECT_EQ(fd_store.released.size(), 1u) << "tools end with their agent";
  endpoint_.reset();  // destroyed before the objects that it refers to
}

}  // namespace
}  // namespace canopy::openpmix
