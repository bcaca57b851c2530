#include "server/core/iof/forwarding.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/iof_call.h"
#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/iof/output_cache.h"
#include "server/core/iof/puller.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

constexpr ClientId kClient = 5;
constexpr TimeNs kLong = 61'000'000'000;
const ProcId kTool{"tool", 0};

std::shared_ptr<const JobSpec> MakeJob(const std::string& nspace,
                                       uint16_t channels) {
  auto job = std::make_shared<JobSpec>(*JobOn(nspace, {0, 1}));
  job->uid = 17;
  job->forwarding.channels = channels;
  return job;
}

// The fixture is one of two agents; it is the root unless stated otherwise.
class ForwardingTest : public testing::Test {
 protected:
  explicit ForwardingTest(NodeId self = 0)
      : jobs_(self),
        engine_(self, {"a", "b"}, tree_, jobs_),
        forwarding_(self, jobs_, engine_) {
    jobs_.Add(MakeJob("job", kAllOutput));
    jobs_.Add(MakeJob("quiet", 0));
    EXPECT_TRUE(jobs_.ConnectTool(kClient, kTool, {17, 18}));
  }

  static OutputRead Want(const std::string& cursor = "") {
    OutputRead read;
    read.handle = 1;
    read.channels = kOutputChannel | kErrorChannel;
    read.cursor = cursor;
    return read;
  }

  Actions Read(const OutputRead& read, const std::string& nspace = "job",
               Rank rank = kRankWildcard) {
    Actions actions;
    forwarding_.OnArrived({now_, actions}, {kClient,
                                            ++request_,
                                            HostOp::kReadOutput,
                                            {{nspace, rank}},
                                            Bytes(wire::Encode(read))});
    return actions;
  }

  // Returns the output in the only reply. Expects that reply to have `status`.
  static OutputRun RunOf(const Actions& actions, int status = kSuccess) {
    OutputRun run;
    const auto replies = All<ReplyClient>(actions);
    EXPECT_EQ(replies.size(), 1u);
    if (replies.size() != 1) return run;
    EXPECT_EQ(replies[0].client, kClient);
    EXPECT_EQ(replies[0].status, status);
    if (!replies[0].payload.empty()) {
      EXPECT_TRUE(wire::Decode(replies[0].payload, &run));
    }
    return run;
  }

  bool Output(const std::string& text, Rank rank, Actions* actions) {
    position_ += text.size();
    const std::string nspace = "job";
    const Bytes data(text);
    return forwarding_.OnOutput(
        {now_, *actions}, {nspace, 0, position_, rank, kOutputChannel, data});
  }

  HostRequest Request(const OutputRead& read, uint32_t uid = 17,
                      uint64_t number = 9) {
    return {kTool, number, HostOp::kReadOutput,      uid,
            18,    "job",  {{"job", kRankWildcard}}, Bytes(wire::Encode(read))};
  }

  // Makes a read from another agent and returns the replies.
  std::vector<HostReply> Ask(const OutputRead& read, uint64_t number) {
    Actions actions;
    forwarding_.OnRequest({now_, actions}, 1, Request(read, 17, number));
    return Replies(actions);
  }

  static std::vector<HostReply> Replies(const Actions& actions) {
    std::vector<HostReply> out;
    for (const auto& [node, reply] : Sent<HostReply>(actions)) {
      out.push_back(reply);
    }
    return out;
  }

  static std::string CursorOf(const HostReply& reply) {
    OutputRun run;
    EXPECT_TRUE(wire::Decode(reply.results, &run));
    return run.cursor;
  }

  TimeNs now_ = 1000;
  RequestId request_ = 0;
  uint64_t position_ = 0;
  Tree tree_{2, 2};
  JobTable jobs_;
  JobEngine engine_;
  Forwarding forwarding_;
};

TEST_F(ForwardingTest, AReadWaitsForOutput) {
  const OutputRun first = RunOf(Read(Want()));
  EXPECT_TRUE(first.pieces.empty());
  EXPECT_TRUE(Read(Want(first.cursor)).empty());
  Actions actions;
  EXPECT_FALSE(Output("text", 1, &actions));
  const OutputRun run = RunOf(actions);
  ASSERT_EQ(run.pieces.size(), 1u);
  EXPECT_EQ(run.pieces[0].rank, 1u);
  EXPECT_EQ(run.pieces[0].data.view(), "text");
}

