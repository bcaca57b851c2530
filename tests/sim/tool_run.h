// One run of the soak of tools. tool_soak.cc plays jobs and checks the results;
// tool_pulls.cc, tool_pushes.cc and tool_stops.cc play the tools;
// tool_faults.cc injects faults into all of them; tool_members.cc changes the
// members.
#ifndef CANOPY_TESTS_SIM_TOOL_RUN_H_
#define CANOPY_TESTS_SIM_TOOL_RUN_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/iof_call.h"
#include "common/job.h"
#include "server/core/step/client_id.h"
#include "tests/sim/cluster.h"
#include "tests/sim/pulled_output.h"
#include "tests/sim/pushed_input.h"
#include "tests/sim/tool_soak.h"

namespace canopy::sim {

// A job that tools use.
struct ToolTarget {
  JobSpec spec;
  NodeId controller = kNoNode;
  bool launched = false;
  bool over = false;       // all processes have ended
  bool harmed = false;     // a fault may end it with a failure
  bool restarted = false;  // the controller was restarted after the launch
  // True if an agent of the job's ranks was restarted after the launch.
  bool any_restarted = false;
  bool forgotten = false;  // the controller was restarted after the job's end
  std::set<Rank> running;
  std::set<Rank> started;  // ranks that have been started
  WrittenOutput written;
  std::map<Rank, uint32_t> writes_left;
  PushedInput pushed;
  // Set for a job whose processes stop for a debugger.
  std::set<Rank> stopped;
  std::set<Rank> released;
  bool is_released = false;  // a debugger has released the job
  uint32_t debuggers = 0;
  // Until this time, the job's output may be sent to a puller that has
  // redirected it.
  TimeNs redirected_until = 0;

  bool stops() const { return spec.debug.stops(); }
  bool IsOnItsWay() const { return launched && !over; }
  // Returns whether all processes have ended. Some processes of a harmed job
  // may never start.
  bool HasEnded() const {
    return running.empty() && (harmed || started.size() == spec.procs.size());
  }
};

struct PlayedPull {
  enum class State : uint8_t { kBegins, kPauses, kReads, kEnds, kDone };

  PlayedPull(ToolTarget& of, uint64_t handle);

  ToolTarget& job;
  OutputRead read;
  std::vector<ProcId> targets;
  std::set<Rank> ranks;  // empty: all
  ReadOutput got;
  State state = State::kBegins;
  RequestId request = 0;  // the pending read
  RequestId end = 0;
  uint64_t dropped = 0;
  TimeNs pace = 0;          // time between reads
  uint32_t reads_left = 0;  // number of reads until the end or a stall
  TimeNs stall = 0;         // length of the stall; 0: the pull ends
  TimeNs read_at = 0;       // time of the last read
  bool late = false;        // the unread output may be gone
  // True if the puller has read from an agent whose successor does not know it.
  bool unknown = false;
  bool expires = false;  // the puller's agent was restarted since the last read
  bool resumed = false;  // the puller resumed too late after a restart
  uint64_t pieces = 0;

  uint64_t Wanted() const { return job.written.Total(read.channels, ranks); }
};

struct PlayedTool {
  enum class Kind : uint8_t { kPuller, kPusher, kDebugger };
  Kind kind = Kind::kPuller;
  ProcId proc;
  JobSpec spec;
  ToolTarget* target = nullptr;
  bool connected = false;
  std::vector<std::unique_ptr<PlayedPull>> pulls;
  // For a pusher: the number of pushes left, the number of pushes that may be
  // pending at a time, and the pending pushes.
  uint32_t pushes_left = 0;
  uint32_t depth = 1;
  bool completes = false;
  std::map<RequestId, uint64_t> pushes;
  // For a debugger.
  bool is_blind = false;  // does not wait until all processes stopped
  RequestId registration = 0;
  RequestId release = 0;
  bool told = false;  // was notified that all processes stopped
};

class ToolSoak {
 public:
  ToolSoak(uint64_t seed, const ToolSoakOptions& options);
  ToolSoakResult Run();

 private:
  // An operation that a fault may affect.
  struct Op {
    ToolPhase phase;
    ProcId tool;  // an empty namespace: none
    ToolTarget* job = nullptr;
  };
  using Then = std::function<void(PlayedTool&)>;

