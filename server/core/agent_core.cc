// Dispatch: each input goes to the engines that it concerns, then whatever the
// engines changed is made known to the others.
#include "server/core/agent_core.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "common/status.h"
#include "server/core/abort/aborts.h"
#include "server/core/collective/collective.h"
#include "server/core/event/debug_stops.h"
#include "server/core/event/end_events.h"
#include "server/core/event/events.h"
#include "server/core/event/group_events.h"
#include "server/core/event/invitations.h"
#include "server/core/event/lifecycle.h"
#include "server/core/host/host_calls.h"
#include "server/core/iof/forwarding.h"
#include "server/core/job/engine.h"
#include "server/core/job/maps.h"
#include "server/core/job/text.h"
#include "server/core/job_table.h"
#include "server/core/modex/gets.h"
#include "server/core/modex/modex.h"
#include "server/core/modex/persisted_commits.h"
#include "server/core/pset/process_sets.h"
#include "server/core/pset/set_owners.h"
#include "server/core/publish/publishing.h"
#include "server/core/query/queries.h"
#include "server/core/spawn/spawns.h"
#include "server/core/state_reports.h"
#include "server/core/tree.h"

namespace canopy::core {

struct AgentCore::State {
  explicit State(CoreConfig c)
      : config(std::move(c)),
        self(config.self),
        tree(static_cast<uint32_t>(config.node_names.size()), config.radix),
        jobs(self),
        collectives(self, tree, jobs, modex),
        gets(self, tree, jobs, modex),
        events(self, tree, jobs),
        maps(self, tree, jobs),
        reports(self, tree,
                [this](TimeNs t, const std::string& what,
                       const std::string& nspace) {
                  return Describe(t, what, nspace);
                }),
        engine(self, config.node_names, tree, jobs),
        aborts(self, jobs, engine),
        spawns(self, jobs, engine),
        invitations(jobs),
        stops(self, jobs,
              [this](const std::string& nspace) {
                return engine.ControllerOf(nspace);
              }),
        ends(self, jobs, collectives, events, invitations,
             [this](const std::string& nspace) {
               return engine.ControllerOf(nspace);
             }),
        publishing(self, tree, jobs),
        sets(jobs),
        owners(
            self, tree, jobs,
            [this](const std::string& nspace) {
              return engine.HasEnded(nspace);
            },
            sets),
        queries(self, config.node_names, tree, jobs, engine, sets),
        host(self, tree, jobs, engine, sets),
        forwarding(self, jobs, engine) {
    engine.set_tap(&forwarding);
    events.set_observer([this](const EventMessage& event) {
      if (sets.OnEvent(event)) {
        owners.OnDefined(now, event.source.nspace, &out);
      }
      invitations.OnEvent(event);
      stops.OnEvent(event);
    });
    if (config.host_is_root) tree.LetRootDecide();
    collectives.set_persists(config.persists);
    engine.set_persists(config.persists);
    events.set_persists(config.persists);
    publishing.set_persists(config.persists);
    if (config.began_at != kNever) {
      engine.set_began(config.began_at);
      gets.set_began(config.began_at);
      publishing.set_began(config.began_at);
      queries.set_began(config.began_at);
      host.set_began(config.began_at);
      owners.set_began(config.began_at);
    }
  }

  // ---------------------------------------------------- local clients ---

  void On(const ClientConnected& in) {
    if (in.is_tool ? jobs.ConnectTool(in.client, in.proc, {in.uid, in.gid})
                   : jobs.Connect(in.client, in.proc)) {
      return;
    }
    out.push_back(CloseClient{
        in.client, "no process " + ToString(in.proc) + " belongs here"});
  }

  void On(const ClientGone& in) {
    spawns.OnClientGone(in.client);
    gets.OnClientGone(in.client);
    collectives.OnClientGone(in.client);
    events.OnClientGone(in.client, &out);
    invitations.OnClientGone(in.client);
    aborts.OnClientGone(in.client);
    publishing.OnClientGone(now, in.client, &out);
    queries.OnClientGone(in.client);
    host.OnClientGone(in.client);
    forwarding.OnClientGone(in.client, &out);
    jobs.Disconnect(in.client);
  }

