// The cluster's engine: time, the network and its faults, and what is done with
// the cores' actions.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/status.h"
#include "server/core/kval.h"
#include "server/ports/client_port.h"
#include "tests/sim/cluster.h"
#include "tests/sim/trace.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

enum class Kind { kOrdered, kData, kStream };

template <typename... T>
bool IsOneOf(const MessageBody& body) {
  return (std::holds_alternative<T>(body) || ...);
}

// As the overlay's priorities: data may be overtaken by what is small.
Kind KindOf(const MessageBody& body) {
  if (IsOneOf<OutputData, OutputCredit, InputData, InputCredit>(body)) {
    return Kind::kStream;
  }
  const auto* up = std::get_if<CollectiveUp>(&body);
  if (up != nullptr && up->status == kAlreadyReleased) return Kind::kOrdered;
  if (IsOneOf<CollectiveUp, CollectiveDown, DmodexRequest, DmodexReply,
              EventMessage, StateQuery, StateReply>(body)) {
    return Kind::kData;
  }
  return Kind::kOrdered;
}

// What is published once these changes are.
PublishRank WithChanges(const PublishRank& old, const PublishRank& changes) {
  std::map<std::string, std::string> visible;
  std::set<std::string> outside(old.outside.begin(), old.outside.end());
  for (const PublishRank* part : {&old, &changes}) {
    std::string_view rest = part->visible.view();
    core::KvalPiece piece;
    while (core::TakeKval(&rest, &piece)) {
      visible[std::string(piece.key)] = piece.whole;
      outside.erase(std::string(piece.key));
    }
  }
  outside.insert(changes.outside.begin(), changes.outside.end());
  std::string kvals;
  for (const auto& [key, kval] : visible) kvals += kval;
  return {
      changes.proc, Bytes(std::move(kvals)), {outside.begin(), outside.end()}};
}

}  // namespace

