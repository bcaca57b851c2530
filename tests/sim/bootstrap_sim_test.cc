// Tests of bootstraps of groups whose agents are restarted or lost at every
// step. The libraries of the processes are played here: two leaders meet at
// published keys, and the first of them invites all others to a construct
// (client/session/group_bootstrap_op.h). All members must get the same group,
// and no process that was invited may wait forever.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/status.h"
#include "pmix_common.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

using namespace core;  // NOLINT: the vocabulary of this file

constexpr uint8_t kCustom = 6;  // pmix_data_range_t
constexpr uint32_t kNodes = 7;
constexpr Rank kRanks = kNodes - 1;  // node 0 is only the controller
constexpr Rank kLeaders[] = {0, 3};
const char* const kKeys[] = {"bootstrap.0", "bootstrap.1"};

Bytes AboutGroup() {
  Encoder out;
  out.PutSize(1);
  out.PutString(PMIX_GROUP_ID);
  out.PutUint32(0);
  out.PutUint16(PMIX_STRING);
  out.PutString("g");
  return Bytes(out.Take());
}

// One process and its library.
struct Actor {
  bool leads = false;
  size_t key = 0;  // key of a leader
  bool published = false;
  bool first = false;  // the first leader
  // The sender of an invitation that arrived before the answer to the publish.
  std::optional<ProcId> inviter;
  bool told = false;  // notified of the invitation
  std::set<ProcId> accepted;
  int status = kUnanswered;  // status of its call
  std::string group;         // the result
};

// Plays all processes of the job.
class Play {
 public:
  explicit Play(Cluster* cluster) : cluster_(*cluster) {
    for (Rank rank = 0; rank < kRanks; ++rank) actors_[At(rank)] = {};
    for (const Rank rank : kLeaders) actors_.at(At(rank)).leads = true;
    cluster_.hooks().on_answer = [this](RequestId request) {
      const auto it = waiting_.find(request);
      if (it == waiting_.end()) return;
      Do(it->second.first, [this, request] { OnAnswer(request); });
    };
    cluster_.hooks().on_notice = [this](const ProcId& to, int status,
                                        const ProcId& source, const Bytes&) {
      Do(to, [this, to, status, source] { OnNotice(to, status, source); });
    };
  }

  static ProcId At(Rank rank) { return {"a", rank}; }
  void Register() {
    for (const auto& [proc, actor] : actors_) {
      cluster_.clients().WantEvents(
          proc, {PMIX_GROUP_INVITED, PMIX_GROUP_INVITE_ACCEPTED,
                 PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_MEMBERSHIP_UPDATE,
                 PMIX_GROUP_CONSTRUCT_ABORT, PMIX_GROUP_LEADER_FAILED});
    }
  }
  void Begin() {
    for (auto& [proc, actor] : actors_) {
      if (actor.leads) Publish(proc, actor);
    }
  }
  const std::map<ProcId, Actor>& actors() const { return actors_; }
  // Returns whether the invitation has reached all processes.
  bool AllTold() const {
    return std::ranges::all_of(
        actors_, [](const auto& item) { return item.second.told; });
  }
  // Records that the process of a lost node takes no further part.
  void Lose(const ProcId& proc) { lost_.insert(proc); }
  bool IsLost(const ProcId& proc) const { return lost_.contains(proc); }

 private:
  // Calls `what` soon, when the process is connected.
  void Do(const ProcId& proc, std::function<void()> what) {
    cluster_.At(cluster_.now(), [this, proc, what = std::move(what)] {
      if (IsLost(proc)) return;
      if (!cluster_.clients().IsAway(proc)) return what();
      cluster_.At(cluster_.now() + kMs, [this, proc, what] { Do(proc, what); });
    });
  }
  void Then(const ProcId& proc, RequestId request,
            std::function<void(const Answer&)> then) {
    waiting_[request] = {proc, std::move(then)};
  }
  std::vector<ProcId> All() const {
    std::vector<ProcId> all;
    for (const auto& [proc, actor] : actors_) all.push_back(proc);
    return all;
  }
  void Tell(const ProcId& proc, int status, std::vector<ProcId> whom) {
    std::erase(whom, proc);
    (void)cluster_.clients().Raise(proc, status, kCustom, std::move(whom),
                                   AboutGroup());
  }
  void Publish(const ProcId& proc, Actor& actor) {
    Then(proc, cluster_.clients().Publish(proc, kKeys[actor.key], false),
         [this, proc, &actor](const Answer& answer) {
           if (answer.status == kErrDuplicateKey) {
             ASSERT_EQ(actor.key, 0u) << "two leaders have three keys";
             ++actor.key;
             return Publish(proc, actor);
           }
           ASSERT_EQ(answer.status, kSuccess);
           actor.published = true;
           actor.first = actor.key == 0;
           if (actor.first) return Meet(proc, actor);
           if (actor.inviter) Accept(proc, actor, *actor.inviter);
         });
  }
  void Meet(const ProcId& proc, Actor& actor) {
    Then(proc, cluster_.clients().Lookup(proc, {kKeys[0], kKeys[1]}, 20),
         [this, proc, &actor](const Answer& answer) {
           if (answer.status != kSuccess) {
             actor.status = answer.status;
             return;
           }
           actor.told = true;
           Tell(proc, PMIX_GROUP_INVITED, All());
         });
  }
  void Accept(const ProcId& proc, Actor& actor, const ProcId& leader) {
    if (actor.leads && !actor.published) {
      actor.inviter = leader;
      return;
    }
    if (!actor.leads) {
      return Tell(proc, PMIX_GROUP_INVITE_ACCEPTED, {leader});
    }
    Then(proc, cluster_.clients().Unpublish(proc, kKeys[actor.key]),
         [this, proc, leader](const Answer&) {
           Tell(proc, PMIX_GROUP_INVITE_ACCEPTED, {leader});
         });
  }
  void Construct(const ProcId& proc, Actor& actor) {
    Then(proc,
         cluster_.clients().Group(CollectiveOp::kGroupConstruct, proc, "g",
                                  All()),
         [this, proc, &actor](const Answer& answer) {
           actor.status = answer.status;
           actor.group = answer.payload;
           if (!actor.first) return;
           Tell(proc, PMIX_GROUP_CONSTRUCT_COMPLETE, All());
           (void)cluster_.clients().Unpublish(proc, kKeys[0]);
         });
  }
  void OnAnswer(RequestId request) {
    const auto it = waiting_.find(request);
    if (it == waiting_.end()) return;
    const auto then = std::move(it->second.second);
    waiting_.erase(it);
    then(*cluster_.clients().AnswerTo(request));
  }
  void OnNotice(const ProcId& to, int status, const ProcId& source) {
    Actor& actor = actors_.at(to);

    if (IsLost(to) || actor.status != kUnanswered) return;
    switch (status) {
      case PMIX_GROUP_INVITED:
        actor.told = true;
        return Accept(to, actor, source);
      case PMIX_GROUP_INVITE_ACCEPTED:
        actor.accepted.insert(source);
        if (actor.accepted.size() < kRanks - 1) return;
        Tell(to, PMIX_GROUP_MEMBERSHIP_UPDATE, All());
        return Construct(to, actor);
      case PMIX_GROUP_MEMBERSHIP_UPDATE:
        return Construct(to, actor);
      case PMIX_GROUP_INVITE_FAILED:
        // If all invited processes have accepted, the construct has begun and
        // fails by itself.
        if (actor.accepted.size() >= kRanks - 1) return;
        Tell(to, PMIX_GROUP_CONSTRUCT_ABORT, All());
        [[fallthrough]];
      default:
        actor.status = PMIX_GROUP_CONSTRUCT_ABORT;
    }
  }