  void On(const Committed& in) {
    const ProcId* proc = jobs.ProcOf(in.client);
    if (proc == nullptr) return Reply(in.client, in.request, kErrInit);
    if (!Commit(*proc, in.data, in.client, in.request)) {
      out.push_back(CloseClient{in.client, "committed malformed data"});
    }
  }

  void On(const CommitTaken& in) {
    const Job* job = jobs.Find(in.proc.nspace);
    if (job != nullptr && job->is_local(in.proc.rank)) Commit(in.proc, in.data);
  }

  bool Commit(const ProcId& proc, const std::vector<ScopedData>& data,
              ClientId client = 0, RequestId request = 0) {
    if (!modex.Commit(now, proc, data)) return false;
    if (config.persists) PersistCommit(proc, data, &out);
    PublishRank change = modex.TakeChange(proc);
    change.client = client;
    change.request = request;
    out.push_back(std::move(change));
    return true;
  }

  void On(const CollectiveArrived& in) { collectives.OnArrived(now, in, &out); }

  void On(const GroupCallArrived& in) {
    const ProcId* proc = jobs.ProcOf(in.client);
    if (proc == nullptr) return Reply(in.client, in.request, kErrInit);
    if (in.call != GroupCallArrived::Call::kLeave) {
      return invitations.OnWait(now, in, &out);
    }
    const Group* group = collectives.groups().FindOf(in.name, *proc);
    if (group == nullptr) {
      const bool left = collectives.TakeLeftBefore(*proc, in.name);
      return Reply(in.client, in.request, left ? kSuccess : kErrNotFound);
    }
    Leave(*group, *proc);
    Reply(in.client, in.request, kSuccess);
  }

  // The event is persisted first: whoever reads that it has left raises it.
  void Leave(const Group& group, const ProcId& proc) {
    const std::string name = group.name;  // of a single member, it ends
    const uint64_t made = group.record.made;
    const Job* job = jobs.Find(proc.nspace);
    if (job != nullptr && job->is_local(proc.rank)) {
      const EventRaised left = MemberLeft(group, proc, jobs);
      if (!left.targets.empty()) events.RaiseForAll(now, left, &out);
    }
    collectives.OnLeft(now, proc, name, made, &out);
  }

  void On(const GetArrived& in) { gets.OnGet(now, in, &out); }
  void On(const PublishArrived& in) { publishing.OnPublish(now, in, &out); }
  void On(const LookupArrived& in) { publishing.OnLookup(now, in, &out); }
  void On(const UnpublishArrived& in) { publishing.OnUnpublish(now, in, &out); }

  void On(const AbortArrived& in) {
    const ProcId* proc = jobs.ProcOf(in.client);
    if (proc == nullptr) return Reply(in.client, in.request, kErrInit);
    const int refusal = aborts.OnArrived(now, *proc, in, &out);
    if (refusal != kSuccess) Reply(in.client, in.request, refusal);
  }

  void On(const SpawnArrived& in) { spawns.OnArrived(now, in, &out); }

  void On(const QueryArrived& in) { queries.OnArrived(now, in, &out); }
  void On(const FactsRead& in) { queries.OnRead(in, &out); }

  // A host in whose process this is forwards what its own processes write.
  bool Forwards(HostOp op) const {
    return (op == HostOp::kReadOutput || op == HostOp::kPushInput) &&
           !config.host_is_root;
  }

  void On(const HostCallArrived& in) {
    if (Forwards(in.op)) return forwarding.OnArrived(now, in, &out);
    Actions actions;
    host.OnArrived(now, in, &actions);
    // What is persisted comes before its answer.
    RaiseForAll(host.TakeDefined());
    out.insert(out.end(), std::make_move_iterator(actions.begin()),
               std::make_move_iterator(actions.end()));
  }
  void On(const HostAnswered& in) {
    if (!queries.OnHostAnswered(in, &out)) host.OnAnswered(in, &out);
  }