std::vector<NodeId> PathOf(const Tree& tree, NodeId from, NodeId to) {
  std::vector<NodeId> up;
  std::vector<NodeId> down;
  while (from != to && from != kNoNode && to != kNoNode) {
    if (from > to) {
      up.push_back(from);
      from = tree.parent(from);
    } else {
      down.push_back(to);
      to = tree.parent(to);
    }
  }
  up.push_back(from);
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

TimeNs Cluster::RandomDelay(uint64_t times) {
  return static_cast<TimeNs>(rng_() % (times * max_delay_));
}

// ----------------------------------------------------------------- faults ---

void Cluster::Tell(TimeNs when, NodeId observer, News news) {
  Event event;
  event.node = observer;
  event.life = nodes_[observer].life;
  event.news = std::move(news);
  queue_.emplace(std::pair(when, sequence_++), std::move(event));
}

void Cluster::Believe(NodeId observer, News news) {
  ViewOf(observer, news.subject) = {news.net_life, news.up, false};
  heard_[observer].push_back(std::move(news));
}

void Cluster::ForgetNews(NodeId observer) {
  nodes_[observer].forgot = true;
  heard_[observer].clear();
  std::erase_if(passed_on_, [&](const auto& item) {
    return item.first.first == observer || item.first.second == observer;
  });
}

void Cluster::Apply(NodeId observer, const News& news) {
  const View view = ViewOf(observer, news.subject);
  if (view.cleared) {
    Believe(observer, news);
    if (news.up) Step(observer, NodeStateChanged{news.subject, true, ""});
    return;
  }
  if (news.net_life < view.net_life) return;
  if (news.net_life == view.net_life && (news.up || !view.up)) return;
  Believe(observer, news);
  if (view.up && news.recovered) {
    return Step(observer, NodeRestarted{news.subject});
  }
  if (view.up) {
    Step(observer,
         NodeStateChanged{news.subject, false,
                          news.up ? "the agent was restarted" : news.reason});
  }
  if (news.up) Step(observer, NodeStateChanged{news.subject, true, ""});
}

// What `from` has known from the beginning of those of whom `node` has
// forgotten everything.
std::map<NodeId, Cluster::News> Cluster::KnownFirst(NodeId from, NodeId node) {
  std::map<NodeId, News> out;
  if (nodes_[from].forgot || !nodes_[node].forgot) return out;
  for (NodeId n = 0; n < nodes_.size(); ++n) {
    if (n != from && ViewOf(node, n).cleared) out[n] = {n, true, 0, ""};
  }
  return out;
}

// Each link brings news of members before anything else
// (TreeOverlay::Flush), and each agent on the way takes them in before it
// passes a packet on (TreeOverlay::OnFrame): whoever gets a message believes in
// its sender, and has heard what that had heard when it sent it. Nothing more:
// what the sender hears afterwards may come by another way, or later.
void Cluster::CatchUp(const Event& message) {
  const NodeId node = message.node;
  const NodeId from = message.from;
  size_t& passed_on = passed_on_[{node, from}];
  std::map<NodeId, News> last;
  // The first one brings all that is known.
  if (passed_on == 0) last = KnownFirst(from, node);
  for (size_t i = passed_on; i < message.heard; ++i) {
    last[heard_[from][i].subject] = heard_[from][i];
  }
  passed_on = std::max(passed_on, message.heard);
  for (const auto& [subject, news] : last) {
    if (subject != node) Apply(node, news);
  }
  Apply(node, {from, true, message.from_life, "", nodes_[from].recovered});
}

void Cluster::KillNode(NodeId node) {
  if (!nodes_[node].alive) return;
  Node& lost = nodes_[node];
  lost.alive = false;
  lost.core.reset();
  SetDeadline(node, kNever);
  oracle_.OnNodeReset(node);
  const Tree before = tree_;
  tree_.SetAlive(node, false);
  SpreadLoss(node, before);
  // What it sent and nobody has read is lost with its connections.
  ++lost.net_life;
  std::erase_if(queue_, [&](const auto& item) {
    const Event& event = item.second;
    if (event.from == kNoNode || event.from == node || event.node == node) {
      return false;
    }
    const auto path = PathOf(before, event.from, event.node);
    return std::ranges::count(path, node) > 0 && rng_() % 2 == 0;
  });
}

// The neighbours notice; from each of them the news goes through its part of
// the tree.
void Cluster::SpreadLoss(NodeId node, const Tree& before) {
  const News news{node, false, nodes_[node].net_life, "killed by the test"};
  Hole hole{before, node, news.net_life, {}, 0};
  std::vector<NodeId> near = before.children(node);
  if (before.parent(node) != kNoNode) near.push_back(before.parent(node));
  for (const NodeId first : near) {
    const TimeNs noticed = now_ + RandomDelay(3);
    hole.known[first] = noticed;
    std::vector<std::tuple<NodeId, NodeId, TimeNs>> todo;
    todo.emplace_back(first, node, noticed);
    while (!todo.empty()) {
      const auto [at, from, when] = todo.back();
      todo.pop_back();
      hole.end = std::max(hole.end, when);
      if (nodes_[at].alive) Tell(when, at, news);
      std::vector<NodeId> next = before.children(at);
      if (before.parent(at) != kNoNode) next.push_back(before.parent(at));
      for (const NodeId to : next) {
        if (to != from) todo.emplace_back(to, at, when + RandomDelay());
      }
    }
  }
  std::erase_if(holes_, [&](const Hole& h) { return h.end < now_; });
  holes_.push_back(std::move(hole));
}

// Whether a message is lost on its way through a node that is gone; it may
// also be kept there until the loss is noticed.
bool Cluster::FallsIntoHole(NodeId from, NodeId to, TimeNs* when) {
  for (const Hole& hole : holes_) {
    // Whoever knows sends another way.
    if (hole.end < now_ || nodes_[hole.node].alive ||
        !ViewOf(from, hole.node).up) {
      continue;
    }
    const auto path = PathOf(hole.tree, from, to);
    const auto at = std::ranges::find(path, hole.node);
    if (at == path.end() || at == path.begin()) continue;
    const auto noticed = hole.known.find(*(at - 1));
    const View& view = ViewOf(*(at - 1), hole.node);
    if (noticed == hole.known.end() || noticed->second <= now_ ||
        view.net_life > hole.net_life || !view.up) {
      continue;
    }
    if (rng_() % 2 == 0) return true;
    *when = std::max(*when, noticed->second + RandomDelay());
  }
  return false;
}

void Cluster::ReviveNode(NodeId node) {
  Node& back = nodes_[node];
  const uint64_t life = back.life + 1;
  const uint64_t net_life = back.net_life + 1;
  const uint64_t machine = back.machine + 1;
  back = Node();
  back.machine = machine;
  back.life = life;
  back.net_life = net_life;
  back.core = std::make_unique<AgentCore>(ConfigOf(node));
  tree_.SetAlive(node, true);
  ForgetNews(node);
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (other == node) continue;
    Believe(node, {other, true, nodes_[other].net_life, ""});
    if (!nodes_[other].alive) {
      Tell(now_, node,
           {other, false, nodes_[other].net_life, "was lost before"});
      continue;
    }
    Tell(now_ + RandomDelay(6), other, {node, true, net_life, ""});
  }
}

