#include "server/core/dispatch/dispatch.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.h"
#include "server/core/dispatch/node_dispatch.h"
#include "server/core/dispatch/peer_dispatch.h"
#include "server/core/dispatch/propagation.h"
#include "server/core/job/text.h"
#include "server/core/modex/persisted_commits.h"

namespace canopy::core {
namespace {

void Reply(Engines& e, ClientId client, RequestId request, int status) {
  if (request != 0) e.out.push_back(ReplyClient{client, request, status, {}});
}

bool Commit(Engines& e, const ProcId& proc, const std::vector<ScopedData>& data,
            ClientId client = 0, RequestId request = 0) {
  if (!e.modex.Commit(e.now, proc, data)) return false;
  if (e.config.persists) PersistCommit(e.modex, proc, data, &e.out);
  PublishRank change = e.modex.TakeChange(proc);
  change.client = client;
  change.request = request;
  e.out.push_back(std::move(change));
  return true;
}

// ---------------------------------------------------- local clients ---

void On(Engines& e, const ClientConnected& in) {
  if (in.is_tool ? e.jobs.ConnectTool(in.client, in.proc, {in.uid, in.gid},
                                      in.of_other_user)
                 : e.jobs.Connect(in.client, in.proc)) {
    return;
  }
  e.out.push_back(CloseClient{
      in.client, "no process " + ToString(in.proc) + " belongs here"});
}

void On(Engines& e, const ClientGone& in) {
  e.ForEach([&](Engine& engine) { engine.OnClientGone(e.step(), in.client); });
  const ProcId* known = e.jobs.ProcOf(in.client);
  if (known == nullptr) return;
  const ProcId proc = *known;
  e.jobs.Disconnect(in.client);
  if (e.jobs.Find(proc.nspace) == nullptr && e.jobs.ClientsOf(proc).empty()) {
    e.out.push_back(ToolGone{proc});
  }
}

void On(Engines& e, const Committed& in) {
  const ProcId* proc = e.jobs.ProcOf(in.client);
  if (proc == nullptr) return Reply(e, in.client, in.request, kErrInit);
  if (!Commit(e, *proc, in.data, in.client, in.request)) {
    e.out.push_back(CloseClient{in.client, "committed malformed data"});
  }
}

void On(Engines& e, const CommitTaken& in) {
  const Job* job = e.jobs.Find(in.proc.nspace);
  if (job == nullptr || !job->is_local(in.proc.rank)) return;
  Commit(e, in.proc, in.data);
}

// Ends the hold of the client's process, which could not arrive at a collective
// while it is held.
void Free(Engines& e, ClientId client) {
  if (e.stops.local().empty()) return;
  const ProcId* proc = e.jobs.ProcOf(client);
  if (proc != nullptr) e.stops.local().OnFree(e.now, *proc);
}

void On(Engines& e, const CollectiveArrived& in) {
  Free(e, in.client);
  e.collectives.OnArrived(e.step(), in);
}

void On(Engines& e, const LocalFenceArrived& in) {
  for (const ClientId client : in.clients) Free(e, client);
  e.collectives.OnLocalFence(e.step(), in);
}

void On(Engines& e, const GroupCallArrived& in) {
  const ProcId* proc = e.jobs.ProcOf(in.client);
  if (proc == nullptr) return Reply(e, in.client, in.request, kErrInit);
  if (in.call != GroupCallArrived::Call::kLeave) {
    return e.invitations.OnWait(e.step(), in);
  }
  const Group* group = e.collectives.groups().FindOf(in.name, *proc);
  if (group == nullptr) {
    const bool left = e.collectives.TakeLeftBefore(*proc, in.name);
    return Reply(e, in.client, in.request, left ? kSuccess : kErrNotFound);
  }
  Leave(e, *group, *proc);
  Reply(e, in.client, in.request, kSuccess);
}

void On(Engines& e, const GetArrived& in) { e.gets.OnGet(e.step(), in); }
void On(Engines& e, const PublishArrived& in) {
  e.publishing.OnPublish(e.step(), in);
}
void On(Engines& e, const LookupArrived& in) {
  e.publishing.OnLookup(e.step(), in);
}
void On(Engines& e, const UnpublishArrived& in) {
  e.publishing.OnUnpublish(e.step(), in);
}

void On(Engines& e, const AbortArrived& in) {
  const ProcId* proc = e.jobs.ProcOf(in.client);
  if (proc == nullptr) return Reply(e, in.client, in.request, kErrInit);
  const int refusal = e.aborts.OnArrived(e.step(), *proc, in);
  if (refusal != kSuccess) Reply(e, in.client, in.request, refusal);
}

void On(Engines& e, const SpawnArrived& in) {
  e.spawns.OnArrived(e.step(), in);
}

void On(Engines& e, const QueryArrived& in) {
  e.queries.OnArrived(e.step(), in);
}
void On(Engines& e, const FactsRead& in) { e.queries.OnRead(e.step(), in); }
void On(Engines& e, const UsageWanted& in) {
  e.queries.OnUsageWanted(e.step(), in);
}

void On(Engines& e, const HostCallArrived& in) {
  if (e.Forwards(in.op)) return e.forwarding.OnArrived(e.step(), in);
  e.host.OnArrived(e.step(), in);
}
void On(Engines& e, const HostAnswered& in) {
  if (!e.queries.OnHostAnswered(e.step(), in)) e.host.OnAnswered(e.step(), in);
}

void On(Engines& e, const FinalizeArrived& in) {
  e.publishing.OnFinalize(e.step(), in.client);
  e.jobs.Finalize(in.client);
  Reply(e, in.client, in.request, kSuccess);
}

void On(Engines& e, const EventsWanted& in) { e.events.OnWanted(e.step(), in); }
void On(Engines& e, const EventsUnwanted& in) {
  e.events.OnUnwanted(e.step(), in);
}
void On(Engines& e, const EventRaised& in) { e.events.OnRaised(e.step(), in); }

// ---------------------------------------------------------- overlay ---

void On(Engines& e, const PeerArrived& in) { OnPeerMessage(e, in.message); }

void On(Engines& e, const NodeStateChanged& in) { OnNodeStateChanged(e, in); }

void On(Engines& e, const MemberAdded& in) { OnMemberAdded(e, in); }
void On(Engines& e, const MemberServes& in) { OnMemberServes(e, in); }
void On(Engines& e, const NodeRestarted& in) { OnNodeRestarted(e, in); }

// The leader is not always the root, from which all agents are reached.
void On(Engines& e, const ShutdownRequested& in) {
  const NodeId root = e.tree.root();
  if (e.tree.leader() == e.self && root != e.self) {
    e.out.push_back(
        SendPeer{PeerMessage{e.self, root, OverlayShutdown{in.reason}}});
  }
  ShutDown(e, {in.reason});
}

// --------------------------------------------------------- recovery ---

// Restores the state that a predecessor persisted.
void On(Engines& e, const JobRecovered& in) {
  e.engine.OnRecovered(e.step(), in);
  const std::string& nspace = in.job->nspace;
  const Job* job = e.jobs.Find(nspace);
  if (job == nullptr) return;
  for (const auto& [rank, data] : RecoverCommits(in.records)) {
    const ProcId proc{nspace, rank};
    if (!job->is_local(rank) || !e.modex.Commit(e.now, proc, data)) continue;
    e.out.push_back(e.modex.Publication(proc));
  }
  e.ForEach([&](Engine& engine) { engine.OnJobRecovered(e.step(), in); });
  for (const PublishRank& data : in.published) {
    if (!e.modex.RecoverRemote(data)) continue;
    e.out.push_back(e.modex.Publication(data.proc));
  }
}

void On(Engines& e, const LauncherReattached& in) {
  e.engine.OnLauncherReattached(e.step(), in);
}

void On(Engines& e, const ClientReattached& in) {
  e.events.OnReattached(in.client);
  e.collectives.OnReattached(e.step(), in);
}

// ------------------------------------------------ processes and host ---

void On(Engines& e, const LocalPrepared& in) {
  e.engine.OnLocalPrepared(e.step(), in);
}

void On(Engines& e, const LocalStarted& in) {
  const Job* job = e.jobs.Find(in.nspace);
  if (job != nullptr && in.status != kSuccess && in.procs == 0) {
    e.ends.OnNoneStarted(e.step(), *job);
  }
  if (in.procs > 0) e.stops.OnStarted(e.now, in.nspace);
  e.engine.OnLocalStarted(e.step(), in);
  e.host.OnLaunched(e.step(), in.nspace);
}

void On(Engines& e, const LocalProcesses& in) {
  for (const LocalProcesses::Process& process : in.processes) {
    const ProcId proc{in.nspace, process.rank};
    e.jobs.NoteStarted(proc, process.pid);
    e.gets.OnProcess(e.step(), proc);
  }
  e.queries.OnProcesses(e.step(), in.nspace);
}

void On(Engines& e, const LocalExits& in) {
  LocalExits exits = in;
  std::vector<Rank> ended;
  const Job* job = e.jobs.Find(in.nspace);
  for (ProcExit& exit : exits.exits) {
    if (job == nullptr || !job->is_local(exit.rank)) continue;
    exit.called_init |= job->ranks[exit.rank].called_init;
    exit.finalized |= job->ranks[exit.rank].finalized;
    ProcExit end = exit;
    end.restarted = e.engine.WillRestart(in, exit);
    if (!end.restarted) ended.push_back(exit.rank);
    if (job->ranks[exit.rank].ended) continue;
    const bool told = job->ending || e.engine.ToldToEnd(in.nspace, exit.rank);
    e.ends.OnExit(e.step(), *job, end, told);
  }
  e.engine.OnLocalExits(e.step(), exits);
  for (const ProcExit& exit : exits.exits) {
    if (exit.wait_status == kNeverStarted) continue;
    e.jobs.NoteExit({exits.nspace, exit.rank}, ExitCodeOf(exit));
  }
  for (const Rank rank : ended) e.jobs.MarkEnded(in.nspace, rank);
  e.queries.OnProcesses(e.step(), in.nspace);
}

void On(Engines& e, const LocalOutput& in) {
  e.engine.OnLocalOutput(e.step(), in);
}

void On(Engines& e, const LocalInputDone& in) {
  e.engine.OnLocalInputDone(e.step(), in);
}

void On(Engines& e, const LaunchRequested& in) {
  e.engine.OnLaunchRequested(e.step(), in);
}

void On(Engines& e, const SpawnDone& in) { e.spawns.OnDone(e.step(), in); }

void On(Engines& e, const SpawnRecovered& in) { e.spawns.OnRecovered(in); }

void On(Engines& e, const SignalRequested& in) {
  e.engine.OnSignalRequested(e.step(), in);
}

void On(Engines& e, const KillRequested& in) {
  e.jobs.MarkEnding(in.nspace);
  e.engine.OnKillRequested(e.step(), in);
}

void On(Engines& e, const TimeLimitSet& in) {
  e.engine.OnTimeLimitSet(e.step(), in);
}

void On(Engines& e, const OutputConsumed& in) {
  e.engine.OnOutputConsumed(e.step(), in);
}

void On(Engines& e, const InputOffered& in) {
  e.engine.OnInputOffered(e.step(), in);
}

void On(Engines& e, const StateRequested& in) {
  e.reports.OnRequested(e.step(), in);
}

void On(Engines& e, const Tick&) {
  e.ForEach([&](Engine& engine) { engine.OnTick(e.step()); });
}

}  // namespace

void Dispatch(Engines& e, const Input& input) {
  std::visit([&](const auto& in) { On(e, in); }, input);
}

}  // namespace canopy::core
