#include "server/library/host_overlay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/collective/group_record.h"
#include "server/core/event/event_cache.h"
#include "server/core/modex/modex.h"
#include "server/library/blob.h"
#include "server/library/library_testing.h"
#include "server/ports/fake_sink.h"

namespace canopy::library {
namespace {

using core::CollectiveOp;

const ProcId kFar{"job", 3};

// Returns the encoded key as a process commits it.
std::string Kval(const std::string& key) {
  Encoder out;
  out.PutKval(key, Value::Uint32(1).raw());
  return out.Take();
}

std::string BlobOf(const ProcId& proc, const std::string& kvals) {
  core::ModexWriter records;
  records.Add({proc, 0, 1, Bytes(kvals)});
  return MakeBlob(records.Take().view());
}

class HostOverlayTest : public WithUpcalls<HostOverlayTest> {
 public:
  HostOverlay::Parts Parts() {
    HostOverlay::Parts parts;
    parts.sink = &core_;
    parts.module = &module_;
    parts.upcalls = &upcalls();
    parts.jobs = &jobs_;
    parts.arrivals = &arrivals_;
    parts.outside = &outside_;
    parts.await_commit = [this](const ProcId& proc) {
      awaited_.push_back(proc);
    };
    parts.after = [this](int64_t ms, std::function<void()> what) {
      paused_ms_ += ms;
      what();
    };
    parts.begin = [this](const std::string& nspace,
                         const std::function<void()>& then) {
      EXPECT_TRUE(jobs_.MakeSpec(nspace).ok());
      then();
    };
    return parts;
  }

  void Send(core::MessageBody body, NodeId to = kHost) {
    overlay_.Send({kSelf, to, std::move(body)});
    Run();
  }
  static core::CollectiveUp Up(CollectiveOp op, std::vector<ProcId> procs) {
    core::CollectiveUp up;
    up.id.op = op;
    up.id.participants = std::move(procs);
    return up;
  }
  template <typename T>
  std::vector<T> Got() const {
    std::vector<T> got;
    for (const auto& in : core_.All<core::PeerArrived>()) {
      if (const T* one = std::get_if<T>(&in.message.body)) got.push_back(*one);
    }
    return got;
  }
  // Returns the last release.
  core::CollectiveDown Down() const {
    const auto all = Got<core::CollectiveDown>();
    return all.empty() ? core::CollectiveDown() : all.back();
  }

  // Sets the host's answer to a direct modex, and counts the calls.
  void Bring(pmix_status_t status, std::string data) {
    brought_status_ = status;
    brought_ = std::move(data);
    module_.direct_modex = [](const pmix_proc_t* proc, const pmix_info_t[],
                              size_t, pmix_modex_cbfunc_t done, void* cbdata) {
      EXPECT_EQ(FromC(*proc), kFar);
      ++current->asked_;
      done(current->brought_status_, current->brought_.data(),
           current->brought_.size(), cbdata, nullptr, nullptr);
      return static_cast<pmix_status_t>(PMIX_SUCCESS);
    };
  }
  core::DmodexReply Get(const std::string& key, uint32_t timeout_ms = 0) {
    core::DmodexRequest request;
    request.target = kFar;
    request.key = key;
    request.timeout_ms = timeout_ms;
    overlay_.Send({kSelf, kFirstOther, request});
    for (int i = 0; i < 100 && Got<core::DmodexReply>().empty(); ++i) Run();
    const auto replies = Got<core::DmodexReply>();
    EXPECT_EQ(replies.size(), 1u);
    return replies.empty() ? core::DmodexReply() : replies[0];
  }

  // Records the status of this node that the host receives.
  void Listen() {
    module_.connect = [](const pmix_proc_t[], size_t, const pmix_info_t infos[],
                         size_t ninfo, pmix_op_cbfunc_t done, void* cbdata) {
      ++current->asked_;
      current->told_ = InfoList::FromC(infos, ninfo)
                           .FindInt(PMIX_LOCAL_COLLECTIVE_STATUS)
                           .value_or(1);
      if (!current->silent_) done(PMIX_SUCCESS, cbdata);
      return static_cast<pmix_status_t>(PMIX_SUCCESS);
    };
  }

