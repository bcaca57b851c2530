#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <string>
#include <thread>

#include "client/abi/client_fixture.h"
#include "client/session/fake_agent.h"
#include "common/local/greeting.h"
#include "pmix.h"

namespace canopy::client {
namespace {

using local::FrameType;

TEST(Lifecycle, CallsBeforeInitFail) {
  pmix_value_t value = {};
  pmix_value_t* out = nullptr;
  size_t count = 0;
  pmix_proc_t* procs = nullptr;
  char* nodes = nullptr;
  EXPECT_EQ(PMIx_Initialized(), 0);
  EXPECT_EQ(PMIx_Get(nullptr, "k", nullptr, 0, &out), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Get_nb(nullptr, "k", nullptr, 0, nullptr, nullptr),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "k", &value), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Store_internal(nullptr, "k", &value), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Commit(), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Abort(0, nullptr, nullptr, 0), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Resolve_peers(nullptr, nullptr, &procs, &count),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Resolve_nodes(nullptr, &nodes), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Register_event_handler(nullptr, 0, nullptr, 0, nullptr,
                                        nullptr, nullptr),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Deregister_event_handler(0, nullptr, nullptr), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Notify_event(-1, nullptr, PMIX_RANGE_LOCAL, nullptr, 0,
                              nullptr, nullptr),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_ERR_INIT);
  PMIx_Progress();
}

TEST(Lifecycle, TheVersionTextIsAcceptedByOpenMpi) {
  const std::string text = PMIx_Get_version();
  // Open MPI compares the first character with the major release of PMIx for
  // which it was built.
  EXPECT_GE(text[0], '3');
  EXPECT_NE(text.find("4.2"), std::string::npos);
}

TEST(Lifecycle, TheLibraryEndsAfterAsManyFinalizesAsInits) {
  FakeAgent agent;
  pmix_proc_t first = {};
  pmix_proc_t second = {};
  ASSERT_EQ(PMIx_Init(&first, nullptr, 0), PMIX_SUCCESS);
  EXPECT_STREQ(first.nspace, agent.nspace().c_str());
  EXPECT_EQ(first.rank, 0u);
  ASSERT_EQ(PMIx_Init(&second, nullptr, 0), PMIX_SUCCESS);
  EXPECT_STREQ(second.nspace, first.nspace);
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Initialized(), 1);
  EXPECT_EQ(agent.Count(FrameType::kFinalize), 0u);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Initialized(), 0);
  EXPECT_EQ(agent.Count(FrameType::kFinalize), 1u);
  EXPECT_EQ(agent.Count(FrameType::kHello), 1u);
}

TEST(Lifecycle, InitSucceedsAgainAfterFinalize) {
  FakeAgent agent;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
    ASSERT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  }
  EXPECT_EQ(agent.Count(FrameType::kHello), 3u);
}

TEST(Lifecycle, HelloIdentifiesTheProcess) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  const Request in_frame = agent.Await(FrameType::kHello);
  const auto hello = in_frame.As<local::Hello>();
  EXPECT_EQ(hello.version, local::kProtocolVersion);
  EXPECT_EQ(OwnerOf(hello.claimed), (ProcId{agent.nspace(), 0}));
  EXPECT_EQ(hello.token, "0123456789abcdef0123456789abcdef");
  EXPECT_FALSE(hello.library.empty());
  PMIx_Finalize(nullptr, 0);
}

TEST(Lifecycle, InitFailsIfTheAgentRefusesTheHello) {
  FakeAgent agent;
  agent.On(FrameType::kHello,
           [](FakeAgent& a, const Request& r) { a.Reply(r, kErrInvalidCred); });
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_INVALID_CRED);
  EXPECT_EQ(PMIx_Initialized(), 0);
}

TEST(Lifecycle, InitFailsOnAMalformedReply) {
  FakeAgent agent;
  agent.On(FrameType::kHello, [](FakeAgent& a, const Request& r) {
    a.Reply(r, kSuccess, "nonsense");
  });
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_HANDSHAKE_FAILED);
  agent.On(FrameType::kHello, [](FakeAgent& a, const Request&) { a.Die(); });
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_UNREACH);
}