  uint64_t Random(uint64_t n) { return n == 0 ? 0 : rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  TimeNs UpTo(TimeNs most) {
    return static_cast<TimeNs>(Random(static_cast<uint64_t>(most)));
  }
  void LaunchTool(const ProcId& proc);
  static uint32_t NodesOf(uint64_t seed);
  void Error(const std::string& text) { result_.errors.push_back(text); }
  void Note(const std::string& fault);

  // ------------------------------------------------------------------ jobs ---

  void SetHooks();
  void PlanAims();
  void PlanWriter(const std::string& nspace);
  void PlanReader(const std::string& nspace);
  void PlanStops(const std::string& nspace);
  ToolTarget& AddJob(const std::string& nspace);
  void Launch(ToolTarget& job);
  void OnStart(const ProcId& proc);
  void OnExit(const ProcId& proc);
  void OnAnswer(RequestId request);
  void OnNotice(const ProcId& proc, int status, const ProcId& source);
  void Write(const ProcId& proc);
  ToolTarget* Find(const std::string& nspace);
  void EndClosed();

  // ----------------------------------------------------------------- tools ---

  PlayedTool& AddTool(PlayedTool::Kind kind, ToolTarget& target, TimeNs begins);
  PlayedTool* FindTool(const ProcId& proc);
  // Calls `then` after a time, if the tool still exists.
  void Later(const ProcId& tool, TimeNs after, Then then);
  void OnConnected(PlayedTool& tool);
  void OnToolExit(PlayedTool& tool);
  void LeaveIfDone(PlayedTool& tool);
  // Called when the job is over: ends the waits of the tool, because no answer
  // will come.
  void OnJobOver(PlayedTool& tool);

  void PlanPull(PlayedTool& tool);
  void Read(PlayedTool& tool, PlayedPull& pull);
  RequestId Ask(const PlayedTool& tool, const PlayedPull& pull, bool ends);
  bool OnPullAnswer(PlayedTool& tool, RequestId request);
  void OnRead(PlayedTool& tool, PlayedPull& pull, const Answer& answer);
  void Take(PlayedPull& pull, const OutputRun& run, const std::string& who);
  void GoOn(PlayedTool& tool, PlayedPull& pull);
  void EndPull(PlayedTool& tool, PlayedPull& pull);
  void CheckComplete(const PlayedPull& pull, const std::string& who);
  bool IsRedirected(const ToolTarget& job) const;
  void CheckRedirection(const std::string& nspace);

  void Push(PlayedTool& tool);
  bool OnPushAnswer(PlayedTool& tool, RequestId request);
  void CheckInput(ToolTarget& job, Rank rank, bool ended);

  void Stop(const ProcId& proc);
  void AddDebugger(ToolTarget& job, TimeNs begins);
  void Release(PlayedTool& tool);
  void OnReady(PlayedTool& tool, const ToolTarget& job);
  void OnReleased(ToolTarget& job, Rank rank);
  bool OnDebuggerAnswer(PlayedTool& tool, RequestId request);
  static bool HaveAllStopped(const ToolTarget& job);

  // ---------------------------------------------------------------- faults ---

  std::vector<Op> Ops();
  void AddStopOp(ToolTarget& job, std::vector<Op>* out);
  static std::optional<ToolPhase> PhaseOf(const PlayedPull& pull);
  Fate OnSend(const core::PeerMessage& message, Fate fate);
  std::optional<ToolPhase> PhaseOf(const core::PeerMessage& message);
  void MayStrike();
  bool Strike(const ToolCell& cell, const Op& op);
  bool StrikeNode(ToolFault fault, NodeId node);
  void HitNode(NodeId node);
  void LoseNode(NodeId node);
  void Harm(NodeId node);
  uint32_t NumAlive() const;

  // --------------------------------------------------------------- members ---

  uint64_t RandomMember(uint64_t n) { return member_rng_() % n; }
  void AddMemberAims(uint64_t seed);
  bool MayPlaceOn(NodeId node) const;
  bool HasRoot() const;
  std::vector<ProcId> ProcsOn(NodeId node) const;
  void OnLeave(NodeId node);
  bool StrikeJoin();
  bool StrikeIdleLeave();
  void HitLeave(NodeId node, bool is_idle);
  bool StrikeLeave(NodeId node);

  void RunToQuiet();
  bool AddMissingDebugger();
  void CheckEnd();

  const ToolSoakOptions options_;
  const bool restarts_;
  ToolSoakResult result_;
  std::mt19937_64 rng_;
  std::mt19937_64 member_rng_;
  Cluster cluster_;
  std::vector<ToolCell> aims_;
  std::vector<std::unique_ptr<ToolTarget>> jobs_;
  std::map<ProcId, std::unique_ptr<PlayedTool>> tools_;
  uint32_t last_tool_ = 0;
  size_t closed_seen_ = 0;
  uint32_t to_launch_ = 0;  // tools that have not begun
  bool any_fault_ = false;  // an agent was lost or restarted
  bool root_lost_ = false;
  uint32_t num_added_ = 0;  // members that were added
  uint32_t num_removed_ = 0;
  TimeNs settled_ = 0;  // from then on, no restart is in progress
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TOOL_RUN_H_
