// Jobs that a scheduler places well, badly, twice, late or never, or that goes
// away at any moment, under a root that is killed and restarted at any moment:
// the agent's own parts from the launcher's request to the launch, between a
// scheduler and a core that seeds play.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/agent/membership/membership.h"
#include "server/agent/membership/planner.h"
#include "server/control/control_testing.h"
#include "server/control/job_manager.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_commands_port.h"
#include "server/scheduler/fake_report_store.h"
#include "server/scheduler/fake_service_client.h"
#include "server/scheduler/job_placement.h"
#include "server/scheduler/link.h"
#include "server/scheduler/reports.h"

namespace canopy::agent {
namespace {

namespace v1 = hostmodule::v1;
using scheduler::CallEnd;
using scheduler::CallPtr;

constexpr int kGone = 14;
constexpr int kInternal = 13;
constexpr uint32_t kSlots = 4;  // of each node
constexpr char kLost[] = "lost";
constexpr char kDrained[] = "drained";
constexpr const char* kNodes[] = {"n0", "n1", "n2", "n3", kLost, kDrained};
constexpr size_t kUsable = 4;  // the first of these
constexpr uint64_t kMaxSteps = 20'000;

// How the scheduler treats a request.
enum class Manner : uint8_t {
  kWell,
  kTwice,           // grants again, elsewhere
  kRefusesToo,      // what it has granted
  kDiesBefore,      // it answers
  kDiesAfter,       // it has granted, before it is told of the launch
  kEndsSilently,    // the call; and places the job when it is asked again
  kOversubscribes,  // grants slots that others have
  // Those above place the job in the end.
  kMalformed,
  kUnknownNode,
  kLostNode,
  kDrainedNode,
  kTooFew,  // slots for the processes
  kRefuses,
  kFails,
  kNever,  // answers
};
constexpr size_t kNumManners = 15;

bool Places(Manner manner) { return manner <= Manner::kOversubscribes; }

// What is under way, in an order that a seed chooses.
class Events {
 public:
  explicit Events(uint64_t seed) : rng_(seed) {}

  uint64_t Random(uint64_t n) { return rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  void Post(uint64_t delay, std::function<void()> what) {
    events_.emplace(now_ + delay, std::move(what));
  }
  bool RunOne() {
    if (events_.empty()) return false;
    now_ = std::max(now_, events_.begin()->first);
    const auto what = std::move(events_.extract(events_.begin()).mapped());
    what();
    return true;
  }

 private:
  std::mt19937_64 rng_;
  uint64_t now_ = 0;
  std::multimap<uint64_t, std::function<void()>> events_;
};

// -------------------------------------------------------------- scheduler ---

// One decision, of a request that may come more than once.
struct Decision {
  Manner manner = Manner::kWell;
  uint32_t wanted = 0;
  bool asked_again = false;
  std::map<std::string, uint32_t> granted;  // slots by node; empty: none yet
  int status = 0;                           // of a refusal
  uint32_t launched = 0;                    // how often it was told so
  uint32_t released = 0;
  std::string nspace;  // of its job, while that runs
  uint64_t root = 0;   // that has asked last
  bool cancelled = false;
};

class PlayedService : public scheduler::FakeServiceClient {
 public:
  using Error = std::function<void(const std::string&)>;
  using FakeServiceClient::Send;

  PlayedService(Events* events, Error error)
      : events_(*events), error_(std::move(error)) {}

  // The root has died: what it has asked is of no interest. The next attaches,
  // and its snapshot says what uses nodes; what does not, and is not asked for
  // again, is free.
  void ReplaceRoot(std::function<bool(const std::string&)> is_used) {
    ++root_;
    for (PlaceCall& call : calls_) call.over = true;
    events_.Post(kSettle, [this, root = root_, is_used] {
      for (auto& [request, it] : decisions) {
        if (it.root < root && !is_used(request)) ++it.released;
      }
    });
  }