  void On(const FinalizeArrived& in) {
    publishing.OnFinalize(now, in.client, &out);
    jobs.Finalize(in.client);
    Reply(in.client, in.request, kSuccess);
  }

  void On(const EventsWanted& in) { events.OnWanted(in, &out); }
  void On(const EventsUnwanted& in) { events.OnUnwanted(in, &out); }
  void On(const EventRaised& in) { events.OnRaised(now, in, &out); }

  // ---------------------------------------------------------- overlay ---

  void On(const PeerArrived& in) {
    const PeerMessage& message = in.message;
    if (message.dst != self) return;
    if (publishing.OnPeer(now, message, &out)) return;
    std::visit([&](const auto& body) { OnBody(message, body); }, message.body);
  }

  // Everything about the life of jobs.
  template <typename T>
  void OnBody(const PeerMessage& message, const T&) {
    engine.OnPeer(now, message, &out);
  }

  void OnBody(const PeerMessage& message, const JobPrepare& body) {
    if (!engine.DefersPrepare(message.src, body.controller)) {
      maps.OnPrepare(body.spec);
      PropagateChanges();
    }
    engine.OnPeer(now, message, &out);
  }

  void OnBody(const PeerMessage& message, const JobForget& body) {
    engine.OnPeer(now, message, &out);
    maps.OnForget(message.src, body.nspace);
    owners.OnOver(message.src, body.nspace);
  }

  void OnBody(const PeerMessage& message, const JobQueryReply& body) {
    engine.OnPeer(now, message, &out);
    maps.OnForget(message.src, body.nspace);
    owners.OnOver(message.src, body.nspace);
  }

  void OnBody(const PeerMessage& message, const SyncComplete&) {
    engine.OnPeer(now, message, &out);
    TakeReleased();
  }

  void OnBody(const PeerMessage& message, const JobMapRequest& body) {
    maps.OnRequest(message.src, body, engine.LostOf(body.nspace), &out);
  }

  void OnBody(const PeerMessage& message, const JobMapReply& body) {
    maps.OnReply(message.src, body);
  }

