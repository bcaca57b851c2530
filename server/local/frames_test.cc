#include "server/local/frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "common/wire.h"

namespace canopy::local {
namespace {

const ProcId kSelf = {"job", 3};

Result<core::Input> Parse(FrameType type, std::string_view payload,
                          uint64_t tag = 9) {
  FrameHeader header;
  header.type = static_cast<uint16_t>(type);
  header.length = static_cast<uint32_t>(payload.size());
  header.tag = tag;
  return ParseRequest(77, kSelf, header, payload);
}

template <typename T>
T Parsed(FrameType type, const WireWriter& w) {
  auto input = Parse(type, w.str());
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

WireWriter Commit() {
  WireWriter w;
  w.Uint(2);
  w.Uint(1);
  w.String(Kvals());
  w.Uint(3);
  w.String("");
  return w;
}

WireWriter Group(const std::string& name) {
  WireWriter w;
  w.Uint(4);
  w.String(name);
  w.Uint(1);
  w.Proc({"job", kRankWildcard});
  w.Uint(500);
  w.String("infos");
  return w;
}

WireWriter GroupCall() {
  WireWriter w;
  w.Uint(2);
  w.String("g");
  w.Uint(1);
  w.Proc({"job", 1});
  w.Bool(true);
  w.Uint(500);
  w.String("infos");
  return w;
}

WireWriter Collective() {
  WireWriter w;
  w.Uint(1);
  w.Uint(2);
  w.Proc({"job", kRankWildcard});
  w.Proc({"other", 1});
  w.Bool(true);
  w.Uint(500);
  w.String("infos");
  return w;
}

WireWriter Get() {
  WireWriter w;
  w.Proc({"job", 1});
  w.String("key");
  w.Bool(true);
  w.Bool(false);
  w.Uint(250);
  return w;
}

WireWriter Abort() {
  WireWriter w;
  w.Int(-7);
  w.String("because");
  w.Uint(1);
  w.Proc({"job", 2});
  return w;
}

WireWriter Wanted() {
  WireWriter w;
  w.Bool(true);
  w.Uint(2);
  w.Int(-61);
  w.Int(5);
  return w;
}

WireWriter NotifyRecord() {
  WireWriter w;
  w.Int(-200);
  w.Uint(4);
  w.Uint(1);
  w.Proc({"job", 1});
  w.String("infos");
  return w;
}

WireWriter Opaque() {
  WireWriter w;
  w.String("payload");
  return w;
}

WireWriter Keys() {
  WireWriter w;
  w.Strings({"one", "two"});
  w.String("infos");
  return w;
}

TEST(FramesTest, Hello) {
  WireWriter w;
  w.Uint(1);
  w.Proc(kSelf);
  w.String("token");
  w.String("canopy 1.0");
  const auto hello = ParseHello(w.str());
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->version, 1u);
  EXPECT_EQ(hello->claimed, kSelf);
  EXPECT_EQ(hello->token, "token");
  EXPECT_EQ(hello->library, "canopy 1.0");
  EXPECT_EQ(ParseHello(w.str().substr(0, 6)).code(), kErrUnpackFailure);
}

TEST(FramesTest, HelloOfATool) {
  WireWriter w;
  w.Uint(6);
  w.Proc({"tool", 2});
  w.String("canopy 1.0");
  const auto hello = ParseToolHello(w.str());
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(hello->version, 6u);
  EXPECT_EQ(hello->claimed, (ProcId{"tool", 2}));
  EXPECT_EQ(ParseToolHello(w.str().substr(0, 6)).code(), kErrUnpackFailure);
}

TEST(FramesTest, Requests) {
  const auto commit = Parsed<core::Committed>(FrameType::kCommit, Commit());
  EXPECT_EQ(commit.client, 77u);
  EXPECT_EQ(commit.request, 9u);
  ASSERT_EQ(commit.data.size(), 2u);
  EXPECT_EQ(commit.data[0].scope, core::Scope::kLocal);
  EXPECT_EQ(commit.data[0].kvals.view(), Kvals());
  EXPECT_EQ(commit.data[1].scope, core::Scope::kGlobal);

  const auto fence =
      Parsed<core::CollectiveArrived>(FrameType::kCollective, Collective());
  EXPECT_EQ(fence.op, core::CollectiveOp::kFence);
  EXPECT_EQ(fence.participants,
            (std::vector<ProcId>{{"job", kRankWildcard}, {"other", 1}}));
  EXPECT_TRUE(fence.collect_data);
  EXPECT_EQ(fence.timeout_ms, 500u);
  EXPECT_EQ(fence.info.view(), "infos");

  const auto get = Parsed<core::GetArrived>(FrameType::kGet, Get());
  EXPECT_EQ(get.target, (ProcId{"job", 1}));
  EXPECT_EQ(get.key, "key");
  EXPECT_TRUE(get.immediate);
  EXPECT_FALSE(get.refresh);
  EXPECT_EQ(get.timeout_ms, 250u);

  const auto abort = Parsed<core::AbortArrived>(FrameType::kAbort, Abort());
  EXPECT_EQ(abort.status, -7);
  EXPECT_EQ(abort.text, "because");
  EXPECT_EQ(abort.targets, (std::vector<ProcId>{{"job", 2}}));

  const auto wanted =
      Parsed<core::EventsWanted>(FrameType::kEventsWanted, Wanted());
  EXPECT_TRUE(wanted.all);
  EXPECT_EQ(wanted.codes, (std::vector<int>{-61, 5}));
  const auto unwanted =
      Parsed<core::EventsUnwanted>(FrameType::kEventsUnwanted, Wanted());
  EXPECT_EQ(unwanted.codes, (std::vector<int>{-61, 5}));

  const auto raised =
      Parsed<core::EventRaised>(FrameType::kNotify, NotifyRecord());
  EXPECT_EQ(raised.status, -200);
  EXPECT_EQ(raised.source, kSelf);
  EXPECT_EQ(raised.range, 4);
  EXPECT_EQ(raised.info.view(), "infos");

  EXPECT_TRUE(Parse(FrameType::kFinalize, "").ok());
  EXPECT_EQ(Parse(static_cast<FrameType>(40), "").code(), kErrNotSupported);
}

TEST(FramesTest, Groups) {
  const auto group =
      Parsed<core::CollectiveArrived>(FrameType::kGroup, Group("g"));
  EXPECT_EQ(group.client, 77u);
  EXPECT_EQ(group.op, core::CollectiveOp::kGroupConstruct);
  EXPECT_EQ(group.name, "g");
  EXPECT_EQ(group.participants, (std::vector<ProcId>{{"job", kRankWildcard}}));
  EXPECT_EQ(group.timeout_ms, 500u);
  EXPECT_EQ(group.info.view(), "infos");
  EXPECT_FALSE(Parse(FrameType::kGroup, Group("").str()).ok());
  EXPECT_FALSE(
      Parse(FrameType::kGroup, Group(std::string(256, 'x')).str()).ok());
  const auto call =
      Parsed<core::GroupCallArrived>(FrameType::kGroupCall, GroupCall());
  EXPECT_EQ(call.call, core::GroupCallArrived::Call::kJoin);
  EXPECT_EQ(call.name, "g");
  EXPECT_EQ(call.procs, (std::vector<ProcId>{{"job", 1}}));
  EXPECT_TRUE(call.accepts);
}

// Encoded after the counts of the other collectives, for a process that had
// some.
TEST(FramesTest, CountsOfGroups) {
  WireWriter w;
  w.Uint(0);
  EXPECT_TRUE(
      Parsed<core::ClientReattached>(FrameType::kReattach, w).counts.empty());
  w.Uint(1);
  w.Uint(5);
  w.String("g");
  w.Uint(1);
  w.Proc({"job", 1});
  w.Uint(7);
  const auto reattached =
      Parsed<core::ClientReattached>(FrameType::kReattach, w);
  ASSERT_EQ(reattached.counts.size(), 1u);
  EXPECT_EQ(reattached.counts[0].op, core::CollectiveOp::kGroupDestruct);
  EXPECT_EQ(reattached.counts[0].name, "g");
  EXPECT_EQ(reattached.counts[0].ended, 7u);
  w.Uint(0);
  EXPECT_FALSE(Parse(FrameType::kReattach, w.str()).ok());
}

TEST(FramesTest, PublishedDataAndSpawn) {
  const auto publish =
      Parsed<core::PublishArrived>(FrameType::kPublish, Opaque());
  EXPECT_EQ(publish.client, 77u);
  EXPECT_EQ(publish.request, 9u);
  EXPECT_EQ(publish.info.view(), "payload");
  const auto lookup = Parsed<core::LookupArrived>(FrameType::kLookup, Keys());
  EXPECT_EQ(lookup.client, 77u);
  EXPECT_EQ(lookup.request, 9u);
  EXPECT_EQ(lookup.keys, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(lookup.info.view(), "infos");
  const auto unpublish =
      Parsed<core::UnpublishArrived>(FrameType::kUnpublish, Keys());
  EXPECT_EQ(unpublish.client, 77u);
  EXPECT_EQ(unpublish.request, 9u);
  EXPECT_EQ(unpublish.keys, lookup.keys);
  EXPECT_EQ(unpublish.info.view(), "infos");
  const auto spawn = Parsed<core::SpawnArrived>(FrameType::kSpawn, Opaque());
  EXPECT_EQ(spawn.client, 77u);
  EXPECT_EQ(spawn.request, 9u);
  EXPECT_EQ(spawn.call.view(), "payload");
  const auto query = Parsed<core::QueryArrived>(FrameType::kQuery, Opaque());
  EXPECT_EQ(query.client, 77u);
  EXPECT_EQ(query.request, 9u);
  EXPECT_EQ(query.queries.view(), "payload");
}

TEST(FramesTest, NoKeysMeanAllForUnpublishAlone) {
  WireWriter none;
  none.Uint(0);
  none.String("");
  EXPECT_TRUE(
      Parsed<core::UnpublishArrived>(FrameType::kUnpublish, none).keys.empty());
  EXPECT_EQ(Parse(FrameType::kLookup, none.str()).code(), kErrUnpackFailure);
}

TEST(FramesTest, WhatIsDoneOnceNeedsATag) {
  for (const FrameType type : {FrameType::kPublish, FrameType::kSpawn}) {
    EXPECT_EQ(Parse(type, Opaque().str(), 0).code(), kErrUnpackFailure);
  }
  for (const FrameType type : {FrameType::kLookup, FrameType::kUnpublish}) {
    EXPECT_EQ(Parse(type, Keys().str(), 0).code(), kErrUnpackFailure);
  }
}

TEST(FramesTest, KeysAreBounded) {
  const auto parse = [](const std::vector<std::string>& keys) {
    WireWriter w;
    w.Strings(keys);
    w.String("");
    return Parse(FrameType::kLookup, w.str()).code();
  };
  EXPECT_EQ(parse({std::string(511, 'k')}), kSuccess);
  EXPECT_EQ(parse({std::string(512, 'k')}), kErrUnpackFailure);
  EXPECT_EQ(parse({"one", ""}), kErrUnpackFailure);
  EXPECT_EQ(parse(std::vector<std::string>(1 << 16, "k")), kSuccess);
  EXPECT_EQ(parse(std::vector<std::string>((1 << 16) + 1, "k")),
            kErrUnpackFailure);
}

TEST(FramesTest, WhatIsNoCodecFormIsRefused) {
  WireWriter w;
  w.Uint(1);
  w.Uint(1);
  w.String("\x06no kvals");
  EXPECT_EQ(Parse(FrameType::kCommit, w.str()).code(), kErrUnpackFailure);
}

TEST(FramesTest, OutOfRange) {
  WireWriter scope;
  scope.Uint(1);
  scope.Uint(4);
  scope.String(Kvals());
  EXPECT_FALSE(Parse(FrameType::kCommit, scope.str()).ok());
  WireWriter op;
  op.Uint(6);
  op.Uint(0);
  op.Bool(true);
  op.Uint(0);
  op.String("");
  EXPECT_FALSE(Parse(FrameType::kCollective, op.str()).ok());
  WireWriter key;
  key.Proc({"job", 1});
  key.String(std::string(512, 'k'));
  key.Bool(true);
  key.Bool(false);
  key.Uint(0);
  EXPECT_FALSE(Parse(FrameType::kGet, key.str()).ok());
  WireWriter name;
  name.Proc({std::string(256, 'n'), 1});
  name.String("k");
  name.Bool(true);
  name.Bool(false);
  name.Uint(0);
  EXPECT_FALSE(Parse(FrameType::kGet, name.str()).ok());
  WireWriter many;
  many.Int(1);
  many.String("");
  many.Uint(uint64_t{1} << 60);
  EXPECT_FALSE(Parse(FrameType::kAbort, many.str()).ok());
}

TEST(FramesTest, TruncatedAndDamagedRequestsDoNoHarm) {
  const std::vector<std::pair<FrameType, std::string>> good = {
      {FrameType::kCommit, Commit().str()},
      {FrameType::kCollective, Collective().str()},
      {FrameType::kGroup, Group("g").str()},
      {FrameType::kGroupCall, GroupCall().str()},
      {FrameType::kGet, Get().str()},
      {FrameType::kAbort, Abort().str()},
      {FrameType::kEventsWanted, Wanted().str()},
      {FrameType::kNotify, NotifyRecord().str()},
      {FrameType::kPublish, Opaque().str()},
      {FrameType::kLookup, Keys().str()},
      {FrameType::kUnpublish, Keys().str()},
      {FrameType::kSpawn, Opaque().str()},
  };
  std::mt19937 random(7);
  for (const auto& [type, payload] : good) {
    for (size_t n = 0; n < payload.size(); ++n) {
      EXPECT_FALSE(Parse(type, payload.substr(0, n)).ok());
    }
    EXPECT_FALSE(Parse(type, payload + "x").ok());
    for (int i = 0; i < 20000; ++i) {
      std::string damaged = payload;
      for (uint32_t k = random() % 4; k < 4; ++k) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      (void)Parse(type, damaged);
      (void)ParseHello(damaged);
      (void)ParseToolHello(damaged);
    }
  }
}

TEST(FramesTest, Replies) {
  const std::string reply = MakeReply(5, -46, "payload");
  FrameHeader header;
  std::memcpy(&header, reply.data(), sizeof header);
  EXPECT_EQ(header.type, static_cast<uint16_t>(FrameType::kReply));
  EXPECT_EQ(header.tag, 5u);
  EXPECT_EQ(header.length + sizeof header, reply.size());
  EXPECT_EQ(MakeReplyHead(5, -46, 7) + "payload", reply);
  WireReader r(std::string_view(reply).substr(sizeof header));
  EXPECT_EQ(r.Int(), -46);
  EXPECT_EQ(r.String(), "payload");
  EXPECT_TRUE(r.done());
}

}  // namespace
}  // namespace canopy::local