  CallPtr Send(const v1::GetCapabilitiesRequest&, int64_t,
               Done<v1::GetCapabilitiesReply> done) override {
    events_.Post(1, [this, done, root = root_] {
      if (root != root_) return;
      v1::GetCapabilitiesReply reply;
      reply.add_slots(v1::SLOT_PLACE_JOB);
      done(alive_ ? CallEnd() : CallEnd{kGone, "away"}, reply);
    });
    return std::make_shared<scheduler::FakeCall>();
  }
  CallPtr Send(const v1::JobLaunchedRequest& request, int64_t,
               Done<v1::JobLaunchedReply> done) override {
    return Take<v1::JobLaunchedReply>(std::move(done), [this, request] {
      ++decisions.at(request.placement().request_id()).launched;
    });
  }
  CallPtr Send(const v1::JobReleasedRequest& request, int64_t,
               Done<v1::JobReleasedReply> done) override {
    return Take<v1::JobReleasedReply>(std::move(done), [this, request] {
      const auto it = decisions.find(request.placement().request_id());
      if (it == decisions.end()) return;  // it was cancelled on its way
      ++it->second.released;
      if (it->second.nspace.empty()) return;
      error_("what " + it->second.nspace + " runs on is released");
    });
  }
  CallPtr Place(const v1::PlaceJobRequest& request, int64_t,
                std::function<void(const v1::PlacementUpdate&)> on_update,
                std::function<void(const CallEnd&)> on_end) override {
    const size_t number = calls_.size();
    calls_.push_back({request.placement().request_id(), std::move(on_update),
                      std::move(on_end),
                      std::make_shared<scheduler::FakeCall>()});
    const CallPtr call = calls_.back().call;
    events_.Post(events_.Random(20), [this, number, request] {
      if (calls_[number].over) return;
      if (!alive_) return End(number, {kGone, "away"});
      if (calls_[number].call->cancelled) return End(number, {1, "cancelled"});
      Hear(request);
      Decide(number);
    });
    return call;
  }

  // Slots of a node that nobody was granted, or has back.
  uint32_t Free(const std::string& node) const {
    uint32_t used = 0;
    for (const auto& [request, it] : decisions) {
      const auto granted = it.granted.find(node);
      const bool counts = it.manner != Manner::kOversubscribes &&
                          it.released == 0 && granted != it.granted.end();
      used += counts ? granted->second : 0;
    }
    return used < kSlots ? kSlots - used : 0;
  }

  std::map<std::string, Decision> decisions;  // by request
  // Of requests that come from now on.
  std::function<Manner()> manner;
  uint64_t deaths = 0;

 private:
  struct PlaceCall {
    std::string request;
    std::function<void(const v1::PlacementUpdate&)> on_update;
    std::function<void(const CallEnd&)> on_end;
    std::shared_ptr<scheduler::FakeCall> call;
    bool over = false;
  };

  template <typename Reply>
  CallPtr Take(Done<Reply> done, std::function<void()> effect) {
    events_.Post(1 + events_.Random(5), [this, done, effect, root = root_] {
      if (!alive_ && root != root_) return;
      if (!alive_) return done({kGone, "away"}, Reply());
      effect();
      if (root != root_) return;
      // It may have taken it and not said so.
      done(events_.OneIn(8) ? CallEnd{kGone, "lost"} : CallEnd(), Reply());
    });
    return std::make_shared<scheduler::FakeCall>();
  }

  void Hear(const v1::PlaceJobRequest& request) {
    const auto [it, is_new] =
        decisions.try_emplace(request.placement().request_id());
    Decision& decision = it->second;
    if (decision.released > 0) {  // it is decided anew
      decision.granted.clear();
      decision.released = 0;
    }
    decision.asked_again = !is_new;
    decision.root = root_;
    decision.wanted = request.num_slots();
    if (is_new) decision.manner = manner();
  }

