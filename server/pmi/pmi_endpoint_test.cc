#include "server/pmi/pmi_endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_types.h"
#include "server/ports/fake_sink.h"

namespace canopy::pmi {
namespace {

core::PrepareLocal Prepare() {
  JobSpec job;
  job.nspace = "job-1";
  job.universe_size = 16;
  job.apps.resize(2);
  job.nodes = {{"a", {}, 0, 4}, {"b", {}, 1, 4}};
  job.procs = {{0, 0, ""}, {0, 0, ""}, {1, 1, ""}};
  core::PrepareLocal prepare;
  prepare.layout = std::make_shared<JobLayout>(job);
  prepare.job = std::make_shared<JobSpec>(std::move(job));
  return prepare;
}

class PmiEndpointTest : public ::testing::Test {
 protected:
  PmiEndpointTest() {
    PmiOptions options;
    options.find_key = [this](const std::string&, std::string_view key) {
      return Found(keys_, key);
    };
    options.find_job_key = [this](const std::string&, std::string_view key) {
      return Found(job_keys_, key);
    };
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    endpoint_.emplace(&loop_, &sink_, std::move(options));
    const auto inherited = endpoint_->FdForRank(prepare_, 1);
    EXPECT_EQ(inherited.name, "PMI_FD");
    client_.Reset(inherited.fd);
  }

  static std::optional<std::string> Found(
      const std::map<std::string, std::string>& keys, std::string_view key) {
    const auto it = keys.find(std::string(key));
    if (it == keys.end()) return std::nullopt;
    return EncodeValue(Value::String(it->second).raw());
  }

