#include "server/core/job/part.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/job/records.h"

namespace canopy::core {

// An agent that has returned since the launch has lost its ranks. It counts as
// an agent without a node of the job, and only forwards messages.
JobPart::JobPart(JobTable& table, const Job& entry, JobPlace place,
                 const JobPrepare& prepare, bool persists)
    : table_(table),
      self_(place.self()),
      spec_(entry.spec),
      layout_(entry.layout),
      encoded_(prepare.spec),
      explain_(prepare.explain),
      persists_(persists),
      place_(std::move(place)),
      local_(spec_, layout_,
             place_.lost().contains(self_) ? kNoNode : entry.local_node),
      answers_(place_, local_),
      streams_(place_, local_, persists),
      ends_(spec_->procs.size()) {
  if (!has_local()) return;
  local_left_ = static_cast<uint32_t>(local_.all().size());
}

bool JobPart::RunsHere() const {
  return has_local() && !preparing() && local_left_ > 0;
}

void JobPart::Begin(const JobStep& step) {
  if (has_local()) {
    step.out.push_back(RegisterJob{spec_, layout_});
    table_.MarkRegistered(nspace());
  }
  for (const NodeId node : place_.lost()) MarkNodeEnded(node);
  RecordLost();
}

JobPrepare JobPart::PrepareMessage() const {
  const std::set<NodeId>& lost = place_.lost();
  return {encoded_, place_.controller(), {lost.begin(), lost.end()}, explain_};
}

void JobPart::Prepare(const JobStep& step) {
  for (const NodeId child : place_.children()) {
    step.Send(child, PrepareMessage());
  }
  if (!has_local()) return;
  step.out.push_back(PrepareLocal{spec_, layout_, explain_});
  PersistController(step);
}

// Called for a new parent, or for a parent that was restarted and has lost the
// answers.
void JobPart::OnPreparedAgain(const JobStep& step, NodeId controller) {
  if (controller != place_.controller()) {
    place_.SetController(controller);
    PersistController(step);
  }
  place_.UpdateParent();
  ResendAnswers();
}

void JobPart::OnLocalPrepared(const JobStep& step, const LocalPrepared& in) {
  PhaseAnswer answer;
  if (in.status == kSuccess) {
    answer.count = 1;
  } else {
    answer.errors.push_back({step.self, in.status, in.text});
  }
  for (const ProgramNote& note : in.notes) {
    answer.notes.push_back({note.reason, note.detail, {step.self}, 1});
  }
  answer.port = in.port;
  answers_.AnswerPrepare(step.self, std::move(answer));
}

void JobPart::OnLocalStarted(const JobStep& step, const LocalStarted& in) {
  PhaseAnswer answer;
  answer.count = in.procs;
  if (in.status != kSuccess) {
    answer.errors.push_back({step.self, in.status, in.text});
  }
  answers_.AnswerStart(step.self, std::move(answer));
  // The job was killed while processes were being created; the kill is repeated
  // for those created since.
  if (kill_ && local_left_ > 0) KillLocalRanks(step, {});
}

// The local processes may run from now on.
void JobPart::EnterStarting() {
  state_ = JobPartState::kStarting;
  streams_.Start();
}

void JobPart::Start(const JobStep& step, uint16_t port) {
  if (!preparing()) return;
  EnterStarting();
  port_ = port;
  for (const NodeId child : place_.children()) {
    step.Send(child, JobStart{nspace(), port_});
  }
  if (has_local()) StartLocalRanks(step);
}

// An agent between the controller and this one may have been restarted and have
// lost the port. If the ranks were started without the port, they would wait
// for each other forever.
void JobPart::StartLocalRanks(const JobStep& step) {
  if (spec_->rendezvous_host.empty() || port_ != 0) {
    return step.out.push_back(StartLocal{nspace(), port_});
  }
  answers_.AnswerStart(self_,
                       {0,
                        {{self_, kErrJobFailedToLaunch,
                          "the port that rank 0's node reserved is not known "
                          "after the restart of an agent"}}});
}

void JobPart::Advance() {
  if (!preparing() && answers_.StartIsAnswered()) {
    state_ = JobPartState::kRunning;
  }
}

void JobPart::ReportUp(const JobStep& step) {
  answers_.ReportUp(step, !preparing());
  for (MessageBody& report : ends_.TakeUnsent(nspace())) {
    step.Send(place_.parent(), std::move(report));
  }
}

bool JobPart::AddEnd(const RankEnd& end) {
  if (!ends_.Add(end)) return false;
  if (end.exit.restarted) return true;
  const Rank rank = end.exit.rank;
  table_.MarkEnded(nspace(), rank);
  if (local_.Has(rank)) --local_left_;
  return true;
}

bool JobPart::MayRestart(Rank rank) const {
  return !kill_ && !killed_.contains(rank) &&
         answers_.Started().errors.empty() &&
         (state_ == JobPartState::kStarting ||
          state_ == JobPartState::kRunning);
}

void JobPart::Restart(const JobStep& step, ProcExit exit) {
  exit.restarted = true;
  ends_.Add({exit, false});
  const uint32_t incarnation = exit.incarnation + 1;
  table_.MarkRestarted(nspace(), exit.rank, incarnation);
  step.out.push_back(RestartLocal{nspace(), exit.rank, incarnation});
  step.out.push_back(SetIncarnation{{nspace(), exit.rank}, incarnation});
  for (const JobNode& node : spec_->nodes) {
    if (node.agent == self_ || !step.tree.alive(node.agent)) continue;
    step.Send(node.agent, RankRestarted{nspace(), exit.rank, incarnation});
  }
}

void JobPart::OnRankRestarted(const JobStep& step, NodeId src,
                              const RankRestarted& m) {
  if (m.rank >= spec_->procs.size() || src == self_ ||
      spec_->nodes[spec_->procs[m.rank].node].agent != src) {
    return;
  }
  table_.MarkRestarted(nspace(), m.rank, m.incarnation);
  const uint32_t now = table_.Find(nspace())->ranks[m.rank].incarnation;
  step.out.push_back(SetIncarnation{{nspace(), m.rank}, now});
}

// Reports local restarts to a restarted agent that has ranks of the job.
void JobPart::SendRestarts(const JobStep& step, NodeId node) const {
  if (!has_local() || spec_->max_restarts == 0 ||
      layout_->node_of_agent(node) == kNoNode) {
    return;
  }
  const Job* const job = table_.Find(nspace());
  for (const Rank rank : local_.all()) {
    const uint32_t incarnation = job->ranks[rank].incarnation;
    if (incarnation == 0) continue;
    step.Send(node, RankRestarted{nspace(), rank, incarnation});
  }
}

void JobPart::Signal(const JobStep& step, const JobSignal& signal) const {
  for (const NodeId child : place_.ChildrenTowards(signal.ranks)) {
    step.Send(child, signal);
  }
  if (!RunsHere()) return;
  std::vector<Rank> ranks = local_.Of(signal.ranks);
  if (ranks.empty()) return;
  // The process adapter takes an empty list for all ranks.
  if (signal.ranks.empty()) ranks.clear();
  step.out.push_back(SignalLocal{nspace(), signal.signal, std::move(ranks)});
}

uint32_t JobPart::IncarnationOf(Rank rank) const {
  return table_.Find(nspace())->ranks[rank].incarnation;
}

void JobPart::Kill(const JobStep& step, const JobKill& kill) {
  if (kill.ranks.empty()) {
    kill_ = kill;
    table_.MarkEnding(nspace());
  }
  for (const NodeId child : place_.ChildrenTowards(kill.ranks)) {
    step.Send(child, kill);
  }
  if (!has_local() || preparing()) return;
  std::vector<Rank> ranks = local_.Of(kill.ranks);
  if (ranks.empty()) return;
  MarkKilled(step, ranks);
  if (kill.ranks.empty()) ranks.clear();
  KillLocalRanks(step, std::move(ranks));
}

// The record precedes the kill, because a successor must not restart these
// processes, and must report that their ends were ordered.
void JobPart::MarkKilled(const JobStep& step, const std::vector<Rank>& ranks) {
  const size_t before = killed_.size();
  killed_.insert(ranks.begin(), ranks.end());
  if (!persists_ || killed_.size() == before) return;
  step.out.push_back(KilledRecord(nspace(), killed_));
}

void JobPart::KillLocalRanks(const JobStep& step,
                             std::vector<Rank> ranks) const {
  if (ranks.empty()) table_.MarkEnding(nspace());
  step.out.push_back(
      KillLocal{nspace(), std::move(ranks), spec_->kill_grace_seconds * 1000});
}

void JobPart::SendForget(const JobStep& step) const {
  for (const NodeId agent : place_.Below()) {
    step.Send(agent, JobForget{nspace()});
  }
}

// A controller may release a job without knowing that processes still run on
// this node. The part then waits until they have ended.
bool JobPart::Release(const JobStep& step) {
  if (!RunsHere()) return true;
  if (std::exchange(state_, JobPartState::kReleasing) !=
      JobPartState::kReleasing) {
    KillLocalRanks(step, {});
  }
  return false;
}

void JobPart::Drop(const JobStep& step) const {
  if (!has_local()) return;
  step.out.push_back(ForgetLocal{nspace()});
  step.out.push_back(DropJob{nspace()});
}

// -------------------------------------------------------- changes of tree ---

void JobPart::OnNodeLost(const JobStep& step, NodeId node) {
  place_.MarkLost(node);
  MarkNodeEnded(node);
  answers_.Drop(node);
  OnTreeChanged(step);
}

void JobPart::MarkNodeEnded(NodeId node) {
  const uint32_t index = layout_->node_of_agent(node);
  if (index == kNoNode) return;
  for (const Rank rank : layout_->ranks_on(index)) {
    table_.MarkEnded(nspace(), rank);
  }
}

// The controller may see lost nodes as alive again, as new incarnations without
// the job. Their loss must be reported to it.
void JobPart::RecordLost() {
  for (const NodeId node : place_.LostBelow()) {
    const uint32_t index = layout_->node_of_agent(node);
    if (index == kNoNode) continue;
    for (const Rank rank : layout_->ranks_on(index)) {
      AddEnd({{rank, 0, false, false, false}, true});
    }
  }
}

void JobPart::OnTreeChanged(const JobStep& step) {
  const JobPlace::Change change = place_.Update();
  for (const NodeId child : change.new_children) SyncChild(step, child);
  if (place_.controls()) return;
  // The old parent may have died before it forwarded the answers.
  if (change.parent) ResendAnswers();
  RecordLost();
  // An agent on the old route may have died before it forwarded output.
  if (!change.route || !has_local()) return;
  step.out.push_back(ResendOutput{nspace()});
  streams_.RequestInput(step);
}

void JobPart::OnNodeRestarted(const JobStep& step, NodeId node) {
  SendRestarts(step, node);
  if (place_.IsChild(node)) SyncChild(step, node);
  if (place_.controls() || !place_.OnRoute(node)) return;
  if (node == place_.parent()) ResendAnswers();
  // A recovered controller requests the output when its launcher has
  // reattached.
  if (has_local() && node != place_.controller()) {
    step.out.push_back(ResendOutput{nspace()});
  }
  streams_.RequestInput(step);
}

void JobPart::ResendAnswers() {
  answers_.Resend();
  ends_.Resend();
}

void JobPart::SyncChild(const JobStep& step, NodeId child) const {
  step.Send(child, PrepareMessage());
  if (!preparing()) {
    step.Send(child, JobStart{nspace(), port_});
  }
  if (kill_) step.Send(child, *kill_);
}

void JobPart::SyncChildren(const JobStep& step) const {
  for (const NodeId child : place_.children()) SyncChild(step, child);
}

// ------------------------------------------------------------- recovery ---

void JobPart::PersistController(const JobStep& step) const {
  if (!persists_ || !has_local()) return;
  step.out.push_back(ControllerRecord(nspace(), place_.controller()));
}

void JobPart::Recover(bool started, uint16_t port,
                      std::optional<JobKill> kill) {
  if (started) EnterStarting();
  port_ = port;
  kill_ = std::move(kill);
  if (kill_) table_.MarkEnding(nspace());
}

void JobPart::RecoverLocal(const JobStep& step, const JobRecovered& in) {
  if (!has_local()) return;
  if (!in.has_shim) {
    step.out.push_back(PrepareLocal{spec_, layout_});
    return PersistController(step);
  }
  answers_.AnswerPrepare(self_, {1, {}});
  for (const auto& [rank, incarnation] : in.incarnations) {
    table_.RecoverIncarnation(nspace(), rank, incarnation);
    step.out.push_back(SetIncarnation{{nspace(), rank}, incarnation});
  }
  streams_.Recover(in.records);
  if (in.started) {
    EnterStarting();
    answers_.AnswerStart(self_, {local_left_, {}});
  } else if (!preparing()) {
    StartLocalRanks(step);
  }
  killed_ = RecoverKilled(in.records);
  if (!in.started) return;
  if (kill_) return KillLocalRanks(step, {});
  if (!killed_.empty()) {
    KillLocalRanks(step, {killed_.begin(), killed_.end()});
  }
}

}  // namespace canopy::core
