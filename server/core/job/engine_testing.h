// Job engines without anything around them, for tests.
#ifndef CANOPY_SERVER_CORE_JOB_ENGINE_TESTING_H_
#define CANOPY_SERVER_CORE_JOB_ENGINE_TESTING_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "server/core/core_testing.h"
#include "server/core/job/engine.h"
#include "server/core/step/action.h"

namespace canopy::core {

inline constexpr TimeNs kSecond = 1'000'000'000;

inline int Exited(int code) { return code << 8; }

// A cluster of engines with an in-order network and local sides that answer at
// once, unless a test takes them over.
class Cluster {
 public:
  Cluster(uint32_t size, uint32_t radix) : nodes_(size) {
    for (uint32_t i = 0; i < size; ++i) {
      names_.push_back("node" + std::to_string(i));
    }
    for (uint32_t i = 0; i < size; ++i) {
      Node& n = nodes_[i];
      n.tree = std::make_unique<Tree>(size, radix);
      n.table = std::make_unique<JobTable>(i, n.events.get());
      n.engine = std::make_unique<JobEngine>(i, names_, *n.tree, *n.table);
      n.engine->set_events(n.events.get());
    }
  }

  struct Node {
    std::unique_ptr<Tree> tree;
    std::unique_ptr<CoreEvents> events = std::make_unique<CoreEvents>();
    std::unique_ptr<JobTable> table;
    std::unique_ptr<JobEngine> engine;
    bool dead = false;
    bool auto_prepare = true;
    bool auto_start = true;
    bool auto_kill = true;
    int prepare_status = 0;
    std::string prepare_text;
    std::shared_ptr<const JobSpec> job;
    bool started = false;
    Bytes control;  // the last control state persisted
    std::map<std::string, Bytes> journal;
    std::vector<Rank> local;
    std::set<Rank> alive;
    std::map<Rank, uint32_t> incarnations;  // incarnations of restarted ranks
    Actions seen;
  };

  JobEngine& engine(NodeId n) { return *nodes_[n].engine; }
  Node& node(NodeId n) { return nodes_[n]; }

  // Runs `call` on one node and executes the actions that it returns. Inputs
  // that these cause on the node follow as inputs of their own.
  void Do(NodeId n, std::function<void(JobEngine&, const StepContext&)> call) {
    inputs_.emplace_back(n, std::move(call));
    if (std::exchange(busy_, true)) return;
    while (!inputs_.empty()) {
      const auto [node, input] = std::move(inputs_.front());
      inputs_.pop_front();
      Actions actions;
      input(*nodes_[node].engine, {now, actions});
      for (const Action& a : actions) {
        nodes_[node].seen.push_back(a);
        Execute(node, a);
      }
    }
    busy_ = false;
  }

  // Delivers messages until none is in flight.
  void Run() {
    while (!network_.empty()) {
      PeerMessage m = std::move(network_.front());
      network_.pop_front();
      ++messages;
      if (nodes_[m.dst].dead || nodes_[m.src].dead) continue;
      Do(m.dst, [&](JobEngine& e, const StepContext& step) {
        EXPECT_TRUE(e.OnPeer(step, m));
      });
    }
  }

  void Launch(std::shared_ptr<const JobSpec> job) {
    Do(0, [&](JobEngine& e, const StepContext& step) {
      e.OnLaunchRequested(step, {std::move(job)});
    });
  }

