// The checks of the identity of connections.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "server/openpmix/endpoint_testing.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

TEST_F(OpenPmixEndpointTest, AClientOfThisJobIsServed) {
  const UniqueFd fd = Join();
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_EQ(connected[0].proc, (ProcId{kTestJob, 0}));
  EXPECT_EQ(KindOf(connected[0].client), ClientKind::kOpenPmix);
  EXPECT_EQ(endpoint_->num_connections(), 1u);
  EXPECT_EQ(Receive(fd), "");
  // A munge credential does not override the kernel's information.
  std::string vouched = Greeting(kTestJob, 0);
  vouched.replace(kHeaderSize, 7, std::string("munge\0\0", 7));
  vouched.erase(kHeaderSize + 6, 1);
  vouched[8] -= 1;
  const UniqueFd other = Connect();
  Send(other, vouched);
  EXPECT_EQ(Receive(other).size(), 8u);
}

TEST_F(OpenPmixEndpointTest, FalseClaimsOfAnIdentityAreRefused) {
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

TEST_F(OpenPmixEndpointTest,
       ConnectionsOfOtherUsersAndGonePeersAreClosedAtOnce) {
  proof_->owner.uid = 65534;
  const UniqueFd fd = Connect();
  EXPECT_EQ(Receive(fd), "closed");
  proof_->owner.uid = kUid;
  proof_->gone = true;
  const UniqueFd gone = Connect();
  EXPECT_EQ(Receive(gone), "closed");
  EXPECT_EQ(endpoint_->num_connections(), 0u);
}

// The agent's own user may connect, but is not the job's user.
TEST_F(OpenPmixEndpointTest, TheAgentsUserCannotClaimARankOfAnotherUser) {
  proof_->owner.uid = geteuid();
  ExpectRefusal(Greeting(kTestJob, 0, "4.2.2", "v41", geteuid()),
                "job is uid 1000's");
}

// Uses the kernel's real information about a process of another user.
TEST_F(OpenPmixEndpointTest, AnotherUsersClaimIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kOther = 65534;
  OpenPmixOptions options;
  options.proof = MakeHostPeerProof();
  options.server = {"srv", 0};
  options.job_data = [this](const std::string&) { return segment_.reader(); };
  options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
  endpoint_ = std::make_unique<OpenPmixEndpoint>(loop_.get(), &sink_,
                                                 std::move(options));
  ASSERT_TRUE(endpoint_->Start().ok());
  job_ = MakeTestJob(kTestJob, geteuid());
  // The other user has a job too, so that it may connect.
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
    // The claim and the credential are those of the rank.
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
  // The loop runs until the child has been rejected.
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

TEST_F(OpenPmixEndpointTest, AClientIsServedWhenItsProcessIsKnown) {
  const UniqueFd fd = Connect();
  Send(fd, Greeting(kTestJob, 1) + Message(101, "02 05"));
  EXPECT_EQ(Receive(fd), "");
  EXPECT_TRUE(sink_.inputs.empty());
  endpoint_->OnProcess(kTestJob, 1, kPid);
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
  RunRounds();
  EXPECT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  EXPECT_EQ(Receive(fd).size(), 8u);
}

TEST_F(OpenPmixEndpointTest, ConnectionsOfARankAreLimited) {
  OpenPmixOptions options;
  options.max_connections_per_rank = 2;
  Make(std::move(options));
  const UniqueFd a = Join();
  UniqueFd b = Join();
  ExpectRefusal(Greeting(kTestJob, 0), "too many");
  b.Reset();
  RunRounds();
  const UniqueFd c = Join();
}

}  // namespace
}  // namespace canopy::openpmix