void Cluster::Rejoin(NodeId node) {
  if (!nodes_[node].alive) return;
  const uint64_t life = ++nodes_[node].net_life;
  nodes_[node].recovered = false;
  ForgetNews(node);
  const TimeNs settled = now_ + RandomDelay(6);
  mute_ = node;
  // What was on its way to it came over links that are no more.
  std::erase_if(queue_, [&](const auto& item) {
    return item.second.news && item.second.node == node;
  });
  for (NodeId other = 0; other < nodes_.size(); ++other) {
    if (other == node) continue;
    View& view = ViewOf(node, other);
    const bool was_up = std::exchange(view.up, false);
    view.cleared = true;
    if (was_up) Step(node, NodeStateChanged{other, false, "was cut off"});
    const uint64_t other_life = nodes_[other].net_life;
    if (!nodes_[other].alive) {
      Tell(settled, node, {other, false, other_life, "lost"});
      continue;
    }
    // It takes no links before its new parent has told it who is there.
    const TimeNs when = settled + RandomDelay(6);
    if (rng_() % 2 == 0) {
      Tell(when, other, {node, false, life - 1, "it did not connect in time"});
    }
    Tell(when + RandomDelay(3), other, {node, true, life, ""});
    Tell(settled, node, {other, true, other_life, ""});
  }
  mute_ = kNoNode;
}

void Cluster::Split(const std::set<NodeId>& cut_off) {
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    nodes_[node].side = cut_off.contains(node) ? 1 : 0;
  }
  for (NodeId a = 0; a < nodes_.size(); ++a) {
    for (NodeId b = 0; b < nodes_.size(); ++b) {
      if (nodes_[a].side == nodes_[b].side || !nodes_[a].alive ||
          !nodes_[b].alive) {
        continue;
      }
      Tell(now_ + RandomDelay(6), a,
           {b, false, nodes_[b].net_life, "no word from it"});
    }
  }
}

void Cluster::Heal() {
  std::vector<NodeId> cut_off;
  for (NodeId node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].side != 0) cut_off.push_back(node);
    nodes_[node].side = 0;
  }
  for (const NodeId node : cut_off) Rejoin(node);
}

void Cluster::Stall(NodeId node, TimeNs duration) {
  stalls_[node] = now_ + duration;
}

TimeNs Cluster::AfterStalls(NodeId from, NodeId to, TimeNs when) const {
  for (const auto& [node, until] : stalls_) {
    if (until <= when) continue;
    const NodeId parent = tree_.parent(node);
    const auto path = PathOf(tree_, from, to);
    if (std::ranges::count(path, node) > 0 &&
        std::ranges::count(path, parent) > 0) {
      when = until;
    }
  }
  return when;
}

// ------------------------------------------------------------ the engine ---

void Cluster::Post(TimeNs when, NodeId node, core::Input input) {
  Event event;
  event.node = node;
  event.input = std::move(input);
  event.life = nodes_[node].life;
  queue_.emplace(std::pair(when, sequence_++), std::move(event));
}

void Cluster::PostMessage(TimeNs when, NodeId from, PeerMessage message) {
  Event event;
  event.node = message.dst;
  event.life = nodes_[event.node].life;
  event.from = from;
  event.net_life = nodes_[event.node].net_life;
  event.from_life = nodes_[from].net_life;
  event.heard = heard_[from].size();
  event.input = PeerArrived{std::move(message)};
  queue_.emplace(std::pair(when, sequence_++), std::move(event));
}

void Cluster::At(TimeNs when, std::function<void()> what) {
  Event event;
  event.node = kNoNode;
  event.what = std::move(what);
  queue_.emplace(std::pair(when, sequence_++), std::move(event));
}

bool Cluster::Deliverable(const Event& event) const {
  const Node& node = nodes_[event.node];
  if (!node.alive || node.life != event.life) return false;
  if (event.from == kNoNode) return true;
  const Node& from = nodes_[event.from];
  return node.net_life == event.net_life && from.net_life == event.from_life &&
         node.side == from.side;
}