  Cluster& cluster_;
  std::map<ProcId, Actor> actors_;
  std::map<RequestId, std::pair<ProcId, std::function<void(const Answer&)>>>
      waiting_;
  std::set<ProcId> lost_;
};

class BootstrapSim : public testing::TestWithParam<NodeId> {
 protected:
  // Calls `fault` before each step of a bootstrap and after the last; `check`
  // checks the result.
  static void AtEveryStep(Persistence persistence,
                          const std::function<void(Cluster&, Play&)>& fault,
                          const std::function<void(Cluster&, Play&)>& check) {
    for (size_t step = 0;; ++step) {
      SCOPED_TRACE("before step " + std::to_string(step));
      Cluster c(kNodes, 2, step + 1, persistence);
      c.options().ignore_kills = true;
      c.LaunchConnected(MakeJob("a", {1, 2, 3, 4, 5, 6}));
      Play play(&c);
      play.Register();
      c.Run();
      play.Begin();
      size_t done = 0;
      while (done < step && c.RunOne()) ++done;
      const bool over = c.pending() == 0;
      fault(c, play);
      c.RunFor(60'000 * kMs);
      check(c, play);
      EXPECT_TRUE(c.errors().empty()) << c.errors().front();
      if (over || HasFailure()) return;
    }
  }
};

TEST_P(BootstrapSim, ABootstrapSurvivesTheRestartOfAnAgentAtEveryStep) {
  AtEveryStep(
      Persistence::kOn, [](Cluster& c, Play&) { c.RestartNode(GetParam()); },
      [&](Cluster& c, Play& play) {
        std::set<std::string> groups;
        for (const auto& [proc, actor] : play.actors()) {
          EXPECT_EQ(actor.status, kSuccess) << ToString(proc);
          groups.insert(actor.group);
        }
        EXPECT_EQ(groups.size(), 1u);
        // The leaders' keys are free for the next bootstrap.
        for (const char* key : kKeys) {
          const RequestId again =
              c.clients().Publish(Play::At(kLeaders[1]), key, false);
          c.Run();
          EXPECT_EQ(c.clients().StatusOf(again), kSuccess) << key;
        }
      });
}

// Agents that learn of the invitation after the loss do not notify their
// processes, which then wait until their time limits.
TEST_P(BootstrapSim, ABootstrapEndsIfANodeIsLostAtAnyStep) {
  bool all_told = false;
  size_t ended = 0;
  AtEveryStep(
      Persistence::kOff,
      [&](Cluster& c, Play& play) {
        all_told = play.AllTold();
        if (GetParam() != 0) play.Lose(Play::At(GetParam() - 1));
        c.KillNode(GetParam());
      },
      [&](Cluster&, Play& play) {
        std::set<std::string> groups;
        for (const auto& [proc, actor] : play.actors()) {
          if (play.IsLost(proc)) continue;
          if (all_told) {
            EXPECT_NE(actor.status, kUnanswered) << ToString(proc);
            ++ended;
          }
          if (actor.status == kSuccess) groups.insert(actor.group);
        }
        EXPECT_LE(groups.size(), 1u);
      });
  EXPECT_GT(ended, 0u);
}

// The victims are the root, the agents of both leaders, and the agent of an
// added member.
INSTANTIATE_TEST_SUITE_P(Victims, BootstrapSim, testing::Values(0, 1, 4, 5));

}  // namespace
}  // namespace canopy::sim