  void Decide(size_t number) {
    PlaceCall& call = calls_[number];
    if (call.over || call.call->cancelled) return End(number, {1, "cancelled"});
    Decision& it = decisions.at(call.request);
    switch (it.manner) {
      case Manner::kDiesBefore:
        if (!it.asked_again) return Die();
        return Grant(number, &it);
      case Manner::kEndsSilently:
        if (!it.asked_again) return End(number, {});
        return Grant(number, &it);
      case Manner::kRefuses:
        return Refuse(number, &it);
      case Manner::kFails:
        return End(number, {kInternal, "exception"});
      case Manner::kNever:
        return;
      default:
        return Grant(number, &it);
    }
  }

  // Where there is room, once for each request.
  bool Choose(Decision* it) const {
    uint32_t left = it->wanted;
    for (size_t i = 0; i < kUsable && left > 0; ++i) {
      const bool over = it->manner == Manner::kOversubscribes;
      const uint32_t take = std::min(left, over ? kSlots : Free(kNodes[i]));
      if (take == 0) continue;
      it->granted[kNodes[i]] = take;
      left -= take;
    }
    if (left > 0) it->granted.clear();
    return left == 0;
  }

  void Grant(size_t number, Decision* it) {
    if (it->granted.empty() && Places(it->manner) && !Choose(it)) {
      v1::PlacementUpdate update;
      update.mutable_queued()->set_reason("no room");
      Update(number, update, 0);
      return events_.Post(30, [this, number] { Decide(number); });
    }
    v1::PlacementUpdate update =
        Places(it->manner) ? GrantOf(it->granted) : BadGrant(it);
    Update(number, update, 0);
    if (it->manner == Manner::kTwice) {
      Update(number, GrantOf({{kNodes[0], 1}}), events_.Random(10));
    } else if (it->manner == Manner::kRefusesToo) {
      v1::PlacementUpdate refused;
      refused.mutable_refused();
      Update(number, refused, events_.Random(10));
    } else if (it->manner == Manner::kDiesAfter) {
      events_.Post(events_.Random(3), [this] { Die(); });
    } else if (events_.OneIn(2)) {
      events_.Post(10, [this, number] { End(number, {}); });
    }
  }

  static v1::PlacementUpdate GrantOf(
      const std::map<std::string, uint32_t>& slots) {
    v1::PlacementUpdate update;
    update.mutable_granted()->set_host_job_id("job");
    for (const auto& [name, count] : slots) {
      v1::GrantedNode* const node = update.mutable_granted()->add_nodes();
      node->set_name(name);
      node->set_slots(count);
    }
    return update;
  }

  v1::PlacementUpdate BadGrant(Decision* it) {
    switch (it->manner) {
      case Manner::kUnknownNode:
        it->granted = {{"nowhere", it->wanted}};
        break;
      case Manner::kLostNode:
        it->granted = {{kLost, it->wanted}};
        break;
      case Manner::kDrainedNode:
        it->granted = {{kDrained, it->wanted}};
        break;
      case Manner::kTooFew:
        it->granted = {{kNodes[0], it->wanted - 1}};
        break;
      default: {
        v1::PlacementUpdate update = GrantOf({{kNodes[1], it->wanted}});
        if (events_.OneIn(2)) {
          *update.mutable_granted()->add_nodes() = update.granted().nodes(0);
        } else {
          update.mutable_granted()->mutable_nodes(0)->set_slots(0);
        }
        it->granted = {{kNodes[1], 0}};
        return update;
      }
    }
    return GrantOf(it->granted);
  }

  void Refuse(size_t number, Decision* it) {
    it->status = kErrJobInsufficientResources;
    v1::PlacementUpdate update;
    update.mutable_refused()->set_status(it->status);
    Update(number, update, 0);
  }

  // Also of a call that has its answer; as long as the connection is there.
  void Update(size_t number, const v1::PlacementUpdate& update,
              uint64_t delay) {
    events_.Post(delay, [this, number, update] {
      if (!calls_[number].over) calls_[number].on_update(update);
    });
  }
  void End(size_t number, const CallEnd& end) {
    events_.Post(0, [this, number, end] {
      if (!std::exchange(calls_[number].over, true)) {
        calls_[number].on_end(end);
      }
    });
  }