bool Cluster::RunOne() {
  if (queue_.empty()) return false;
  auto item = queue_.extract(queue_.begin());
  now_ = std::max(now_, item.key().first);
  Event& event = item.mapped();
  if (event.what) {
    event.what();
  } else if (Deliverable(event)) {
    if (event.news) {
      Apply(event.node, *event.news);
      return true;
    }
    if (event.from != kNoNode) CatchUp(event);
    Step(event.node, std::move(event.input));
  }
  return true;
}

void Cluster::Run() {
  while (RunOne()) {
  }
}

bool Cluster::RunNext(TimeNs end) {
  const TimeNs event = queue_.empty() ? kNever : queue_.begin()->first.first;
  const TimeNs timer = timers_.empty() ? kNever : timers_.begin()->first;
  if (std::min(event, timer) > end) return false;
  if (event <= timer) return RunOne();
  const NodeId due = timers_.begin()->second;
  now_ = std::max(now_, timer);
  SetDeadline(due, kNever);
  Step(due, Tick{});
  return true;
}

void Cluster::RunFor(TimeNs duration) {
  const TimeNs end = now_ + duration;
  while (RunNext(end)) {
  }
  now_ = end;
}

void Cluster::SetDeadline(NodeId node, TimeNs when) {
  timers_.erase({nodes_[node].deadline, node});
  nodes_[node].deadline = when;
  if (when != kNever) timers_.emplace(when, node);
}

void Cluster::Step(NodeId node, core::Input input) {
  if (const auto* peer = std::get_if<PeerArrived>(&input)) {
    const size_t kind = peer->message.body.index();
    ++messages_[kind];
    ++nodes_[node].received[kind];
  }
  const std::string what = trace_ ? Show(input) : std::string();
  Actions actions = nodes_[node].core->Step(now_, std::move(input));
  if (trace_) Trace(node, what, actions);
  Execute(node, std::move(actions));
  if (checker_) checker_();
}

void Cluster::Trace(NodeId node, const std::string& what,
                    const Actions& actions) const {
  fprintf(stderr, "%.3f n%u %s\n", static_cast<double>(now_) / kMs, node,
          what.c_str());
  for (const Action& action : actions) {
    const std::string text = Show(action);
    if (!text.empty()) fprintf(stderr, "    n%u %s\n", node, text.c_str());
  }
}

void Cluster::Execute(NodeId node, Actions actions) {
  bool replied = false;
  for (Action& action : actions) {
    replied |= std::holds_alternative<ReplyClient>(action);
    const auto* peer = std::get_if<SendPeer>(&action);
    if (one_release_a_step_ && replied && peer != nullptr &&
        std::holds_alternative<CollectiveDown>(peer->message.body)) {
      errors_.push_back("release sent on after a reply");
    }
    std::visit([&](auto& a) { Do(node, a); }, action);
  }
}

void Cluster::Do(NodeId node, SendPeer& a) {
  const NodeId to = a.message.dst;
  if (to == node || to >= nodes_.size()) {
    errors_.push_back("message to nobody");
    return;
  }
  a.message.src = node;
  oracle_.OnSend(a.message);
  if (node == mute_) return;
  // Meant for a life of it that is over.
  const View& view = ViewOf(node, to);
  if (!view.cleared && view.net_life < nodes_[to].net_life) return;
  if (!nodes_[to].alive) return;
  const Kind kind = KindOf(a.message.body);
  TimeNs when = now_ + RandomDelay();
  if (FallsIntoHole(node, to, &when)) return;
  when = AfterStalls(node, to, when);
  TimeNs& last = last_arrival_[{node, to}];
  const bool overtakes =
      overtaking_ != 0 && kind == Kind::kData && rng_() % overtaking_ == 0;
  if (!overtakes) last = when = std::max(when, last);
  if (duplicates_ != 0 && kind != Kind::kStream && rng_() % duplicates_ == 0) {
    PostMessage(when + RandomDelay(10), node, a.message);
  }
  PostMessage(when, node, std::move(a.message));
}

void Cluster::Do(NodeId node, ReplyClient& a) {
  if (!node_of_client_.contains(a.client) ||
      node_of_client_[a.client] != node) {
    errors_.push_back("reply to a client of another node");
  }
  const bool added =
      answers_
          .try_emplace(a.request,
                       Answer{a.status, std::string(a.payload.view()), now_})
          .second;
  if (!added) errors_.push_back("a request was answered twice");
  oracle_.OnReply(node, a.request, a.status);
  if (const auto get = gets_.find(a.request); get != gets_.end()) {
    oracle_.OnGetReply(get->second, a.payload.view());
  }
  CountEnd(a.request, a.status);
  if (on_answer_) on_answer_(a.request);
}

