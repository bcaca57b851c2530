// A fixture for process groups at one agent.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_GROUP_TESTING_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_GROUP_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/group_record.h"
#include "server/core/core_testing.h"

namespace canopy::core {

using Procs = std::vector<ProcId>;

inline constexpr int kNone = -1000;
inline constexpr TimeNs kNow = TimeNs{1} << 40;

// Returns infos in codec form in which each of the keys is true.
inline Bytes Flags(const std::vector<std::string>& keys) {
  Encoder out;
  out.PutSize(keys.size());
  for (const std::string& key : keys) {
    out.PutString(key);
    out.PutUint32(0);
    out.PutUint16(PMIX_BOOL);
    out.PutBool(true);
  }
  return Bytes(out.Take());
}

// The engine of agent 1 in a binary tree of 7 agents: its parent is 0, its
// children are 3 and 4. Job "job" has ranks 0 and 1 here and rank 2 on agent 3.
// Job "top" has rank 0 here and rank 1 on agent 0.
class CollectiveGroupTest : public testing::Test {
 protected:
  CollectiveGroupTest() : tree_(7, 2), jobs_(1) {
    engine_.emplace(1, tree_, jobs_, modex_);
    engine_->set_events(&events_);
    jobs_.Add(JobOn("job", {1, 1, 3}));
    jobs_.Add(JobOn("top", {1, 0}));
    jobs_.Connect(10, {"job", 0});
    jobs_.Connect(11, {"job", 1});
    jobs_.Connect(20, {"top", 0});
    actions_.clear();
  }

  RequestId Call(CollectiveOp op, ClientId client, Procs procs,
                 const Bytes& info = {}, const std::string& name = "g",
                 uint32_t timeout_ms = 0) {
    CollectiveArrived in;
    in.op = op;
    in.client = client;
    in.request = ++request_;
    in.participants = std::move(procs);
    in.info = info;
    in.name = name;
    in.timeout_ms = timeout_ms;
    engine_->OnArrived({kNow, actions_, &events_}, in);
    return in.request;
  }
  RequestId Construct(ClientId client, Procs procs, const Bytes& info = {},
                      const std::string& name = "g", uint32_t timeout_ms = 0) {
    return Call(CollectiveOp::kGroupConstruct, client, std::move(procs), info,
                name, timeout_ms);
  }
  RequestId Destruct(ClientId client, Procs procs = {}) {
    return Call(CollectiveOp::kGroupDestruct, client, std::move(procs));
  }
  CollectiveId Id(CollectiveOp op, Procs procs, uint64_t sequence = 0) {
    return {op, std::move(procs), sequence, "g"};
  }
  // Sends the contribution of agent 3.
  void Up(CollectiveOp op, const GroupRecord& record = {},
          uint64_t sequence = 0) {
    engine_->OnUp({kNow, actions_, &events_}, 3,
                  {Id(op, kWhole, sequence),
                   kSuccess,
                   {{3, EncodeGroupRecord(record)}},
                   {}});
  }
  // Sends the release by agent 0, the top.
  void Down(CollectiveOp op, const Procs& procs, int status,
            const GroupRecord& result = {}, uint64_t sequence = 0) {
    CollectiveDown down{Id(op, procs, sequence), status, {}, {}};
    if (status == kSuccess) down.result = EncodeGroupRecord(result);
    engine_->OnDown({kNow, actions_, &events_}, 0, down);
  }
  const ReplyClient* ReplyTo(RequestId request) {
    replies_ = All<ReplyClient>(actions_);
    const auto it = std::ranges::find(replies_, request, &ReplyClient::request);
    return it == replies_.end() ? nullptr : &*it;
  }
  int Status(RequestId request) {
    const ReplyClient* reply = ReplyTo(request);
    return reply == nullptr ? kNone : reply->status;
  }
  // Returns the members that the first result of a reply names.
  Procs Members(RequestId request) {
    const ReplyClient* reply = ReplyTo(request);
    if (reply == nullptr) return {};
    Decoder in(reply->payload.view());
    size_t count = 0;
    std::string_view key;
    uint32_t flags = 0;
    uint16_t type = 0;
    EXPECT_TRUE(in.GetSize(&count) && in.GetString(&key));
    EXPECT_EQ(key, "pmix.grp.mbrs");
    EXPECT_TRUE(in.GetUint32(&flags) && in.GetUint16(&type));
    EXPECT_TRUE(in.GetUint16(&type) && in.GetSize(&count));
    Procs out(count);
    for (ProcId& proc : out) EXPECT_TRUE(in.GetProc(&proc));
    return out;
  }
  // Returns the key of the first result of a reply.
  std::string FirstKey(RequestId request) {
    const ReplyClient* reply = ReplyTo(request);
    if (reply == nullptr) return "no reply";
    Decoder in(reply->payload.view());
    size_t count = 0;
    std::string_view key;
    EXPECT_TRUE(in.GetSize(&count) && in.GetString(&key));
    return std::string(key);
  }
  const Group* Found() { return engine_->groups().FindOf("g", {"job", 0}); }
  // Makes a group of all ranks of "job".
  void MakeGroup(const Bytes& info = {}) {
    Construct(10, kWhole, info);
    Construct(11, kWhole);
    Up(CollectiveOp::kGroupConstruct);
    ASSERT_NE(Found(), nullptr);
    actions_.clear();
  }

  // Replaces the engine by a successor with the records persisted for "job".
  void Succeed() {
    const auto records = All<PersistRecord>(actions_);
    engine_.emplace(1, tree_, jobs_, modex_);
    engine_->set_events(&events_);
    engine_->OnRecovered("job");
    for (const PersistRecord& record : records) {
      engine_->Recover({record.key, record.value});
    }
    actions_.clear();
  }
  // Makes rank 0 leave a group of `procs`, which then ends, and join the next
  // group of its name. Agent 0 is the top.
  void LeaveOneForTheNext(const Procs& procs) {
    GroupRecord result;
    result.made = 5;
    Construct(10, procs);
    Down(CollectiveOp::kGroupConstruct, procs, kSuccess, result);
    engine_->OnLeft({kNow, actions_, &events_}, {"job", 0}, "g", 0);
    Down(CollectiveOp::kGroupDestruct, procs, kSuccess);
    Construct(10, procs);
    result.made = 6;
    Down(CollectiveOp::kGroupConstruct, procs, kSuccess, result, 1);
  }

  const Procs kWhole = {{"job", kRankWildcard}};
  CoreEvents events_;
  Tree tree_;
  JobTable jobs_;
  ModexStore modex_;
  std::optional<Collectives> engine_;
  Actions actions_;
  std::vector<ReplyClient> replies_;
  RequestId request_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_COLLECTIVE_GROUP_TESTING_H_