TEST(Lifecycle, InitWaitsForTheSuccessorOfAnAgentThatEnds) {
  FakeAgent agent;
  setenv(local::kEnvReattach, "60000", 1);
  agent.On(FrameType::kHello, [](FakeAgent& a, const Request&) {
    a.On(FrameType::kHello, nullptr);
    a.Die();
  });
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(agent.Count(FrameType::kHello), 2u);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  unsetenv(local::kEnvReattach);
}

TEST(Lifecycle, InitFailsWithoutAnAgentAtTheSocket) {
  setenv("CANOPY_SOCKET", "/nonexistent/socket", 1);
  setenv("PMIX_NAMESPACE", "job", 1);
  setenv("PMIX_RANK", "0", 1);
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_UNREACH);
  setenv("PMIX_RANK", "zero", 1);
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_BAD_PARAM);
  unsetenv("CANOPY_SOCKET");
  unsetenv("PMIX_NAMESPACE");
  unsetenv("PMIX_RANK");
}

TEST(Lifecycle, AProcessWithoutAnAgentIsASingleton) {
  pmix_proc_t self = {};
  ASSERT_EQ(PMIx_Init(&self, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(std::string(self.nspace).rfind("singleton.", 0), 0u);
  EXPECT_EQ(self.rank, 0u);
  pmix_value_t* value = nullptr;
  pmix_proc_t job = self;
  job.rank = PMIX_RANK_WILDCARD;
  ASSERT_EQ(PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value), PMIX_SUCCESS);
  EXPECT_EQ(Value::Adopt(value), Value::Uint32(1));
  free(value);
  EXPECT_EQ(PMIx_Get(&job, "absent", nullptr, 0, &value), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Fence(&self, 1, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Abort(1, "x", nullptr, 0), PMIX_ERR_UNREACH);
  std::promise<int> done;
  const auto on_done = [](pmix_status_t status, void* cbdata) {
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  EXPECT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, on_done, &done),
            PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, FinalizeFencesIfABarrierIsRequested) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  const InfoList infos = Flags({PMIX_EMBED_BARRIER});
  EXPECT_EQ(PMIx_Finalize(infos.data(), infos.size()), PMIX_SUCCESS);
  EXPECT_EQ(agent.Count(FrameType::kCollective), 1u);
}

TEST(Lifecycle, FinalizeEndsTheLibraryAlsoIfItsBarrierFails) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  agent.On(FrameType::kCollective,
           [](FakeAgent& a, const Request& r) { a.Reply(r, kErrTimeout); });
  const InfoList infos = Flags({PMIX_EMBED_BARRIER});
  EXPECT_EQ(PMIx_Finalize(infos.data(), infos.size()), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(PMIx_Initialized(), 0);
  EXPECT_EQ(agent.Count(FrameType::kFinalize), 1u);
}

TEST(Lifecycle, DirectivesOfRepeatedInitsMustNotConflict) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  InfoList infos;
  infos.Add(PMIX_EXTERNAL_PROGRESS, Value::Bool(true));
  EXPECT_EQ(PMIx_Init(nullptr, infos.mutable_data(), 1), PMIX_ERR_BAD_PARAM);
  infos.Set(PMIX_EXTERNAL_PROGRESS, Value::Bool(false));
  EXPECT_EQ(PMIx_Init(nullptr, infos.mutable_data(), 1), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Initialized(), 1);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Initialized(), 0);
}

// Checks whether PMIx_Init of rank 0 waits for a debugger, and then releases
// it.
void ExpectStop(const Value& wish, bool stops, bool external = false) {
  FakeAgent agent;
  agent.Publish(0, {{PMIX_DEBUG_STOP_IN_INIT, wish}});
  InfoList infos;
  infos.Add(PMIX_EXTERNAL_PROGRESS, Value::Bool(external));
  std::future<int> done = std::async(std::launch::async, [&] {
    return PMIx_Init(nullptr, infos.mutable_data(), infos.size());
  });
  if (stops) {
    agent.Await(local::FrameType::kEventsWanted);
    agent.Await(local::FrameType::kNotify);
    EXPECT_EQ(done.wait_for(std::chrono::milliseconds(20)),
              std::future_status::timeout);
    agent.SendEvent(PMIX_DEBUGGER_RELEASE, {"tool", 0}, PMIX_RANGE_CUSTOM, {});
  }
  EXPECT_EQ(done.get(), PMIX_SUCCESS);
  EXPECT_EQ(agent.Count(local::FrameType::kNotify), stops ? 1u : 0u);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, InitStopsForADebuggerThatNamesThisProcess) {
  ExpectStop(Value::Bool(false), false);
  ExpectStop(Value::Bool(true), true);
  ExpectStop(Value::Rank(PMIX_RANK_WILDCARD), true);
  ExpectStop(Value::Rank(0), true, /*external=*/true);
  ExpectStop(Value::Rank(1), false);
  const std::vector<ProcId> others = {{"job-1", 1}, {"job-1", 2}};
  ExpectStop(Value::ProcArray(others), false);
  const std::vector<ProcId> ours = {{"job-1", 1}, {"job-1", 0}};
  ExpectStop(Value::ProcArray(ours), true);
}