  void Die() {
    if (!std::exchange(alive_, false)) return;
    ++deaths;
    for (size_t i = 0; i < calls_.size(); ++i) End(i, {kGone, "it has died"});
    events_.Post(5 + events_.Random(50), [this] { alive_ = true; });
  }

  static constexpr uint64_t kSettle = 1000;

  Events& events_;
  const Error error_;
  uint64_t root_ = 0;  // number of the one that calls
  std::vector<PlaceCall> calls_;
  bool alive_ = true;
};

// -------------------------------------------------------------------- the run
// ---

class NoCommands : public JobCommandsPort {
 public:
  Status KillHostJob(const std::string&, const std::string&, bool) override {
    return {};
  }
  Status SignalHostJob(const std::string&, int) override { return {}; }
  Status SetHostTimeLimit(const std::string&, uint32_t, uint32_t) override {
    return {};
  }
  Status RequeueHostJob(const std::string&, const std::string&) override {
    return {};
  }
  void LaunchHostJob(const HostLaunch&, Launched) override {}
  std::string HostLaunched(const PlacementId&) const override { return ""; }
  Status DrainNode(const std::string&, const std::string&) override {
    return {};
  }
  Status ResumeNode(const std::string&) override { return {}; }
};

// One who runs a job, or a process that spawns one.
struct Asker {
  uint64_t id = 0;  // of the launcher, at the present root
  control::v1::RunRequest launch;
  bool launched = false;  // it has asked
  control::Stream stream;
  std::string request;   // its name, once known
  bool meddled = false;  // somebody has ended it: any status is right
  // Of a spawn: its answers.
  std::vector<int> answers;
  bool executing = false;  // by the present root
};

class PlacementSim : public InputSink {
 public:
  // `restarts`: how often the root is killed at most.
  PlacementSim(uint64_t seed, int restarts)
      : events_(seed),
        restarts_(restarts),
        service_(&events_, [this](const std::string& e) { Error(e); }),
        membership_(Config()),
        planner_(Members(), 0, 7) {
    membership_.Set(Members());
    membership_.OnNodeStateChanged({kUsable, false, "it burns"});
    EXPECT_TRUE(membership_.Drain(kDrained, "maintenance").ok());
    service_.manner = [this] {
      // One in two is well, so that others have something to disturb.
      return events_.OneIn(2)
                 ? Manner::kWell
                 : static_cast<Manner>(events_.Random(kNumManners));
    };
    Start();
  }

  void Run() {
    for (uint64_t n = 3 + events_.Random(6); n > 0; --n) Launch();
    uint64_t steps = 0;
    while (steps++ < kMaxSteps && !IsOver()) {
      if (!events_.RunOne()) Idle();
      root_->loop.RunOnce(0);
      if (events_.OneIn(60)) Meddle();
      if (restarts_ > 0 && events_.OneIn(70)) Restart();
    }
    // What is told of them comes through in the end.
    for (int i = 0; i < kRounds && !IsTold(); ++i) {
      if (!events_.RunOne()) root_->loop.RunOnce(1);
      root_->loop.RunOnce(0);
    }
    Check();
  }

  const std::vector<std::string>& errors() const { return errors_; }
  const PlayedService& service() const { return service_; }

  void OnInput(core::Input input) override {
    if (const auto* launch = std::get_if<core::LaunchRequested>(&input)) {
      events_.Post(0, [this, job = launch->job] { OnLaunch(*job); });
    } else if (const auto* kill = std::get_if<core::KillRequested>(&input)) {
      events_.Post(events_.Random(5), [this, kill = *kill] {
        EndJob(kill.nspace, kErrJobKilledByCmd);
      });
    } else if (const auto* done = std::get_if<core::SpawnDone>(&input)) {
      OnAnswer(*done);
    } else if (const auto* known = std::get_if<core::SpawnRecovered>(&input)) {
      spawns_[{known->proc, known->request}].executing = true;
    }
  }

 private:
  static constexpr int64_t kPauseNs = 500'000;
  static constexpr int kRounds = 2000;

