// Runs the Publishing of several agents in one process, for tests: with
// journals, losses, restarts, and a network that delivers messages one by one.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_TESTING_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/decoder.h"
#include "common/ids.h"
#include "server/core/core_testing.h"
#include "server/core/infos_testing.h"
#include "server/core/job_table.h"
#include "server/core/publish/publishing.h"
#include "server/core/publish/rendezvous.h"
#include "server/core/tree.h"

namespace canopy::core {

// Returns directives with the given persistence.
inline Infos Persisting(Persistence persistence) {
  return Infos().Number("pmix.persist", PMIX_PERSIST,
                        static_cast<uint64_t>(persistence));
}

struct LookedUp {
  int status = 0;
  std::map<std::string, std::string> values;
  std::map<std::string, ProcId> publishers;
};

inline LookedUp ReadLookup(const ReplyClient& reply) {
  LookedUp out{reply.status, {}, {}};
  if (reply.payload.empty()) return out;
  Decoder in(reply.payload.view());
  size_t count = 0;
  in.GetSize(&count);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    ProcId proc;
    std::string_view key;
    Value value;
    in.GetProc(&proc);
    in.GetString(&key);
    in.GetValue(&value);
    out.values[std::string(key)] = value.AsString().value_or("?");
    out.publishers[std::string(key)] = proc;
  }
  if (!in.done()) out.status = kErrUnpackFailure;
  return out;
}

// Clients are numbered in the order in which jobs register them; the clients of
// tools have the numbers from 1000 * node + 900.
class PublishingAgents {
 public:
  static constexpr int kPending = -1000;

  explicit PublishingAgents(uint32_t count) {
    for (NodeId node = 0; node < count; ++node) {
      agents_.push_back(std::make_unique<Agent>(node, count, ++now_));
    }
  }

  // Adds a job whose rank r is on agent nodes[r]. Only the agents that host
  // ranks know it.
  void AddJob(const std::string& nspace, const std::vector<NodeId>& nodes,
              uint32_t uid = 7, uint32_t gid = 70) {
    auto spec = std::make_shared<JobSpec>(*JobOn(nspace, nodes));
    spec->uid = uid;
    spec->gid = gid;
    specs_[nspace] = spec;
    for (NodeId node = 0; node < agents_.size(); ++node) Register(node, spec);
  }
  // Connects a tool to that agent, until Disconnect.
  void AddTool(const ProcId& tool, NodeId node, uint32_t uid = 7,
               uint32_t gid = 70) {
    clients_[tool] = 1000 * node + 900 + static_cast<ClientId>(tools_.size());
    tools_[tool] = node;
    EXPECT_TRUE(
        agents_[node]->jobs.ConnectTool(clients_[tool], tool, Owner{uid, gid}));
  }
  void RemoveJob(const std::string& nspace) {
    for (auto& agent : agents_) {
      agent->journal.erase(nspace);
      agent->jobs.Remove(nspace);
      With(*agent, [&](Publishing& p, Actions* out) {
        p.OnJobRemoved({now_, *out}, {nspace});
      });
    }
    Run();
  }
  void EndRank(const ProcId& proc) {
    Agent& agent = *agents_[NodeOf(proc)];
    agent.jobs.MarkEnded(proc.nspace, proc.rank);
    With(agent, [&](Publishing& p, Actions* out) {
      p.OnRankGone({now_, *out}, proc);
    });
    Run();
  }

  NodeId NodeOf(const ProcId& proc) const {
    const auto tool = tools_.find(proc);
    if (tool != tools_.end()) return tool->second;
    const JobSpec& spec = *specs_.at(proc.nspace);
    return spec.nodes[spec.procs[proc.rank].node].agent;
  }
  ClientId ClientOf(const ProcId& proc) const { return clients_.at(proc); }

  // ------------------------------------------------------------ requests ---