TEST_F(ForwardingTest, OutputIsKeptUntilTheNextRead) {
  const OutputRun first = RunOf(Read(Want()));
  Actions actions;
  Output("one", 0, &actions);
  Output("two", 0, &actions);
  EXPECT_TRUE(actions.empty());
  EXPECT_EQ(RunOf(Read(Want(first.cursor))).pieces.size(), 2u);
}

TEST_F(ForwardingTest, Iof10ALatePullerGetsTheCachedOutput) {
  Actions actions;
  Output("one", 0, &actions);
  const OutputRun first = RunOf(Read(Want()));
  EXPECT_EQ(RunOf(Read(Want(first.cursor))).pieces.size(), 1u);
  OutputRead now = Want();
  now.handle = 2;
  now.from_now = true;
  now.cursor = RunOf(Read(now)).cursor;
  EXPECT_TRUE(Read(now).empty());
}

TEST_F(ForwardingTest, TheCachesOfManyJobsAreLimitedTogether) {
  const std::string text(1 << 20, 'x');
  for (int i = 0; i < 100; ++i) {
    const std::string nspace = "large" + std::to_string(i);
    auto job = std::make_shared<JobSpec>(*MakeJob(nspace, kAllOutput));
    job->forwarding.cache_size = kMaxCache;
    jobs_.Add(std::move(job));
    Actions actions;
    const Bytes data(text);
    forwarding_.OnOutput({now_, actions},
                         {nspace, 0, text.size(), 0, kOutputChannel, data});
  }
  const auto dropped = [this](const std::string& nspace) {
    return RunOf(Read(Want(), nspace)).dropped;
  };
  EXPECT_EQ(dropped("large0"), 0u);
  EXPECT_EQ(dropped("large99"), text.size() - kLeastCache);
}

TEST_F(ForwardingTest, APullerOfOnlyTheCacheIsCompleteWhenItHasReadIt) {
  Actions actions;
  Output("one", 0, &actions);
  OutputRead read = Want();
  read.only_cached = true;
  read.cursor = RunOf(Read(read)).cursor;
  Output("two", 0, &actions);
  const OutputRun run = RunOf(Read(read));
  ASSERT_EQ(run.pieces.size(), 1u);
  EXPECT_EQ(run.pieces[0].data.view(), "one");
  read.cursor = run.cursor;
  EXPECT_TRUE(RunOf(Read(read)).complete);
  read.ends = true;
  Read(read);
  EXPECT_EQ(forwarding_.size(), 0u);
}

// Output after the restart would come from the successor's own cache.
TEST_F(ForwardingTest, APullerOfOnlyTheCacheIsCompleteAfterARestart) {
  OutputRead read = Want();
  read.only_cached = true;
  Actions actions;
  Output("one", 0, &actions);
  read.cursor = RunOf(Read(read)).cursor;
  Forwarding successor(0, jobs_, engine_);
  successor.OnOutput({now_, actions},
                     {"job", 0, 6, 0, kOutputChannel, Bytes("two")});
  actions.clear();
  successor.OnRequest({now_, actions}, 1, Request(read));
  const auto replies = Replies(actions);
  ASSERT_EQ(replies.size(), 1u);
  OutputRun run;
  ASSERT_TRUE(wire::Decode(replies[0].results, &run));
  EXPECT_TRUE(run.pieces.empty());
  EXPECT_TRUE(run.complete);
}

TEST_F(ForwardingTest, PullsThatAreNotAllowedAreRejected) {
  RunOf(Read(Want(), "quiet"), kErrNotSupported);
  RunOf(Read(Want(), "nobody"), kErrNotFound);
  RunOf(Read(Want(), "job", 7), kErrNotFound);
  RunOf(Read(Want(), ""), kErrBadParam);
  EXPECT_EQ(forwarding_.size(), 0u);
  Actions actions;
  forwarding_.OnRequest({now_, actions}, 1, Request(Want(), 18));
  const auto replies = Sent<HostReply>(actions);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].first, 1u);
  EXPECT_EQ(replies[0].second.status, kErrNoPermissions);
}