  void OnBody(const PeerMessage& message, const SpawnRequest& body) {
    spawns.OnRequest(message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const SpawnReply& body) {
    if (!spawns.Awaits(message.src, body)) return;
    maps.OnLent(message.src, body.nspace, body.spec);
    PropagateChanges();
    spawns.OnReply(body, &out);
  }

  void OnBody(const PeerMessage& message, const JobExits& body) {
    for (const ProcExit& exit : body.exits) {
      if (exit.finalized && !exit.restarted) {
        jobs.MarkFinalized(body.nspace, exit.rank);
      }
    }
    engine.OnPeer(now, message, &out);
  }

  void OnBody(const PeerMessage& message, const JobKill& body) {
    if (body.ranks.empty()) jobs.MarkEnding(body.nspace);
    engine.OnPeer(now, message, &out);
  }

  void OnBody(const PeerMessage& message, const CollectiveUp& body) {
    collectives.OnUp(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const CollectiveDown& body) {
    collectives.OnDown(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const DmodexRequest& body) {
    gets.OnRequest(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const DmodexReply& body) {
    gets.OnReply(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const EventMessage& body) {
    if (!events.OnMessage(message.src, body, &out)) return;
    const std::optional<LeftGroup> group = GroupLeft(body);
    const Job* job = jobs.Find(body.source.nspace);
    // What a local process leaves is known from itself.
    if (!group || job == nullptr || job->is_local(body.source.rank)) return;
    collectives.OnLeft(now, body.source, group->name, group->made, &out);
  }

  void OnBody(const PeerMessage&, const AbortMessage& body) {
    aborts.OnMessage(now, body, &out);
  }

  void OnBody(const PeerMessage& message, const AbortReply& body) {
    aborts.OnReply(message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const FactsRequest& body) {
    queries.OnRequest(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const FactsReply& body) {
    queries.OnReply(message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const HostRequest& body) {
    if (Forwards(body.op)) {
      return forwarding.OnRequest(now, message.src, body, &out);
    }
    host.OnRequest(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const HostReply& body) {
    if (forwarding.OnReply(message.src, body, &out)) return;
    host.OnReply(message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const JobStarted& body) {
    engine.OnPeer(now, message, &out);
    host.OnLaunched(now, body.nspace, &out);
  }

  void OnBody(const PeerMessage& message, const StateQuery& body) {
    reports.OnQuery(now, message.src, body, &out);
  }

  void OnBody(const PeerMessage& message, const StateReply& body) {
    reports.OnReply(message.src, body, &out);
  }

  void OnBody(const PeerMessage&, const OverlayShutdown& body) {
    ShutDown(body);
  }

  void On(const ShutdownRequested& in) { ShutDown({in.reason}); }

  void ShutDown(const OverlayShutdown& order) {
    for (const NodeId child : tree.children(self)) Send(child, order);
    out.push_back(EndAgent{order.reason});
  }

  void On(const NodeStateChanged& in) {
    if (in.node == self || in.node >= tree.size()) return;
    if (tree.alive(in.node) == in.up) return;
    tree.SetAlive(in.node, in.up);
    Log(in.up ? LogLine::Level::kInfo : LogLine::Level::kWarning,
        "node " + config.node_names[in.node] +
            (in.up ? " is back" : " is lost") +
            (in.reason.empty() ? "" : ": " + in.reason));
    if (in.up) {
      // What has ended here comes before who has left since, as after a
      // restart.
      collectives.OnTreeChanged(now, &out);
      engine.OnNodeReturned(now, &out);
      publishing.OnNodeReturned(now, &out);
      TakeReleased();
    } else {
      ends.OnNodeLost(now, in.node, &out);
      forwarding.OnNodeLost(in.node);
      TellNodeLost(in);
      engine.OnNodeLost(now, in.node, in.reason, &out);
      TakeReleased();
      // Jobs may be removed with it: the other engines must not look them up.
      PropagateChanges();
      gets.OnNodeLost(now, in.node, &out);
      publishing.OnNodeLost(now, in.node, &out);
      reports.OnNodeLost(in.node, &out);
      queries.OnNodeLost(in.node, &out);
      maps.OnNodeLost(&out);
      collectives.OnTreeChanged(now, &out);
    }
    events.OnTreeChanged(&out);
    maps.OnTreeChanged(&out);
    owners.OnTreeChanged(now, &out);
    aborts.OnTreeChanged(now, &out);
    host.OnTreeChanged(now, &out);
    forwarding.OnTreeChanged(now, &out);
    spawns.SendAgain(&out);
    if (in.up) engine.SendSyncComplete(in.node, &out);
  }

  // The clients of other agents hear of it from theirs.
  void TellNodeLost(const NodeStateChanged& in) {
    if (in.life == 0) return;
    const ProcId agent{config.server_nspace, in.node};
    events.OnKnownEverywhere(
        now,
        NodeLifecycleEvent(agent, config.node_names[in.node], in.life, in.left),
        &out);
  }

  void On(const NodeIsOld& in) {
    collectives.OnNodeIsOld(now, in.node, in.old, &out);
  }

  void On(const NodeRestarted& in) {
    if (in.node == self || !tree.alive(in.node)) return;
    Log(LogLine::Level::kInfo,
        "the agent of node " + config.node_names[in.node] + " was restarted");
    // What has ended here comes before who has left since: else it would look
    // as if they had left in the middle of it.
    collectives.OnNodeRestarted(now, in.node, &out);
    engine.OnNodeRestarted(now, in.node, &out);
    gets.OnNodeRestarted(now, in.node, &out);
    publishing.OnNodeRestarted(now, in.node, &out);
    reports.OnNodeLost(in.node, &out);
    queries.OnNodeRestarted(in.node, &out);
    events.OnNodeRestarted(in.node, &out);
    maps.OnNodeRestarted(in.node, &out);
    owners.OnNodeRestarted(now, in.node, &out);
    aborts.OnTreeChanged(now, &out);
    host.OnTreeChanged(now, &out);
    forwarding.OnNodeRestarted(now, in.node);
    forwarding.OnTreeChanged(now, &out);
    spawns.SendAgain(&out);
    engine.SendSyncComplete(in.node, &out);
  }

  // State that a predecessor persisted.
  void On(const JobRecovered& in) {
    engine.OnRecovered(now, in, &out);
    const std::string& nspace = in.job->nspace;
    const Job* job = jobs.Find(nspace);
    if (job == nullptr) return;
    for (const auto& [rank, data] : RecoverCommits(in.records)) {
      const ProcId proc{nspace, rank};
      if (!job->is_local(rank) || !modex.Commit(now, proc, data)) continue;
      out.push_back(modex.Publication(proc));
    }
    collectives.OnRecovered(nspace);
    for (const PersistedRecord& record : in.records)
      collectives.Recover(record);
    for (const PersistedRecord& record : in.records) {
      events.Recover(nspace, record, &out);
      host.Recover(nspace, record);
    }
    publishing.Recover(now, nspace, in.records, &out);
    for (const PublishRank& data : in.published) {
      if (!modex.RecoverRemote(data)) continue;
      out.push_back(modex.Publication(data.proc));
    }
  }

  void On(const LauncherReattached& in) {
    engine.OnLauncherReattached(now, in, &out);
  }

  void On(const ClientReattached& in) {
    events.OnReattached(in.client);
    collectives.OnReattached(now, in, &out);
  }

  void TakeReleased() {
    for (const PeerMessage& message : engine.TakeReleased()) {
      On(PeerArrived{message});
    }
  }

  // ------------------------------------------------ processes and host ---

  void On(const LocalPrepared& in) { engine.OnLocalPrepared(now, in, &out); }

  void On(const LocalStarted& in) {
    const Job* job = jobs.Find(in.nspace);
    if (job != nullptr && in.status != kSuccess && in.procs == 0) {
      ends.OnNoneStarted(now, *job, &out);
    }
    engine.OnLocalStarted(now, in, &out);
    host.OnLaunched(now, in.nspace, &out);
  }

  void On(const LocalProcesses& in) {
    for (const LocalProcesses::Process& process : in.processes) {
      const ProcId proc{in.nspace, process.rank};
      jobs.NoteStarted(proc, process.pid);
      gets.OnProcess(now, proc, &out);
    }
  }

  void On(const LocalExits& in) {
    LocalExits exits = in;
    std::vector<Rank> ended;
    const Job* job = jobs.Find(in.nspace);
    for (ProcExit& exit : exits.exits) {
      if (job == nullptr || !job->is_local(exit.rank)) continue;
      exit.called_init |= job->ranks[exit.rank].called_init;
      exit.finalized |= job->ranks[exit.rank].finalized;
      ProcExit end = exit;
      end.restarted = engine.WillRestart(in, exit);
      if (!end.restarted) ended.push_back(exit.rank);
      if (job->ranks[exit.rank].ended) continue;
      const bool told = job->ending || engine.ToldToEnd(in.nspace, exit.rank);
      ends.OnExit(now, *job, end, told, &out);
    }
    engine.OnLocalExits(now, exits, &out);
    for (const ProcExit& exit : exits.exits) {
      if (exit.wait_status == kNeverStarted) continue;
      jobs.NoteExit({exits.nspace, exit.rank}, ExitCodeOf(exit));
    }
    for (const Rank rank : ended) jobs.MarkEnded(in.nspace, rank);
  }

  void On(const LocalOutput& in) { engine.OnLocalOutput(now, in, &out); }

  void On(const LocalInputDone& in) { engine.OnLocalInputDone(now, in, &out); }

  void On(const LaunchRequested& in) {
    engine.OnLaunchRequested(now, in, &out);
  }

  void On(const SpawnDone& in) { spawns.OnDone(in, &out); }

  void On(const SpawnRecovered& in) { spawns.OnRecovered(in); }

  void On(const SignalRequested& in) {
    engine.OnSignalRequested(now, in, &out);
  }

  void On(const KillRequested& in) {
    jobs.MarkEnding(in.nspace);
    engine.OnKillRequested(now, in, &out);
  }

  void On(const TimeLimitSet& in) { engine.OnTimeLimitSet(now, in, &out); }

  void On(const OutputConsumed& in) { engine.OnOutputConsumed(now, in, &out); }

  void On(const InputOffered& in) { engine.OnInputOffered(now, in, &out); }

  void On(const StateRequested& in) { reports.OnRequested(now, in, &out); }

  void On(const Tick&) {
    collectives.OnTick(now, &out);
    gets.OnTick(now, &out);
    publishing.OnTick(now, &out);
    invitations.OnTick(now, &out);
    maps.OnTick(now);
    reports.OnTick(now, &out);
    queries.OnTick(now, &out);
    aborts.OnTick(now, &out);
    host.OnTick(now, &out);
    forwarding.OnTick(now);
    engine.OnTick(now, &out);
    TakeReleased();
  }

  // ------------------------------------------------------------ common ---

  void Reply(ClientId client, RequestId request, int status) {
    if (request != 0) out.push_back(ReplyClient{client, request, status, {}});
  }

  void Send(NodeId to, MessageBody body) {
    out.push_back(SendPeer{PeerMessage{self, to, std::move(body)}});
  }

  void Log(LogLine::Level level, std::string text) {
    out.push_back(LogLine{level, std::move(text)});
  }

  // Most steps change nothing that another engine has to learn.
  bool HasChanges() const {
    return collectives.has_news() || jobs.has_changes() ||
           modex.has_changed() || gets.has_wanted() || queries.has_wanted() ||
           maps.has_unknown() || invitations.has_due() || stops.has_due();
  }

  // Notifies the engines of each other's changes, until nothing changes any
  // more.
  void PropagateChanges() {
    DropSets();
    while (HasChanges()) {
      for (const Groups::Key& key : collectives.TakeIncomplete()) {
        const Group* group = collectives.groups().Find(key.first, key.second);
        if (group != nullptr) ends.OnIncomplete(now, *group, &out);
      }
      for (const FailedConstruct& construct : collectives.TakeFailed()) {
        ends.OnFailed(now, construct, &out);
      }
      for (const auto& [key, proc] : collectives.TakeFollowed()) {
        const Group* group = collectives.groups().Find(key.first, key.second);
        if (group != nullptr && group->Has(proc)) Leave(*group, proc);
      }
      for (const EventRaised& event : invitations.TakeDue()) {
        events.OnRaised(now, event, &out);
      }
      FollowStops();
      const JobChanges changes = jobs.TakeChanges();
      const std::vector<DataChange> data = modex.TakeChanged();
      std::vector<std::string> wanted = collectives.TakeWanted();
      for (std::string& nspace : gets.TakeWanted()) {
        wanted.push_back(std::move(nspace));
      }
      for (std::string& nspace : queries.TakeWanted()) {
        wanted.push_back(std::move(nspace));
      }
      for (const std::string& nspace : wanted) maps.Want(now, nspace, &out);
      const std::vector<std::string> unknown = maps.TakeUnknown();
      for (const std::string& nspace : unknown) {
        collectives.OnJobUnknown(now, nspace, &out);
        gets.OnJobUnknown(now, nspace, &out);
        queries.OnJobUnknown(now, nspace, &out);
      }
      Apply(changes);
      for (const DataChange& change : data) gets.OnData(now, change, &out);
    }
  }

  // Their jobs are over: neither are they to be told of any more.
  void DropSets() {
    if (owners.is_idle()) return;
    if (engine.IsAuthoritative()) owners.OnAuthoritative();
    for (const std::string& nspace : owners.TakeDropped()) {
      events.OnJobRemoved(nspace, &out);
    }
  }

  // What is raised may be the last that something else has waited for.
  void FollowStops() {
    for (SignalLocal& released : stops.TakeReleased()) {
      out.push_back(std::move(released));
    }
    for (std::vector<EventRaised> due = stops.TakeDue(); !due.empty();
         due = stops.TakeDue()) {
      RaiseForAll(due);
    }
  }

  void Apply(const JobChanges& changes) {
    // A job that is removed may come again, as one to be passed on only.
    for (const RemovedJob& job : changes.removed) {
      aborts.OnJobRemoved(job.nspace, &out);
      host.OnJobRemoved(job.nspace, &out);
      forwarding.OnJobRemoved(now, job.nspace, &out);
      spawns.OnJobRemoved(job.nspace);
      collectives.OnJobRemoved(job.nspace, &out);
      gets.OnJobRemoved(now, job.nspace, &out);
      publishing.OnJobRemoved(now, job.nspace, &out);
      if (tree.root() == self) RaiseForAll(sets.DeletionsOf(job.nspace));
      sets.OnJobRemoved(job.nspace);
      owners.OnJobRemoved(job.nspace);
      events.OnJobRemoved(job.nspace, &out);
      invitations.OnJobRemoved(job.nspace);
      stops.OnJobRemoved(job.nspace);
      modex.DropJob(job.nspace);
      maps.OnJobRemoved(job, &out);
      if (job.registered) DropOnce(job.nspace);
    }
    for (const std::string& nspace : changes.released) {
      out.push_back(DropJob{nspace});
    }
    for (const std::string& nspace : changes.added) {
      engine.OnJobAdded(nspace);
      WantParentOf(nspace);
      if (engine.ControllerOf(nspace) == self) {
        RaiseForAll(sets.OfApplications(*jobs.Find(nspace)));
      }
      collectives.OnJobAdded(now, nspace, &out);
      gets.OnJobAdded(now, nspace, &out);
      queries.OnJobAdded(now, nspace, &out);
    }
    for (const ProcId& proc : changes.restarted) {
      LeaveGroups(proc);
      collectives.OnRankRestarted(proc);
      publishing.OnRankRestarted(now, proc, &out);
    }
    for (const ProcId& proc : changes.gone) {
      collectives.OnRankGone(now, proc, &out);
      gets.OnRankGone(now, proc, &out);
      aborts.OnRankGone(proc, &out);
      host.OnRankGone(proc, &out);
      publishing.OnRankGone(now, proc, &out);
    }
  }

  void RaiseForAll(const std::vector<EventRaised>& raised) {
    for (const EventRaised& event : raised) {
      events.RaiseForAll(now, event, &out);
    }
  }

  // The rank has another process, which is in none of its groups.
  void LeaveGroups(const ProcId& proc) {
    std::vector<Groups::Key> keys;
    for (const Group* group : collectives.groups().Of(proc)) {
      keys.emplace_back(group->name, group->participants);
    }
    for (const Groups::Key& key : keys) {
      const Group* group = collectives.groups().Find(key.first, key.second);
      if (group != nullptr) Leave(*group, proc);
    }
  }

  // Its processes may ask for job data of the job that spawned it, also when
  // that is over.
  void WantParentOf(const std::string& nspace) {
    const Job* job = jobs.Find(nspace);
    if (job == nullptr || job->local_node == kNoNode) return;
    const std::string& parent = job->spec->parent.nspace;
    if (!parent.empty()) maps.Want(now, parent, &out);
  }

  void DropOnce(const std::string& nspace) {
    const bool dropped =
        std::any_of(out.begin(), out.end(), [&](const Action& action) {
          const auto* drop = std::get_if<DropJob>(&action);
          return drop != nullptr && drop->nspace == nspace;
        });
    if (!dropped) out.push_back(DropJob{nspace});
  }

  void UpdateDeadline() {
    const TimeNs next = std::min(
        {collectives.NextDeadline(), gets.NextDeadline(), maps.NextDeadline(),
         reports.NextDeadline(), aborts.NextDeadline(), engine.NextDeadline(),
         publishing.NextDeadline(), queries.NextDeadline(), host.NextDeadline(),
         invitations.NextDeadline(), forwarding.NextDeadline()});
    // The previous deadline is consumed once due, whatever caused this step.
    if (next == deadline && deadline > now) return;
    if (next == kNever && deadline == kNever) return;
    deadline = next;
    out.push_back(SetDeadline{next});
  }

  StateAnswer Describe(TimeNs t, const std::string& what,
                       const std::string& nspace) const {
    StateAnswer answer;
    answer.node = self;
    answer.parent = tree.parent(self);
    answer.about = config.about;
    for (const auto& [name, job] : jobs.jobs()) {
      if (nspace.empty() || nspace == name) answer.jobs.push_back(Report(job));
    }
    if (what == "why") {
      collectives.Describe(t, nspace, &answer.waiting);
      gets.Describe(t, nspace, &answer.waiting);
      aborts.Describe(t, nspace, &answer.waiting);
      publishing.Describe(t, nspace, &answer.waiting);
      engine.Describe(t, nspace, &answer.waiting);
      spawns.Describe(t, nspace, &answer.waiting);
      queries.Describe(t, nspace, &answer.waiting);
      host.Describe(t, nspace, &answer.waiting);
    }
    return answer;
  }

  JobReport Report(const Job& job) const {
    JobReport report;
    report.nspace = job.nspace();
    report.num_procs = job.num_ranks();
    for (const Rank rank : job.local_ranks()) {
      ++report.local_procs;
      report.local_ended += job.ranks[rank].ended ? 1 : 0;
      report.connected +=
          static_cast<uint32_t>(jobs.ClientsOf({job.nspace(), rank}).size());
    }
    return report;
  }

  const CoreConfig config;
  const NodeId self;
  Tree tree;
  JobTable jobs;
  ModexStore modex;
  Collectives collectives;
  Gets gets;
  Events events;
  JobMaps maps;
  StateReports reports;
  JobEngine engine;
  Aborts aborts;
  Spawns spawns;
  Invitations invitations;
  DebugStops stops;
  EndEvents ends;
  Publishing publishing;
  ProcessSets sets;
  SetOwners owners;
  Queries queries;
  HostCalls host;
  Forwarding forwarding;
  TimeNs now = 0;
  TimeNs deadline = kNever;
  Actions out;  // of the step that runs
};

AgentCore::AgentCore(CoreConfig config)
    : state_(std::make_unique<State>(std::move(config))) {}

AgentCore::~AgentCore() = default;

Actions AgentCore::Step(TimeNs now, const Input& input) {
  State& state = *state_;
  state.now = now;
  std::visit([&](const auto& in) { state.On(in); }, input);
  state.PropagateChanges();
  state.UpdateDeadline();
  return std::exchange(state.out, {});
}

ResourceCounts AgentCore::Count() const {
  const State& state = *state_;
  ResourceCounts counts;
  counts.jobs = state.jobs.size();
  counts.launched = state.engine.num_jobs();
  counts.clients = state.jobs.num_clients();
  counts.collectives = state.collectives.num_series();
  counts.connections = state.collectives.num_connections();
  counts.groups = state.collectives.groups().size();
  counts.deadlines =
      state.collectives.num_deadlines() + state.invitations.num_waits();
  counts.gets = state.gets.num_held();
  counts.fetches = state.gets.num_fetches();
  counts.modex_jobs = state.modex.num_jobs();
  counts.modex_keys = state.modex.num_indexed();
  counts.map_requests = state.maps.num_requests();
  counts.aborts = state.aborts.size();
  counts.spawns = state.spawns.num_pending();
  counts.questions = state.reports.num_questions();
  counts.queries = state.queries.size();
  counts.host_calls = state.host.size();
  counts.forwarding = state.forwarding.size();
  counts.listeners = state.events.num_listeners();
  counts.process_sets = state.sets.sets().size();
  counts.publications = state.publishing.num_publications();
  counts.publishing = state.publishing.num_operations();
  return counts;
}

}  // namespace canopy::core
