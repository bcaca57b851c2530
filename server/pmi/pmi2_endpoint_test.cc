// PMI-2 clients at the endpoint, and after a restart of its agent.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_types.h"
#include "server/pmi/agent_fixture.h"
#include "server/pmi/outcome_log.h"
#include "server/pmi/pmi2_wire.h"

namespace canopy::pmi {
namespace {

constexpr char kInit[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
constexpr char kInitAnswer[] =
    "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n";
constexpr core::RequestId kFence = 1;
constexpr core::RequestId kFinalize = 2;
constexpr core::RequestId kPut = 3;
constexpr core::RequestId kGet = 4;
constexpr core::RequestId kRingPut = 5;

// Returns a message with its header.
std::string Framed(const std::string& text) {
  std::string length = std::to_string(text.size());
  length.resize(kHeaderSize, ' ');
  return length + text;
}

class Pmi2EndpointTest : public AgentTest {
 protected:
  void Init() {
    Send(kInit);
    EXPECT_EQ(Receive(), kInitAnswer);
  }
  // Returns the next answer, without its header.
  std::string ReceiveMessage() {
    const std::string answer = Receive();
    if (answer.size() < kHeaderSize) return answer;
    EXPECT_EQ(LengthIn(answer.substr(0, kHeaderSize)),
              answer.size() - kHeaderSize)
        << answer;
    return answer.substr(kHeaderSize);
  }
  std::string Ask(const std::string& text) {
    Send(Framed(text));
    return ReceiveMessage();
  }
  // Sends the core's reply to this client.
  void Reply(core::RequestId request) {
    agent_->endpoint.Reply(
        {MakeClientId(ClientKind::kPmi, 1), request, kSuccess, {}});
    agent_->Settle();
  }
  template <typename T>
  T Only() const {
    const std::vector<T> all = agent_->sink.All<T>();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? T() : all.back();
  }
};

TEST_F(Pmi2EndpointTest, TheRequestsOfAStartingClientAreAnswered) {
  Init();
  EXPECT_EQ(Only<core::ClientConnected>().proc, (ProcId{"job", 1}));
  EXPECT_EQ(Ask("cmd=fullinit;pmirank=7;threaded=FALSE;"),
            "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;"
            "size=3;appnum=0;debugged=FALSE;pmiverbose=FALSE;");
  EXPECT_EQ(Ask("cmd=job-getid;thrid=0x1;"),
            "cmd=job-getid-response;thrid=0x1;rc=0;jobid=job;");
  keys_["pmix.anlmap"] = "(vector,(0,2,1))";
  EXPECT_EQ(Ask("cmd=info-getjobattr;key=PMI_process_mapping;"),
            "cmd=info-getjobattr-response;rc=0;found=TRUE;"
            "value=(vector,(0,2,1));");
  EXPECT_EQ(Ask("cmd=info-getjobattr;key=hasNameServ;"),
            "cmd=info-getjobattr-response;rc=0;found=TRUE;value=TRUE;");
  EXPECT_EQ(Ask("cmd=info-getjobattr;key=physTopology;"),
            "cmd=info-getjobattr-response;rc=0;found=FALSE;");
  EXPECT_EQ(Ask("cmd=info-getnodeattr;key=localRanks;wait=FALSE;"),
            "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=1,2;");
  EXPECT_EQ(Ask("cmd=info-getnodeattr;key=localRanksCount;wait=FALSE;"),
            "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=2;");
}

TEST_F(Pmi2EndpointTest, EachPutIsCommittedAtOnce) {
  Init();
  EXPECT_EQ(Ask("cmd=kvs-put;key=k;value=a;;b;"), "");
  const auto committed = Only<core::Committed>();
  ASSERT_EQ(committed.data.size(), 1u);
  EXPECT_EQ(committed.data[0].scope, core::Scope::kGlobal);
  Decoder decoder(committed.data[0].kvals.view());
  KvalView kval;
  ASSERT_TRUE(decoder.GetKval(&kval));
  EXPECT_EQ(kval.key, "k");
  agent_->Reply(kPut);
  EXPECT_EQ(ReceiveMessage(), "cmd=kvs-put-response;rc=0;");
  EXPECT_EQ(Ask("cmd=kvs-put;key=k;value=;"), "");
  agent_->Reply(kPut, kErrOutOfResource);
  EXPECT_EQ(ReceiveMessage(),
            "cmd=kvs-put-response;rc=2;errmsg=out_of_memory;");
}

TEST_F(Pmi2EndpointTest, InvalidPutsAreRefused) {
  Init();
  for (const std::string& key :
       {std::string(), std::string("pmix.rank"), std::string("|node|x"),
        std::string(256, 'k'), std::string("a\0b", 3)}) {
    EXPECT_EQ(Ask("cmd=kvs-put;thrid=7;key=" + key + ";value=v;"),
              "cmd=kvs-put-response;thrid=7;rc=4;errmsg=bad_key;");
  }
  EXPECT_EQ(Ask("cmd=kvs-put;key=k;value=" + std::string(1024, 'v') + ";"),
            "cmd=kvs-put-response;rc=7;errmsg=value_too_long;");
  EXPECT_EQ(Ask("cmd=kvs-put;key=k;value=" + std::string("a\0b", 3) + ";"),
            "cmd=kvs-put-response;rc=6;errmsg=bad_value;");
  EXPECT_TRUE(agent_->sink.All<core::Committed>().empty());
}

TEST_F(Pmi2EndpointTest, AGetOfTheClientsJobIsAnsweredFromPublishedData) {
  Init();
  keys_["job/k"] = "a;b\n";
  for (const char* fields : {"", "jobid=job;", "jobid=job;srcid=0;"}) {
    EXPECT_EQ(Ask(std::string("cmd=kvs-get;") + fields + "key=k;"),
              "cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b\n;");
  }
  EXPECT_EQ(Ask("cmd=kvs-get;key=none;"),
            "cmd=kvs-get-response;rc=0;found=FALSE;");
}

TEST_F(Pmi2EndpointTest, AGetOfAnotherJobIsRequestedIfItsDataIsNotHere) {
  Init();
  keys_["job-2/here"] = "v";
  EXPECT_EQ(Ask("cmd=kvs-get;jobid=job-2;srcid=-1;key=here;"),
            "cmd=kvs-get-response;rc=0;found=TRUE;value=v;");
  EXPECT_EQ(Ask("cmd=kvs-get;jobid=job-2;srcid=4;key=there;"), "");
  const auto get = Only<core::GetArrived>();
  EXPECT_EQ(get.target, (ProcId{"job-2", 4}));
  EXPECT_EQ(get.key, "there");
  EXPECT_TRUE(get.refresh);
  keys_["job-2/there"] = "w";
  agent_->Reply(kGet);
  EXPECT_EQ(ReceiveMessage(), "cmd=kvs-get-response;rc=0;found=TRUE;value=w;");
  EXPECT_EQ(Ask("cmd=kvs-get;jobid=job-2;srcid=4;key=none;"), "");
  agent_->Reply(kGet, kErrNotFound);
  EXPECT_EQ(ReceiveMessage(), "cmd=kvs-get-response;rc=0;found=FALSE;");
}

// Another agent would reject a request that names an invalid job as malformed.
TEST_F(Pmi2EndpointTest, AGetWithAnInvalidJobNameIsRefused) {
  Init();
  const std::string most(255, 'j');
  EXPECT_EQ(Ask("cmd=kvs-get;jobid=" + most + "j;srcid=0;key=k;"),
            "cmd=kvs-get-response;rc=3;errmsg=unknown_kvs;");
  EXPECT_TRUE(agent_->sink.All<core::GetArrived>().empty());
  EXPECT_EQ(Ask("cmd=kvs-get;jobid=" + most + ";srcid=0;key=k;"), "");
  EXPECT_EQ(Only<core::GetArrived>().target.nspace, most);
}

TEST_F(Pmi2EndpointTest, AFenceCollectsData) {
  Init();
  EXPECT_EQ(Ask("cmd=kvs-fence;thrid=1;"), "");
  EXPECT_TRUE(Only<core::CollectiveArrived>().collect_data);
  agent_->Reply(kFence);
  EXPECT_EQ(ReceiveMessage(), "cmd=kvs-fence-response;thrid=1;rc=0;");
  EXPECT_EQ(Ask("cmd=kvs-fence;"), "");
  agent_->Reply(kFence, kErrTimeout);
  EXPECT_EQ(ReceiveMessage(),
            "cmd=kvs-fence-response;rc=14;errmsg=failed_with_status_-24;");
}

constexpr char kRing[] = "cmd=ring;ring-count=1;ring-left=a;ring-right=a;";

TEST_F(Pmi2EndpointTest, ARingIsExecutedAsAPutAndAFence) {
  Init();
  for (const char* number : {"0", "1", "0"}) {
    agent_->sink.inputs.clear();
    EXPECT_EQ(Ask(kRing), "");
    const auto committed = Only<core::Committed>();
    Decoder decoder(committed.data[0].kvals.view());
    KvalView kval;
    ASSERT_TRUE(decoder.GetKval(&kval));
    EXPECT_EQ(kval.key, std::string("|ring") + number + "-1");
    EXPECT_TRUE(agent_->sink.All<core::CollectiveArrived>().empty());
    Reply(kRingPut);
    EXPECT_EQ(agent_->sink.All<core::CollectiveArrived>().size(), 1u);
    keys_ = {{std::string("job/|ring") + number + "-0", "of 0"},
             {std::string("job/|ring") + number + "-2", "of 2"}};
    Reply(kFence);
    EXPECT_EQ(ReceiveMessage(),
              "cmd=ring-response;rc=0;ring-count=1;ring-left=of 0;"
              "ring-right=of 2;");
  }
}

TEST_F(Pmi2EndpointTest, AttributesOfTheNodeAreCommittedWithLocalScope) {
  Init();
  EXPECT_EQ(Ask("cmd=info-putnodeattr;key=pool;value=p;"), "");
  const auto committed = Only<core::Committed>();
  EXPECT_EQ(committed.data[0].scope, core::Scope::kLocal);
  Decoder decoder(committed.data[0].kvals.view());
  KvalView kval;
  ASSERT_TRUE(decoder.GetKval(&kval));
  EXPECT_EQ(kval.key, "|node|pool");
  agent_->Reply(kPut);
  EXPECT_EQ(ReceiveMessage(), "cmd=info-putnodeattr-response;rc=0;");
  EXPECT_EQ(Ask("cmd=info-getnodeattr;key=pool;wait=FALSE;"),
            "cmd=info-getnodeattr-response;rc=0;found=FALSE;");
}

TEST_F(Pmi2EndpointTest, AGetOfANodeAttributeWaitsOnRequest) {
  Init();
  EXPECT_EQ(Ask("cmd=info-getnodeattr;key=pool;wait=TRUE;"), "");
  const auto get = Only<core::GetArrived>();
  EXPECT_EQ(get.target, (ProcId{"job", kRankUndef}));
  EXPECT_EQ(get.key, "|node|pool");
  EXPECT_FALSE(get.refresh || get.immediate);
  keys_["job/|node|pool"] = "p";
  agent_->Reply(kGet);
  EXPECT_EQ(ReceiveMessage(),
            "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=p;");
  EXPECT_EQ(Ask("cmd=info-getnodeattr;key=pool;wait=TRUE;"),
            "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=p;");
  EXPECT_EQ(Ask("cmd=info-getnodeattr;key=other;wait=TRUE;"), "");
  agent_->Reply(kGet, kErrJobTerminated);
  EXPECT_EQ(ReceiveMessage(),
            "cmd=info-getnodeattr-response;rc=14;"
            "errmsg=failed_with_status_-145;");
}

TEST_F(Pmi2EndpointTest, NamesArePublishedLookedUpAndUnpublished) {
  Init();
  EXPECT_EQ(Ask("cmd=name-publish;name=s;port=p;infokeycount=0;"), "");
  agent_->Reply(Only<core::PublishArrived>().request);
  EXPECT_EQ(ReceiveMessage(), "cmd=name-publish-response;rc=0;");
  EXPECT_EQ(Ask("cmd=name-lookup;name=s;infokeycount=0;"), "");
  pmix_pdata_t found = {};
  found.value = Value::String("p").Release();
  Encoder encoder;
  encoder.PutSize(1);
  encoder.PutElement(PMIX_PDATA, &found);
  Value::Adopt(&found.value);
  agent_->Reply(Only<core::LookupArrived>().request, 0, Bytes(encoder.Take()));
  EXPECT_EQ(ReceiveMessage(),
            "cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;");
  EXPECT_EQ(Ask("cmd=name-unpublish;name=s;infokeycount=0;"), "");
  agent_->Reply(Only<core::UnpublishArrived>().request, kErrNotFound);
  EXPECT_EQ(ReceiveMessage(),
            "cmd=name-unpublish-response;rc=14;errmsg=status_-46;");
  EXPECT_EQ(Ask("cmd=name-lookup;name=pmix.range;"),
            "cmd=name-lookup-response;rc=3;errmsg=bad_service;");
}

constexpr char kSpawn[] =
    "cmd=spawn;thrid=9;ncmds=1;preputcount=0;subcmd=x;maxprocs=1;argc=0;";

TEST_F(Pmi2EndpointTest, ASpawnIsAnsweredWithItsJob) {
  Init();
  EXPECT_EQ(Ask(kSpawn), "");
  agent_->Reply(Only<core::SpawnArrived>().request, 0,
                Bytes(std::string("job-2")));
  EXPECT_EQ(ReceiveMessage(), "cmd=spawn-response;thrid=9;rc=0;jobid=job-2;");
  EXPECT_EQ(Ask("cmd=spawn;ncmds=2;subcmd=x;maxprocs=1;argc=0;"),
            "cmd=spawn-response;rc=10;errmsg=bad_spawn_command;");
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().size(), 1u);
}

TEST_F(Pmi2EndpointTest, AConnectHasBothWholeJobsAsParticipants) {
  Init();
  EXPECT_EQ(Ask("cmd=job-connect;jobid=job-2;"), "");
  const auto connect = Only<core::CollectiveArrived>();
  EXPECT_EQ(connect.op, core::CollectiveOp::kConnect);
  EXPECT_EQ(
      connect.participants,
      (std::vector<ProcId>{{"job", kRankWildcard}, {"job-2", kRankWildcard}}));
  agent_->Reply(connect.request);
  EXPECT_EQ(ReceiveMessage(), "cmd=job-connect-response;rc=0;kvscopy=FALSE;");
  for (const char* job : {"", "job", "a\nb"}) {
    EXPECT_EQ(Ask(std::string("cmd=job-disconnect;jobid=") + job + ";"),
              "cmd=job-disconnect-response;rc=3;errmsg=bad_jobid;");
  }
}

TEST_F(Pmi2EndpointTest, AnAbortEndsTheJobOrOnlyItsCaller) {
  Init();
  EXPECT_EQ(Ask("cmd=abort;isworld=TRUE;msg=why;"), "");
  const auto abort = Only<core::AbortArrived>();
  EXPECT_EQ(abort.status, 1);
  EXPECT_EQ(abort.text, "why");
  EXPECT_TRUE(abort.targets.empty());
  EXPECT_EQ(Ask("cmd=abort;isworld=FALSE;msg=;"), "");
  EXPECT_EQ(agent_->sink.All<core::AbortArrived>().at(1).targets,
            (std::vector<ProcId>{{"job", 1}}));
}

TEST_F(Pmi2EndpointTest, TheDisconnectOfAFinalizedClientIsNotLogged) {
  Init();
  EXPECT_EQ(Ask("cmd=finalize;"), "");
  agent_->Reply(kFinalize);
  EXPECT_EQ(ReceiveMessage(), "cmd=finalize-response;rc=0;");
  client_.Reset();
  agent_->Settle();
  EXPECT_EQ(agent_->endpoint.num_connections(), 0u);
  EXPECT_TRUE(log_.empty());
}

TEST_F(Pmi2EndpointTest, UnknownAndMalformedCommandsAreAnswered) {
  Init();
  EXPECT_EQ(Ask("cmd=dance;thrid=1;"),
            "cmd=dance-response;thrid=1;rc=14;errmsg=not_supported;");
  EXPECT_EQ(Ask("cmd=ring;ring-count=2;ring-left=a;ring-right=a;"),
            "cmd=ring-response;rc=12;errmsg=malformed;");
  EXPECT_EQ(Ask("cmd=kvs-put;key=k;value=v"),
            "cmd=kvs-put-response;rc=12;errmsg=malformed;");
  EXPECT_EQ(Ask("cmd=job-getid;"), "cmd=job-getid-response;rc=0;jobid=job;");
}

TEST_F(Pmi2EndpointTest, AMalformedMessageEndsTheConnection) {
  for (const std::string& text :
       {std::string("999999cmd=x;"), std::string("     0"),
        std::string("nonsense"), Framed("how do you do"),
        std::string("cmd=get_appnum\n")}) {
    client_.Reset(agent_->endpoint.FdForRank(agent_->prepare, 1).fd);
    agent_->Settle();
    Init();
    Send(text);
    EXPECT_EQ(Receive(), "closed") << text;
  }
  EXPECT_EQ(log_.size(), 5u);
}

TEST_F(Pmi2EndpointTest, ACommandBeforeInitEndsTheConnection) {
  Send(Framed("cmd=fullinit;") + "\n");
  EXPECT_EQ(Receive(), "closed");
}

TEST_F(Pmi2EndpointTest, AClientMaySendInitAgain) {
  Init();
  Init();
  EXPECT_EQ(agent_->sink.All<core::ClientConnected>().size(), 1u);
  Send("cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_EQ(Receive(),
            "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n");
}

TEST_F(Pmi2EndpointTest, MessagesMayArriveByteByByteOrTogether) {
  Init();
  for (const char c : Framed("cmd=job-getid;")) Send(std::string(1, c));
  EXPECT_EQ(ReceiveMessage(), "cmd=job-getid-response;rc=0;jobid=job;");
  Send(Framed("cmd=job-getid;") + Framed("cmd=job-getid;").substr(0, 9));
  EXPECT_EQ(ReceiveMessage(), "cmd=job-getid-response;rc=0;jobid=job;");
  Send(Framed("cmd=job-getid;").substr(9));
  EXPECT_EQ(ReceiveMessage(), "cmd=job-getid-response;rc=0;jobid=job;");
}

TEST_F(Pmi2EndpointTest, TheLongestMessageIsHandled) {
  Init();
  std::string text = "cmd=spawn;ncmds=1;subcmd=x;maxprocs=1;argc=1;argv0=";
  text += std::string(kMaxMessage - text.size() - 1, 'x') + ";";
  const std::string framed = Framed(text);
  Send(framed.substr(0, framed.size() - 1));
  EXPECT_TRUE(agent_->sink.All<core::SpawnArrived>().empty());
  Send(framed.substr(framed.size() - 1));
  const auto spawned = agent_->sink.All<core::SpawnArrived>();
  ASSERT_EQ(spawned.size(), 1u);
  agent_->Reply(spawned[0].request, kErrNotFound);
  EXPECT_NE(ReceiveMessage(), "");
  Send(framed);
  EXPECT_EQ(agent_->sink.All<core::SpawnArrived>().size(), 2u);
}

TEST_F(Pmi2EndpointTest, ADescriptorInAMessageEndsTheConnection) {
  Init();
  const std::string framed = Framed("cmd=job-getid;");
  Write(framed.substr(0, 8));
  agent_->Settle();
  char control[CMSG_SPACE(sizeof(int))] = {};
  iovec bytes = {const_cast<char*>(framed.data()) + 8, 4};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = client_.get();
  memcpy(CMSG_DATA(header), &fd, sizeof fd);
  ASSERT_EQ(sendmsg(client_.get(), &message, 0), 4);
  Write(framed.substr(12));
  agent_->Settle();
  EXPECT_EQ(agent_->endpoint.num_connections(), 0u);
  EXPECT_EQ(log_.size(), 1u);
}

// --------------------------------------------------------------- recovery ---

TEST_F(Pmi2EndpointTest, ASuccessorKnowsTheProtocolOfTheClient) {
  Init();
  Kill();
  Write(Framed("cmd=job-getid;thrid=1;"));
  Restart();
  EXPECT_EQ(ReceiveMessage(), "cmd=job-getid-response;thrid=1;rc=0;jobid=job;");
  EXPECT_EQ(Barriers(), 0u);
}

TEST_F(Pmi2EndpointTest, ASuccessorAnswersAnUnansweredInit) {
  Kill();
  PutStates({.initialized = true, .pmi2 = true});
  Write(kInit);
  Restart();
  EXPECT_EQ(Receive(), kInitAnswer);
}

TEST_F(Pmi2EndpointTest, AWaitingFenceIsReplayed) {
  Init();
  Send(Framed("cmd=kvs-fence;"));
  agent_->Reply(kFence);
  EXPECT_EQ(ReceiveMessage(), "cmd=kvs-fence-response;rc=0;");
  Send(Framed("cmd=kvs-fence;thrid=2;"));
  Kill();
  Restart();
  EXPECT_EQ(Barriers(), 1u);
  EXPECT_EQ(Receive(), "");
  agent_->Reply(kFence);
  EXPECT_EQ(ReceiveMessage(), "cmd=kvs-fence-response;thrid=2;rc=0;");
}

TEST_F(Pmi2EndpointTest, ASuccessorAnswersAFenceThatHasEnded) {
  Init();
  Send(Framed("cmd=kvs-fence;thrid=2;"));
  Kill();
  PutStates({.initialized = true,
             .pmi2 = true,
             .answering = true,
             .status = kErrUnreach,
             .barriers = 1});
  Restart();
  EXPECT_TRUE(agent_->sink.All<core::CollectiveArrived>().empty());
  EXPECT_EQ(
      ReceiveMessage(),
      "cmd=kvs-fence-response;thrid=2;rc=14;errmsg=failed_with_status_-25;");
}

TEST_F(Pmi2EndpointTest, ASuccessorAnswersARingThatHasEnded) {
  Init();
  Send(Framed(kRing));
  Kill();
  PutStates({.initialized = true,
             .pmi2 = true,
             .odd_ring = true,
             .answering = true,
             .barriers = 1});
  keys_["job/|ring0-2"] = "of 2";
  Restart();
  EXPECT_EQ(ReceiveMessage(),
            "cmd=ring-response;rc=0;ring-count=1;ring-left=;ring-right=of 2;");
}

TEST_F(Pmi2EndpointTest, AnAwaitedAttributeIsRequestedAgain) {
  Init();
  Send(Framed("cmd=info-getnodeattr;key=pool;wait=TRUE;"));
  Kill();
  Restart();
  EXPECT_EQ(agent_->sink.All<core::GetArrived>().size(), 1u);
}

TEST_F(Pmi2EndpointTest, AWaitingSpawnIsRequestedAgainWithTheSameNumber) {
  Init();
  Send(Framed(kSpawn));
  const auto before = Only<core::SpawnArrived>();
  Kill();
  Restart();
  const auto after = Only<core::SpawnArrived>();
  EXPECT_EQ(after.request, before.request);
  EXPECT_EQ(after.call.view(), before.call.view());
  agent_->Reply(after.request, 0, Bytes(std::string("job-2")));
  EXPECT_EQ(ReceiveMessage(), "cmd=spawn-response;thrid=9;rc=0;jobid=job-2;");
  Kill();
  Restart();
  EXPECT_TRUE(agent_->sink.All<core::SpawnArrived>().empty());
  EXPECT_EQ(Receive(), "");
}

// The state is as if the former agent had been killed after it had logged the
// outcome of the spawn and before it had recorded the end of the spawn.
TEST_F(Pmi2EndpointTest, ASuccessorAnswersASpawnWithItsJob) {
  Init();
  Send(Framed(kSpawn));
  Kill();
  const auto log = OutcomeLog::Create();
  ASSERT_TRUE(log.ok());
  (*log)->Add({Operation::kSpawn, 0, 0, "job-2"});
  fd_store_.connections["pmi1.outcomes.1"].Reset(dup((*log)->fd()));
  Restart();
  EXPECT_TRUE(agent_->sink.All<core::SpawnArrived>().empty());
  EXPECT_EQ(ReceiveMessage(), "cmd=spawn-response;thrid=9;rc=0;jobid=job-2;");
  Send(Framed(kSpawn));
  EXPECT_EQ(Only<core::SpawnArrived>().request, core::RequestId{16 + 1});
}

TEST_F(Pmi2EndpointTest, RequestsOfDifferentThreadsAreAnsweredIndependently) {
  Init();
  EXPECT_NE(Ask("cmd=fullinit;threaded=TRUE;"), "");
  Send(Framed(kSpawn) + Framed("cmd=job-getid;"));
  Kill();
  Restart();
  agent_->Reply(Only<core::SpawnArrived>().request, 0,
                Bytes(std::string("job-2")));
  const std::string answers = Receive();
  EXPECT_NE(answers.find("thrid=9;rc=0;jobid=job-2;"), answers.npos);
  EXPECT_NE(answers.find("cmd=job-getid-response;"), answers.npos);
}

TEST_F(Pmi2EndpointTest, ASuccessorGetsTheNumbersOfConnectsAndDisconnects) {
  Init();
  const auto complete = [&](const char* text, int status) {
    EXPECT_EQ(Ask(text), "");
    agent_->Reply(agent_->sink.All<core::CollectiveArrived>().back().request,
                  status);
    EXPECT_NE(ReceiveMessage(), "");
  };
  complete("cmd=job-connect;jobid=b;", kSuccess);
  complete("cmd=job-disconnect;jobid=b;", kSuccess);
  complete("cmd=job-connect;jobid=b;", kErrProcAborted);
  complete("cmd=job-connect;jobid=c;", kErrNotFound);  // rejected
  Send(Framed("cmd=job-connect;jobid=c;"));
  Kill();
  Restart();
  std::vector<std::pair<core::CollectiveOp, uint64_t>> counts;
  for (const core::CollectiveCount& count : Counts())
    counts.emplace_back(count.op, count.ended);
  EXPECT_EQ(counts, (std::vector<std::pair<core::CollectiveOp, uint64_t>>{
                        {core::CollectiveOp::kConnect, 2},
                        {core::CollectiveOp::kDisconnect, 1},
                        {core::CollectiveOp::kFence, 0}}));
  EXPECT_EQ(Counts()[0].participants[1].nspace, "b");
  EXPECT_EQ(Only<core::CollectiveArrived>().participants[1].nspace, "c");
}

TEST_F(Pmi2EndpointTest, TheDescriptorsOfAnEndedClientAreReleased) {
  Init();
  Send(Framed(kSpawn));
  client_.Reset();
  agent_->Settle();
  EXPECT_EQ(fd_store_.released,
            (std::vector<std::string>{"pmi1.rank.1", "pmi1.outcomes.1"}));
}

}  // namespace
}  // namespace canopy::pmi