  FakeSink core_;
  Arrivals arrivals_;
  OutsideKeys outside_;
  std::vector<ProcId> awaited_;
  int64_t paused_ms_ = 0;
  int asked_ = 0;
  int64_t told_ = 0;     // this node's status, as the host got it
  bool silent_ = false;  // the host never answers
  pmix_status_t brought_status_ = PMIX_SUCCESS;
  std::string brought_;
  HostOverlay overlay_{Parts()};
};

// ------------------------------------------------------------ collectives ---

TEST_F(HostOverlayTest, WithoutAHostFunctionOnlyAFenceOfThisNodeSucceeds) {
  Send(Up(CollectiveOp::kFence, {{"job", 0}, {"job", 1}}));
  EXPECT_EQ(Down().status, kSuccess);
  Send(Up(CollectiveOp::kFence, {{"job", kRankWildcard}}));
  EXPECT_EQ(Down().status, kErrNotSupported);
}

TEST_F(HostOverlayTest, AFenceOfThisNodeReachesTheHostOnlyIfItWantsAllFences) {
  module_.fence_nb = [](const pmix_proc_t[], size_t, const pmix_info_t[],
                        size_t, char*, size_t, pmix_modex_cbfunc_t, void*) {
    ++current->asked_;
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  const core::CollectiveUp up =
      Up(CollectiveOp::kFence, {{"job", 0}, {"job", 1}});
  Send(up);
  EXPECT_EQ(Down().status, kSuccess);
  EXPECT_EQ(asked_, 0);
  HostOverlay::Parts parts = Parts();
  parts.host_has_all_fences = true;
  HostOverlay asking(std::move(parts));
  asking.Send({kSelf, kHost, up});
  Run();
  EXPECT_EQ(Got<core::CollectiveDown>().size(), 2u);
  EXPECT_EQ(asked_, 1);
}

TEST_F(HostOverlayTest, AFenceReturnsCommittedDataOfOtherNodes) {
  static std::string answer;
  answer = BlobOf(kFar, Kval("key")) + MakeBlob({});
  module_.fence_nb = [](const pmix_proc_t procs[], size_t nprocs,
                        const pmix_info_t[], size_t, char* data, size_t,
                        pmix_modex_cbfunc_t done, void* cbdata) {
    EXPECT_EQ(nprocs, 1u);
    EXPECT_EQ(procs[0].rank, PMIX_RANK_WILDCARD);
    std::free(data);
    done(PMIX_SUCCESS, answer.data(), answer.size(), cbdata, nullptr, nullptr);
    done(PMIX_ERROR, nullptr, 0, cbdata, nullptr, nullptr);
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  Send(Up(CollectiveOp::kFence, {{"job", kRankWildcard}}));
  ASSERT_EQ(Got<core::CollectiveDown>().size(), 1u);
  EXPECT_EQ(Down().status, kSuccess);
  ASSERT_EQ(Down().contributions.size(), 1u);
  EXPECT_EQ(Down().contributions[0].node, kFirstOther);
  answer = "what is no blob";
  Send(Up(CollectiveOp::kFence, {{"job", kRankWildcard}}));
  EXPECT_EQ(Down().status, kErrUnpackFailure);
}

TEST_F(HostOverlayTest, AWholeJobIsOneParticipantForTheHost) {
  static std::vector<ProcId> named;
  module_.fence_nb = [](const pmix_proc_t procs[], size_t nprocs,
                        const pmix_info_t[], size_t, char*, size_t,
                        pmix_modex_cbfunc_t, void*) {
    named.clear();
    for (size_t i = 0; i < nprocs; ++i) named.push_back(FromC(procs[i]));
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  Send(Up(CollectiveOp::kFence,
          {{"job", 0}, {"job", 1}, {"job", 2}, {"job", 3}, {"other", 0}}));
  EXPECT_EQ(named, (std::vector<ProcId>{{"job", kRankWildcard}, {"other", 0}}));
  Send(Up(CollectiveOp::kFence, {{"job", 1}, {"job", 3}}));
  EXPECT_EQ(named, (std::vector<ProcId>{{"job", 1}, {"job", 3}}));
}

// Local processes do not wait for the host's answer.
TEST_F(HostOverlayTest, TheHostReceivesAFailureOfThisNode) {
  Listen();
  core::CollectiveUp up = Up(CollectiveOp::kConnect, {{"job", kRankWildcard}});
  up.status = kErrProcAborted;
  Send(up);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(told_, kErrProcAborted);
  ASSERT_EQ(Got<core::CollectiveDown>().size(), 1u);
  EXPECT_EQ(Down().status, kErrProcAborted);
  core_.inputs.clear();
  up.status = kSuccess;
  Send(up, kFirstOther);  // a job query to another node
  EXPECT_TRUE(Got<core::CollectiveDown>().empty());
  Send(up);
  EXPECT_EQ(told_, kSuccess);
  EXPECT_EQ(Down().status, kSuccess);
}

// After a timeout, the next collective at which all processes arrive is a
// different one, which the host would confuse with this one.
TEST_F(HostOverlayTest, TheHostDoesNotReceiveATimeoutOfThisNode) {
  Listen();
  core::CollectiveUp up = Up(CollectiveOp::kConnect, {{"job", kRankWildcard}});
  up.status = kErrTimeout;
  Send(up);
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(Down().status, kErrTimeout);
}

TEST_F(HostOverlayTest, ATimeoutDoesNotCancelACallOfTheHost) {
  Listen();
  silent_ = true;
  core::CollectiveUp up = Up(CollectiveOp::kConnect, {{"job", kRankWildcard}});
  Send(up);
  EXPECT_TRUE(Got<core::CollectiveDown>().empty());
  up.status = kErrTimeout;
  Send(up);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(Down().status, kErrTimeout);
}

// A host that does not read the status passes on the data of the fence, so the
// status also reaches the peers of such a host.
TEST_F(HostOverlayTest, TheDataOfAFailedFenceContainsItsStatus) {
  static std::string brought;
  module_.fence_nb = [](const pmix_proc_t[], size_t, const pmix_info_t[],
                        size_t, char* data, size_t size, pmix_modex_cbfunc_t,
                        void*) {
    brought.assign(data, size);
    std::free(data);
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  core::CollectiveUp up = Up(CollectiveOp::kFence, {{"job", kRankWildcard}});
  up.status = kErrProcAborted;
  Send(up);
  EXPECT_EQ(Down().status, kErrProcAborted);
  EXPECT_EQ(SplitBlobs(Bytes(brought)).code(), kErrProcAborted);
}

TEST_F(HostOverlayTest, AGroupOfSeveralNodesIsConstructedByTheHost) {
  const std::vector<ProcId> all = {{"job", kRankWildcard}};
  core::CollectiveUp up = Up(CollectiveOp::kGroupConstruct, all);
  up.id.name = "group";
  Send(up);
  EXPECT_EQ(Down().status, kErrNotSupported);
  module_.group = [](pmix_group_operation_t op, char name[],
                     const pmix_proc_t[], size_t nprocs, const pmix_info_t[],
                     size_t, pmix_info_cbfunc_t done, void* cbdata) {
    EXPECT_EQ(op, PMIX_GROUP_CONSTRUCT);
    EXPECT_STREQ(name, "group");
    EXPECT_EQ(nprocs, 1u);
    InfoList infos{{PMIX_GROUP_MEMBERSHIP,
                    Value::ProcArray(std::vector<ProcId>{{"job", 0}, kFar})}};
    done(PMIX_SUCCESS, infos.mutable_data(), infos.size(), cbdata, nullptr,
         nullptr);
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  Send(up);
  EXPECT_EQ(Down().status, kSuccess);
  const auto result = core::DecodeGroupRecord(Down().result);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->missing, (std::vector<ProcId>{{"job", 1}, {"job", 2}}));
}

TEST_F(HostOverlayTest, AGroupOfThisNodeIsConstructedWithoutTheHost) {
  core::CollectiveUp up =
      Up(CollectiveOp::kGroupConstruct, {{"job", 0}, {"job", 1}});
  up.id.name = "group";
  Send(up);
  EXPECT_EQ(Down().status, kSuccess);
  EXPECT_FALSE(Down().result.empty());
}

TEST_F(HostOverlayTest, MembersOnOtherNodesReceiveTheEventOfALeavingMember) {
  static std::vector<ProcId> told;
  told.clear();
  module_.notify_event = [](pmix_status_t status, const pmix_proc_t* source,
                            pmix_data_range_t range, pmix_info_t infos[],
                            size_t ninfo, pmix_op_cbfunc_t, void*) {
    EXPECT_EQ(status, PMIX_GROUP_LEFT);
    EXPECT_EQ(range, PMIX_RANGE_CUSTOM);
    EXPECT_EQ(source->rank, 0u);
    const InfoList given = InfoList::FromC(infos, ninfo);
    EXPECT_EQ(given.FindString(PMIX_GROUP_ID), "group");
    const auto range_of =
        Value::FromC(given.Find(PMIX_EVENT_CUSTOM_RANGE)->value);
    const auto procs = range_of.AsProcs();
    for (const pmix_proc_t& proc : *procs) {
      told.push_back(FromC(proc));
    }
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  core::EventMessage event;
  event.status = PMIX_GROUP_LEFT;
  event.source = {"job", 0};
  event.range = PMIX_RANGE_CUSTOM;
  event.targets = {{"job", 1}, kFar};
  std::string info;
  const InfoList infos{{PMIX_GROUP_ID, Value::String("group")}};
  ASSERT_EQ(EncodeInfos(infos.data(), infos.size(), &info), PMIX_SUCCESS);
  event.info = Bytes(info);
  Send(event);  // a process has raised it, so the host has it
  EXPECT_TRUE(told.empty());
  event.request = core::kAgentsEvent | uint64_t{1} << 62;
  Send(event);
  EXPECT_EQ(told, (std::vector<ProcId>{{"job", 1}, kFar}));
}

// ----------------------------------------------------------- direct modex ---

TEST_F(HostOverlayTest, AGetReturnsCommittedDataOfAnotherNode) {
  Bring(PMIX_SUCCESS, BlobOf(kFar, Kval("key")));
  const core::DmodexReply reply = Get("key");
  EXPECT_EQ(reply.status, kSuccess);
  EXPECT_EQ(reply.data.view(), Kval("key"));
  EXPECT_EQ(asked_, 1);
}

TEST_F(HostOverlayTest, AGetOfEmptyDataReturnsNotFound) {
  Bring(PMIX_SUCCESS, "");
  EXPECT_EQ(Get("key").status, kErrNotFound);
}

TEST_F(HostOverlayTest, AGetOfMalformedDataReturnsAnUnpackFailure) {
  Bring(PMIX_SUCCESS, "malformed");
  EXPECT_EQ(Get("key").status, kErrUnpackFailure);
}

TEST_F(HostOverlayTest, AGetReturnsTheErrorOfTheHost) {
  Bring(PMIX_ERR_PROC_ABORTED, "");
  EXPECT_EQ(Get("key").status, PMIX_ERR_PROC_ABORTED);
}

TEST_F(HostOverlayTest, ANodeOnlyKeyIsReportedAsOutsideItsScope) {
  Bring(PMIX_SUCCESS, BlobOf(kFar, Kval("key")) + MakeOutside({"hidden"}));
  EXPECT_EQ(Get("hidden", 1000).status, kErrExistsOutsideScope);
}

TEST_F(HostOverlayTest, AMissingKeyIsRequestedUntilTheTimeout) {
  Bring(PMIX_SUCCESS, BlobOf(kFar, Kval("key")));
  EXPECT_EQ(Get("never", 1000).status, kErrTimeout);
  EXPECT_EQ(paused_ms_, 1000);
  EXPECT_GT(asked_, 3);
}

TEST_F(HostOverlayTest, WithoutATimeoutAMissingKeyIsRequestedOnce) {
  Bring(PMIX_SUCCESS, BlobOf(kFar, Kval("key")));
  EXPECT_EQ(Get("never").status, kSuccess);  // the core detects the missing key
  EXPECT_EQ(asked_, 1);
}

TEST_F(HostOverlayTest, WithoutAHostFunctionAGetIsNotSupported) {
  EXPECT_EQ(Get("key").status, kErrNotSupported);
}

// --------------------------------------------------- for the host's peers ---

TEST_F(HostOverlayTest, GetCommittedWaitsForTheCommit) {
  std::vector<std::pair<int, std::string>> answers;
  const ProcId here{"job", 0};
  outside_.Add(here, {{core::Scope::kLocal, Bytes(Kval("hidden"))}});
  overlay_.GetCommitted(here, [&](int status, const std::string& blob) {
    answers.emplace_back(status, blob);
  });
  ASSERT_EQ(Got<core::DmodexRequest>().size(), 1u);
  const uint64_t number = Got<core::DmodexRequest>()[0].request;
  Send(core::DmodexReply{number, kErrNotFound, here, {}, 0, 0});
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(awaited_, std::vector<ProcId>{here});
  overlay_.OnCommit();
  ASSERT_EQ(Got<core::DmodexRequest>().size(), 2u);
  Send(core::DmodexReply{number, kSuccess, here, Bytes(Kval("key")), 1, 0});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].second,
            BlobOf(here, Kval("key")) + MakeOutside({"hidden"}));
}

// Open MPI over UCX puts one key with PMIX_REMOTE and then with PMIX_LOCAL.
TEST_F(HostOverlayTest, AKeyPutWithSeveralScopesIsNotOutside) {
  const ProcId here{"job", 0};
  outside_.Add(here, {{core::Scope::kRemote, Bytes(Kval("key"))},
                      {core::Scope::kLocal, Bytes(Kval("key"))}});
  std::string blob;
  overlay_.GetCommitted(here,
                        [&](int, const std::string& answer) { blob = answer; });
  const uint64_t number = Got<core::DmodexRequest>().at(0).request;
  Send(core::DmodexReply{number, kSuccess, here, Bytes(Kval("key")), 1, 0});
  EXPECT_EQ(blob, BlobOf(here, Kval("key")));
}

TEST_F(HostOverlayTest, GetCommittedDoesNotFindAProcessOfAnotherNode) {
  int status = kSuccess;
  overlay_.GetCommitted(kFar,
                        [&](int got, const std::string&) { status = got; });
  const uint64_t number = Got<core::DmodexRequest>()[0].request;
  Send(core::DmodexReply{number, kErrNotFound, kFar, {}, 0, 0});
  EXPECT_EQ(status, kErrNotFound);
}

TEST_F(HostOverlayTest, AJobMapIsAvailableBeforeClientsAreRegistered) {
  ASSERT_TRUE(jobs_.AddJob(JobOfTwoNodes("new")).ok());
  Send(core::JobMapRequest{7, "new"});
  const auto replies = Got<core::JobMapReply>();
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].request, 7u);
  EXPECT_EQ(replies[0].status, kSuccess);
  EXPECT_FALSE(replies[0].spec.empty());
  Send(core::JobMapRequest{8, "unknown"});
  ASSERT_EQ(Got<core::JobMapReply>().size(), 2u);
  EXPECT_EQ(Got<core::JobMapReply>()[1].status, kErrNotFound);
}

TEST_F(HostOverlayTest, DroppingAJobAnswersItsPendingRequests) {
  int status = kSuccess;
  overlay_.GetCommitted({"job", 0},
                        [&](int got, const std::string&) { status = got; });
  overlay_.DropJob("job");
  EXPECT_EQ(status, kErrNotFound);
}

}  // namespace
}  // namespace canopy::library
