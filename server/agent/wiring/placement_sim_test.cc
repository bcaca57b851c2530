// Simulates jobs under a scheduler that places them correctly, incorrectly,
// twice, late or never. The scheduler can die at any moment, and the root can
// be killed and restarted at any moment. The agent's own parts from the
// launcher's request to the launch run between a simulated scheduler and a
// simulated core, whose behaviour follows from seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/job_description.h"
#include "common/status.h"
#include "server/agent/membership/membership.h"
#include "server/agent/membership/planner.h"
#include "server/agent/wiring/placement_scheduler_testing.h"
#include "server/control/control_testing.h"
#include "server/control/job_manager.h"
#include "server/ports/input_sink.h"
#include "server/ports/job_commands_port.h"
#include "server/scheduler/fake_report_store.h"
#include "server/scheduler/job_placement.h"
#include "server/scheduler/link.h"
#include "server/scheduler/reports.h"

namespace canopy::agent {
namespace {

namespace v1 = hostmodule::v1;

constexpr uint64_t kMaxSteps = 20'000;

class NoCommands : public JobCommandsPort {
 public:
  Status KillHostJob(const std::string&, const std::string&, bool) override {
    return {};
  }
  Status SignalHostJob(const std::string&, int) override { return {}; }
  Status SuspendHostJob(const std::string&, bool) override { return {}; }
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

// A launcher of a job, or a process that spawns one.
struct Asker {
  uint64_t id = 0;  // of the launcher, at the current root
  control::v1::RunRequest launch;
  bool launched = false;  // the launcher has sent its request
  control::Stream stream;
  std::string request;   // name of its request, once known
  bool meddled = false;  // the job was ended on request: any status is right
  // The answers to a spawn.
  std::vector<int> answers;
  bool executing = false;  // the current root executes the spawn
};

class PlacementSim : public InputSink {
 public:
  // `restarts` is the maximum number of kills of the root.
  PlacementSim(uint64_t seed, int restarts)
      : events_(seed),
        restarts_(restarts),
        service_(&events_, [this](const std::string& e) { Error(e); }),
        membership_(Config()),
        planner_(Members(), 0, 7) {
    membership_.Set(Members());
    membership_.OnNodeStateChanged({kUsable, false, "it burns"});
    overlay::MemberRecord drained =
        membership_.RecordOf(membership_.Find(kDrained));
    drained.service = overlay::Service::kDrained;
    membership_.Apply(drained);
    service_.manner = [this] {
      // Half of the requests are handled correctly, so that jobs run.
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
    // Runs until the scheduler knows that all its grants are free.
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
  static constexpr uint64_t kIdleRounds = 8;

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
    options.loop = &root->loop;
    options.first_pause_ns = kPauseNs;
    options.link = &root->link;
    options.listener = &root->reports;
    options.wall_clock_ms = [] { return int64_t{1000}; };
    return options;
  }
  scheduler::Reports::Options ReportsOptions(Root* root) {
    scheduler::Reports::Options options;
    options.loop = &root->loop;
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
    planner.launch = [this](const JobRequest& request,
                            const control::Caller& caller,
                            const control::Placed& placed) {
      return planner_.Plan(request, caller, placed, root_->manager.jobs(),
                           membership_);
    };
    planner.spawn = [this](const spawn::SpawnCall& call,
                           const control::Spawner& spawner,
                           const control::Placed& placed) {
      return planner_.PlanSpawn(call, spawner, placed, root_->manager.jobs(),
                                membership_);
    };
    planner.name_hosts = [this](const std::string& spawner, bool empty,
                                std::vector<Host>* hosts) {
      return planner_.NameHosts(spawner, empty, root_->manager.jobs(),
                                membership_, hosts);
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

  // Starts a new root with the persisted state. Processes continue, and
  // requesters return.
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
  // The number of answers is not checked, because a successor repeats its
  // predecessor's answers.
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
  // The launcher reattaches to its job, or sends its request again. The request
  // for a job that is queued contains the job's name if the launcher knows it.
  void Return(Asker* launcher) {
    launcher->id = root_->manager.NewLauncher();
    root_->manager.OnLauncher(launcher->id, &launcher->stream,
                              control::OwnUser());
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
    root_->manager.OnLauncher(launcher.id, &launcher.stream,
                              control::OwnUser());
    control::v1::Launch* const launch = launcher.launch.mutable_launch();
    launch->set_token("token" + std::to_string(number));
    launch->set_allow_run_as_root(true);
    JobRequest request;
    JobApp& app = request.apps.emplace_back();
    app.argv = {"program"};
    app.num_procs = 2 + static_cast<uint32_t>(events_.Random(4));
    launch->set_request(EncodeJobRequest(request));
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

  // Checks that the job is on granted slots and that no slot has two processes.
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

  // Reports that all processes run. Sometimes lets rank 0 spawn jobs.
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
      // The spawner's agent may repeat the request, as after a change of the
      // tree.
      if (events_.OneIn(3)) AskToSpawn(proc, request);
    });
  }
  // A core does not send a request that is being executed or was answered.
  void AskToSpawn(const ProcId& proc, uint64_t request) {
    Asker& spawn = spawns_[{proc, request}];
    if (!spawn.answers.empty() || std::exchange(spawn.executing, true)) return;
    root_->manager.OnSpawn({proc, request, Bytes(control::CallBytes())});
  }

  // Ends the job once its spawns are answered. A spawn that the service never
  // answers does not count.
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

  // Ends a job that is queued or runs, by a request of its launcher or of an
  // operator.
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

  // Called when no event is pending. Waits for the pauses before repeated
  // calls, and then cancels the jobs that would wait for ever.
  void Idle() {
    if (!root_->link.up() || ++idle_rounds_ % kIdleRounds != 0) {
      return root_->loop.RunOnce(1);
    }
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
  // Returns true if all grants have been released.
  bool IsTold() const {
    return std::ranges::all_of(service_.decisions, [](const auto& entry) {
      return entry.second.granted.empty() || entry.second.released > 0;
    });
  }

  int ExpectedOf(const Decision& decision) const {
    switch (decision.manner) {
      case Manner::kRefuses:
        return decision.status;
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
    const int status = ends[0].end().status();
    const bool is_killed = status == kErrJobKilledByCmd;
    if (is_killed && IsUnusable(decision->second.manner)) return;
    CheckStatus(launcher.request, status, decision->second);
  }

  // Returns true if the job's grant cannot be used. Then the job requests
  // another grant after a pause, which takes real time, so the simulation may
  // end the job meanwhile.
  static bool IsUnusable(Manner manner) {
    return manner >= Manner::kUnknownNode && manner <= Manner::kTooFew;
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
  uint64_t idle_rounds_ = 0;
  std::vector<std::string> errors_;
  Membership membership_;
  Planner planner_;
  // The state that outlives a root.
  NoCommands commands_;
  scheduler::FakeReportStore store_;
  control::Records records_;
  std::unique_ptr<Root> root_;
  std::map<uint64_t, Asker> launchers_;
  std::map<std::pair<ProcId, uint64_t>, Asker> spawns_;
  std::map<std::string, Running> running_;  // by namespace; also ended jobs
  uint64_t last_spawn_ = 0;
};

// Counts how often each manner was used, and how often the scheduler has died.
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

TEST(PlacementSim, EachRequestEndsOnceWhateverTheSchedulerDoes) {
  const Seen seen = RunSeeds(/*restarts=*/0);
  for (size_t i = 0; i < kNumManners; ++i) EXPECT_GE(seen.manners[i], 20u) << i;
  EXPECT_GE(seen.deaths, 40u);
}

TEST(PlacementSim, EachRequestEndsOnceWhenTheRootIsKilledRepeatedly) {
  const Seen seen = RunSeeds(/*restarts=*/3);
  for (size_t i = 0; i < kNumManners; ++i) EXPECT_GE(seen.manners[i], 20u) << i;
  EXPECT_GE(seen.deaths, 40u);
}

}  // namespace
}  // namespace canopy::agent