TEST_F(ForwardingTest, Iof08RedirectedOutputBypassesTheLauncher) {
  OutputRead read = Want();
  read.redirects = true;
  read.cursor = RunOf(Read(read, "job", 1)).cursor;
  Actions actions;
  EXPECT_FALSE(Output("one", 0, &actions));
  EXPECT_TRUE(Output("two", 1, &actions));
  read.ends = true;
  RunOf(Read(read));
  EXPECT_FALSE(Output("three", 1, &actions));
  EXPECT_EQ(forwarding_.size(), 0u);
}

TEST_F(ForwardingTest, APullerEndsWithItsClient) {
  RunOf(Read(Want()));
  EXPECT_GT(forwarding_.size(), 0u);
  Actions actions;
  forwarding_.OnClientGone({now_, actions}, kClient);
  EXPECT_TRUE(All<ReplyClient>(actions).empty());
  EXPECT_EQ(forwarding_.size(), 0u);
}

TEST_F(ForwardingTest, ALateReadDoesNotGetTheAnswerToTheNextRead) {
  const auto welcome = Ask(Want(), 1);
  ASSERT_EQ(welcome.size(), 1u);
  const std::string cursor = CursorOf(welcome[0]);
  EXPECT_EQ(Ask(Want(), 1).size(), 1u) << "its answer may be lost";
  EXPECT_TRUE(Ask(Want(cursor), 2).empty());
  EXPECT_TRUE(Ask(Want(), 1).empty());
  Actions actions;
  Output("one", 0, &actions);
  auto replies = Replies(actions);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].request, 2u);
  EXPECT_TRUE(Ask(Want(CursorOf(replies[0])), 3).empty());
  EXPECT_TRUE(Ask(Want(cursor), 2).empty());
  actions.clear();
  Output("two", 0, &actions);
  replies = Replies(actions);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].request, 3u);
}

TEST_F(ForwardingTest, ALateReadDoesNotRestoreAnEndedPuller) {
  const std::string cursor = CursorOf(Ask(Want(), 1).at(0));
  OutputRead end = Want(cursor);
  end.ends = true;
  EXPECT_EQ(Ask(end, 3).size(), 1u);
  const auto again = Ask(Want(cursor), 2);
  ASSERT_EQ(again.size(), 1u) << "its answer may be lost";
  OutputRun run;
  ASSERT_TRUE(wire::Decode(again[0].results, &run));
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(forwarding_.size(), 0u);
  // A late first read does not revive the puller either.
  const auto first = Ask(Want(), 1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_TRUE(wire::Decode(first[0].results, &run));
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(forwarding_.size(), 0u);
  // A first read with another number comes from a new process and makes a new
  // puller. After some time, so does a read with the number of an ended puller.
  EXPECT_EQ(Ask(Want(), 4).size(), 1u);
  EXPECT_EQ(forwarding_.size(), 1u);
  EXPECT_EQ(Ask(end, 5).size(), 1u);
  now_ += kLong;
  EXPECT_EQ(Ask(Want(), 4).size(), 1u);
  EXPECT_EQ(forwarding_.size(), 1u);
}

TEST_F(ForwardingTest, EndingAPullerAnswersItsPendingRead) {
  OutputRead read = Want();
  read.cursor = RunOf(Read(read)).cursor;
  EXPECT_TRUE(Read(read).empty());
  read.ends = true;
  const auto replies = All<ReplyClient>(Read(read));
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].request, request_ - 1);
  EXPECT_EQ(replies[1].request, request_);
  OutputRun run;
  ASSERT_TRUE(wire::Decode(replies[0].payload, &run));
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(forwarding_.size(), 0u);
}

