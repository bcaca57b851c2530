#include "tests/sim/member_soak.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "common/status.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr std::array<std::string_view, kNumMemberChanges> kChanges = {
    "joins",   "joins again",  "leaves idle", "leaves busy", "lost",
    "returns", "removed lost", "drained",     "resumed"};
constexpr std::array<std::string_view, 2> kPlaces = {"leaf", "interior"};

constexpr uint64_t kMaxSteps = 2'000'000;
constexpr TimeNs kHorizon = 3600'000 * kMs;
// Maximum time between two fences.
constexpr TimeNs kMaxPause = 2'000 * kMs;
constexpr uint32_t kMaxAdded = 24;
constexpr char kHost[] = "stays";

std::string_view WhyNever(size_t change, size_t place) {
  const auto what = static_cast<MemberChange>(change);
  const bool joins =
      what == MemberChange::kJoins || what == MemberChange::kJoinsAgain;
  return joins && place == 1 ? "a new member is the last one" : "";
}

// The job that stays, or a guest.
struct Party {
  JobSpec spec;
  uint32_t fences_left = 0;  // unused for the job that stays
  bool harmed = false;
};

class MemberSoak {
 public:
  MemberSoak(uint64_t seed, const MemberSoakOptions& options);
  MemberSoakResult Run();

 private:
  struct Member {
    Party* party = nullptr;
    uint64_t begun = 0;  // number of fences
    RequestId waiting = 0;
  };