void Cluster::Do(NodeId, NotifyClient& a) {
  notices_.push_back({a.client, a.status, a.source});
}

void Cluster::Do(NodeId, CloseClient& a) { closed_.push_back(a.client); }

void Cluster::Do(NodeId node, RegisterJob& a) {
  if (!nodes_[node].registered.insert(a.job->nspace).second) {
    errors_.push_back("job registered twice");
  }
}

void Cluster::Do(NodeId node, DropJob& a) {
  if (nodes_[node].registered.erase(a.nspace) == 0) {
    errors_.push_back("job dropped that is not registered");
  }
  std::erase_if(nodes_[node].published, [&](const auto& item) {
    return item.first.nspace == a.nspace;
  });
  oracle_.OnDrop(node, a.nspace);
}

void Cluster::Do(NodeId node, PublishRank& a) {
  if (!nodes_[node].registered.contains(a.proc.nspace)) {
    errors_.push_back("published for a job that is not registered");
  }
  PublishRank& published = nodes_[node].published[a.proc];
  published = a.only_changes ? WithChanges(published, a) : a;
  oracle_.OnPublish(node, published);
  if (a.request == 0) return;
  ReplyClient reply{a.client, a.request, kSuccess, {}};
  Do(node, reply);
}

void Cluster::Do(NodeId node, PrepareLocal& a) {
  nodes_[node].layouts[a.job->nspace] = a.layout;
  if (restarts_) nodes_[node].shims[a.job->nspace];
  Input(node, LocalPrepared{a.job->nspace, 0, ""});
}

void Cluster::Do(NodeId node, StartLocal& a) {
  const JobLayout& layout = *nodes_[node].layouts.at(a.nspace);
  const auto& ranks = layout.ranks_on(layout.node_of_agent(node));
  if (restarts_) nodes_[node].shims[a.nspace].started = true;
  if (!started_.insert({node, nodes_[node].machine, a.nspace}).second) {
    errors_.push_back("job " + a.nspace + " started twice on node " +
                      std::to_string(node));
  }
  nodes_[node].running[a.nspace].insert(ranks.begin(), ranks.end());
  Input(node,
        LocalStarted{a.nspace, static_cast<uint32_t>(ranks.size()), 0, ""});
  for (const Rank rank : ranks) {
    if (on_start_) on_start_({a.nspace, rank});
  }
}

void Cluster::Do(NodeId node, SignalLocal& a) {
  for (const Rank rank : nodes_[node].running[a.nspace]) {
    if (!a.ranks.empty() && std::ranges::count(a.ranks, rank) == 0) continue;
    ++signals_[{a.nspace, rank}];
  }
}

void Cluster::Do(NodeId node, KillLocal& a) {
  if (ignore_kills_) return;
  const std::set<Rank> running = nodes_[node].running[a.nspace];
  for (const Rank rank : running) {
    if (!a.ranks.empty() && std::ranges::count(a.ranks, rank) == 0) continue;
    if (kill_delay_ == 0) {
      Exit({a.nspace, rank}, 15);
      continue;
    }
    const uint64_t machine = nodes_[node].machine;
    At(now_ + static_cast<TimeNs>(rng_() % kill_delay_),
       [this, node, machine, proc = ProcId{a.nspace, rank}] {
         const Node& there = nodes_[node];
         if (there.alive && there.machine == machine) Exit(proc, 15);
       });
  }
}

void Cluster::Do(NodeId node, core::SetDeadline& a) {
  SetDeadline(node, a.when);
}

void Cluster::Do(NodeId node, JobChanged& a) {
  job_changes_.push_back(a);
  if (a.phase != JobPhase::kEnded) return;
  nodes_[node].control.erase(a.nspace);
  if (restarts_) nodes_[node].over.insert(a.nspace);
}

void Cluster::Do(NodeId node, DeliverOutput& a) {
  delivered_[{a.nspace, a.rank}] += a.data.size();
  if (!a.data.empty()) {
    Input(node, OutputConsumed{a.nspace, a.rank, a.data.size()});
  }
}

void Cluster::Do(NodeId, StateCollected& a) { states_.push_back(a); }
void Cluster::Do(NodeId, LogLine& a) { log_.push_back(a.text); }

}  // namespace canopy::sim
