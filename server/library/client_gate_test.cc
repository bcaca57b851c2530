#include "server/library/client_gate.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/endpoint/tool_registry.h"
#include "server/library/library_testing.h"
#include "server/ports/fake_sink.h"

namespace canopy::library {
namespace {

class ClientGateTest : public WithUpcalls<ClientGateTest> {
 public:
  ClientGateTest() { Connect(1, {"job", 0}); }

  ClientGate::Parts Parts() {
    ClientGate::Parts parts;
    parts.loop = &loop_;
    parts.core = &core_;
    parts.module = &module_;
    parts.upcalls = &upcalls();
    parts.jobs = &jobs_;
    parts.arrivals = &arrivals_;
    parts.cleanups = &cleanups_;
    parts.reply = [this](const core::ReplyClient& reply) {
      replies_.push_back(reply.status);
    };
    parts.on_commit = [this] { ++commits_; };
    parts.raise = [this](const HostEvent& event) { raised_.push_back(event); };
    parts.output = &output_;
    parts.outside = &outside_;
    return parts;
  }
  void Connect(core::ClientId client, const ProcId& proc) {
    gate_.OnInput(core::ClientConnected{client, proc, false, 0, 0});
  }
  // Returns the verdict about a new process, if there is one yet.
  std::optional<endpoint::Verdict> Ask(const endpoint::Newcomer& who) {
    verdict_.reset();
    gate_.Ask(who, [this](endpoint::Verdict verdict) { verdict_ = verdict; });
    Run();
    return verdict_;
  }

