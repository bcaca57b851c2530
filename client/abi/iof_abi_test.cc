#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/bytes.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "common/local/calls.h"
#include "pmix_tool.h"

namespace canopy::client {
namespace {

using local::FrameType;

struct Piece {
  size_t handle = 0;
  pmix_iof_channel_t channel = 0;
  Rank rank = 0;
  std::string data;
  bool complete = false;
  uint64_t dropped = 0;
  pmix_status_t failure = 0;
};

// The calls of the callback in the current test.
std::mutex g_mutex;
std::vector<Piece> g_pieces;

void OnOutput(size_t handle, pmix_iof_channel_t channel, pmix_proc_t* source,
              pmix_byte_object_t* payload, pmix_info_t info[], size_t ninfo) {
  const InfoList infos = InfoList::FromC(info, ninfo);
  const pmix_info_t* failure = infos.Find("canopy.iof.status");
  const std::lock_guard lock(g_mutex);
  g_pieces.push_back({handle, channel, source->rank,
                      std::string(payload->bytes, payload->size),
                      infos.FindBool(PMIX_IOF_COMPLETE).value_or(false),
                      infos.FindUint("canopy.iof.dropped").value_or(0),
                      failure == nullptr ? 0 : failure->value.data.status});
}

// The events about forwarding in the current test.
std::vector<std::pair<int, InfoList>> g_events;

void OnEvent(size_t, pmix_status_t status, const pmix_proc_t*,
             pmix_info_t info[], size_t ninfo, pmix_info_t*, size_t,
             pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
  {
    const std::lock_guard lock(g_mutex);
    g_events.emplace_back(status, InfoList::FromC(info, ninfo));
  }
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

std::vector<std::pair<int, InfoList>> Events() {
  const std::lock_guard lock(g_mutex);
  return g_events;
}

std::vector<Piece> Pieces() {
  const std::lock_guard lock(g_mutex);
  return g_pieces;
}

// A request that the agent has received.
struct Asked {
  std::vector<ProcId> targets;
  OutputRead read;
};

Asked Parse(const std::string& payload) {
  local::HostCall call;
  EXPECT_TRUE(wire::Decode(payload, &call));
  EXPECT_EQ(call.op, HostOp::kReadOutput);
  Asked asked;
  for (const ProcView& target : call.targets) {
    asked.targets.push_back(OwnerOf(target));
  }
  EXPECT_TRUE(wire::Decode(call.call, &asked.read));
  return asked;
}

class IofTest : public ClientTest {
 protected:
  IofTest() {
    const std::lock_guard lock(g_mutex);
    g_pieces.clear();
    g_events.clear();
  }

  static void HandleEvents() {
    pmix_status_t codes[] = {PMIX_ERR_IOF_FAILURE, PMIX_ERR_IOF_COMPLETE};
    EXPECT_GE(PMIx_Register_event_handler(codes, 2, nullptr, 0, OnEvent,
                                          nullptr, nullptr),
              0);
  }

  // Makes the agent answer the n-th read with the n-th of `runs`, and leave
  // later reads unanswered. It answers the end of a puller with success.
  void Answer(const std::vector<OutputRun>& runs) {
    const auto next = std::make_shared<size_t>(0);
    agent_->On(
        FrameType::kHostCall,
        [ended = ended_, runs, next](FakeAgent& agent, const Request& request) {
          const Asked asked = Parse(request.payload);
          if (asked.read.ends) {
            agent.Reply(request, kSuccess);
            return ended->set_value(asked);
          }
          if (*next == runs.size()) return;
          OutputRun run = runs[(*next)++];
          run.cursor = "cursor " + std::to_string(*next);
          agent.Reply(request, kSuccess, wire::Encode(run));
        });
  }

  // Makes the agent answer the first read with success, and all others with
  // `status` and `answer`.
  void AnswerLater(int status, const std::string& answer) {
    const auto reads = std::make_shared<size_t>(0);
    agent_->On(
        FrameType::kHostCall,
        [reads, status, answer](FakeAgent& agent, const Request& request) {
          if ((*reads)++ == 0) {
            return agent.Reply(request, kSuccess, wire::Encode(OutputRun{}));
          }
          agent.Reply(request, status, answer);
        });
  }

  int Pull(const InfoList& infos = {},
           pmix_iof_channel_t channels = PMIX_FWD_STDOUT_CHANNEL) {
    const pmix_proc_t proc = Proc("other", PMIX_RANK_WILDCARD);
    return PMIx_IOF_pull(&proc, 1, infos.data(), infos.size(), channels,
                         OnOutput, nullptr, nullptr);
  }

  // Shared, because the agent's thread may use the promise after the test.
  std::shared_ptr<std::promise<Asked>> ended_ =
      std::make_shared<std::promise<Asked>>();
};

OutputRun Text(Rank rank, const std::string& text) {
  OutputRun run;
  run.pieces = {{rank, PMIX_FWD_STDOUT_CHANNEL, Bytes(text)}};
  return run;
}

TEST_F(IofTest, Iof02TheNextReadIsSentAfterTheCallback) {
  OutputRun last;
  last.pieces = {{1, PMIX_FWD_STDOUT_CHANNEL, {}}};
  last.dropped = 7;
  OutputRun over;
  over.complete = true;
  over.dropped = 7;
  Answer({{}, Text(1, "one"), last, over});
  const int handle = Pull();
  ASSERT_GT(handle, 0);
  const Asked first = Parse(agent_->Await(FrameType::kHostCall, 1).payload);
  EXPECT_EQ(first.targets, (std::vector<ProcId>{{"other", kRankWildcard}}));
  EXPECT_EQ(first.read.channels, PMIX_FWD_STDOUT_CHANNEL);
  EXPECT_TRUE(first.read.redirects);
  EXPECT_EQ(first.read.cursor, "");
  const Asked fourth = Parse(agent_->Await(FrameType::kHostCall, 4).payload);
  EXPECT_EQ(fourth.read.cursor, "cursor 3");
  EXPECT_EQ(fourth.read.handle, first.read.handle);
  while (Pieces().size() < 3) std::this_thread::yield();
  const std::vector<Piece> pieces = Pieces();
  EXPECT_EQ(pieces[0].handle, static_cast<size_t>(handle));
  EXPECT_EQ(pieces[0].rank, 1u);
  EXPECT_EQ(pieces[0].data, "one");
  EXPECT_FALSE(pieces[0].complete);
  EXPECT_TRUE(pieces[1].complete);
  EXPECT_EQ(pieces[1].dropped, 7u);
  EXPECT_EQ(pieces[2].rank, PMIX_RANK_WILDCARD);
  EXPECT_TRUE(pieces[2].complete);
  EXPECT_EQ(pieces[2].dropped, 0u);
}

// The callback gets the end of the output. The event reports a failure, not the
// end of the job.
TEST_F(IofTest, AFailedReadRaisesAnEvent) {
  HandleEvents();
  AnswerLater(kErrNotFound, "");
  ASSERT_GT(Pull(), 0);
  while (Events().empty() || Pieces().empty()) std::this_thread::yield();
  const auto [status, infos] = Events()[0];
  EXPECT_EQ(status, PMIX_ERR_IOF_FAILURE);
  const pmix_info_t* affected = infos.Find(PMIX_EVENT_AFFECTED_PROC);
  ASSERT_NE(affected, nullptr);
  EXPECT_STREQ(affected->value.data.proc->nspace, "other");
  EXPECT_EQ(infos.FindUint("canopy.iof.channels"), PMIX_FWD_STDOUT_CHANNEL);
  EXPECT_EQ(infos.Find("canopy.iof.status")->value.data.status,
            PMIX_ERR_NOT_FOUND);
  EXPECT_TRUE(Pieces()[0].complete);
  EXPECT_EQ(Pieces()[0].rank, PMIX_RANK_WILDCARD);
  EXPECT_EQ(Pieces()[0].failure, PMIX_ERR_NOT_FOUND);
}

TEST_F(IofTest, AMalformedReplyIsAFailure) {
  HandleEvents();
  AnswerLater(kSuccess, "garbage");
  ASSERT_GT(Pull(), 0);
  while (Events().empty()) std::this_thread::yield();
  EXPECT_EQ(Events()[0].second.Find("canopy.iof.status")->value.data.status,
            PMIX_ERR_UNPACK_FAILURE);
}

TEST_F(IofTest, FinalizeEndsAPullWithoutAFailure) {
  HandleEvents();
  Answer({{}});
  ASSERT_GT(Pull(), 0);
  agent_->Await(FrameType::kHostCall, 2);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_TRUE(Events().empty());
  ASSERT_EQ(Pieces().size(), 1u);
  EXPECT_EQ(Pieces()[0].failure, PMIX_SUCCESS);
}

TEST_F(IofTest, Iof04APullOfInputIsRefused) {
  EXPECT_EQ(Pull({}, PMIX_FWD_STDIN_CHANNEL), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(Pull({}, PMIX_FWD_NO_CHANNELS), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_IOF_pull(nullptr, 0, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL,
                          OnOutput, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kHostCall), 0u);
}

TEST_F(IofTest, Iof06DirectivesGoToTheAgent) {
  Answer({{}});
  InfoList infos = Flags({PMIX_IOF_DROP_OLDEST, PMIX_IOF_COPY});
  infos.Add(PMIX_IOF_CACHE_SIZE, Value::Uint32(4096));
  ASSERT_GT(Pull(infos, PMIX_FWD_ALL_CHANNELS), 0);
  const Asked asked = Parse(agent_->Await(FrameType::kHostCall, 1).payload);
  EXPECT_EQ(asked.read.overflow, Overflow::kDropOldest);
  EXPECT_EQ(asked.read.cache_size, 4096u);
  EXPECT_FALSE(asked.read.redirects);
  EXPECT_EQ(asked.read.channels, 14u);
  const InfoList text = {{PMIX_IOF_CACHE_SIZE, Value::String("much")}};
  EXPECT_EQ(Pull(text), PMIX_ERR_BAD_PARAM);
  InfoList unknown;
  unknown.Add("no.such.directive", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Pull(unknown), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(IofTest, ARefusedPullHasNoHandle) {
  agent_->On(FrameType::kHostCall,
             [](FakeAgent& agent, const Request& request) {
               agent.Reply(request, kErrNotSupported);
             });
  EXPECT_EQ(Pull(), PMIX_ERR_NOT_SUPPORTED);
  InfoList required;
  required.Add("site.directive", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(PMIx_IOF_deregister(1, required.data(), 1, nullptr, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_IOF_deregister(1, nullptr, 1, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_IOF_deregister(1, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_NOT_FOUND);
}

TEST_F(IofTest, ErrorsArePassedToCallbacks) {
  OpResult unknown;
  ASSERT_EQ(PMIx_IOF_deregister(1, nullptr, 0, OpResult::Set, &unknown),
            PMIX_SUCCESS);
  EXPECT_EQ(unknown.Wait(), PMIX_ERR_NOT_FOUND);
  OpResult nothing;
  ASSERT_EQ(
      PMIx_IOF_push(nullptr, 0, nullptr, nullptr, 0, OpResult::Set, &nothing),
      PMIX_SUCCESS);
  EXPECT_EQ(nothing.Wait(), PMIX_ERR_BAD_PARAM);
}

TEST_F(IofTest, APushOfTheEndNeedsNoTargets) {
  const InfoList end = Flags({PMIX_IOF_COMPLETE});
  EXPECT_EQ(PMIx_IOF_push(nullptr, 0, nullptr, end.data(), end.size(), nullptr,
                          nullptr),
            PMIX_SUCCESS);
  OpResult ended;
  ASSERT_EQ(PMIx_IOF_push(nullptr, 0, nullptr, end.data(), end.size(),
                          OpResult::Set, &ended),
            PMIX_SUCCESS);
  EXPECT_EQ(ended.Wait(), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kHostCall), 0u);
}

TEST_F(IofTest, Iof16TheCallbackGetsTaggedLines) {
  Answer({{}, Text(2, "one\ntw"), Text(2, "o\n")});
  ASSERT_GT(Pull(Flags({PMIX_IOF_TAG_OUTPUT})), 0);
  while (Pieces().size() < 2) std::this_thread::yield();
  EXPECT_EQ(Pieces()[0].data, "[other,2]<stdout>: one\n");
  EXPECT_EQ(Pieces()[1].data, "[other,2]<stdout>: two\n");
}

TEST_F(IofTest, Iof11HeldOutputComesBeforeTheEnd) {
  Answer({{}, Text(0, "abc")});
  InfoList infos;
  infos.Add(PMIX_IOF_BUFFERING_SIZE, Value::Uint32(100));
  const int handle = Pull(infos);
  ASSERT_GT(handle, 0);
  agent_->Await(FrameType::kHostCall, 3);
  EXPECT_TRUE(Pieces().empty());
  OpResult result;
  EXPECT_EQ(PMIx_IOF_deregister(static_cast<size_t>(handle), nullptr, 0,
                                OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_SUCCESS);
  ASSERT_EQ(Pieces().size(), 1u);
  EXPECT_EQ(Pieces()[0].data, "abc");
  const Asked end = ended_->get_future().get();
  EXPECT_EQ(end.read.handle, static_cast<uint64_t>(handle));
  EXPECT_EQ(PMIx_IOF_deregister(static_cast<size_t>(handle), nullptr, 0,
                                nullptr, nullptr),
            PMIX_ERR_NOT_FOUND);
}

TEST_F(IofTest, ANonBlockingPullPassesItsHandleToItsCallback) {
  Answer({{}});
  struct Registered {
    std::promise<std::pair<int, size_t>> promise;
    static void Set(pmix_status_t status, size_t handle, void* cbdata) {
      static_cast<Registered*>(cbdata)->promise.set_value({status, handle});
    }
  } registered;
  const pmix_proc_t proc = Proc("other", 0);
  ASSERT_EQ(PMIx_IOF_pull(&proc, 1, nullptr, 0, PMIX_FWD_STDERR_CHANNEL,
                          OnOutput, Registered::Set, &registered),
            PMIX_SUCCESS);
  const auto [status, handle] = registered.promise.get_future().get();
  EXPECT_EQ(status, PMIX_SUCCESS);
  EXPECT_EQ(PMIx_IOF_deregister(handle, nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
