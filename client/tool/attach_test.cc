// Tests with fake agents; the tests with real agents are in
// tests/conformance/servers.c.
#include "client/tool/attach.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/channel/channel.h"
#include "client/session/event_op.h"
#include "client/session/fake_agent.h"
#include "client/session/tool_bootstrap.h"
#include "common/local_protocol.h"
#include "common/posix/host_name.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

using local::FrameType;

constexpr pmix_status_t kCode = -5000;

// The numbers of test events and of lost connections of which the handler was
// notified, and the server whose connection was lost first.
std::atomic<int> g_events{0};
std::atomic<int> g_losses{0};
std::promise<std::string>* g_lost = nullptr;

void OnEvent(size_t, pmix_status_t status, const pmix_proc_t* source,
             pmix_info_t*, size_t, pmix_info_t*, size_t,
             pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
  if (status == kCode) ++g_events;
  if (status == PMIX_ERR_LOST_CONNECTION && ++g_losses == 1 &&
      g_lost != nullptr) {
    g_lost->set_value(source->nspace);
  }
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

// A tool that is connected to "one"; "two" and "three" exist too.
class AttachTest : public testing::Test {
 protected:
  AttachTest() {
    EXPECT_NE(mkdtemp(place_), nullptr);
    // The search must not find servers of other tests or users.
    for (const char* name :
         {"TMPDIR", "PMIX_SERVER_TMPDIR", "XDG_RUNTIME_DIR"}) {
      setenv(name, place_, /*overwrite=*/1);
    }
    g_events = g_losses = 0;
    Offer(one_, "one");
    Offer(two_, "two");
    Offer(three_, "three");
    Result<Bootstrap> first = ConnectTool(one_.socket_path(), {"me", 4});
    EXPECT_TRUE(first.ok());
    session_.emplace(std::move(*first), /*external_progress=*/false);
  }
  ~AttachTest() override {
    session_.reset();
    std::filesystem::remove_all(place_);
  }

  void Offer(FakeAgent& agent, const std::string& name) {
    agent.Rename({name, 0});
    std::ofstream(PathOf(name))
        << name << ".0;tcp4://127.0.0.1:1\n4.2.2\n1\n0:0\nnow\n"
        << "canopy:" << agent.socket_path() << "\n";
  }
  std::string PathOf(const std::string& name) const {
    return std::string(place_) + "/" + name;
  }
  InfoList At(const std::string& name, bool primary = false) const {
    InfoList infos;
    infos.Add(PMIX_TOOL_ATTACHMENT_FILE, Value::String(PathOf(name)));
    if (primary) infos.Add(PMIX_PRIMARY_SERVER, Value::Bool(true));
    return infos;
  }
  int Attach(const InfoList& infos) {
    return AttachToServer(*session_, infos.data(), infos.size(), &self_,
                          &server_);
  }
  std::string Servers() {
    std::string names;
    for (const ProcId& name : session_->servers().names()) {
      names += (names.empty() ? "" : " ") + name.nspace;
    }
    return names;
  }
  int Ask() { return session_->channel()->Call(FrameType::kQuery, "").status; }
  int Set(const char* nspace, const InfoList& infos = {},
          pmix_rank_t rank = 0) {
    const pmix_proc_t server = ToC(ProcId{nspace, rank});
    return SetServer(*session_, &server, infos.data(), infos.size());
  }
  int Disconnect(const char* nspace) {
    const pmix_proc_t server = ToC(ProcId{nspace, 0});
    return DisconnectServer(*session_, &server);
  }
  int Register(pmix_status_t code) {
    Registration registration;
    registration.codes = &code;
    registration.ncodes = 1;
    registration.function = OnEvent;
    return RegisterHandler(*session_, registration);
  }

  char place_[32] = "/tmp/canopy-attach-XXXXXX";
  FakeAgent one_{"job-1"};
  FakeAgent two_{"job-2"};
  FakeAgent three_{"job-3"};
  std::optional<Session> session_;
  pmix_proc_t self_ = {};
  pmix_proc_t server_ = {};
};

TEST_F(AttachTest, AnAttachChangesThePrimaryServerOnlyOnRequest) {
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  EXPECT_STREQ(server_.nspace, "two");
  EXPECT_STREQ(self_.nspace, "me");
  EXPECT_EQ(self_.rank, 4u);
  EXPECT_EQ(Servers(), "one two");
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  EXPECT_EQ(one_.Count(FrameType::kQuery), 1u);
  ASSERT_EQ(Attach(At("three", /*primary=*/true)), PMIX_SUCCESS);
  EXPECT_EQ(Servers(), "three one two");
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  EXPECT_EQ(three_.Count(FrameType::kQuery), 1u);
  EXPECT_EQ(one_.Count(FrameType::kQuery), 1u);
}

TEST_F(AttachTest, AConnectedServerIsNotConnectedAgain) {
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  EXPECT_EQ(two_.Count(FrameType::kToolHello), 1u);
  EXPECT_EQ(Servers(), "one two");
  ASSERT_EQ(Attach(At("two", /*primary=*/true)), PMIX_SUCCESS);
  EXPECT_EQ(Servers(), "two one");
  // In this directory there is no other server.
  InfoList nowhere;
  nowhere.Add(PMIX_SERVER_TMPDIR, Value::String(place_));
  EXPECT_EQ(Attach(nowhere), PMIX_ERR_UNREACH);
}

// The files of a relay lead to servers of other machines.
TEST_F(AttachTest, AServerOfAnotherMachineIsFoundByItsHostName) {
  InfoList far;
  far.Add(PMIX_SERVER_HOSTNAME, Value::String("far.host"));
  EXPECT_EQ(Attach(far), PMIX_ERR_NOT_SUPPORTED);
  std::filesystem::copy(PathOf("three"), PathOf("pmix.far.host.tool"));
  ASSERT_EQ(Attach(far), PMIX_SUCCESS);
  EXPECT_STREQ(server_.nspace, "three");
  // The system server of this machine is not that of the other machine.
  far.Add(PMIX_CONNECT_TO_SYSTEM, Value::Bool(true));
  EXPECT_EQ(Attach(far), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(AttachTest, ATcpAddressFindsAServerOfThisMachine) {
  std::filesystem::copy(PathOf("two"),
                        PathOf("pmix." + LocalHostName() + ".tool"));
  InfoList address;
  address.Add(PMIX_TCP_URI, Value::String("two.0;tcp4://127.0.0.1:1"));
  ASSERT_EQ(Attach(address), PMIX_SUCCESS);
  EXPECT_STREQ(server_.nspace, "two");
  InfoList other;
  other.Add(PMIX_TCP_URI, Value::String("two.0;tcp4://127.0.0.1:2"));
  EXPECT_EQ(Attach(other), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(AttachTest, ContradictoryDirectivesAreRejected) {
  EXPECT_EQ(AttachToServer(*session_, nullptr, 1, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  InfoList infos = At("two");
  infos.Add(PMIX_TOOL_DO_NOT_CONNECT, Value::Bool(true));
  EXPECT_EQ(Attach(infos), PMIX_ERR_BAD_PARAM);
  infos = At("two");
  infos.Add(PMIX_TOOL_NSPACE, Value::String("another"));
  EXPECT_EQ(Attach(infos), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Servers(), "one");
}

TEST_F(AttachTest, SetServerChoosesThePrimary) {
  EXPECT_EQ(SetServer(*session_, nullptr, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Set("two"), PMIX_ERR_UNREACH);
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  EXPECT_EQ(Set("two", {}, 1), PMIX_ERR_UNREACH);
  EXPECT_EQ(Set("two", {}, PMIX_RANK_WILDCARD), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  EXPECT_EQ(two_.Count(FrameType::kQuery), 1u);
  EXPECT_EQ(Set("one"), PMIX_SUCCESS);
  EXPECT_EQ(Servers(), "one two");
}

TEST_F(AttachTest, SetServerWaitsForAServerOnRequest) {
  InfoList wait;
  wait.Add(PMIX_WAIT_FOR_CONNECTION, Value::Bool(true));
  std::thread waiting([&] { EXPECT_EQ(Set("two", wait), PMIX_SUCCESS); });
  EXPECT_EQ(Attach(At("two")), PMIX_SUCCESS);
  waiting.join();
  EXPECT_EQ(Servers(), "two one");
  wait.Add(PMIX_TIMEOUT, Value::Int32(1));
  EXPECT_EQ(Set("three", wait), PMIX_ERR_TIMEOUT);
  InfoList unknown;
  unknown.Add("no.such.directive", Value::Bool(true));
  unknown.mutable_data()[0].flags = PMIX_INFO_REQD;
  EXPECT_EQ(Set("one", unknown), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(AttachTest, CallsFailWithoutAPrimaryUntilAnotherIsChosen) {
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  EXPECT_EQ(DisconnectServer(*session_, nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Disconnect("three"), PMIX_ERR_NOT_FOUND);
  ASSERT_EQ(Disconnect("one"), PMIX_SUCCESS);
  one_.Await(FrameType::kFinalize);
  EXPECT_EQ(Servers(), "two");
  EXPECT_EQ(Ask(), PMIX_ERR_UNREACH);
  EXPECT_GE(Register(kCode), 0);
  two_.Await(FrameType::kEventsWanted);
  ASSERT_EQ(Set("two"), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  ASSERT_EQ(Disconnect("two"), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_ERR_UNREACH);
  EXPECT_EQ(Register(kCode - 1), PMIX_ERR_UNREACH);
  // The first server of a tool without servers becomes its primary.
  ASSERT_EQ(Attach(At("three")), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
}

TEST_F(AttachTest, AnEventOfSeveralServersIsHandledOnce) {
  ASSERT_GE(Register(kCode), 0);
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  EXPECT_EQ(two_.Count(FrameType::kEventsWanted), 1u);
  one_.SendEvent(kCode, {"a", 0}, PMIX_RANGE_GLOBAL, {}, 7);
  two_.SendEvent(kCode, {"a", 0}, PMIX_RANGE_GLOBAL, {}, 7);
  two_.SendEvent(kCode, {"a", 0}, PMIX_RANGE_GLOBAL, {}, 8);
  ASSERT_GE(Register(kCode - 1), 0);
  EXPECT_EQ(one_.Count(FrameType::kEventsWanted), 2u);
  EXPECT_EQ(two_.Count(FrameType::kEventsWanted), 2u);
  // The answer arrives after all events that the server has sent before it.
  EXPECT_EQ(Set("two"), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  EXPECT_EQ(Set("one"), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  session_->servers().Close();
  session_->progress().Stop();
  EXPECT_EQ(g_events, 2);
}

TEST_F(AttachTest, TheLossOfAServerIsAnEvent) {
  std::promise<std::string> lost;
  g_lost = &lost;
  ASSERT_GE(Register(PMIX_ERR_LOST_CONNECTION), 0);
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  one_.Die();
  EXPECT_EQ(lost.get_future().get(), "one");
  g_lost = nullptr;
  EXPECT_EQ(Ask(), PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(Servers(), "two");
  EXPECT_EQ(Set("one"), PMIX_ERR_UNREACH);
  EXPECT_EQ(Set("two"), PMIX_SUCCESS);
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
}

TEST_F(AttachTest, ConnectToServerReplacesThePrimaryServer) {
  const InfoList infos = At("two");
  EXPECT_EQ(
      ConnectToServerInstead(*session_, infos.data(), infos.size(), &self_),
      PMIX_SUCCESS);
  EXPECT_STREQ(self_.nspace, "me");
  one_.Await(FrameType::kFinalize);
  EXPECT_EQ(Servers(), "two");
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
}

TEST_F(AttachTest, AToolWithoutAServerMayAttachToOne) {
  session_.emplace(MakeUnconnectedTool({}), /*external_progress=*/false);
  EXPECT_EQ(session_->channel(), nullptr);
  ASSERT_GE(Register(kCode), 0);
  ASSERT_EQ(Attach(At("two")), PMIX_SUCCESS);
  EXPECT_EQ(Servers(), "two");
  EXPECT_EQ(Ask(), PMIX_SUCCESS);
  EXPECT_EQ(two_.Count(FrameType::kEventsWanted), 1u);
}

TEST_F(AttachTest, AProcessOfAJobKeepsItsAgent) {
  Result<Environment> environment = ReadEnvironment();
  ASSERT_TRUE(environment.ok());
  Result<Bootstrap> bootstrap = ConnectToAgent(*environment);
  ASSERT_TRUE(bootstrap.ok());
  session_.emplace(std::move(*bootstrap), /*external_progress=*/false);
  ASSERT_EQ(Servers(), "three");
  ASSERT_EQ(Attach(At("two", /*primary=*/true)), PMIX_SUCCESS);
  EXPECT_EQ(Disconnect("three"), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(session_->job_channel()->Call(FrameType::kCollective, "").status,
            PMIX_SUCCESS);
  EXPECT_EQ(three_.Count(FrameType::kCollective), 1u);
}

TEST_F(AttachTest, TheNumberOfServersIsBounded) {
  std::vector<std::unique_ptr<FakeAgent>> agents;
  for (size_t i = 1; i <= kMaxServers; ++i) {
    agents.push_back(std::make_unique<FakeAgent>("many"));
    const std::string name = "many" + std::to_string(i);
    Offer(*agents.back(), name);
    EXPECT_EQ(Attach(At(name)),
              i < kMaxServers ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE);
  }
  EXPECT_EQ(Disconnect("many1"), PMIX_SUCCESS);
  EXPECT_EQ(Attach(At("many" + std::to_string(kMaxServers))), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