  RequestId BeginPublish(const ProcId& proc, Bytes info,
                         RequestId request = 0) {
    if (request == 0) request = ++last_request_;
    With(*agents_[NodeOf(proc)], [&](Publishing& p, Actions* out) {
      p.OnPublish({now_, *out}, {ClientOf(proc), request, info});
    });
    return request;
  }
  RequestId BeginLookup(const ProcId& proc, std::vector<std::string> keys,
                        Bytes info = {}, RequestId request = 0) {
    if (request == 0) request = ++last_request_;
    With(*agents_[NodeOf(proc)], [&](Publishing& p, Actions* out) {
      p.OnLookup({now_, *out}, {ClientOf(proc), request, keys, info});
    });
    return request;
  }
  RequestId BeginUnpublish(const ProcId& proc, std::vector<std::string> keys,
                           Bytes info = {}) {
    const RequestId request = ++last_request_;
    With(*agents_[NodeOf(proc)], [&](Publishing& p, Actions* out) {
      p.OnUnpublish({now_, *out}, {ClientOf(proc), request, keys, info});
    });
    return request;
  }
  int Publish(const ProcId& proc, Infos infos) {
    const RequestId request = BeginPublish(proc, infos.Take());
    Run();
    return StatusOf(request);
  }
  int Publish(const ProcId& proc, const std::string& key,
              const std::string& value) {
    return Publish(proc, Infos().Text(key, value));
  }
  LookedUp Lookup(const ProcId& proc, std::vector<std::string> keys,
                  Bytes info = {}) {
    const RequestId request = BeginLookup(proc, std::move(keys), info);
    Run();
    return ResultOf(request);
  }
  int Unpublish(const ProcId& proc, std::vector<std::string> keys,
                Bytes info = {}) {
    const RequestId request = BeginUnpublish(proc, std::move(keys), info);
    Run();
    return StatusOf(request);
  }
  void Finalize(const ProcId& proc) {
    With(*agents_[NodeOf(proc)], [&](Publishing& p, Actions* out) {
      p.OnFinalize({now_, *out}, ClientOf(proc));
    });
    Run();
  }
  void Disconnect(const ProcId& proc) {
    With(*agents_[NodeOf(proc)], [&](Publishing& p, Actions* out) {
      p.OnClientGone({now_, *out}, ClientOf(proc));
    });
    agents_[NodeOf(proc)]->jobs.Disconnect(ClientOf(proc));
    Run();
  }
  // Replaces the process of a rank by another one, which has the incarnation
  // `number`.
  void NextProcess(const ProcId& proc, uint32_t number) {
    Agent& agent = *agents_[NodeOf(proc)];
    agent.jobs.MarkRestarted(proc.nspace, proc.rank, number);
    With(agent, [&](Publishing& p, Actions* out) {
      p.OnRankRestarted({now_, *out}, proc);
    });
    agent.jobs.Connect(ClientOf(proc), proc);
    Run();
  }
  // Drops the answer as if it had not reached the process, which may repeat the
  // call.
  void LoseAnswer(RequestId request) { replies_.erase(request); }
  int StatusOf(RequestId request) const {
    const auto it = replies_.find(request);
    return it == replies_.end() ? kPending : it->second.status;
  }
  std::string_view PayloadOf(RequestId request) const {
    return replies_.at(request).payload.view();
  }
  LookedUp ResultOf(RequestId request) const {
    const auto it = replies_.find(request);
    return it == replies_.end() ? LookedUp{kPending, {}, {}}
                                : ReadLookup(it->second);
  }

  // ------------------------------------------------------------- members ---

  void Lose(NodeId node) {
    Drop(node);
    agents_[node]->alive = false;
    for (auto& agent : agents_) {
      if (!agent->alive) continue;
      agent->tree.SetAlive(node, false);
      With(*agent, [&](Publishing& p, Actions* out) {
        p.OnNodeLost({now_, *out}, {node, false, ""});
      });
    }
    Run();
  }
  // Makes both agents declare each other lost.
  void Part(NodeId a, NodeId b) {
    for (const auto& [at, other] : {std::pair(a, b), std::pair(b, a)}) {
      agents_[at]->tree.SetAlive(other, false);
      With(*agents_[at], [&, other = other](Publishing& p, Actions* out) {
        p.OnNodeLost({now_, *out}, {other, false, ""});
      });
    }
    Run();
  }
  // Makes both agents see each other return.
  void Join(NodeId a, NodeId b) {
    for (const auto& [at, other] : {std::pair(a, b), std::pair(b, a)}) {
      agents_[at]->tree.SetAlive(other, true);
      With(*agents_[at], [&](Publishing& p, Actions* out) {
        p.OnNodeReturned({now_, *out});
      });
    }
    Run();
  }
  // Makes the node return with a new agent, which recovers no records.
  void Return(NodeId node) {
    Renew(node, false);
    for (auto& agent : agents_) {
      if (!agent->alive || agent->self == node) continue;
      agent->tree.SetAlive(node, true);
      With(*agent, [&](Publishing& p, Actions* out) {
        p.OnNodeReturned({now_, *out});
      });
    }
    Run();
  }
  // Restarts the agent with its journals. Clients must repeat unanswered calls.
  void Restart(NodeId node, bool run = true) {
    Drop(node);
    Renew(node, true);
    for (auto& agent : agents_) {
      if (!agent->alive || agent->self == node) continue;
      With(*agent, [&](Publishing& p, Actions* out) {
        p.OnNodeRestarted({now_, *out}, node);
      });
    }
    if (run) Run();
  }

  // --------------------------------------------------------------- time ---

