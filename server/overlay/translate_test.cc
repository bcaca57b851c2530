#include "server/overlay/translate.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "protos/overlay.pb.h"

namespace canopy::overlay {
namespace {

using core::MessageBody;

const ProcId kProc{"job-1", 7};
const std::vector<ProcId> kProcs{{"job-1", kRankWildcard}, {"job-2", 0}};

Bytes Data(const std::string& s) { return Bytes(s); }

core::CollectiveUp AnyCollective() {
  core::CollectiveUp m;
  m.id = {core::CollectiveOp::kConnect, kProcs, uint64_t{1} << 40};
  m.status = -24;
  m.contributions = {{0, Data("zero")}, {3, Data("")}};
  m.missing = {kProc};
  return m;
}

core::Publication AnyPublication() {
  core::Publication p;
  p.id = {kProc, uint64_t{1} << 50};
  p.home = 3;
  p.steward = 70000;
  p.version = 2;
  p.request = 17;
  p.key = "a \xff key";
  p.range = 6;
  p.persistence = 1;
  p.members = kProcs;
  p.uid = 1000;
  p.gid = 100;
  p.uids = {0, 1001};
  p.gids = {5};
  p.value = Data("value");
  p.reader = {kProcs[1], 18, 3};
  return p;
}

// Returns one value of each alternative with all fields set, in the order of
// the variant.
std::vector<MessageBody> Samples() {
  const core::CollectiveUp up = AnyCollective();
  return {
      up,
      core::CollectiveDown{up.id, up.status, up.contributions, up.missing},
      core::DmodexRequest{5, kProc, "a.key", 1500, 77, "job-2", 1000, true},
      core::DmodexReply{5, -46, kProc, Data("value"), UINT64_MAX, 77},
      core::EventMessage{2, 9, 77, -1, kProc, 200, kProcs, Data("info")},
      core::AbortMessage{kProc, INT32_MIN, "not \xff UTF-8", kProcs,
                         uint64_t{1} << 60, 3, 1000},
      core::JobPrepare{Data("spec"), 3, {1, 5}, true},
      core::JobPrepared{"job-1",
                        3,
                        {{4, -73, "no such file"}},
                        {{"why", "all of it", {1, 70000}, 9}, {}}},
      core::JobStart{"job-1"},
      core::JobStarted{"job-1", 512, {{0, -1, ""}}},
      core::JobExits{
          "job-1",
          {{1, 256, true, true, true, 2, true, core::Usage{7, 4096}}, {}}},
      core::JobSignal{"job-1", 9, {0, 300, 1}},
      core::JobKill{"job-1", {70000}, -181, "told so"},
      core::JobForget{"job-1"},
      core::OutputData{"job-1", 1, 4, Data(std::string("a\0b", 3))},
      core::OutputCredit{"job-1", UINT64_MAX, 7, true},
      core::InputData{"job-1", {0}, Data("x"), 9, 77},
      core::InputCredit{"job-1", 1, 8, true, 77},
      core::StateQuery{1, "why", "job-1"},
      core::StateReply{1, Data("because")},
      core::OverlayShutdown{"told so"},
      core::JobQuery{"job-1"},
      core::JobQueryReply{"job-1", core::JobVerdict::kNoRecord},
      core::SyncComplete{},
      core::NodeLost{"job-1", {3, 70000}},
      core::JobMapRequest{uint64_t{1} << 63, "job-1", true},
      core::JobMapReply{6, -46, "job-1", Data("map"), {1, 70000}},
      core::AbortReply{kProc, uint64_t{1} << 60, "job-1", -46},
      core::SpawnRequest{kProc, uint64_t{1} << 40, Data("call"), true, 7, 8},
      core::SpawnReply{kProc, 7, -190, "job-2", Data("map")},
      core::DirectoryStore{1, AnyPublication(), true},
      core::DirectoryRemove{2, {kProc, 9}},
      core::DirectoryPull{3},
      core::DirectoryLookup{
          4, {kProc, 17, 1000, 100, 6, kProcs}, {{"a.key", -46}}, true},
      core::DirectoryLookupEnd{5, 4},
      core::DirectoryFound{6, {AnyPublication()}, {{"other", -23}}},
      core::DirectoryClaim{
          7, {kProc, 9}, {kProc, 17, 70000}, core::ClaimKind::kReturn},
      core::DirectoryAnswer{8, -53},
      core::RankRestarted{"job-1", 3, 2},
      core::FactsRequest{9,
                         "job-1",
                         70000,
                         true,
                         true,
                         true,
                         {1, 70000, 3, uint64_t{1} << 40}},
      core::FactsReply{
          9,
          -46,
          {uint64_t{1} << 33, 5, 70000},
          {{70000, 4711, 5, uint64_t{1} << 40, Bytes("usage")}, {}},
          {{"job-1", 1000, -73, "./a b", 4711}, {}},
          Bytes("node")},
      core::HostRequest{kProc, 17, HostOp::kLog, 1000, 100, "job-1", kProcs,
                        Bytes("call")},
      core::HostReply{kProc, 17, "job-1", -46, Bytes("results")},
  };
}

MessageBody RoundTrip(const MessageBody& body) {
  auto back = DecodeBody(Bytes(EncodeBody(body)));
  EXPECT_TRUE(back.ok()) << "alternative " << body.index();
  return back.ok() ? *back : MessageBody();
}

TEST(TranslateTest, TheSamplesContainEveryAlternative) {
  const auto samples = Samples();
  ASSERT_EQ(samples.size(), std::variant_size_v<MessageBody::Variant>);
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i].index(), i);
}