  uint64_t Random(uint64_t n) { return rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  static uint32_t NodesOf(uint64_t seed, uint32_t radix);
  static uint32_t RadixOf(uint64_t seed, const MemberSoakOptions& options) {
    return options.radix != 0 ? options.radix : seed % 2 == 0 ? 2 : 32;
  }
  const Membership& members() const { return cluster_.members(); }
  void Error(const std::string& text) { result_.errors.push_back(text); }

  void LaunchHost();
  void LaunchGuest();
  Party& Launch(const std::string& nspace, const std::vector<NodeId>& ranks);
  void OnStart(const ProcId& proc);
  void OnAnswer(RequestId request);
  void OnLeave(NodeId node);
  void GoOn(const ProcId& proc);
  void Fence(const ProcId& proc, Member& member);
  bool MustFence(const Member& member) const;

  void Change();
  bool TryChange(MemberChange change);
  bool Join(bool again);
  bool Remove(MemberChange change);
  bool Lose();
  bool Return();
  bool Drain(bool drains);
  // Returns one of the members, or kNoNode if there are none.
  template <typename Is>
  NodeId OneOf(const Is& is);
  bool Stays(NodeId node) const { return stays_.contains(node); }
  bool IsIdle(NodeId node) const { return cluster_.JobsOf(node).empty(); }
  void Harm(NodeId node);
  void Note(MemberChange change, NodeId node);
  std::string FreeName() const;
  void CheckEnd();

  const MemberSoakOptions options_;
  MemberSoakResult result_;
  std::mt19937_64 rng_;
  Cluster cluster_;
  std::set<NodeId> stays_;  // the nodes of the job that stays
  std::map<std::string, std::unique_ptr<Party>> parties_;
  std::map<ProcId, Member> procs_;
  std::map<RequestId, ProcId> waiting_;
  uint32_t num_guests_ = 0;
  uint32_t num_added_ = 0;
  uint64_t max_begun_ = 0;      // of the job that stays
  uint64_t last_ = UINT64_MAX;  // its last fence
  TimeNs last_answer_ = 0;
};

// ------------------------------------------------------------------- plans ---

uint32_t MemberSoak::NodesOf(uint64_t seed, uint32_t radix) {
  std::mt19937_64 rng(seed ^ 0x9e3779b97f4a7c15);
  // With radix 32, members 33 and up are below member 1.
  return static_cast<uint32_t>(radix == 32 ? 36 + rng() % 30 : 8 + rng() % 24);
}

MemberSoak::MemberSoak(uint64_t seed, const MemberSoakOptions& options)
    : options_(options),
      rng_(seed),
      cluster_(NodesOf(seed, RadixOf(seed, options)), RadixOf(seed, options),
               seed) {
  result_.nodes = members().size();
  Options& of = cluster_.options();
  of.max_delay = static_cast<TimeNs>(1 + Random(4)) * kMs;
  of.trace = options.trace;
  if (OneIn(2)) of.overtaking = 2 + Random(10);
  if (OneIn(2)) of.duplicates = 3 + Random(20);
  Hooks& hooks = cluster_.hooks();
  hooks.on_start = [this](const ProcId& proc) { OnStart(proc); };
  hooks.on_exit = [this](const ProcId& proc) { procs_.erase(proc); };
  hooks.on_answer = [this](RequestId request) { OnAnswer(request); };
  hooks.on_leave = [this](NodeId node) { OnLeave(node); };
}

Party& MemberSoak::Launch(const std::string& nspace,
                          const std::vector<NodeId>& ranks) {
  auto party = std::make_unique<Party>();
  party->spec = MakeJob(nspace, ranks);
  cluster_.BeginLaunch(party->spec);
  return *(parties_[nspace] = std::move(party));
}

// The root controls the job, so the root stays as well.
void MemberSoak::LaunchHost() {
  stays_.insert(0);
  for (NodeId node = 1; node < members().size(); ++node) {
    if (OneIn(2)) stays_.insert(node);
  }
  std::vector<NodeId> ranks;
  for (const NodeId node : stays_) {
    for (uint64_t n = 1 + Random(2); n > 0; --n) ranks.push_back(node);
  }
  Launch(kHost, ranks);
}

// A guest has ranks on one to four members that may be placed on; at least one
// of them is no node of the job that stays.
void MemberSoak::LaunchGuest() {
  const auto usable = [this](NodeId node) {
    return members().alive(node) && members().InService(node) &&
           members().IsKnownToAll(node);
  };
  const NodeId free =
      OneOf([&](NodeId node) { return usable(node) && !Stays(node); });
  if (free == kNoNode) return;
  std::vector<NodeId> ranks = {free};
  for (uint64_t n = Random(4); n > 0; --n) ranks.push_back(OneOf(usable));
  Party& guest = Launch("guest" + std::to_string(++num_guests_), ranks);
  guest.fences_left = static_cast<uint32_t>(1 + Random(8));
}

// --------------------------------------------------------------- processes ---

void MemberSoak::OnStart(const ProcId& proc) {
  procs_[proc].party = parties_.at(proc.nspace).get();
  cluster_.At(cluster_.now() + static_cast<TimeNs>(Random(5 * kMs)),
              [this, proc] {
                if (!cluster_.shims().IsRunning(proc)) return;
                cluster_.clients().Connect(proc);
                GoOn(proc);
              });
}

bool MemberSoak::MustFence(const Member& member) const {
  if (member.party->spec.nspace == kHost) return member.begun < last_;
  return member.begun < member.party->fences_left;
}

void MemberSoak::GoOn(const ProcId& proc) {
  const auto it = procs_.find(proc);
  if (it == procs_.end() || !cluster_.shims().IsRunning(proc)) return;
  if (MustFence(it->second)) return Fence(proc, it->second);
  cluster_.Leave(proc);
}

void MemberSoak::Fence(const ProcId& proc, Member& member) {
  const std::string number = std::to_string(member.begun);
  if (member.begun % 4 == 1) {
    cluster_.clients().Commit(proc, Scope::kGlobal, "k" + number,
                              ToString(proc) + "." + number);
  }
  const bool collects = member.begun % 2 == 1;
  if (proc.nspace == kHost)
    max_begun_ = std::max(max_begun_, ++member.begun);
  else
    ++member.begun;
  member.waiting = cluster_.clients().Fence(proc, {}, collects);
  waiting_[member.waiting] = proc;
}

void MemberSoak::OnAnswer(RequestId request) {
  const auto waiting = waiting_.extract(request);
  if (waiting.empty()) return;
  const ProcId proc = waiting.mapped();
  const auto it = procs_.find(proc);
  if (it == procs_.end()) return;
  const int status = cluster_.clients().StatusOf(request);
  if (status != kSuccess && !it->second.party->harmed) {
    Error("fence " + std::to_string(it->second.begun) + " of " +
          ToString(proc) + " has failed with " + std::to_string(status));
  }
  if (proc.nspace == kHost) {
    last_answer_ = cluster_.now();
    result_.fences += proc.rank == 0 ? 1 : 0;
  }
  cluster_.At(cluster_.now() + static_cast<TimeNs>(Random(3 * kMs)),
              [this, proc] { GoOn(proc); });
}

// ----------------------------------------------------------------- changes ---

template <typename Is>
NodeId MemberSoak::OneOf(const Is& is) {
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < members().size(); ++node) {
    if (is(node)) nodes.push_back(node);
  }
  return nodes.empty() ? kNoNode : nodes[Random(nodes.size())];
}

void MemberSoak::Note(MemberChange change, NodeId node) {
  const Tree full(members().size(), members().tree().radix());
  result_.cells.Add(change, full.children(node).empty() ? 0 : 1);
  result_.faults.push_back(std::string(kChanges[static_cast<size_t>(change)]) +
                           ": node " + std::to_string(node) + " at step " +
                           std::to_string(result_.steps));
  if (options_.verbose) fprintf(stderr, "%s\n", result_.faults.back().c_str());
}

void MemberSoak::Harm(NodeId node) {
  for (const std::string& nspace : cluster_.JobsOf(node)) {
    parties_.at(nspace)->harmed = true;
  }
}

void MemberSoak::OnLeave(NodeId node) {
  std::erase_if(procs_, [&](const auto& proc) {
    return cluster_.NodeOf(proc.first) == node;
  });
}

std::string MemberSoak::FreeName() const {
  std::set<std::string> free;
  for (NodeId node = 0; node < members().size(); ++node) {
    if (members().removed(node)) free.insert(members().name(node));
  }
  for (NodeId node = 0; node < members().size(); ++node) {
    if (!members().removed(node)) free.erase(members().name(node));
  }
  return free.empty() ? "" : *free.begin();
}