TEST_F(ForwardingTest, UnreadOutputIsReadAfterTheJobEnds) {
  const OutputRun first = RunOf(Read(Want()));
  Actions actions;
  Output("text", 0, &actions);
  jobs_.Remove("job");
  forwarding_.OnJobRemoved({now_, actions}, {"job"});
  EXPECT_TRUE(actions.empty());
  const OutputRun run = RunOf(Read(Want(first.cursor)));
  EXPECT_EQ(run.pieces.size(), 1u);
  EXPECT_FALSE(run.complete);
  EXPECT_TRUE(RunOf(Read(Want(run.cursor))).complete);
  // The answer was lost with an agent.
  EXPECT_TRUE(RunOf(Read(Want(run.cursor))).complete);
}

// Another puller keeps the job's output. The repeated answer reports the same
// dropped bytes as the first, and no more.
TEST_F(ForwardingTest, ARepeatedReadOfTheEndGetsTheSameAnswer) {
  OutputRead part = Want();
  part.channels = kErrorChannel;
  part.cursor = CursorOf(Ask(part, 1).at(0));
  EXPECT_TRUE(Ask(part, 2).empty());
  OutputRead other = Want();
  other.handle = 2;
  RunOf(Read(other));
  Actions actions;
  Output("text", 0, &actions);
  jobs_.Remove("job");
  forwarding_.OnJobRemoved({now_, actions}, {"job"});
  ASSERT_EQ(Replies(actions).size(), 1u);
  const auto again = Ask(part, 2);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].results.view(), Replies(actions)[0].results.view());
  OutputRun run;
  ASSERT_TRUE(wire::Decode(again[0].results, &run));
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.dropped, 0u);
}

// The puller stays until its end or until it expires.
TEST_F(ForwardingTest, APullerThatHasReadAllStaysUntilItEnds) {
  OutputRead read = Want(RunOf(Read(Want())).cursor);
  jobs_.Remove("job");
  Actions actions;
  forwarding_.OnJobRemoved({now_, actions}, {"job"});
  EXPECT_TRUE(RunOf(Read(read)).complete);
  EXPECT_NE(forwarding_.NextDeadline(), kNever);
  read.ends = true;
  RunOf(Read(read));
  EXPECT_EQ(forwarding_.size(), 0u);
}