  // The parts of one root agent.
  struct Root {
    explicit Root(PlacementSim* sim)
        : link(
              &loop, &sim->service_, v1::Overlay(), "there",
              [](const core::LogLine&) {}, kPauseNs),
          reports(sim->ReportsOptions(this)),
          placement(sim->PlacementOptions(this)),
          manager(&loop, sim->PlannerOf()) {}

    EventLoop loop;
    scheduler::Link link;
    scheduler::Reports reports;
    scheduler::JobPlacement placement;
    control::JobManager manager;
  };
  struct Running {
    std::string request;
    std::map<std::string, uint32_t> procs;  // by node
    uint32_t num_procs = 0;
    bool runs = false;
    bool ended = false;
  };

  static bootstrap::v1::Config Config() {
    bootstrap::v1::Config config;
    config.set_radix(2);
    for (const char* name : kNodes) config.add_member_names(name);
    return config;
  }
  static bootstrap::v1::Members Members() {
    bootstrap::v1::Members members;
    for (const char* name : kNodes) {
      bootstrap::v1::NodeInfo* const node = members.add_nodes();
      node->set_name(name);
      node->set_slots(kSlots);
    }
    return members;
  }
  scheduler::JobPlacement::Options PlacementOptions(Root* root) {
    scheduler::JobPlacement::Options options;
    options.link = &root->link;
    options.listener = &root->reports;
    options.wall_clock_ms = [] { return int64_t{1000}; };
    return options;
  }
  scheduler::Reports::Options ReportsOptions(Root* root) {
    scheduler::Reports::Options options;
    options.link = &root->link;
    options.commands = &commands_;
    options.incarnation = 1;
    options.store = &store_;
    options.release_again = [root](const v1::JobReleasedRequest& release) {
      root->placement.ReleaseAgain(release);
    };
    options.wall_clock_ms = [] { return int64_t{1000}; };
    return options;
  }
  control::JobPlanner PlannerOf() {
    control::JobPlanner planner;
    planner.new_name = [this] { return planner_.NewNspace(); };
    planner.launch = [this](const control::v1::Launch& launch,
                            const control::Placed& placed) {
      return planner_.Plan(launch, placed, root_->manager.jobs(), membership_);
    };
    planner.spawn = [this](const spawn::SpawnCall& call, const ProcId& spawner,
                           const control::Placed& placed) {
      return planner_.PlanSpawn(call, spawner, placed, root_->manager.jobs(),
                                membership_);
    };
    return planner;
  }
  void Error(const std::string& text) { errors_.push_back(text); }

  void Start() {
    root_ = std::make_unique<Root>(this);
    root_->manager.set_sink(this);
    root_->manager.set_placement(&root_->placement);
    root_->manager.set_persistence(&records_, 1000, 60000);
    root_->manager.Recover(records_.All());
    root_->reports.SetRoot(true);
    root_->link.Start();
  }

  // With what is persisted; processes run on, and those who ask come again.
  void Restart() {
    --restarts_;
    service_.ReplaceRoot(
        [this](const std::string& request) { return IsUsed(request); });
    for (auto& [id, spawn] : spawns_) spawn.executing = false;
    Start();
    for (const auto& [nspace, running] : running_) {
      if (!running.runs || running.ended) continue;
      Change(nspace, core::JobPhase::kRunning, running.num_procs, kSuccess);
    }
    for (auto& [number, launcher] : launchers_) {
      if (!launcher.stream.finished) Return(&launcher);
    }
    for (const auto& [id, spawn] : spawns_) {
      if (root_->manager.jobs().contains(id.first.nspace)) {
        AskToSpawn(id.first, id.second);
      }
    }
  }
  // A successor answers what its predecessor has answered: nobody waits for it.
  void OnAnswer(const core::SpawnDone& done) {
    Asker& spawn = spawns_[{done.proc, done.request}];
    if (!std::exchange(spawn.executing, false)) {
      Error(spawn.request + " is answered twice");
    }
    if (spawn.answers.empty()) spawn.answers.push_back(done.status);
  }
  bool IsUsed(const std::string& request) const {
    return std::ranges::any_of(root_->manager.jobs(), [&](const auto& job) {
      return job.second.facts.placed.id.request == request;
    });
  }
  // It has a job, or waits for its place, under its name if it knows that.
  void Return(Asker* launcher) {
    launcher->id = root_->manager.NewLauncher();
    root_->manager.OnLauncher(launcher->id, &launcher->stream);
    if (!launcher->launched) return;
    if (!launcher->stream.Of(control::v1::RunEvent::kMapped).empty()) {
      control::v1::RunRequest again;
      again.mutable_reattach()->set_token(launcher->launch.launch().token());
      return root_->manager.OnRequest(launcher->id, again);
    }
    const auto queued = launcher->stream.Of(control::v1::RunEvent::kQueued);
    if (!queued.empty()) {
      const auto& state = queued.back().queued();
      launcher->launch.mutable_launch()->set_queued_as(state.name());
      launcher->launch.mutable_launch()->set_queued_since_ms(state.since_ms());
    }
    Ask(launcher);
  }
  void Ask(Asker* launcher) {
    launcher->launched = true;
    root_->manager.OnRequest(launcher->id, launcher->launch);
    root_->manager.queued().ForEach([&](const control::QueuedJob& queued) {
      if (queued.launcher == launcher->id) launcher->request = NameOf(queued);
    });
  }