  bool RunOne() {
    if (wire_.empty()) return false;
    const PeerMessage message = std::move(wire_.front());
    wire_.pop_front();
    ++delivered_;
    Agent& to = *agents_[message.dst];
    if (!to.alive) return true;
    With(to, [&](Publishing& p, Actions* out) {
      EXPECT_TRUE(p.OnPeer({now_, *out}, message));
    });
    return true;
  }
  void Run() {
    while (RunOne()) continue;
  }
  void Pass(TimeNs duration) {
    now_ += duration;
    for (auto& agent : agents_) {
      if (!agent->alive) continue;
      With(*agent, [&](Publishing& p, Actions* out) {
        p.OnTick({now_, *out});
      });
    }
    Run();
  }
  // Delivers the next message of this type ahead of the others. Returns false
  // if there is none.
  template <typename Body>
  bool Overtake() {
    const auto next = std::ranges::find_if(wire_, [](const PeerMessage& m) {
      return std::holds_alternative<Body>(m.body);
    });
    if (next == wire_.end()) return false;
    std::rotate(wire_.begin(), next, next + 1);
    return RunOne();
  }
  // Delivers a message a second time.
  void Repeat(PeerMessage message) {
    wire_.push_back(std::move(message));
    Run();
  }
  // Returns the number of messages delivered between agents so far.
  size_t delivered() const { return delivered_; }
  const std::deque<PeerMessage>& wire() const { return wire_; }

  Publishing& at(NodeId node) { return *agents_[node]->publishing; }
  const Tree& tree(NodeId node) const { return agents_[node]->tree; }
  TimeNs now() const { return now_; }
  const std::vector<PersistedRecord>& journal(NodeId node,
                                              const std::string& nspace) {
    return agents_[node]->journal[nspace];
  }
  // Returns the number of publications that the agents hold together.
  size_t publications() const {
    size_t n = 0;
    for (const auto& a : agents_) {
      if (a->alive) n += a->publishing->num_publications();
    }
    return n;
  }
  // Returns the number of operations in progress at the agents together.
  size_t operations() const {
    size_t n = 0;
    for (const auto& a : agents_) {
      if (a->alive) n += a->publishing->num_operations();
    }
    return n;
  }

 private:
  struct Agent {
    Agent(NodeId node, uint32_t count, TimeNs began)
        : self(node), tree(count, 2), jobs(node) {
      publishing = std::make_unique<Publishing>(node, tree, jobs);
      publishing->set_persists(true);
      publishing->set_began(began * 1'000'000);
    }
    NodeId self;
    bool alive = true;
    Tree tree;
    JobTable jobs;
    std::unique_ptr<Publishing> publishing;
    std::map<std::string, std::vector<PersistedRecord>> journal;
  };

  void Register(NodeId node, const std::shared_ptr<const JobSpec>& spec) {
    Agent& agent = *agents_[node];
    const Job* job = nullptr;
    for (const JobNode& n : spec->nodes) {
      if (n.agent == node) job = agent.jobs.Add(spec);
    }
    if (job == nullptr) return;
    for (const Rank rank : job->local_ranks()) {
      const ProcId proc{spec->nspace, rank};
      clients_[proc] = ++last_client_;
      agent.jobs.Connect(last_client_, proc);
    }
  }

  // Loses the messages that are on their way to or from the node.
  void Drop(NodeId node) {
    std::erase_if(wire_, [&](const PeerMessage& m) {
      return m.src == node || m.dst == node;
    });
  }

  void Renew(NodeId node, bool recovers) {
    auto old = std::move(agents_[node]);
    now_ += 1000;
    agents_[node] = std::make_unique<Agent>(
        node, static_cast<uint32_t>(agents_.size()), now_);
    Agent& agent = *agents_[node];
    for (NodeId n = 0; n < agents_.size(); ++n) {
      if (n != node) agent.tree.SetAlive(n, agents_[n]->alive);
    }
    if (!recovers) return;
    for (const auto& [nspace, records] : old->journal) {
      if (old->jobs.Find(nspace) == nullptr) continue;
      agent.journal[nspace] = records;
    }
    for (const auto& [nspace, spec] : specs_) {
      if (old->jobs.Find(nspace) == nullptr) continue;
      Register(node, spec);
      JobRecovered in;
      in.job = spec;
      in.records = agent.journal[nspace];
      With(agent, [&](Publishing& p, Actions* out) {
        p.OnJobRecovered({now_, *out}, in);
      });
    }
  }

  void With(Agent& agent,
            const std::function<void(Publishing&, Actions*)>& work) {
    Actions actions;
    work(*agent.publishing, &actions);
    for (Action& action : actions) {
      if (auto* send = std::get_if<SendPeer>(&action)) {
        EXPECT_NE(send->message.dst, agent.self);
        wire_.push_back(std::move(send->message));
      } else if (auto* reply = std::get_if<ReplyClient>(&action)) {
        EXPECT_TRUE(replies_.try_emplace(reply->request, *reply).second)
            << "request " << reply->request << " was answered twice";
      } else if (auto* record = std::get_if<PersistRecord>(&action)) {
        agent.journal[record->nspace].push_back({record->key, record->value});
      }
    }
  }

  std::vector<std::unique_ptr<Agent>> agents_;
  std::map<std::string, std::shared_ptr<const JobSpec>> specs_;
  std::map<ProcId, ClientId> clients_;
  std::map<ProcId, NodeId> tools_;
  std::map<RequestId, ReplyClient> replies_;
  std::deque<PeerMessage> wire_;
  ClientId last_client_ = 0;
  RequestId last_request_ = 0;
  size_t delivered_ = 0;
  TimeNs now_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_TESTING_H_
