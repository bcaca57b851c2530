#include "server/local/frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/codec/encoder.h"
#include "common/local/calls.h"
#include "common/local/collectives.h"
#include "common/local/data.h"
#include "common/local/events.h"
#include "common/local/reply.h"
#include "common/values/value.h"

namespace canopy::local {
namespace {

const ProcId kSelf = {"job", 3};
const std::vector<ProcView> kTwo = {{"job", kRankWildcard}, {"other", 1}};
const std::vector<ProcId> kTwoIds = {{"job", kRankWildcard}, {"other", 1}};

Result<core::Input> ParseBytes(FrameType type, std::string_view payload,
                               uint64_t tag = 9) {
  FrameHeader header;
  header.type = static_cast<uint16_t>(type);
  header.length = static_cast<uint32_t>(payload.size());
  header.tag = tag;
  return ParseRequest(77, kSelf, header, payload);
}

template <typename M>
Result<core::Input> Parse(FrameType type, const M& frame, uint64_t tag = 9) {
  return ParseBytes(type, wire::Encode(frame), tag);
}

// The names of a frame are not copied if there are more of them than
// `max_names`.
TEST(FramesTest, TooManyNamesAreRefused) {
  const auto parse = [](FrameType type, const std::string& payload,
                        size_t max_names) {
    FrameHeader header;
    header.type = static_cast<uint16_t>(type);
    header.tag = 9;
    return ParseRequest(77, kSelf, header, payload, max_names).code();
  };
  Collective fence;
  fence.series = {CollectiveOp::kFence, {}, kTwo};
  Abort abort;
  abort.targets = kTwo;
  HostCall call;
  call.targets = kTwo;
  Notify event;
  event.receivers = kTwo;
  GroupCall group;
  group.step = GroupStep::kInvite;
  group.group = "g";
  group.procs = kTwo;
  const std::pair<FrameType, std::string> frames[] = {
      {FrameType::kCollective, wire::Encode(fence)},
      {FrameType::kAbort, wire::Encode(abort)},
      {FrameType::kHostCall, wire::Encode(call)},
      {FrameType::kNotify, wire::Encode(event)},
      {FrameType::kGroupCall, wire::Encode(group)},
  };
  for (const auto& [type, payload] : frames) {
    EXPECT_EQ(parse(type, payload, 1), kErrOutOfResource)
        << static_cast<int>(type);
    EXPECT_EQ(parse(type, payload, 2), kSuccess) << static_cast<int>(type);
  }
}

template <typename T, typename M>
T Parsed(FrameType type, const M& frame) {
  auto input = Parse(type, frame);
  EXPECT_TRUE(input.ok()) << input.status().message();
  if (!input.ok() || !std::holds_alternative<T>(*input)) {
    ADD_FAILURE() << "another kind of input";
    return T();
  }
  return std::get<T>(*input);
}

std::string Kvals() {
  Encoder encoder;
  encoder.PutKval("k", Value::String("v").raw());
  return encoder.Take();
}

const std::string kKvals = Kvals();
const Commit kCommit = {{{1, kKvals}, {3, ""}}};
const Collective kFence = {
    {CollectiveOp::kFence, {}, kTwo}, true, 500, "infos"};
const Collective kGroup = {
    {CollectiveOp::kGroupConstruct, "g", kTwo}, false, 500, "infos"};
const GroupCall kGroupCall = {GroupStep::kJoin, "g", kTwo, true, 500, "infos"};
const Get kGet = {{"job", 1}, "key", true, false, 250};
const Abort kAbort = {-7, "because", kTwo};
const Subscription kCodes = {true, {-61, 5}};
const Notify kNotify = {-200, 4, kTwo, "infos"};
const Keys kKeys = {{"one", "two"}, "infos"};
const Publish kPublish = {"payload"};
const Spawn kSpawn = {"payload"};
const Query kQuery = {"payload"};
const HostCall kHostCall = {HostOp::kLog, kTwo, "call"};
const Reattach kReattach = {{{{CollectiveOp::kFence, {}, kTwo}, 3},
                             {{CollectiveOp::kGroupDestruct, "g", kTwo}, 7}}};

TEST(FramesTest, CommitsAndGetsBecomeInputs) {
  const auto commit = Parsed<core::Committed>(FrameType::kCommit, kCommit);
  EXPECT_EQ(commit.client, 77u);
  EXPECT_EQ(commit.request, 9u);
  ASSERT_EQ(commit.data.size(), 2u);
  EXPECT_EQ(commit.data[0].scope, core::Scope::kLocal);
  EXPECT_EQ(commit.data[0].kvals.view(), kKvals);
  EXPECT_EQ(commit.data[1].scope, core::Scope::kGlobal);
  const auto get = Parsed<core::GetArrived>(FrameType::kGet, kGet);
  EXPECT_EQ(get.client, 77u);
  EXPECT_EQ(get.request, 9u);
  EXPECT_EQ(get.target, (ProcId{"job", 1}));
  EXPECT_EQ(get.key, "key");
  EXPECT_TRUE(get.immediate);
  EXPECT_FALSE(get.refresh);
  EXPECT_EQ(get.timeout_ms, 250u);
}

TEST(FramesTest, CollectivesAndGroupCallsBecomeInputs) {
  const auto fence =
      Parsed<core::CollectiveArrived>(FrameType::kCollective, kFence);
  EXPECT_EQ(fence.client, 77u);
  EXPECT_EQ(fence.request, 9u);
  EXPECT_EQ(fence.op, core::CollectiveOp::kFence);
  EXPECT_EQ(fence.participants, kTwoIds);
  EXPECT_TRUE(fence.collect_data);
  EXPECT_EQ(fence.timeout_ms, 500u);
  EXPECT_EQ(fence.info.view(), "infos");
  const auto group =
      Parsed<core::CollectiveArrived>(FrameType::kCollective, kGroup);
  EXPECT_EQ(group.op, core::CollectiveOp::kGroupConstruct);
  EXPECT_EQ(group.name, "g");
  EXPECT_EQ(group.participants, kTwoIds);
  const auto call =
      Parsed<core::GroupCallArrived>(FrameType::kGroupCall, kGroupCall);
  EXPECT_EQ(call.call, core::GroupCallArrived::Call::kJoin);
  EXPECT_EQ(call.name, "g");
  EXPECT_EQ(call.procs, kTwoIds);
  EXPECT_TRUE(call.accepts);
  EXPECT_EQ(call.timeout_ms, 500u);
  EXPECT_EQ(call.info.view(), "infos");
}

TEST(FramesTest, AReattachmentHasTheCountsOfTheClient) {
  const auto reattached =
      Parsed<core::ClientReattached>(FrameType::kReattach, kReattach);
  ASSERT_EQ(reattached.counts.size(), 2u);
  EXPECT_EQ(reattached.counts[0].op, core::CollectiveOp::kFence);
  EXPECT_EQ(reattached.counts[0].participants, kTwoIds);
  EXPECT_EQ(reattached.counts[0].ended, 3u);
  EXPECT_EQ(reattached.counts[1].op, core::CollectiveOp::kGroupDestruct);
  EXPECT_EQ(reattached.counts[1].name, "g");
  EXPECT_EQ(reattached.counts[1].ended, 7u);
  EXPECT_TRUE(Parsed<core::ClientReattached>(FrameType::kReattach, Reattach{})
                  .counts.empty());
}

TEST(FramesTest, AbortsAndEventsBecomeInputs) {
  const auto abort = Parsed<core::AbortArrived>(FrameType::kAbort, kAbort);
  EXPECT_EQ(abort.status, -7);
  EXPECT_EQ(abort.text, "because");
  EXPECT_EQ(abort.targets, kTwoIds);
  const auto wanted =
      Parsed<core::EventsWanted>(FrameType::kEventsWanted, kCodes);
  EXPECT_EQ(wanted.request, 9u);
  EXPECT_TRUE(wanted.all);
  EXPECT_EQ(wanted.codes, (std::vector<int>{-61, 5}));
  const auto unwanted =
      Parsed<core::EventsUnwanted>(FrameType::kEventsUnwanted, kCodes);
  EXPECT_TRUE(unwanted.all);
  EXPECT_EQ(unwanted.codes, (std::vector<int>{-61, 5}));
  const auto raised = Parsed<core::EventRaised>(FrameType::kNotify, kNotify);
  EXPECT_EQ(raised.request, 9u);
  EXPECT_EQ(raised.id, 9u);
  EXPECT_EQ(raised.status, -200);
  EXPECT_EQ(raised.source, kSelf);
  EXPECT_EQ(raised.range, 4);
  EXPECT_EQ(raised.targets, kTwoIds);
  EXPECT_EQ(raised.info.view(), "infos");
  EXPECT_TRUE(ParseBytes(FrameType::kFinalize, "").ok());
  EXPECT_EQ(ParseBytes(static_cast<FrameType>(40), "").code(),
            kErrNotSupported);
}

TEST(FramesTest, PublishedDataAndCallsBecomeInputs) {
  const auto publish =
      Parsed<core::PublishArrived>(FrameType::kPublish, kPublish);
  EXPECT_EQ(publish.client, 77u);
  EXPECT_EQ(publish.request, 9u);
  EXPECT_EQ(publish.info.view(), "payload");
  const auto lookup = Parsed<core::LookupArrived>(FrameType::kLookup, kKeys);
  EXPECT_EQ(lookup.client, 77u);
  EXPECT_EQ(lookup.request, 9u);
  EXPECT_EQ(lookup.keys, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(lookup.info.view(), "infos");
  const auto unpublish =
      Parsed<core::UnpublishArrived>(FrameType::kUnpublish, kKeys);
  EXPECT_EQ(unpublish.client, 77u);
  EXPECT_EQ(unpublish.request, 9u);
  EXPECT_EQ(unpublish.keys, lookup.keys);
  EXPECT_EQ(unpublish.info.view(), "infos");
  const auto spawn = Parsed<core::SpawnArrived>(FrameType::kSpawn, kSpawn);
  EXPECT_EQ(spawn.request, 9u);
  EXPECT_EQ(spawn.call.view(), "payload");
  const auto query = Parsed<core::QueryArrived>(FrameType::kQuery, kQuery);
  EXPECT_EQ(query.request, 9u);
  EXPECT_EQ(query.queries.view(), "payload");
  const auto call =
      Parsed<core::HostCallArrived>(FrameType::kHostCall, kHostCall);
  EXPECT_EQ(call.request, 9u);
  EXPECT_EQ(call.op, HostOp::kLog);
  EXPECT_EQ(call.targets, kTwoIds);
  EXPECT_EQ(call.call.view(), "call");
}

TEST(FramesTest, AnEmptyListOfKeysIsValidOnlyForUnpublish) {
  EXPECT_TRUE(Parsed<core::UnpublishArrived>(FrameType::kUnpublish, Keys{})
                  .keys.empty());
  EXPECT_EQ(Parse(FrameType::kLookup, Keys{}).code(), kErrUnpackFailure);
}

TEST(FramesTest, RequestsOfSingleExecutionAreRejectedWithoutATag) {
  EXPECT_EQ(Parse(FrameType::kPublish, kPublish, 0).code(), kErrUnpackFailure);
  EXPECT_EQ(Parse(FrameType::kSpawn, kSpawn, 0).code(), kErrUnpackFailure);
  EXPECT_EQ(Parse(FrameType::kQuery, kQuery, 0).code(), kErrUnpackFailure);
  EXPECT_EQ(Parse(FrameType::kLookup, kKeys, 0).code(), kErrUnpackFailure);
  EXPECT_EQ(Parse(FrameType::kUnpublish, kKeys, 0).code(), kErrUnpackFailure);
  EXPECT_EQ(Parse(FrameType::kHostCall, kHostCall, 0).code(),
            kErrUnpackFailure);
  EXPECT_EQ(Parse(FrameType::kGroupCall, kGroupCall, 0).code(),
            kErrUnpackFailure);
}

TEST(FramesTest, TheLengthOfKeysIsLimited) {
  const auto parse = [](const std::vector<std::string>& keys) {
    return Parse(FrameType::kLookup, Keys{{keys.begin(), keys.end()}, {}})
        .code();
  };
  EXPECT_EQ(parse({std::string(511, 'k')}), kSuccess);
  EXPECT_EQ(parse({std::string(512, 'k')}), kErrUnpackFailure);
  EXPECT_EQ(parse({"one", ""}), kErrUnpackFailure);
  EXPECT_EQ(parse(std::vector<std::string>(1 << 16, "k")), kSuccess);
  EXPECT_EQ(parse(std::vector<std::string>((1 << 16) + 1, "k")),
            kErrUnpackFailure);
}

TEST(FramesTest, CommitsMustBeInCodecForm) {
  EXPECT_EQ(Parse(FrameType::kCommit, Commit{{{1, "\x06no kvals"}}}).code(),
            kErrUnpackFailure);
}

TEST(FramesTest, ValuesOutOfRangeAreRejected) {
  const std::string name(256, 'n');
  const std::string key(512, 'k');
  for (const uint8_t scope : {0, 4}) {
    EXPECT_FALSE(Parse(FrameType::kCommit, Commit{{{scope, kKvals}}}).ok());
  }
  for (const auto op : {0, 6}) {
    EXPECT_FALSE(
        Parse(
            FrameType::kCollective,
            Collective{{static_cast<CollectiveOp>(op), "g", {}}, false, 0, {}})
            .ok());
  }
  const auto collective = [](CollectiveOp op, std::string_view group) {
    return Parse(FrameType::kCollective,
                 Collective{{op, group, {}}, false, 0, {}})
        .ok();
  };
  EXPECT_FALSE(collective(CollectiveOp::kGroupConstruct, ""));
  EXPECT_FALSE(collective(CollectiveOp::kGroupConstruct, name));
  EXPECT_FALSE(collective(CollectiveOp::kFence, "g"));
  EXPECT_FALSE(
      Parse(FrameType::kReattach, Reattach{{{{CollectiveOp::kFence, "g", {}}}}})
          .ok());
  GroupCall call = kGroupCall;
  call.group = {};
  EXPECT_FALSE(Parse(FrameType::kGroupCall, call).ok());
  call = kGroupCall;
  call.step = static_cast<GroupStep>(0);
  EXPECT_FALSE(Parse(FrameType::kGroupCall, call).ok());
  EXPECT_FALSE(
      Parse(FrameType::kGet, Get{{"job", 1}, key, false, false, 0}).ok());
  EXPECT_FALSE(
      Parse(FrameType::kGet, Get{{name, 1}, "k", false, false, 0}).ok());
  for (const auto op : {0, 9, 13}) {
    EXPECT_FALSE(
        Parse(FrameType::kHostCall, HostCall{static_cast<HostOp>(op), {}, {}})
            .ok());
  }
  const std::vector<ProcView> many(kMaxProcs + 1);
  EXPECT_FALSE(Parse(FrameType::kAbort, Abort{1, "", many}).ok());
}

TEST(FramesTest, ParsingSurvivesDamagedRequests) {
  const std::vector<std::pair<FrameType, std::string>> good = {
      {FrameType::kCommit, wire::Encode(kCommit)},
      {FrameType::kCollective, wire::Encode(kFence)},
      {FrameType::kCollective, wire::Encode(kGroup)},
      {FrameType::kGroupCall, wire::Encode(kGroupCall)},
      {FrameType::kGet, wire::Encode(kGet)},
      {FrameType::kAbort, wire::Encode(kAbort)},
      {FrameType::kEventsWanted, wire::Encode(kCodes)},
      {FrameType::kNotify, wire::Encode(kNotify)},
      {FrameType::kPublish, wire::Encode(kPublish)},
      {FrameType::kLookup, wire::Encode(kKeys)},
      {FrameType::kSpawn, wire::Encode(kSpawn)},
      {FrameType::kHostCall, wire::Encode(kHostCall)},
      {FrameType::kReattach, wire::Encode(kReattach)},
  };
  std::mt19937 random(7);
  for (const auto& [type, payload] : good) {
    EXPECT_FALSE(ParseBytes(type, payload + "x").ok());
    EXPECT_FALSE(ParseBytes(type, payload.substr(0, payload.size() - 1)).ok());
    for (int i = 0; i < 20000; ++i) {
      std::string damaged = payload;
      for (uint32_t k = random() % 4; k < 4; ++k) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      (void)ParseBytes(type, damaged);
    }
  }
}

TEST(FramesTest, AReplyHeadAndItsPayloadFormAWholeReply) {
  const std::string reply = MakeReply(5, -46, "payload");
  FrameHeader header;
  std::memcpy(&header, reply.data(), sizeof header);
  EXPECT_EQ(header.type, static_cast<uint16_t>(FrameType::kReply));
  EXPECT_EQ(header.tag, 5u);
  EXPECT_EQ(header.length + sizeof header, reply.size());
  EXPECT_EQ(MakeReplyHead(5, -46, 7) + "payload", reply);
  EXPECT_EQ(MakeReplyHead(5, -46, 0), MakeReply(5, -46, {}));
  EXPECT_EQ(MakeReplyHead(5, 0, 300) + std::string(300, 'x'),
            MakeReply(5, 0, std::string(300, 'x')));
  Reply read;
  ASSERT_TRUE(
      wire::Decode(std::string_view(reply).substr(sizeof header), &read));
  EXPECT_EQ(read.status, -46);
  EXPECT_EQ(read.payload, "payload");
}

}  // namespace
}  // namespace canopy::local