  void Exit(Rank rank, int wait_status, bool init = false,
            bool finalized = false) {
    for (NodeId n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].alive.erase(rank) == 0) continue;
      EndRanks(n, {ProcExit{rank, wait_status, false, init, finalized,
                            nodes_[n].incarnations[rank]}});
    }
  }

  // Loses a node; every other node learns of the loss at once.
  void LoseNode(NodeId lost) {
    nodes_[lost].dead = true;
    for (NodeId n = 0; n < nodes_.size(); ++n) Hear(n, lost);
  }

  // Replaces the node's agent by a new one. If the node has ranks, the new
  // agent recovers their job.
  void Restart(NodeId n) {
    Node& node = nodes_[n];
    std::erase_if(network_, [n](const PeerMessage& m) {
      return m.src == n || m.dst == n;
    });
    node.tree = std::make_unique<Tree>(static_cast<uint32_t>(nodes_.size()),
                                       node.tree->radix());
    node.table = std::make_unique<JobTable>(n, node.events.get());
    node.engine =
        std::make_unique<JobEngine>(n, names_, *node.tree, *node.table);
    node.engine->set_events(node.events.get());
    node.engine->set_began(now);
    if (node.job != nullptr) {
      node.engine->set_persists(!node.control.empty() || !node.journal.empty());
      Do(n, [&](JobEngine& e, const StepContext& step) {
        JobRecovered recovered;
        recovered.job = node.job;
        recovered.started = node.started;
        if (!node.control.empty()) recovered.control = node.control;
        for (const auto& [key, value] : node.journal) {
          recovered.records.push_back({key, value});
        }
        recovered.incarnations = {node.incarnations.begin(),
                                  node.incarnations.end()};
        e.OnRecovered(step, recovered);
      });
      // The shim reports all ends again.
      std::vector<ProcExit> ended;
      for (const Rank rank : node.local) {
        if (!node.alive.contains(rank)) {
          ended.push_back(
              {rank, 0, false, true, true, node.incarnations[rank]});
        }
      }
      EndRanks(n, ended);
    }
    for (NodeId other = 0; other < nodes_.size(); ++other) {
      if (other == n || nodes_[other].dead) continue;
      Do(other, [&](JobEngine& e, const StepContext& step) {
        e.OnNodeRestarted(step, n);
        e.SendSyncComplete(step, n);
      });
    }
  }

  // Makes one node learn that another is lost.
  void Hear(NodeId n, NodeId lost) {
    nodes_[n].tree->SetAlive(lost, false);
    if (nodes_[n].dead) return;
    Do(n, [=, this](JobEngine& e, const StepContext& step) {
      e.OnNodeLost(step, {lost, false, "connection closed"});
    });
  }

  template <typename T>
  std::vector<T> Seen(NodeId n) const {
    std::vector<T> out;
    for (const Action& a : nodes_[n].seen) {
      if (const T* t = std::get_if<T>(&a)) out.push_back(*t);
    }
    return out;
  }

  // Returns the last report of the controller.
  JobChanged Last() const {
    const std::vector<JobChanged> all = Seen<JobChanged>(0);
    EXPECT_FALSE(all.empty());
    return all.empty() ? JobChanged{} : all.back();
  }

  // Expects that no living node has a part or map of any job.
  void ExpectClean() {
    for (NodeId n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].dead) continue;
      EXPECT_TRUE(nodes_[n].alive.empty()) << "node " << n;
      EXPECT_EQ(Seen<RegisterJob>(n).size(), Seen<DropJob>(n).size()) << n;
      EXPECT_EQ(Seen<PrepareLocal>(n).size(), Seen<ForgetLocal>(n).size());
      EXPECT_FALSE(nodes_[n].engine->TakesPart("job")) << "node " << n;
      // If only the map of a job is left, the map stays until JobMaps knows
      // that the job is over.
      for (const LeftJob& job : TakeAll<LeftJob>(nodes_[n].events.get())) {
        nodes_[n].table->Remove(job.nspace);
      }
      EXPECT_EQ(nodes_[n].table->Find("job"), nullptr) << "node " << n;
      EXPECT_EQ(nodes_[n].engine->NextDeadline(), kNever);
    }
  }

  TimeNs now = 1000;
  int messages = 0;
  std::deque<PeerMessage> network_;

 private:
  void EndRanks(NodeId n, const std::vector<ProcExit>& exits) {
    Do(n, [=, this](JobEngine& e, const StepContext& step) {
      e.OnLocalExits(step, {"job", exits});
    });
    for (const ProcExit& exit : exits) {
      for (const uint16_t channel : {2, 4}) {
        Do(n, [=, this](JobEngine& e, const StepContext& step) {
          e.OnLocalOutput(step, {"job", exit.rank, channel, Bytes()});
        });
      }
    }
  }

  void Execute(NodeId n, const Action& action) {
    Node& node = nodes_[n];
    if (const auto* send = std::get_if<SendPeer>(&action)) {
      EXPECT_EQ(send->message.src, n);
      EXPECT_NE(send->message.dst, n);
      network_.push_back(send->message);
    } else if (const auto* prepare = std::get_if<PrepareLocal>(&action)) {
      node.job = prepare->job;
      node.local = prepare->layout->ranks_on(prepare->layout->node_of_agent(n));
      if (!node.auto_prepare) return;
      const int status = node.prepare_status;
      const std::string text = node.prepare_text;
      Do(n, [=, this](JobEngine& e, const StepContext& step) {
        e.OnLocalPrepared(step, {"job", status, text});
      });
    } else if (const auto* persisted =
                   std::get_if<PersistControlState>(&action)) {
      node.control = persisted->state;
    } else if (const auto* record = std::get_if<PersistRecord>(&action)) {
      node.journal[record->key] = record->value;
    } else if (std::holds_alternative<StartLocal>(action)) {
      node.started = true;
      if (!node.auto_start) return;
      node.alive = {node.local.begin(), node.local.end()};
      const auto procs = static_cast<uint32_t>(node.local.size());
      Do(n, [=, this](JobEngine& e, const StepContext& step) {
        e.OnLocalStarted(step, {"job", procs, 0, ""});
      });
    } else if (const auto* restart = std::get_if<RestartLocal>(&action)) {
      EXPECT_FALSE(node.alive.contains(restart->rank));
      node.alive.insert(restart->rank);
      EXPECT_EQ(restart->incarnation, ++node.incarnations[restart->rank]);
    } else if (const auto* kill = std::get_if<KillLocal>(&action)) {
      if (!node.auto_kill) return;
      std::vector<ProcExit> exits;
      for (const Rank r : std::set<Rank>(node.alive)) {
        if (kill->ranks.empty() || std::ranges::count(kill->ranks, r) > 0) {
          node.alive.erase(r);
          exits.push_back(
              {r, SIGTERM, false, false, false, node.incarnations[r]});
        }
      }
      if (!exits.empty()) EndRanks(n, exits);
    }
  }

  std::vector<std::string> names_;
  std::vector<Node> nodes_;
  std::deque<
      std::pair<NodeId, std::function<void(JobEngine&, const StepContext&)>>>
      inputs_;
  bool busy_ = false;
};

// Returns a job with `per_node` ranks on each of the agents, in their order.
inline std::shared_ptr<JobSpec> MakeJob(const std::vector<NodeId>& agents,
                                        uint32_t per_node) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "job";
  job->apps.push_back({"./a", {"./a"}, {}, "", 0});
  for (const NodeId agent : agents) {
    const auto index = static_cast<uint32_t>(job->nodes.size());
    job->nodes.push_back({"node" + std::to_string(agent), {}, agent, per_node});
    for (uint32_t i = 0; i < per_node; ++i) {
      job->procs.push_back({index, 0, ""});
    }
  }
  job->apps[0].num_procs = static_cast<uint32_t>(job->procs.size());
  return job;
}

inline std::vector<NodeId> Agents(NodeId first, NodeId last) {
  std::vector<NodeId> out;
  for (NodeId n = first; n <= last; ++n) out.push_back(n);
  return out;
}

inline void ExitAll(Cluster& c, uint32_t procs) {
  for (Rank r = 0; r < procs; ++r) c.Exit(r, 0, true, true);
  c.Run();
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_ENGINE_TESTING_H_