  void Launch() {
    const uint64_t number = launchers_.size();
    Asker& launcher = launchers_[number];
    launcher.id = root_->manager.NewLauncher();
    root_->manager.OnLauncher(launcher.id, &launcher.stream);
    control::v1::Launch* const launch = launcher.launch.mutable_launch();
    launch->set_token("token" + std::to_string(number));
    launch->set_allow_run_as_root(true);
    launch->add_apps()->add_argv("program");
    launch->mutable_apps(0)->set_num_procs(
        2 + static_cast<uint32_t>(events_.Random(4)));
    events_.Post(events_.Random(100),
                 [this, number] { Ask(&launchers_[number]); });
  }
  static std::string NameOf(const control::QueuedJob& queued) {
    return queued.request.id.request;
  }

  void OnLaunch(const JobSpec& job) {
    const auto [it, is_new] = running_.try_emplace(job.nspace);
    if (!is_new) return Error(job.nspace + " is started twice");
    Running& running = it->second;
    running.num_procs = static_cast<uint32_t>(job.procs.size());
    for (const ProcPlacement& proc : job.procs) {
      ++running.procs[job.nodes[proc.node].name];
    }
    const auto record = root_->manager.jobs().find(job.nspace);
    if (record == root_->manager.jobs().end()) return;  // it is being ended
    running.request = record->second.facts.placed.id.request;
    CheckPlaces(job.nspace, running);
    service_.decisions.at(running.request).nspace = job.nspace;
    events_.Post(events_.Random(10), [this, name = job.nspace] { Go(name); });
  }

  // It is where it was granted, and no slot has two processes.
  void CheckPlaces(const std::string& nspace, const Running& running) {
    const Decision& decision = service_.decisions.at(running.request);
    for (const auto& [node, procs] : running.procs) {
      const auto granted = decision.granted.find(node);
      if (granted == decision.granted.end() || granted->second < procs) {
        Error(nspace + " has " + std::to_string(procs) + " processes on " +
              node + ", which it was not granted");
      }
    }
    std::map<std::string, uint32_t> used;
    for (const auto& [name, other] : running_) {
      if (other.ended || other.request.empty()) continue;
      const Decision& of = service_.decisions.at(other.request);
      if (of.manner == Manner::kOversubscribes) continue;
      for (const auto& [node, procs] : other.procs) used[node] += procs;
    }
    for (const auto& [node, procs] : used) {
      if (procs > kSlots) Error("slots of " + node + " are taken twice");
    }
  }

  void Change(const std::string& nspace, core::JobPhase phase, uint32_t started,
              int status) {
    core::JobChanged change;
    change.nspace = nspace;
    change.phase = phase;
    change.procs_started = started;
    change.status = status;
    change.exit_code = status == kSuccess ? 0 : 1;
    root_->manager.OnJobChanged(change);
  }

