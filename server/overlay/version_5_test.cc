#include "server/overlay/version_5.h"

#include <gtest/gtest.h>

#include <utility>

#include "common/job.h"
#include "common/status.h"
#include "protos/overlay.pb.h"
#include "server/overlay/translate.h"

namespace canopy::overlay {
namespace {

using core::MessageBody;

constexpr int kLost = -2;

// The message as an agent of version 5 reads it.
v1::Body Sent(const MessageBody& body) {
  v1::Body generated;
  EXPECT_TRUE(generated.ParseFromString(EncodeBody(body, 5)));
  EXPECT_LE(generated.kind_case(), v1::Body::kShutdown);
  return generated;
}

// Decodes a message that an agent of version 5 sent.
DecodedBody Received(const v1::Body& body) {
  auto decoded = DecodeBody(Bytes(body.SerializeAsString()));
  EXPECT_TRUE(decoded.ok());
  return decoded.ok() ? std::move(*decoded) : DecodedBody();
}

bool CanExpress(const MessageBody& body) {
  return !EncodeBody(body, 5).empty();
}

TEST(Version5, PublishingIsRefusedInItsName) {
  const core::DirectoryLookup lookup{7, {}, {{"k", 0}}, true};
  EXPECT_FALSE(CanExpress(lookup));
  const auto refused = AnswerOfVersion5(lookup);
  ASSERT_TRUE(refused);
  const auto& found = std::get<core::DirectoryFound>(*refused);
  EXPECT_EQ(found.request, 7u);
  ASSERT_EQ(found.missing.size(), 1u);
  EXPECT_EQ(found.missing[0].status, kErrNotSupported);
  for (const MessageBody& body :
       {MessageBody(core::DirectoryStore{8, {}, true}),
        MessageBody(core::DirectoryRemove{8, {}}),
        MessageBody(core::DirectoryPull{8}),
        MessageBody(core::DirectoryLookupEnd{8, 7}),
        MessageBody(core::DirectoryClaim{8, {}, {}, {}})}) {
    EXPECT_FALSE(CanExpress(body));
    const auto answer = AnswerOfVersion5(body);
    ASSERT_TRUE(answer);
    EXPECT_EQ(std::get<core::DirectoryAnswer>(*answer).request, 8u);
    EXPECT_EQ(std::get<core::DirectoryAnswer>(*answer).status,
              kErrNotSupported);
  }
  EXPECT_FALSE(AnswerOfVersion5(core::DirectoryAnswer{8, 0}));
  EXPECT_FALSE(AnswerOfVersion5(core::JobQuery{"job"}));
}

TEST(Version5, ItHasNoGroups) {
  core::CollectiveUp up;
  up.id = {core::CollectiveOp::kGroupConstruct, {{"job", 1}}, 2, "g"};
  EXPECT_FALSE(CanExpress(up));
  const auto answer = AnswerOfVersion5(up);
  ASSERT_TRUE(answer);
  const auto& down = std::get<core::CollectiveDown>(*answer);
  EXPECT_EQ(down.id, up.id);
  EXPECT_EQ(down.status, kErrNotSupported);
  EXPECT_FALSE(CanExpress(down));
  EXPECT_FALSE(AnswerOfVersion5(down));
  up.id = {core::CollectiveOp::kConnect, {{"job", 1}}, 2};
  EXPECT_TRUE(CanExpress(up));
  EXPECT_FALSE(AnswerOfVersion5(up));
}

TEST(Version5, FactsOfAProcessAreNotFound) {
  const core::DmodexRequest request{4, {"job", 3}, "pmix.ppid", 0, 0};
  EXPECT_FALSE(CanExpress(request));
  const auto answer = AnswerOfVersion5(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<core::DmodexReply>(*answer).request, 4u);
  EXPECT_EQ(std::get<core::DmodexReply>(*answer).status, kErrNotFound);
  EXPECT_FALSE(
      AnswerOfVersion5(core::DmodexRequest{4, {"job", 3}, "key", 0, 0}));
}

// Otherwise its agents would take later input for input that they have had.
TEST(Version5, InputOfALaterRunHasNoPosition) {
  core::InputData input{"job", {}, Bytes(std::string("line")), 4};
  EXPECT_EQ(Sent(input).input_data().end(), 4u);
  input.run = 7;
  const v1::Body sent = Sent(input);
  EXPECT_EQ(sent.input_data().data(), "line");
  EXPECT_EQ(sent.input_data().end(), 0u);
  EXPECT_EQ(sent.input_data().run(), 0u);
}

TEST(Version5, AQueryIsAReportWithoutExits) {
  const v1::Body sent = Sent(core::JobQuery{"job"});
  EXPECT_EQ(sent.job_exits().nspace(), "job");
  EXPECT_EQ(sent.job_exits().exits_size(), 0);
  const DecodedBody back = Received(sent);
  EXPECT_EQ(std::get<core::JobQuery>(back.body).nspace, "job");
}

TEST(Version5, AQuerysReplyIsAForget) {
  for (const auto verdict :
       {core::JobVerdict::kEnded, core::JobVerdict::kNoRecord}) {
    const v1::Body sent = Sent(core::JobQueryReply{"job", verdict});
    EXPECT_EQ(sent.job_forget().nspace(), "job");
    EXPECT_FALSE(sent.job_forget().sync_complete());
    // The receiver releases the job in both cases.
    const DecodedBody back = Received(sent);
    EXPECT_EQ(std::get<core::JobForget>(back.body).nspace, "job");
  }
}

TEST(Version5, SyncCompleteIsAFieldOfForget) {
  const v1::Body sent = Sent(core::SyncComplete{});
  EXPECT_TRUE(sent.job_forget().sync_complete());
  EXPECT_TRUE(sent.job_forget().nspace().empty());
  const DecodedBody back = Received(sent);
  EXPECT_TRUE(std::holds_alternative<core::SyncComplete>(back.body));
}

TEST(Version5, ALostNodeIsAWaitStatusOfItsRanks) {
  const v1::Body sent = Sent(core::NodeLost{"job", {3, 70000}});
  ASSERT_EQ(sent.job_exits().exits_size(), 2);
  EXPECT_EQ(sent.job_exits().exits(1).rank(), 70000u);
  EXPECT_EQ(sent.job_exits().exits(1).wait_status(), kLost);
  EXPECT_FALSE(sent.job_exits().exits(1).called_init());
  const DecodedBody back = Received(sent);
  EXPECT_EQ(std::get<core::NodeLost>(back.body).nspace, "job");
  EXPECT_EQ(std::get<core::NodeLost>(back.body).ranks,
            (std::vector<Rank>{3, 70000}));
  EXPECT_FALSE(back.then.has_value());
}

v1::Body Exits(const std::vector<int>& wait_statuses) {
  v1::Body body;
  body.mutable_job_exits()->set_nspace("job");
  uint32_t rank = 0;
  for (const int status : wait_statuses) {
    v1::ProcExit* exit = body.mutable_job_exits()->add_exits();
    exit->set_rank(rank++);
    exit->set_wait_status(status);
  }
  return body;
}

TEST(Version5, ExitsAndLossesComeInTheOrderOfTheFirstOfEach) {
  DecodedBody back = Received(Exits({256, kLost, 0, kLost}));
  ASSERT_TRUE(back.then.has_value());
  EXPECT_EQ(std::get<core::JobExits>(back.body).exits.size(), 2u);
  EXPECT_EQ(std::get<core::JobExits>(back.body).exits[1].rank, 2u);
  EXPECT_EQ(std::get<core::NodeLost>(*back.then).ranks,
            (std::vector<Rank>{1, 3}));
  back = Received(Exits({kLost, 256}));
  ASSERT_TRUE(back.then.has_value());
  EXPECT_EQ(std::get<core::NodeLost>(back.body).ranks, std::vector<Rank>{0});
  EXPECT_EQ(std::get<core::JobExits>(*back.then).nspace, "job");
  EXPECT_EQ(std::get<core::JobExits>(*back.then).exits[0].wait_status, 256);
  back = Received(Exits({256, -1}));
  EXPECT_FALSE(back.then.has_value());
  EXPECT_EQ(std::get<core::JobExits>(back.body).exits.size(), 2u);
}

TEST(Version5, AMapIsADirectModexOfRankWildcard) {
  for (const bool exists_only : {false, true}) {
    const v1::Body sent = Sent(core::JobMapRequest{9, "job", exists_only});
    EXPECT_EQ(sent.dmodex_request().request(), 9u);
    EXPECT_EQ(sent.dmodex_request().target().nspace(), "job");
    EXPECT_EQ(sent.dmodex_request().target().rank(), kRankWildcard);
    EXPECT_EQ(sent.dmodex_request().key().empty(), !exists_only);
    const auto back = std::get<core::JobMapRequest>(Received(sent).body);
    EXPECT_EQ(back.request, 9u);
    EXPECT_EQ(back.nspace, "job");
    EXPECT_EQ(back.exists_only, exists_only);
  }
  const v1::Body sent =
      Sent(core::JobMapReply{uint64_t{3} << 62, -46, "job", Bytes("map")});
  EXPECT_EQ(sent.dmodex_reply().request(), uint64_t{3} << 62);
  EXPECT_EQ(sent.dmodex_reply().target().rank(), kRankWildcard);
  const auto back = std::get<core::JobMapReply>(Received(sent).body);
  EXPECT_EQ(back.request, uint64_t{3} << 62);
  EXPECT_EQ(back.status, -46);
  EXPECT_EQ(back.nspace, "job");
  EXPECT_EQ(back.spec.view(), "map");
}

TEST(Version5, WhatWouldMeanSomethingElseIsNotSent) {
  EXPECT_FALSE(CanExpress(core::JobExits{"job", {}}));
  EXPECT_FALSE(CanExpress(core::NodeLost{"job", {}}));
  const ProcId all{"job", kRankWildcard};
  EXPECT_FALSE(CanExpress(core::DmodexRequest{1, all, "key", 0}));
  EXPECT_FALSE(CanExpress(core::DmodexReply{1, 0, all, {}}));
  const core::ProcExit loss{1, kLost, false, false, false};
  const core::ProcExit exit{2, 0, false, true, true};
  EXPECT_FALSE(CanExpress(core::JobExits{"job", {loss}}));
  const core::ProcExit restarted{3, 9, false, true, false, 0, true};
  EXPECT_FALSE(CanExpress(core::JobExits{"job", {restarted}}));
  const v1::Body sent = Sent(core::JobExits{"job", {loss, restarted, exit}});
  ASSERT_EQ(sent.job_exits().exits_size(), 1);
  EXPECT_EQ(sent.job_exits().exits(0).rank(), 2u);
}

TEST(Version5, ASpawnIsRefusedByIt) {
  const core::SpawnRequest request{{"job", 1}, 7, Bytes("call")};
  EXPECT_FALSE(CanExpress(request));
  EXPECT_FALSE(CanExpress(core::SpawnReply{{"job", 1}, 7, 0, "new", {}}));
  EXPECT_FALSE(CanExpress(core::FactsRequest()));
  EXPECT_FALSE(CanExpress(core::FactsReply()));
  const auto refusal = AnswerOfVersion5(request);
  ASSERT_TRUE(refusal.has_value());
  const auto& reply = std::get<core::SpawnReply>(*refusal);
  EXPECT_EQ(reply.proc, (ProcId{"job", 1}));
  EXPECT_EQ(reply.request, 7u);
  EXPECT_EQ(reply.status, kErrNotSupported);
  EXPECT_FALSE(AnswerOfVersion5(core::JobQuery{"job"}).has_value());
}

TEST(Version5, WhatTheHostIsAskedIsRefusedByIt) {
  core::HostRequest request;
  request.proc = {"job", 1};
  request.request = 7;
  request.nspace = "other";
  EXPECT_FALSE(CanExpress(request));
  EXPECT_FALSE(CanExpress(core::HostReply()));
  const auto refusal = AnswerOfVersion5(request);
  ASSERT_TRUE(refusal.has_value());
  const auto& reply = std::get<core::HostReply>(*refusal);
  EXPECT_EQ(reply.proc, (ProcId{"job", 1}));
  EXPECT_EQ(reply.request, 7u);
  EXPECT_EQ(reply.nspace, "other");
  EXPECT_EQ(reply.status, kErrNotSupported);
}

TEST(Version5, AnAbortIsExecutedAndAnsweredForIt) {
  core::AbortMessage abort{{"job", 1}, 3, "why", {{"other", 2}}};
  EXPECT_TRUE(CanExpress(abort));
  EXPECT_FALSE(AnswerOfVersion5(abort));
  abort.request = 9;
  const auto answer = AnswerOfVersion5(abort);
  ASSERT_TRUE(answer.has_value());
  const auto& reply = std::get<core::AbortReply>(*answer);
  EXPECT_EQ(reply.request, 9u);
  EXPECT_EQ(reply.nspace, "other");
  EXPECT_EQ(reply.status, kSuccess);
}

TEST(Version5, TheRestIsTheSameInBoth) {
  for (const MessageBody& body :
       {MessageBody(core::DmodexRequest{1, {"job", 0}, "key", 5}),
        MessageBody(core::DmodexReply{1, 0, {"job", 0}, Bytes("x")}),
        MessageBody(core::JobForget{"job"}), MessageBody(core::JobStart{"job"}),
        MessageBody(core::JobExits{"job", {{1, -1, false, false, false}}})}) {
    EXPECT_EQ(EncodeBody(body, 5), EncodeBody(body, 6)) << body.index();
  }
}

TEST(Version5, AJobMapIsOneThatItCanRead) {
  JobSpec job;
  job.nspace = "job";
  const std::string plain = EncodeJobSpec(job);
  job.nproc_offset = 8;
  const Bytes spec(EncodeJobSpec(job));
  EXPECT_EQ(Sent(core::JobPrepare{spec, 0, {}}).job_prepare().spec(), plain);
  EXPECT_EQ(Sent(core::JobMapReply{1, 0, "job", spec}).dmodex_reply().data(),
            plain);
  EXPECT_EQ(Sent(core::JobPrepare{Bytes(std::string("?")), 0, {}})
                .job_prepare()
                .spec(),
            "?");
}

TEST(Version5, AnAgentOfItRefusesNewerMessages) {
  for (const MessageBody& body :
       {MessageBody(core::JobQuery{"job"}), MessageBody(core::SyncComplete{}),
        MessageBody(core::JobQueryReply{"job"}),
        MessageBody(core::NodeLost{"job", {1}}),
        MessageBody(core::JobMapRequest{1, "job"}),
        MessageBody(core::JobMapReply{1, 0, "job", {}})}) {
    const Bytes newer(EncodeBody(body, 6));
    EXPECT_TRUE(DecodeBody(newer, 6).ok());
    EXPECT_EQ(DecodeBody(newer, 5).code(), kErrUnpackFailure);
    EXPECT_TRUE(DecodeBody(Bytes(EncodeBody(body, 5)), 5).ok());
  }
}

}  // namespace
}  // namespace canopy::overlay