  void Send(const std::string& text) {
    ASSERT_EQ(send(client_.get(), text.data(), text.size(), 0),
              static_cast<ssize_t>(text.size()));
    loop_.RunOnce(1000);
  }
  std::string Receive() {
    char buffer[8192];
    const ssize_t n = recv(client_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0) return "closed";
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }
  std::string Ask(const std::string& line) {
    Send(line + "\n");
    return Receive();
  }
  void Init() {
    EXPECT_EQ(Ask("cmd=init pmi_version=1 pmi_subversion=1"),
              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  }
  void Answer(const std::string& what, int status) {
    core::ReplyClient reply;
    reply.client = MakeClientId(ClientKind::kPmi, 1);
    reply.request = what == "barrier" ? 1 : what == "finalize" ? 2 : 3;
    reply.status = status;
    endpoint_->Reply(reply);
    loop_.RunOnce(0);
  }

  void AnswerChange(core::RequestId request, int status, Bytes payload = {}) {
    endpoint_->Reply({MakeClientId(ClientKind::kPmi, 1), request, status,
                      std::move(payload)});
    loop_.RunOnce(0);
  }

  EventLoop loop_;
  FakeSink sink_;
  core::PrepareLocal prepare_ = Prepare();
  std::map<std::string, std::string> keys_;
  std::map<std::string, std::string> job_keys_ = {
      {"pmix.anlmap", "(vector,(0,1,2),(1,1,1))"}};
  std::vector<std::string> log_;
  std::optional<PmiEndpoint> endpoint_;
  UniqueFd client_;
};

TEST_F(PmiEndpointTest, TheRequestsOfAStartingMpichProgramAreAnswered) {
  Init();
  const auto connected = sink_.All<core::ClientConnected>();
  ASSERT_EQ(connected.size(), 1u);
  EXPECT_EQ(connected[0].proc, (ProcId{"job-1", 1}));
  EXPECT_EQ(KindOf(connected[0].client), ClientKind::kPmi);
  EXPECT_EQ(Ask("cmd=get_maxes"),
            "cmd=maxes kvsname_max=256 keylen_max=256 vallen_max=1024\n");
  EXPECT_EQ(Ask("cmd=get_appnum"), "cmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(Ask("cmd=get_my_kvsname"), "cmd=my_kvsname rc=0 kvsname=job-1\n");
  EXPECT_EQ(Ask("cmd=get_universe_size"), "cmd=universe_size rc=0 size=16\n");
  EXPECT_EQ(Ask("cmd=get kvsname=job-1 key=PMI_process_mapping"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1))\n");
}

TEST_F(PmiEndpointTest, EachPutIsCommittedAtOnce) {
  Init();
  EXPECT_EQ(Ask("cmd=put kvsname=job-1 key=k value=ab cd"), "");
  const auto committed = sink_.All<core::Committed>();
  ASSERT_EQ(committed.size(), 1u);
  ASSERT_EQ(committed[0].data.size(), 1u);
  EXPECT_EQ(committed[0].data[0].scope, core::Scope::kGlobal);
  Decoder decoder(committed[0].data[0].kvals.view());
  KvalView kval;
  ASSERT_TRUE(decoder.GetKval(&kval));
  EXPECT_EQ(kval.key, "k");
  EXPECT_TRUE(decoder.done());
  Answer("put", 0);
  EXPECT_EQ(Receive(), "cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(Ask("cmd=put kvsname=job-1 key=k value=more"), "");
  Answer("put", kErrOutOfResource);
  EXPECT_EQ(Receive(), "cmd=put_result rc=-1 msg=out_of_memory\n");
}

TEST_F(PmiEndpointTest, ABarrierIsExecutedAsAFenceThatCollectsData) {
  Init();
  EXPECT_EQ(Ask("cmd=barrier_in"), "");
  const auto fences = sink_.All<core::CollectiveArrived>();
  ASSERT_EQ(fences.size(), 1u);
  EXPECT_TRUE(fences[0].collect_data);
  EXPECT_TRUE(fences[0].participants.empty());
  Answer("barrier", 0);
  EXPECT_EQ(Receive(), "cmd=barrier_out\n");
  EXPECT_EQ(Ask("cmd=barrier_in"), "");
  Answer("barrier", -24);
  EXPECT_EQ(Receive(), "cmd=barrier_out rc=-1 msg=failed_with_status_-24\n");
}

TEST_F(PmiEndpointTest, AGetFindsTheKeysOfOtherRanks) {
  Init();
  keys_["other"] = "value";
  EXPECT_EQ(Ask("cmd=get kvsname=job-1 key=other"),
            "cmd=get_result rc=0 msg=success value=value\n");
  EXPECT_EQ(Ask("cmd=get kvsname=job-1 key=none"),
            "cmd=get_result rc=-1 msg=key_none_not_found value=unknown\n");
  EXPECT_EQ(Ask("cmd=get kvsname=job-2 key=other"),
            "cmd=get_result rc=-1 msg=unknown_kvs value=unknown\n");
}

TEST_F(PmiEndpointTest, InvalidPutsAreRefused) {
  Init();
  EXPECT_EQ(Ask("cmd=put kvsname=job-2 key=k value=v"),
            "cmd=put_result rc=-1 msg=unknown_kvs\n");
  for (const char* key : {"", "pmix.rank", "|node|x"}) {
    EXPECT_EQ(Ask(std::string("cmd=put kvsname=job-1 key=") + key + " value=v"),
              "cmd=put_result rc=-1 msg=bad_key\n");
  }
  EXPECT_EQ(Ask("cmd=put kvsname=job-1 key=k value=" + std::string(1024, 'x')),
            "cmd=put_result rc=-1 msg=value_too_long\n");
}

TEST_F(PmiEndpointTest, LinesMayArriveInAnyPieces) {
  Init();
  Send("cmd=get_appnum\ncmd=get_my");
  EXPECT_EQ(Receive(), "cmd=appnum rc=0 appnum=0\n");
  EXPECT_EQ(Ask("_kvsname"), "cmd=my_kvsname rc=0 kvsname=job-1\n");
}

TEST_F(PmiEndpointTest, TheDisconnectOfAFinalizedClientIsNotLogged) {
  Init();
  EXPECT_EQ(Ask("cmd=finalize"), "");
  ASSERT_EQ(sink_.All<core::FinalizeArrived>().size(), 1u);
  Answer("finalize", 0);
  EXPECT_EQ(Receive(), "cmd=finalize_ack\n");
  client_.Reset();
  loop_.RunOnce(1000);
  EXPECT_EQ(sink_.All<core::ClientGone>().size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
  EXPECT_TRUE(log_.empty());
}

TEST_F(PmiEndpointTest, AnAbortEndsTheJobWithTheExitCode) {
  Init();
  EXPECT_EQ(Ask("cmd=abort exitcode=7"), "");
  const auto aborts = sink_.All<core::AbortArrived>();
  ASSERT_EQ(aborts.size(), 1u);
  EXPECT_EQ(aborts[0].status, 7);
  EXPECT_TRUE(aborts[0].targets.empty());
}

TEST_F(PmiEndpointTest, AnUnknownCommandIsAnsweredWithAnError) {
  Init();
  EXPECT_EQ(Ask("cmd=dance"),
            "cmd=dance_result rc=-1 msg=not_supported info=not_supported\n");
}

TEST_F(PmiEndpointTest, NamesArePublishedAndUnpublished) {
  Init();
  EXPECT_EQ(Ask("cmd=publish_name service=s port=p#1"), "");
  const auto published = sink_.All<core::PublishArrived>();
  ASSERT_EQ(published.size(), 1u);
  InfoList infos;
  ASSERT_TRUE(DecodeInfos(published[0].info.view(), &infos));
  EXPECT_EQ(infos.FindString("s"), "p#1");
  AnswerChange(published[0].request, 0);
  EXPECT_EQ(Receive(), "cmd=publish_result rc=0 msg=success info=ok\n");

  EXPECT_EQ(Ask("cmd=unpublish_name service=s"), "");
  const auto unpublished = sink_.All<core::UnpublishArrived>();
  ASSERT_EQ(unpublished.size(), 1u);
  EXPECT_EQ(unpublished[0].keys, std::vector<std::string>{"s"});
  EXPECT_NE(unpublished[0].request, published[0].request);
  AnswerChange(unpublished[0].request, kErrNotFound);
  EXPECT_EQ(Receive(),
            "cmd=unpublish_result rc=-1 msg=status_-46 info=status_-46\n");

  EXPECT_EQ(Ask("cmd=unpublish_name service=s"), "");
  const auto again = sink_.All<core::UnpublishArrived>();
  AnswerChange(again.back().request, kSuccess, Bytes(std::string("1")));
  EXPECT_EQ(Receive(), "cmd=unpublish_result rc=0 msg=success info=ok\n");
}

TEST_F(PmiEndpointTest, UnpublishingAnUnknownNameFails) {
  Init();
  EXPECT_EQ(Ask("cmd=unpublish_name service=s"), "");
  const auto unpublished = sink_.All<core::UnpublishArrived>();
  ASSERT_EQ(unpublished.size(), 1u);
  AnswerChange(unpublished[0].request, kSuccess, Bytes(std::string("0")));
  EXPECT_EQ(Receive(),
            "cmd=unpublish_result rc=-1 msg=status_-46 info=status_-46\n");
}

TEST_F(PmiEndpointTest, ALookupReturnsThePublishedPort) {
  Init();
  EXPECT_EQ(Ask("cmd=lookup_name service=s"), "");
  const auto first = sink_.All<core::LookupArrived>();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].keys, std::vector<std::string>{"s"});
  pmix_pdata_t found = {};
  found.value = Value::String("p#1").Release();
  Encoder encoder;
  encoder.PutSize(1);
  encoder.PutElement(PMIX_PDATA, &found);
  Value::Adopt(&found.value);
  AnswerChange(first[0].request, 0, Bytes(encoder.Take()));
  EXPECT_EQ(Receive(), "cmd=lookup_result rc=0 msg=success info=ok port=p#1\n");

  EXPECT_EQ(Ask("cmd=lookup_name service=none"), "");
  AnswerChange(sink_.All<core::LookupArrived>().at(1).request, kErrNotFound);
  EXPECT_EQ(Receive(),
            "cmd=lookup_result rc=-1 msg=status_-46 info=status_-46\n");
  for (const char* name : {"", "pmix.range"}) {
    EXPECT_EQ(Ask(std::string("cmd=lookup_name service=") + name),
              "cmd=lookup_result rc=-1 msg=bad_service info=bad_service\n");
  }
}

TEST_F(PmiEndpointTest, ASpawnOfSeveralCommandsIsOneRequest) {
  Init();
  EXPECT_EQ(Ask("mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=2\nspawnssofar=1\n"
                "endcmd"),
            "");
  EXPECT_TRUE(sink_.All<core::SpawnArrived>().empty());
  EXPECT_EQ(Ask("mcmd=spawn\nnprocs=1\nexecname=y\ntotspawns=2\nspawnssofar=2\n"
                "endcmd"),
            "");
  const auto spawned = sink_.All<core::SpawnArrived>();
  ASSERT_EQ(spawned.size(), 1u);
  Decoder call(spawned[0].call.view());
  size_t infos = 9, apps = 0;
  ASSERT_TRUE(call.GetSize(&infos) && call.GetSize(&apps));
  EXPECT_EQ(apps, 2u);
  AnswerChange(spawned[0].request, 0, Bytes(std::string("job-2")));
  EXPECT_EQ(Receive(), "cmd=spawn_result rc=0 msg=success info=ok\n");
  EXPECT_EQ(Ask("cmd=get_appnum"), "cmd=appnum rc=0 appnum=0\n");
}

TEST_F(PmiEndpointTest, AnInvalidSpawnIsRefused) {
  Init();
  EXPECT_EQ(Ask("mcmd=spawn\nnprocs=1\nendcmd"),
            "cmd=spawn_result rc=-1 msg=bad_spawn_command "
            "info=bad_spawn_command\n");
  EXPECT_EQ(Ask("cmd=get_appnum"), "cmd=appnum rc=0 appnum=0\n");
}

TEST_F(PmiEndpointTest, SpawnedProcessesGetPmiSpawnedAndPreputValues) {
  JobSpec job = *prepare_.job;
  EXPECT_EQ(std::ranges::count(endpoint_->ForJob(prepare_), "PMI_SPAWNED=1"),
            0);
  job.parent = {"job-0", 0};
  job.apps[0].env = {"PMI_PREPUT_0=PORT=tag#1"};
  prepare_.job = std::make_shared<JobSpec>(std::move(job));
  EXPECT_EQ(std::ranges::count(endpoint_->ForJob(prepare_), "PMI_SPAWNED=1"),
            1);
  client_.Reset(endpoint_->FdForRank(prepare_, 0).fd);
  Init();
  EXPECT_EQ(Ask("cmd=get kvsname=job-1 key=PORT"),
            "cmd=get_result rc=0 msg=success value=tag#1\n");
  EXPECT_EQ(Ask("cmd=get kvsname=job-1 key=POR"),
            "cmd=get_result rc=-1 msg=key_POR_not_found value=unknown\n");
}

TEST_F(PmiEndpointTest, GarbageEndsOnlyItsConnection) {
  const auto inherited = endpoint_->FdForRank(prepare_, 0);
  const UniqueFd other(inherited.fd);
  EXPECT_EQ(Ask("how do you do"), "closed");
  EXPECT_EQ(log_.size(), 1u);
  EXPECT_EQ(endpoint_->num_connections(), 1u);
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(PmiEndpointTest, AnEndlessLineEndsTheConnection) {
  Init();
  const std::string piece(8192, 'x');
  for (int i = 0; i < 4; ++i) {
    if (send(client_.get(), piece.data(), piece.size(), MSG_NOSIGNAL) < 0) {
      break;
    }
    loop_.RunOnce(0);
  }
  loop_.RunOnce(0);
  EXPECT_EQ(endpoint_->num_connections(), 0u);
  EXPECT_EQ(log_.size(), 1u);
}

// Each reading of the clock advances it, as if each line cost 100 us.
class PmiFloodTest : public ::testing::Test {
 protected:
  PmiFloodTest() {
    PmiOptions options;
    options.find_key = [this](const std::string&, std::string_view) {
      ++lines_;
      return std::optional<std::string>();
    };
    options.budget.now = [this] { return now_ += 100'000; };
    options.log = [this](const core::LogLine& l) { log_.push_back(l.text); };
    endpoint_.emplace(&loop_, &sink_, std::move(options));
    flood_.Reset(endpoint_->FdForRank(prepare_, 0).fd);
    other_.Reset(endpoint_->FdForRank(prepare_, 1).fd);
  }
  void Init(const UniqueFd& fd) {
    Send(fd, "cmd=init pmi_version=1 pmi_subversion=1\n");
    loop_.RunOnce(0);
    EXPECT_NE(Receive(fd), "");
  }
  static void Send(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  static std::string Receive(const UniqueFd& fd) {
    char buffer[65536];
    const ssize_t n = recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0) return "closed";
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }
  // Sends as many lines as the socket accepts.
  void Flood(const std::string& line) {
    while (send(flood_.get(), line.data(), line.size(),
                MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
    }
  }

  EventLoop loop_;
  FakeSink sink_;
  core::PrepareLocal prepare_ = Prepare();
  int64_t now_ = 0;
  int lines_ = 0;
  std::vector<std::string> log_;
  std::optional<PmiEndpoint> endpoint_;
  UniqueFd flood_;
  UniqueFd other_;
};

TEST_F(PmiFloodTest, AFloodingClientDoesNotDelayOthers) {
  Init(flood_);
  Init(other_);
  Flood("cmd=get kvsname=job-1 key=k\n");
  loop_.RunOnce(0);
  // The flooding client gets two turns of half a millisecond: one when its data
  // arrives, and one at the end of the round of the loop.
  EXPECT_GT(lines_, 0);
  EXPECT_LE(lines_, 12);
  Send(other_, "cmd=get_appnum\n");
  loop_.RunOnce(0);
  loop_.RunOnce(0);
  EXPECT_EQ(Receive(other_), "cmd=appnum rc=0 appnum=0\n");
  EXPECT_LE(lines_, 36);
  // The other lines of the flooding client are served, although it sends no
  // further data.
  Receive(flood_);
  const int before = lines_;
  loop_.RunOnce(-1);
  EXPECT_GT(lines_, before);
}

TEST_F(PmiFloodTest, AFloodOfSpawnLinesIsThrottledAndThenEnded) {
  Init(flood_);
  Init(other_);
  Send(flood_, "mcmd=spawn\n");
  const std::string line = std::string(999, 'x') + '\n';
  for (int round = 0; round < 1000 && endpoint_->num_connections() > 1;
       ++round) {
    Flood(line);
    loop_.RunOnce(0);
    if (round != 10) continue;
    Send(other_, "cmd=get_appnum\n");
    loop_.RunOnce(0);
    loop_.RunOnce(0);
    EXPECT_EQ(Receive(other_), "cmd=appnum rc=0 appnum=0\n");
  }
  EXPECT_EQ(endpoint_->num_connections(), 1u);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_NE(log_[0].find("spawn"), std::string::npos);
}

TEST_F(PmiFloodTest, ASpawnBeforeInitEndsTheConnection) {
  Send(flood_, "mcmd=spawn\ny\ny\ny\n");
  loop_.RunOnce(0);
  loop_.RunOnce(0);
  EXPECT_EQ(Receive(flood_), "closed");
  EXPECT_EQ(log_.size(), 1u);
}

TEST_F(PmiFloodTest, AnIncompleteLineIsReadOnlyWhenBytesArrive) {
  Init(flood_);
  Send(flood_, "cmd=get kvsna");
  loop_.RunOnce(0);
  const int64_t before = now_;
  for (int round = 0; round < 10; ++round) loop_.RunOnce(0);
  EXPECT_EQ(now_, before);
  Send(flood_, "me=job-1 key=k\n");
  loop_.RunOnce(0);
  EXPECT_EQ(lines_, 1);
}

TEST_F(PmiEndpointTest, ACommandBeforeInitEndsTheConnection) {
  EXPECT_EQ(Ask("cmd=barrier_in"), "closed");
  EXPECT_EQ(log_.size(), 1u);
}

TEST_F(PmiEndpointTest, UnknownVersionsOfPmiAreRefused) {
  EXPECT_EQ(Ask("cmd=init pmi_version=3 pmi_subversion=0"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
  EXPECT_TRUE(sink_.inputs.empty());
}

TEST_F(PmiEndpointTest, ASecondInitWithAnotherVersionIsRefused) {
  Init();
  EXPECT_EQ(Ask("cmd=init pmi_version=2 pmi_subversion=0"),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
  Init();
  EXPECT_EQ(sink_.All<core::ClientConnected>().size(), 1u);
}

TEST_F(PmiEndpointTest, AValueWithALineBreakIsNotFound) {
  Init();
  keys_["k"] = "a\ncmd=get_result rc=0 value=b";
  EXPECT_EQ(Ask("cmd=get kvsname=job-1 key=k"),
            "cmd=get_result rc=-1 msg=key_k_not_found value=unknown\n");
}

TEST_F(PmiEndpointTest, TheEnvironmentHasTheVariablesOfPmi) {
  EXPECT_EQ(endpoint_->ForJob(prepare_),
            (std::vector<std::string>{"PMI_SIZE=3", "MPI_LOCALNRANKS=2"}));
  EXPECT_EQ(endpoint_->ForRank(prepare_, 1),
            (std::vector<std::string>{"PMI_RANK=1", "MPI_LOCALRANKID=1"}));
}

TEST_F(PmiEndpointTest, DropJobClosesAnUnusedSocketWithoutALogLine) {
  endpoint_->DropJob("job-1");
  loop_.RunOnce(0);
  EXPECT_EQ(Receive(), "closed");
  EXPECT_EQ(endpoint_->num_connections(), 0u);
  EXPECT_TRUE(log_.empty());
  EXPECT_TRUE(sink_.inputs.empty());
}

}  // namespace
}  // namespace canopy::pmi