  // All of it runs, and spawns perhaps.
  void Go(const std::string& nspace) {
    Running& running = running_.at(nspace);
    if (running.ended) return;
    running.runs = true;
    Change(nspace, core::JobPhase::kRunning, running.num_procs, kSuccess);
    const auto record = root_->manager.jobs().find(nspace);
    const bool first = record != root_->manager.jobs().end() &&
                       record->second.parent().empty();
    for (uint64_t n = first ? events_.Random(3) : 0; n > 0; --n) Spawn(nspace);
    events_.Post(20, [this, nspace] { EndWhenAnswered(nspace); });
  }

  void Spawn(const std::string& nspace) {
    const ProcId proc{nspace, 0};
    const uint64_t request = ++last_spawn_;
    spawns_[{proc, request}].request = nspace + ".0." + std::to_string(request);
    events_.Post(events_.Random(10), [this, proc, request] {
      AskToSpawn(proc, request);
      // The spawner's agent asks again, as after a change of the tree.
      if (events_.OneIn(3)) AskToSpawn(proc, request);
    });
  }
  // A core asks for nothing that is executed, or that it can answer.
  void AskToSpawn(const ProcId& proc, uint64_t request) {
    Asker& spawn = spawns_[{proc, request}];
    if (!spawn.answers.empty() || std::exchange(spawn.executing, true)) return;
    root_->manager.OnSpawn({proc, request, Bytes(control::CallBytes())});
  }

  // Not before its spawns are, but for those that are never.
  void EndWhenAnswered(const std::string& nspace) {
    for (const auto& [id, spawn] : spawns_) {
      const auto decision = service_.decisions.find(spawn.request);
      const bool never = decision != service_.decisions.end() &&
                         decision->second.manner == Manner::kNever;
      if (id.first.nspace == nspace && spawn.answers.empty() && !never) {
        return events_.Post(10, [this, nspace] { EndWhenAnswered(nspace); });
      }
    }
    EndJob(nspace, kSuccess);
  }

  void EndJob(const std::string& nspace, int status) {
    const auto it = running_.find(nspace);
    if (it == running_.end() || std::exchange(it->second.ended, true)) return;
    if (!it->second.request.empty()) {
      service_.decisions.at(it->second.request).nspace.clear();
    }
    Change(nspace, core::JobPhase::kEnded, it->second.num_procs, status);
  }

  // Somebody ends what waits or runs.
  void Meddle() {
    if (launchers_.empty() || events_.OneIn(2)) return;
    auto it = launchers_.begin();
    std::advance(it, static_cast<long>(events_.Random(launchers_.size())));
    Asker& launcher = it->second;
    if (launcher.stream.finished || launcher.request.empty()) return;
    launcher.meddled = true;
    if (events_.OneIn(2)) {
      control::v1::RunRequest kill;
      kill.mutable_kill()->set_reason("^C");
      root_->manager.OnRequest(launcher.id, kill);
    } else {
      root_->manager.CancelQueued(launcher.request, "canopy kill");
    }
  }

  // Nothing is under way: those that wait for ever are taken out.
  void Idle() {
    if (!root_->link.up()) return root_->loop.RunOnce(1);
    for (auto& [id, launcher] : launchers_) {
      if (!launcher.stream.finished &&
          root_->manager.CancelQueued(launcher.request, "enough")) {
        return;
      }
    }
  }

  bool IsOver() const {
    return root_->manager.jobs().empty() &&
           root_->manager.queued().size() == 0 &&
           std::ranges::all_of(launchers_, [](const auto& launcher) {
             return launcher.second.stream.finished;
           });
  }
  // Whatever was granted is given back.
  bool IsTold() const {
    return std::ranges::all_of(service_.decisions, [](const auto& entry) {
      return entry.second.granted.empty() || entry.second.released > 0;
    });
  }

  int ExpectedOf(const Decision& decision) const {
    switch (decision.manner) {
      case Manner::kRefuses:
        return decision.status;
      case Manner::kFails:
        return kErrServerFailedRequest;
      case Manner::kNever:
        return kErrJobKilledByCmd;
      case Manner::kTooFew:
        return kErrJobInsufficientResources;
      default:
        return Places(decision.manner) ? int{kSuccess}
                                       : int{kErrJobAllocFailed};
    }
  }