TEST(TranslateTest, RoundTripKeepsEveryField) {
  for (const MessageBody& body : Samples()) {
    const std::string once = EncodeBody(body);
    const MessageBody back = RoundTrip(body);
    EXPECT_EQ(back.index(), body.index());
    EXPECT_EQ(EncodeBody(back), once) << "alternative " << body.index();
  }
}

TEST(TranslateTest, DefaultValuesSurviveARoundTrip) {
  core::JobPrepared prepared;
  prepared.errors.emplace_back();
  const MessageBody back = RoundTrip(prepared);
  EXPECT_EQ(std::get<core::JobPrepared>(back).errors[0].node, kNoNode);
  core::NodeContribution zero;
  zero.node = 0;
  core::CollectiveDown down;
  down.contributions = {zero};
  const auto down_back = std::get<core::CollectiveDown>(RoundTrip(down));
  EXPECT_EQ(down_back.contributions[0].node, 0u);
}

TEST(TranslateTest, FieldsKeepTheirValuesInARoundTrip) {
  const auto up = std::get<core::CollectiveUp>(RoundTrip(AnyCollective()));
  EXPECT_EQ(up.id, AnyCollective().id);
  EXPECT_EQ(up.status, -24);
  ASSERT_EQ(up.contributions.size(), 2u);
  EXPECT_EQ(up.contributions[1].node, 3u);
  EXPECT_EQ(up.contributions[0].data.view(), "zero");
  EXPECT_EQ(up.missing, std::vector<ProcId>{kProc});
  core::CollectiveDown group;
  group.id = {core::CollectiveOp::kGroupConstruct, kProcs, 1, "a group"};
  group.result = Data("result");
  const auto down = std::get<core::CollectiveDown>(RoundTrip(group));
  EXPECT_EQ(down.id, group.id);
  EXPECT_EQ(down.result.view(), "result");
  const auto exits = std::get<core::JobExits>(RoundTrip(Samples()[10])).exits;
  EXPECT_EQ(exits[0].wait_status, 256);
  EXPECT_TRUE(exits[0].core_dumped);
  EXPECT_FALSE(exits[1].finalized);
}

// The generated classes read and write the same bytes as this code.
TEST(TranslateTest, ProtobufReadsAndWritesTheSameBytes) {
  for (const MessageBody& body : Samples()) {
    v1::Body generated;
    ASSERT_TRUE(generated.ParseFromString(EncodeBody(body)));
    EXPECT_EQ(static_cast<size_t>(generated.kind_case()), body.index() + 1);
    EXPECT_EQ(generated.SerializeAsString(), EncodeBody(body))
        << generated.DebugString();
    EXPECT_EQ(
        generated.GetReflection()->GetUnknownFields(generated).field_count(),
        0);
  }
}