bool MemberSoak::Join(bool again) {
  const std::string name = again ? FreeName() : "";
  if (num_added_ >= kMaxAdded || (again && name.empty())) return false;
  ++num_added_;
  Note(again ? MemberChange::kJoinsAgain : MemberChange::kJoins,
       cluster_.AddNode(name));
  return true;
}

bool MemberSoak::Remove(MemberChange change) {
  const bool lost = change == MemberChange::kRemovedLost;
  const bool idle = change == MemberChange::kLeavesIdle;
  const NodeId node = OneOf([&](NodeId n) {
    return !Stays(n) && !members().removed(n) && members().alive(n) != lost &&
           (lost || IsIdle(n) == idle);
  });
  if (node == kNoNode) return false;
  Note(change, node);
  Harm(node);
  cluster_.RemoveNode(node);
  return true;
}

bool MemberSoak::Lose() {
  const NodeId node = OneOf([&](NodeId n) {
    return !Stays(n) && !members().removed(n) && members().alive(n);
  });
  if (node == kNoNode) return false;
  Note(MemberChange::kLost, node);
  Harm(node);
  OnLeave(node);
  cluster_.KillNode(node);
  return true;
}

bool MemberSoak::Return() {
  const NodeId node = OneOf(
      [&](NodeId n) { return !members().alive(n) && !members().removed(n); });
  if (node == kNoNode) return false;
  Note(MemberChange::kReturns, node);
  cluster_.ReviveNode(node);
  return true;
}

// The cores learn nothing of it, but later guests have no ranks there.
bool MemberSoak::Drain(bool drains) {
  const NodeId node = OneOf([&](NodeId n) {
    return n != 0 && !members().removed(n) && members().InService(n) == drains;
  });
  if (node == kNoNode) return false;
  Note(drains ? MemberChange::kDrained : MemberChange::kResumed, node);
  cluster_.SetDrained(node, drains);
  return true;
}

bool MemberSoak::TryChange(MemberChange change) {
  switch (change) {
    case MemberChange::kJoins:
    case MemberChange::kJoinsAgain:
      return Join(change == MemberChange::kJoinsAgain);
    case MemberChange::kLost:
      return Lose();
    case MemberChange::kReturns:
      return Return();
    case MemberChange::kDrained:
    case MemberChange::kResumed:
      return Drain(change == MemberChange::kDrained);
    default:
      return Remove(change);
  }
}

void MemberSoak::Change() {
  while (!TryChange(static_cast<MemberChange>(Random(kNumMemberChanges)))) {
  }
  if (cluster_.now() - last_answer_ > kMaxPause) Error("the fences hang");
}

// --------------------------------------------------------------------- run ---

MemberSoakResult MemberSoak::Run() {
  LaunchHost();
  uint32_t left = options_.changes;
  TimeNs next = cluster_.now() + 50 * kMs;
  const TimeNs end = cluster_.now() + kHorizon;
  while (left > 0 && result_.errors.empty()) {
    while (cluster_.RunNext(next)) ++result_.steps;
    next += static_cast<TimeNs>(Random(40 * kMs));
    if (OneIn(3)) LaunchGuest();
    if (options_.sabotage && left == options_.changes / 2) {
      cluster_.shims().Exit({kHost, 0}, 0);
    }
    Change();
    --left;
  }
  last_ = max_begun_ + 2;
  while (cluster_.RunNext(end)) {
    if (++result_.steps <= kMaxSteps) continue;
    Error("it does not come to rest");
    break;
  }
  CheckEnd();
  return std::move(result_);
}

void MemberSoak::CheckEnd() {
  result_.nodes = members().size();
  for (const auto& [proc, member] : procs_) {
    Error(ToString(proc) + " waits for ever in fence " +
          std::to_string(member.begun));
  }
  std::map<std::string, int> ends;
  for (const JobChanged& change : cluster_.launchers().job_changes()) {
    if (change.phase == JobPhase::kEnded) ends[change.nspace] = change.status;
  }
  for (const auto& [nspace, party] : parties_) {
    const auto ended = ends.find(nspace);
    const bool well = ended != ends.end() && ended->second == kSuccess;
    result_.guests += well && nspace != kHost ? 1 : 0;
    if (party->harmed || well) continue;
    Error(nspace + (ended == ends.end()
                        ? std::string(" never ended")
                        : " ended with " + std::to_string(ended->second)));
  }
  for (const std::string& left : cluster_.Leftovers()) Error(left);
  for (const std::string& error : cluster_.errors()) Error(error);
}

}  // namespace

SeedTable MemberTable() {
  return SeedTable({{kChanges.begin(), kChanges.end()},
                    {kPlaces.begin(), kPlaces.end()},
                    WhyNever});
}

MemberSoakResult RunMemberSoak(uint64_t seed,
                               const MemberSoakOptions& options) {
  return MemberSoak(seed, options).Run();
}

}  // namespace canopy::sim