// The job's pullers belonged to another controller, and may find this one after
// the end of the job.
TEST_F(ForwardingTest, UnreadOutputOfARecoveredJobWaitsForPullers) {
  OutputRead read = Want(RunOf(Read(Want())).cursor);
  Forwarding next(0, jobs_, engine_);
  Actions actions;
  for (const char* recovered : {"job", "quiet"}) {
    JobRecovered in;
    in.job = jobs_.Find(recovered)->spec;
    next.OnJobRecovered({now_, actions}, in);
  }
  const std::string nspace = "job";
  const Bytes data(std::string("text"));
  next.OnOutput({now_, actions}, {nspace, 0, 4, 0, kOutputChannel, data});
  next.OnOutput({now_, actions}, {nspace, 0, 4, 0, kOutputChannel, {}});
  jobs_.Remove("job");
  next.OnJobRemoved({now_, actions}, {"job"});
  EXPECT_EQ(next.NextDeadline(), now_ + kLong - 1'000'000'000);
  next.OnRequest({now_, actions}, 1, Request(read));
  const auto replies = Replies(actions);
  ASSERT_EQ(replies.size(), 1u);
  OutputRun run;
  ASSERT_TRUE(wire::Decode(replies[0].results, &run));
  EXPECT_EQ(run.pieces.size(), 2u);
  EXPECT_EQ(run.dropped, 0u);
  Actions none;
  next.OnTick({now_ + kLong, none});
  EXPECT_EQ(next.size(), 0u);
  EXPECT_EQ(next.NextDeadline(), kNever);
  // This read arrives after the time for which unread output is kept.
  actions.clear();
  next.OnRequest({now_ + kLong, actions}, 1, Request(read));
  ASSERT_TRUE(wire::Decode(Replies(actions).at(0).results, &run));
  EXPECT_TRUE(run.pieces.empty());
  EXPECT_TRUE(run.complete);
}

TEST_F(ForwardingTest, UnreadOutputOfAnEndedJobExpires) {
  RunOf(Read(Want()));
  Actions actions;
  Output("text", 0, &actions);
  jobs_.Remove("job");
  forwarding_.OnJobRemoved({now_, actions}, {"job"});
  EXPECT_EQ(forwarding_.NextDeadline(), now_ + kLong - 1'000'000'000);
  Actions none;
  forwarding_.OnTick({now_ + kLong, none});
  EXPECT_EQ(forwarding_.NextDeadline(), kNever);
}

TEST_F(ForwardingTest, APendingReadGetsTheEndOfTheJob) {
  const OutputRun first = RunOf(Read(Want()));
  EXPECT_TRUE(Read(Want(first.cursor)).empty());
  jobs_.Remove("job");
  Actions actions;
  forwarding_.OnJobRemoved({now_, actions}, {"job"});
  EXPECT_TRUE(RunOf(actions).complete);
}

TEST_F(ForwardingTest, PullersOfALostNodeEnd) {
  Actions actions;
  forwarding_.OnRequest({now_, actions}, 1, Request(Want()));
  EXPECT_EQ(forwarding_.size(), 1u);
  forwarding_.OnNodeRestarted({now_, actions}, 1);
  EXPECT_EQ(forwarding_.size(), 1u);
  Actions none;
  forwarding_.OnTick({now_ + kLong, none});
  EXPECT_EQ(forwarding_.size(), 0u);
  forwarding_.OnRequest({now_, actions}, 1, Request(Want()));
  forwarding_.OnNodeLost({now_, none}, {1, false, ""});
  EXPECT_EQ(forwarding_.size(), 0u);
}

TEST_F(ForwardingTest, PullersOfOneJobAreBounded) {
  for (uint64_t i = 0; i < kMaxPullers; ++i) {
    OutputRead read = Want();
    read.handle = 100 + i;
    RunOf(Read(read));
  }
  RunOf(Read(Want()), kErrOutOfResource);
}

// The process has received the refusal, so its request must not be executed
// later.
TEST_F(ForwardingTest, ARepetitionOfARefusedRequestIsRefused) {
  HostRequest read = Request(Want());
  read.nspace = read.targets[0].nspace = "later";
  HostRequest push = read;
  push.request = 10;
  push.op = HostOp::kPushInput;
  push.call = Bytes(wire::Encode(InputPush{Bytes("in"), false}));
  Actions actions;
  for (const HostRequest& request : {read, push}) {
    forwarding_.OnRequest({now_, actions}, 1, request);
  }
  auto job = std::make_shared<JobSpec>(*MakeJob("later", kAllOutput));
  job->stdin_target = StdinTarget::kAll;
  job->forwarding.input = true;
  jobs_.Add(std::move(job));
  for (const HostRequest& request : {read, push}) {
    forwarding_.OnRequest({now_, actions}, 1, request);
  }
  const auto replies = Replies(actions);
  ASSERT_EQ(replies.size(), 4u);
  for (const HostReply& reply : replies) EXPECT_EQ(reply.status, kErrNotFound);
  EXPECT_EQ(forwarding_.size(), 0u);
  // Another request of the process is decided anew.
  read.request = 11;
  actions.clear();
  forwarding_.OnRequest({now_, actions}, 1, read);
  EXPECT_EQ(Replies(actions).at(0).status, kSuccess);
}

class RemoteForwardingTest : public ForwardingTest {
 protected:
  RemoteForwardingTest() : ForwardingTest(1) {}
};

TEST_F(RemoteForwardingTest, ReadsAreSentToTheController) {
  const auto asked = Sent<HostRequest>(Read(Want()));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].first, 0u);
  EXPECT_EQ(asked[0].second.proc, kTool);
  EXPECT_EQ(asked[0].second.uid, 17u);
  // The request is repeated, because its answer may be lost.
  Actions again;
  forwarding_.OnTreeChanged({now_, again});
  EXPECT_EQ(Sent<HostRequest>(again).size(), 1u);
  Actions actions;
  OutputRun run;
  run.cursor = "cursor";
  const HostReply reply{kTool, asked[0].second.request, "job", kSuccess,
                        Bytes(wire::Encode(run))};
  EXPECT_TRUE(forwarding_.OnReply({now_, actions}, 1, reply));
  EXPECT_TRUE(actions.empty()) << "from an agent that does not control it";
  EXPECT_TRUE(forwarding_.OnReply({now_, actions}, 0, reply));
  EXPECT_EQ(RunOf(actions).cursor, "cursor");
  EXPECT_FALSE(forwarding_.OnReply({now_, actions}, 0, reply));
}