TEST(TranslateTest, EachFieldIsEncodedAsItsProtobufField) {
  v1::Body generated;
  ASSERT_TRUE(generated.ParseFromString(EncodeBody(AnyCollective())));
  const v1::Collective& m = generated.collective_up();
  EXPECT_EQ(m.id().op(), 2u);
  EXPECT_EQ(m.id().sequence(), uint64_t{1} << 40);
  EXPECT_EQ(m.id().participants(0).nspace(), "job-1");
  EXPECT_EQ(m.id().participants(0).rank(), kRankWildcard);
  EXPECT_EQ(m.status(), -24);
  EXPECT_EQ(m.contributions(0).data(), "zero");
  EXPECT_EQ(m.missing(0).rank(), 7u);
  ASSERT_TRUE(generated.ParseFromString(EncodeBody(
      core::EventMessage{2, 9, 0, -1, kProc, 3, kProcs, Data("i")})));
  EXPECT_EQ(generated.event().origin(), 2u);
  EXPECT_EQ(generated.event().range(), 3u);
  EXPECT_EQ(generated.event().targets_size(), 2);
}

TEST(TranslateTest, DecodedDataSharesTheReceivedBytes) {
  const Bytes arrived(
      EncodeBody(core::DmodexReply{1, 0, kProc, Data("payload")}));
  const auto body = DecodeBody(arrived);
  ASSERT_TRUE(body.ok());
  const char* data = std::get<core::DmodexReply>(*body).data.view().data();
  EXPECT_GE(data, arrived.view().data());
  EXPECT_LT(data, arrived.view().data() + arrived.size());
}

TEST(TranslateTest, ATruncatedBodyIsRejected) {
  for (const MessageBody& body : Samples()) {
    const std::string whole = EncodeBody(body);
    for (size_t n = 0; n < whole.size(); ++n) {
      EXPECT_FALSE(DecodeBody(Bytes(whole.substr(0, n))).ok())
          << "alternative " << body.index() << " cut at " << n;
    }
  }
}

TEST(TranslateTest, MalformedBodiesAreRejected) {
  const auto refused = [](const std::string& s) {
    return DecodeBody(Bytes(s)).code() == kErrUnpackFailure;
  };
  const std::string start = EncodeBody(core::JobStart{"a"});
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(start + start));               // two kinds
  EXPECT_TRUE(refused(std::string(11, '\xff')));     // endless varint
  EXPECT_TRUE(refused(std::string("\x4b", 1)));      // a group
  EXPECT_TRUE(refused(std::string("\x48\x01", 2)));  // wrong wire type
  EXPECT_TRUE(refused(EncodeBody(core::JobStart{std::string(256, 'n')})));
  EXPECT_TRUE(refused(
      EncodeBody(core::DmodexRequest{1, kProc, std::string(512, 'k'), 0})));
  core::CollectiveUp nameless = AnyCollective();
  nameless.id.op = core::CollectiveOp::kGroupDestruct;
  EXPECT_TRUE(refused(EncodeBody(nameless)));
  core::CollectiveUp named = AnyCollective();
  named.id.name = "fences have none";
  EXPECT_TRUE(refused(EncodeBody(named)));
  core::CollectiveUp unknown = AnyCollective();
  unknown.id.op = static_cast<core::CollectiveOp>(77);
  EXPECT_TRUE(refused(EncodeBody(unknown)));
  for (const int verdict : {0, 3}) {
    EXPECT_TRUE(refused(EncodeBody(
        core::JobQueryReply{"a", static_cast<core::JobVerdict>(verdict)})));
  }
  v1::Body wide;
  wide.mutable_event()->set_range(256);
  EXPECT_TRUE(refused(wide.SerializeAsString()));
  wide.mutable_output_data()->set_channel(65536);
  EXPECT_TRUE(refused(wide.SerializeAsString()));
}

TEST(TranslateTest, UnknownFieldsAreSkipped) {
  std::string s = EncodeBody(core::JobForget{"a"});
  s += std::string("\xa0\x06\x05", 3);    // field 100, varint
  s += std::string("\xaa\x06\x02hi", 5);  // field 101, bytes
  s += std::string(
      "\xb5\x06"
      "1234",
      6);  // field 102, fixed32
  s += std::string(
      "\xb9\x06"
      "12345678",
      10);  // field 103, fixed64
  const auto body = DecodeBody(Bytes(s));
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(std::get<core::JobForget>(*body).nspace, "a");
}