  void Check() {
    if (!IsOver()) Error("it does not come to rest");
    for (const auto& [id, launcher] : launchers_) CheckLauncher(launcher);
    for (const auto& [id, spawn] : spawns_) {
      CheckSpawn(spawn, id.first.nspace);
    }
    for (const auto& [request, decision] : service_.decisions) {
      if (!decision.granted.empty() && decision.released == 0) {
        Error("what " + request + " was granted is never released");
      }
    }
    if (!root_->placement.Jobs().empty())
      Error("the port keeps jobs that are over");
  }

  void CheckLauncher(const Asker& launcher) {
    const auto ends = launcher.stream.Of(control::v1::RunEvent::kEnd);
    if (ends.size() != 1) {
      return Error(launcher.request + " has " + std::to_string(ends.size()) +
                   " ends");
    }
    const auto decision = service_.decisions.find(launcher.request);
    if (launcher.meddled || decision == service_.decisions.end()) return;
    CheckStatus(launcher.request, ends[0].end().status(), decision->second);
  }

  void CheckSpawn(const Asker& spawn, const std::string& parent) {
    const auto decision = service_.decisions.find(spawn.request);
    if (decision == service_.decisions.end() || spawn.answers.empty()) return;
    const bool ended = std::ranges::any_of(launchers_, [&](const auto& it) {
      return it.second.request == parent && it.second.meddled;
    });
    if (ended || spawn.answers[0] == kErrJobCanceled) return;
    CheckStatus(spawn.request, spawn.answers[0], decision->second);
  }

  void CheckStatus(const std::string& request, int status,
                   const Decision& decision) {
    const int expected = ExpectedOf(decision);
    if (status == expected) return;
    Error(request + " ended with " + std::to_string(status) + ", not " +
          std::to_string(expected) + "; manner " +
          std::to_string(static_cast<int>(decision.manner)));
  }

  Events events_;
  int restarts_;
  PlayedService service_;
  std::vector<std::string> errors_;
  Membership membership_;
  Planner planner_;
  // What outlives a root.
  NoCommands commands_;
  scheduler::FakeReportStore store_;
  control::Records records_;
  std::unique_ptr<Root> root_;
  std::map<uint64_t, Asker> launchers_;
  std::map<std::pair<ProcId, uint64_t>, Asker> spawns_;
  std::map<std::string, Running> running_;  // by namespace, also those over
  uint64_t last_spawn_ = 0;
};

// How often each manner was met, and how often the scheduler has died.
struct Seen {
  std::array<uint64_t, kNumManners> manners{};
  uint64_t deaths = 0;
};

Seen RunSeeds(int restarts) {
  constexpr uint64_t kSeeds = 300;
  Seen seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    PlacementSim sim(seed, restarts);
    sim.Run();
    for (const std::string& error : sim.errors()) {
      ADD_FAILURE() << "seed " << seed << ": " << error;
    }
    seen.deaths += sim.service().deaths;
    for (const auto& [request, decision] : sim.service().decisions) {
      ++seen.manners[static_cast<size_t>(decision.manner)];
    }
  }
  return seen;
}

TEST(PlacementSim, EachRequestHasOneEndWhateverTheSchedulerDoes) {
  const Seen seen = RunSeeds(/*restarts=*/0);
  for (size_t i = 0; i < kNumManners; ++i) EXPECT_GE(seen.manners[i], 20u) << i;
  EXPECT_GE(seen.deaths, 40u);
}

TEST(PlacementSim, AndHoweverOftenTheRootIsKilled) {
  const Seen seen = RunSeeds(/*restarts=*/3);
  for (size_t i = 0; i < kNumManners; ++i) EXPECT_GE(seen.manners[i], 20u) << i;
  EXPECT_GE(seen.deaths, 40u);
}

}  // namespace
}  // namespace canopy::agent