TEST_F(RemoteForwardingTest, TheControllerIsNotifiedOfAClientsEnd) {
  Read(Want());
  Actions actions;
  forwarding_.OnClientGone({now_, actions}, kClient);
  const auto ends = Sent<HostRequest>(actions);
  ASSERT_EQ(ends.size(), 1u);
  OutputRead read;
  ASSERT_TRUE(wire::Decode(ends[0].second.call.view(), &read));
  EXPECT_TRUE(read.ends);
  // The message that ends the puller may be lost.
  EXPECT_EQ(forwarding_.size(), 1u);
  Actions again;
  forwarding_.OnTreeChanged({now_, again});
  EXPECT_EQ(Sent<HostRequest>(again).size(), 1u);
  const HostReply reply{kTool, ends[0].second.request, "job", kSuccess, {}};
  EXPECT_TRUE(forwarding_.OnReply({now_, actions}, 0, reply));
  EXPECT_TRUE(All<ReplyClient>(actions).empty());
  EXPECT_EQ(forwarding_.size(), 0u);
}

TEST_F(RemoteForwardingTest, PushesOfOneProcessAreSentOneAtATime) {
  const auto push = [&] {
    Actions actions;
    forwarding_.OnArrived({now_, actions},
                          {kClient,
                           ++request_,
                           HostOp::kPushInput,
                           {{"job", kRankWildcard}},
                           Bytes(wire::Encode(InputPush{Bytes("in"), false}))});
    return Sent<HostRequest>(actions);
  };
  CoreEvents events;
  forwarding_.set_events(&events);
  ASSERT_EQ(push().size(), 1u);
  EXPECT_TRUE(push().empty());
  Actions actions;
  forwarding_.OnTreeChanged({now_, actions});
  EXPECT_EQ(Sent<HostRequest>(actions).size(), 1u);
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(
      forwarding_.OnReply({now_, actions}, 0, {kTool, 1, "job", kSuccess, {}}));
  const auto due = TakeAll<PushDue>(&events);
  ASSERT_EQ(due.size(), 1u);
  Actions next;
  forwarding_.SendPush({now_, next}, due[0]);
  const auto sent = Sent<HostRequest>(next);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].second.request, 2u);
  EXPECT_TRUE(events.empty());
}

// The numbers of a restarted rank may begin again.
TEST_F(RemoteForwardingTest, PushesOfARestartedRankHaveNewNumbers) {
  std::set<uint64_t> numbers;
  for (uint32_t incarnation = 0; incarnation < 2; ++incarnation) {
    jobs_.MarkRestarted("job", 1, incarnation);
    const ClientId client = 6 + incarnation;
    ASSERT_TRUE(jobs_.Connect(client, {"job", 1}));
    Actions actions;
    forwarding_.OnArrived({now_, actions},
                          {client,
                           7,
                           HostOp::kPushInput,
                           {{"job", kRankWildcard}},
                           Bytes(wire::Encode(InputPush{Bytes("in"), false}))});
    const auto sent = Sent<HostRequest>(actions);
    ASSERT_EQ(sent.size(), 1u);
    const uint64_t number = sent[0].second.request;
    numbers.insert(number);
    EXPECT_TRUE(forwarding_.OnReply({now_, actions}, 0,
                                    {{"job", 1}, number, "job", kSuccess, {}}));
    const auto replies = All<ReplyClient>(actions);
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].client, client);
    EXPECT_EQ(replies[0].request, 7u);
  }
  EXPECT_EQ(numbers.size(), 2u);
}

TEST_F(RemoteForwardingTest, ReadsOfOneProcessAreBounded) {
  for (size_t i = 0; i < kMaxReads; ++i) Read(Want());
  RunOf(Read(Want()), kErrOutOfResource);
}

}  // namespace
}  // namespace canopy::core