TEST(TranslateTest, TooManyElementsAreRejected) {
  std::string ranks((size_t{1} << 22) + 1, '\0');
  v1::JobKill kill;
  std::string body = kill.SerializeAsString();
  std::string inner("\x12", 1);
  for (size_t n = ranks.size(); n != 0; n >>= 7) {
    inner += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
  }
  v1::Body generated;
  ASSERT_TRUE(generated.mutable_job_kill()->ParseFromString(inner + ranks));
  EXPECT_FALSE(DecodeBody(Bytes(generated.SerializeAsString())).ok());
}

// After any change of a single byte, the decoder agrees with the generated
// parser or is stricter, and a body that it accepts can be encoded again.
TEST(TranslateTest, DecodingSurvivesMutations) {
  std::mt19937 random(1);
  for (const MessageBody& body : Samples()) {
    const std::string whole = EncodeBody(body);
    for (int i = 0; i < 2000; ++i) {
      std::string changed = whole;
      changed[random() % changed.size()] = static_cast<char>(random());
      const auto back = DecodeBody(Bytes(changed));
      if (!back.ok()) continue;
      v1::Body generated;
      EXPECT_TRUE(generated.ParseFromString(changed));
      const auto again = DecodeBody(Bytes(EncodeBody(*back)));
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(EncodeBody(*again), EncodeBody(*back));
    }
  }
}

// Decodes only the first `size` bytes of a message.
std::optional<MessageBody> FromHead(const MessageBody& body, size_t size) {
  return DecodeWithoutData(Bytes(EncodeBody(body).substr(0, size)));
}

TEST(TranslateTest, FromHeadReturnsTheFailureOfATruncatedMessage) {
  const Bytes large(std::string(5000, 'x'));
  core::CollectiveUp up = AnyCollective();
  up.contributions = {{4, large}, {5, large}};
  for (const size_t size : {100u, 4000u, 7000u}) {
    const auto failed = FromHead(up, size);
    ASSERT_TRUE(failed.has_value());
    const auto& m = std::get<core::CollectiveUp>(*failed);
    EXPECT_EQ(m.id, up.id);
    EXPECT_EQ(m.status, kErrOutOfResource);
    for (const auto& one : m.contributions) EXPECT_TRUE(one.data.empty());
  }
  const auto reply = FromHead(core::DmodexReply{7, 0, kProc, large, 3}, 1000);
  ASSERT_TRUE(reply.has_value());
  const auto& m = std::get<core::DmodexReply>(*reply);
  EXPECT_EQ(m.request, 7u);
  EXPECT_EQ(m.target, kProc);
  EXPECT_EQ(m.status, kErrOutOfResource);
}

TEST(TranslateTest, FromHeadReturnsNoValueForAHeadThatIsTooShort) {
  const core::CollectiveUp up = AnyCollective();
  EXPECT_FALSE(FromHead(up, 0).has_value());
  EXPECT_FALSE(FromHead(up, 1).has_value());
  EXPECT_FALSE(FromHead(up, 10).has_value()) << "within the participants";
  EXPECT_FALSE(FromHead(core::JobStart{"job"}, 100).has_value());
}

TEST(TranslateTest, ThePriorityDependsOnTheKindAndTheSize) {
  EXPECT_EQ(PriorityOf(core::JobStart{}, 10), 0u);
  EXPECT_EQ(PriorityOf(core::CollectiveUp{}, 100), 0u);
  EXPECT_EQ(PriorityOf(core::CollectiveUp{}, 100000), 1u);
  const core::CollectiveUp over{{}, core::kAlreadyReleased, {}, {}};
  EXPECT_EQ(PriorityOf(over, 100000), 0u);
  EXPECT_EQ(PriorityOf(core::DmodexReply{}, 100000), 1u);
  EXPECT_EQ(PriorityOf(core::JobMapReply{}, 100000), 1u);
  EXPECT_EQ(PriorityOf(core::JobMapReply{}, 100), 0u);
  EXPECT_EQ(PriorityOf(core::JobPrepare{}, 100000), 0u);
  EXPECT_EQ(PriorityOf(core::OutputData{}, 10), 2u);
  EXPECT_EQ(PriorityOf(core::InputData{}, 10), 2u);
}

}  // namespace
}  // namespace canopy::overlay