  FakeSink core_;
  Arrivals arrivals_;
  Cleanups cleanups_{&jobs_};
  OutsideKeys outside_;
  HostedOutput output_{&module_, &upcalls(), &jobs_,
                       [this](core::ClientId, core::RequestId, int status,
                              std::string) { replies_.push_back(status); }};
  std::vector<int> replies_;
  int commits_ = 0;
  std::vector<HostEvent> raised_;
  std::optional<endpoint::Verdict> verdict_;
  void* cbdata_ = nullptr;
  ClientGate gate_{Parts()};
};

const endpoint::Newcomer kRank{{"job", 0}, false, 0, 0};
const endpoint::Newcomer kTool{{}, true, 7, 8};

TEST_F(ClientGateTest, AProcessIsAdmittedAfterTheHostsAnswer) {
  module_.client_connected2 = [](const pmix_proc_t* proc, void* object,
                                 pmix_info_t[], size_t, pmix_op_cbfunc_t,
                                 void* cbdata) {
    EXPECT_EQ(FromC(*proc), (ProcId{"job", 0}));
    EXPECT_EQ(object, current);
    current->cbdata_ = cbdata;
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  EXPECT_FALSE(Ask(kRank));
  Upcalls::OnOp(PMIX_ERR_NO_PERMISSIONS, cbdata_);
  Run();
  ASSERT_TRUE(verdict_);
  EXPECT_EQ(verdict_->status, PMIX_ERR_NO_PERMISSIONS);
}

TEST_F(ClientGateTest, TheResultOfClientConnectedIsUsedAtOnce) {
  module_.client_connected = [](const pmix_proc_t*, void*, pmix_op_cbfunc_t,
                                void*) {
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  ASSERT_TRUE(Ask(kRank));
  EXPECT_EQ(verdict_->status, kSuccess);
  module_.client_connected = [](const pmix_proc_t*, void*, pmix_op_cbfunc_t,
                                void*) {
    return static_cast<pmix_status_t>(PMIX_ERR_NO_PERMISSIONS);
  };
  ASSERT_TRUE(Ask(kRank));
  EXPECT_EQ(verdict_->status, PMIX_ERR_NO_PERMISSIONS);
}

TEST_F(ClientGateTest,
       WithoutHostFunctionsProcessesAreAdmittedAndToolsRefused) {
  ASSERT_TRUE(Ask(kRank));
  EXPECT_EQ(verdict_->status, kSuccess);
  ASSERT_TRUE(Ask(kTool));
  EXPECT_EQ(verdict_->status, kErrNotSupported);
}

TEST_F(ClientGateTest, AToolGetsItsNameFromTheHost) {
  module_.tool_connected = [](pmix_info_t* infos, size_t ninfo,
                              pmix_tool_connection_cbfunc_t done,
                              void* cbdata) {
    const InfoList given = InfoList::FromC(infos, ninfo);
    EXPECT_EQ(given.FindUint(PMIX_USERID), 7u);
    EXPECT_FALSE(given.Has(PMIX_TOOL_NSPACE));
    const auto* credential = given.Find(PMIX_CREDENTIAL);
    const uint32_t ids[] = {7, 8};
    if (credential == nullptr || credential->value.data.bo.size != sizeof ids ||
        memcmp(credential->value.data.bo.bytes, ids, sizeof ids) != 0) {
      ADD_FAILURE() << "not the kernel's word";
    }
    pmix_proc_t name;
    PMIX_LOAD_PROCID(&name, "tool", 0);
    done(PMIX_SUCCESS, &name, cbdata);
  };
  ASSERT_TRUE(Ask(kTool));
  EXPECT_EQ(verdict_->status, kSuccess);
  EXPECT_EQ(verdict_->name, (ProcId{"tool", 0}));
}

TEST_F(ClientGateTest, TheHostGetsTheCredentialOfATool) {
  module_.tool_connected2 = [](pmix_info_t* infos, size_t ninfo,
                               pmix_tool_connection_cbfunc_t, void*) {
    const InfoList given = InfoList::FromC(infos, ninfo);
    EXPECT_EQ(Value::FromC(given.Find(PMIX_CREDENTIAL)->value),
              Value::ByteObject("of munge"));
    return static_cast<pmix_status_t>(PMIX_ERR_INVALID_CRED);
  };
  endpoint::Newcomer tool = kTool;
  tool.credential = "of munge";
  ASSERT_TRUE(Ask(tool));
  EXPECT_EQ(verdict_->status, PMIX_ERR_INVALID_CRED);
}

TEST_F(ClientGateTest, TheNumberOfToolsThatWaitForTheHostIsLimited) {
  static std::vector<void*> asked;
  asked.clear();
  module_.tool_connected = [](pmix_info_t*, size_t,
                              pmix_tool_connection_cbfunc_t,
                              void* cbdata) { asked.push_back(cbdata); };
  for (uint32_t i = 0; i < endpoint::kMaxTools; ++i) EXPECT_FALSE(Ask(kTool));
  ASSERT_TRUE(Ask(kTool));
  EXPECT_EQ(verdict_->status, kErrResourceBusy);
  EXPECT_EQ(asked.size(), endpoint::kMaxTools);
  Upcalls::OnTool(PMIX_ERR_NO_PERMISSIONS, nullptr, asked[0]);
  Run();
  EXPECT_FALSE(Ask(kTool));
}

TEST_F(ClientGateTest, GetsAndCommitsAreForwardedToTheCore) {
  core::GetArrived get;
  get.client = 1;
  gate_.OnInput(get);
  gate_.OnInput(core::CommitTaken{{"job", 0}, {}});
  EXPECT_EQ(core_.All<core::GetArrived>().size(), 1u);
  EXPECT_EQ(core_.All<core::CommitTaken>().size(), 1u);
  EXPECT_EQ(commits_, 1);
}

TEST_F(ClientGateTest, RequestsWithoutAHostFunctionAreRefused) {
  core::PublishArrived publish;
  publish.client = 1;
  gate_.OnInput(publish);
  core::AbortArrived abort;
  abort.client = 1;
  gate_.OnInput(abort);
  core::HostCallArrived push;
  push.client = 1;
  push.op = HostOp::kPushInput;
  gate_.OnInput(push);
  EXPECT_TRUE(replies_.empty());  // not before OnInput returns
  Run();
  EXPECT_EQ(replies_, std::vector<int>(3, kErrNotSupported));
  EXPECT_TRUE(core_.All<core::PublishArrived>().empty());
}

TEST_F(ClientGateTest, ADeregisteredProcessKeepsItsUser) {
  module_.publish = [](const pmix_proc_t*, const pmix_info_t* infos,
                       size_t ninfo, pmix_op_cbfunc_t, void*) {
    EXPECT_EQ(InfoList::FromC(infos, ninfo).FindUint(PMIX_USERID), 7u);
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  core::PublishArrived publish;
  publish.client = 1;
  jobs_.RemoveClient({"job", 0});
  gate_.OnInput(publish);
  Run();
  EXPECT_EQ(replies_, std::vector<int>{kSuccess});
  jobs_.RemoveJob("job");
  gate_.OnInput(publish);
  EXPECT_EQ(core_.All<core::PublishArrived>().size(), 1u);
}

TEST_F(ClientGateTest, FinalizeWaitsForTheHost) {
  module_.client_finalized = [](const pmix_proc_t*, void* object,
                                pmix_op_cbfunc_t, void* cbdata) {
    EXPECT_EQ(object, current);
    current->cbdata_ = cbdata;
    return static_cast<pmix_status_t>(PMIX_SUCCESS);
  };
  gate_.OnInput(core::FinalizeArrived{1, 2});
  Run();
  EXPECT_TRUE(core_.All<core::FinalizeArrived>().empty());
  Upcalls::OnOp(PMIX_SUCCESS, cbdata_);
  Run();
  EXPECT_EQ(core_.All<core::FinalizeArrived>().size(), 1u);
  gate_.OnInput(core::ClientGone{1});
  EXPECT_TRUE(raised_.empty());
}

TEST_F(ClientGateTest, ALostProcessCausesOneEvent) {
  Connect(2, {"job", 0});
  gate_.OnInput(core::ClientGone{1});
  EXPECT_TRUE(raised_.empty());
  EXPECT_EQ(gate_.ClientsOf({"job", 0}), std::set<core::ClientId>{2});
  gate_.OnInput(core::ClientGone{2});
  ASSERT_EQ(raised_.size(), 1u);
  EXPECT_EQ(raised_[0].status, PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(raised_[0].source, (ProcId{"job", 0}));
}

TEST_F(ClientGateTest, EnvironmentEventsAreRegisteredIfTheHostAccepts) {
  core::EventsWanted wanted;
  wanted.client = 1;
  wanted.codes = {PMIX_EVENT_NODE_DOWN};
  gate_.OnInput(wanted);
  Run();
  EXPECT_EQ(replies_, std::vector<int>{kErrNotSupported});
  EXPECT_TRUE(core_.All<core::EventsWanted>().empty());
  module_.register_events = [](pmix_status_t*, size_t, const pmix_info_t[],
                               size_t, pmix_op_cbfunc_t, void*) {
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  gate_.OnInput(wanted);
  Run();
  EXPECT_EQ(core_.All<core::EventsWanted>().size(), 1u);
}

TEST_F(ClientGateTest, TheRangeOfAnEventDecidesItsReceivers) {
  static int notified;
  notified = 0;
  module_.notify_event = [](pmix_status_t, const pmix_proc_t*,
                            pmix_data_range_t, pmix_info_t[], size_t,
                            pmix_op_cbfunc_t, void*) {
    ++notified;
    return static_cast<pmix_status_t>(PMIX_OPERATION_SUCCEEDED);
  };
  core::EventRaised event;
  event.client = 1;
  event.range = PMIX_RANGE_GLOBAL;
  gate_.OnInput(event);
  event.range = PMIX_RANGE_LOCAL;
  gate_.OnInput(event);
  event.range = PMIX_RANGE_PROC_LOCAL;
  gate_.OnInput(event);
  EXPECT_EQ(notified, 1);
  EXPECT_EQ(raised_.size(), 2u);
  EXPECT_EQ(core_.All<core::EventRaised>().size(), 3u);
}

}  // namespace
}  // namespace canopy::library