TEST(Lifecycle, InitFailsIfTheAgentRefusesTheStopForADebugger) {
  FakeAgent agent;
  agent.Publish(0, {{PMIX_DEBUG_STOP_IN_INIT, Value::Bool(true)}});
  agent.On(local::FrameType::kNotify, [](FakeAgent& a, const Request& r) {
    a.Reply(r, PMIX_ERR_OUT_OF_RESOURCE);
  });
  EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(PMIx_Initialized(), 0);
}

TEST(Lifecycle, FinalizeRefusesAnUnknownRequiredDirective) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  InfoList infos;
  infos.Add("no.such", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(PMIx_Finalize(infos.data(), 1), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Initialized(), 1);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, InitRefusesAnUnknownRequiredDirective) {
  FakeAgent agent;
  InfoList infos;
  infos.Add("no.such", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(PMIx_Init(nullptr, infos.mutable_data(), infos.size()),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Initialized(), 0);
}

TEST(Lifecycle, CallbacksRunInTheCallerOfExternalProgress) {
  FakeAgent agent;
  InfoList infos = Flags({PMIX_EXTERNAL_PROGRESS});
  ASSERT_EQ(PMIx_Init(nullptr, infos.mutable_data(), infos.size()),
            PMIX_SUCCESS);
  struct Seen {
    bool done = false;
    std::thread::id thread;
  } seen;
  const auto on_done = [](pmix_status_t, void* cbdata) {
    auto* s = static_cast<Seen*>(cbdata);
    s->done = true;
    s->thread = std::this_thread::get_id();
  };
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, on_done, &seen),
            PMIX_SUCCESS);
  EXPECT_FALSE(seen.done);
  while (!seen.done) PMIx_Progress();
  EXPECT_EQ(seen.thread, std::this_thread::get_id());
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, FinalizeReleasesBlockedThreads) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  agent.On(FrameType::kCollective, [](FakeAgent&, const Request&) {});
  std::future<int> blocked = std::async(
      std::launch::async, [] { return PMIx_Fence(nullptr, 0, nullptr, 0); });
  agent.Await(FrameType::kCollective);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(blocked.get(), PMIX_ERR_LOST_CONNECTION);
}

TEST(Lifecycle, FinalizeEndsPendingCallsThroughTheirCallbacks) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  agent.On(FrameType::kCollective, [](FakeAgent&, const Request&) {});
  int status = 1;
  const auto on_done = [](pmix_status_t s, void* cbdata) {
    *static_cast<int*>(cbdata) = s;
  };
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, on_done, &status),
            PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(status, PMIX_ERR_LOST_CONNECTION);
}

TEST(Lifecycle, FinalizeFromACallbackIsRefused) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  std::promise<int> result;
  const auto on_done = [](pmix_status_t, void* cbdata) {
    static_cast<std::promise<int>*>(cbdata)->set_value(
        PMIx_Finalize(nullptr, 0));
  };
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, on_done, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.get_future().get(), PMIX_ERR_WOULD_BLOCK);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, FinalizeSucceedsIfTheAgentIsGone) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  agent.Die();
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, GarbageFromTheAgentEndsTheConnection) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  agent.On(FrameType::kCollective, [](FakeAgent& a, const Request&) {
    a.SendRaw(std::string(64, '\xff'));
  });
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST(Lifecycle, AForkedChildIsNotInitialised) {
  FakeAgent agent;
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    pmix_value_t* value = nullptr;
    const bool good =
        PMIx_Initialized() == 0 &&
        PMIx_Get(nullptr, PMIX_RANK, nullptr, 0, &value) == PMIX_ERR_INIT &&
        PMIx_Finalize(nullptr, 0) == PMIX_ERR_INIT;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
