// One run of the soak. soak.cc plays the processes, soak_faults.cc injects
// faults into processes and agents, soak_members.cc changes the members,
// soak_aims.cc injects faults at chosen moments, and soak_checks.cc checks the
// results.
#ifndef CANOPY_TESTS_SIM_SOAK_RUN_H_
#define CANOPY_TESTS_SIM_SOAK_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/values/info_list.h"
#include "server/core/step/client_id.h"
#include "tests/sim/cluster.h"
#include "tests/sim/fault_matrix.h"
#include "tests/sim/operations.h"
#include "tests/sim/soak.h"
#include "tests/sim/soak_plan.h"

namespace canopy::sim {

struct Actor {
  PlannedJob* job = nullptr;
  size_t next = 0;         // position in the script
  RequestId waiting = 0;   // the awaited request
  std::string operation;   // the operation in progress
  uint32_t next_get = 0;   // the next peer
  uint32_t next_name = 0;  // the next step of kNames
  std::string last_key;    // the key that the last reader looks up
  // The statuses that the answer may have if there are no faults.
  std::set<int> expected;
  bool disconnects = false;  // has connected in this operation
  bool constructed = false;  // has constructed a group in this operation
  bool registered = false;   // has registered for events
  std::set<int> awaited;     // awaited events
  std::set<int> excused;     // events that may be missed
  int signal = 0;            // the signal of the job control
  // Targets of the abort, foreign get, control or query.
  std::vector<ProcId> targets;
  TimeNs started = 0;
  TimeNs asked = 0;  // when the query was sent
  // Used by kInvite and kSet, which make several calls and wait for events
  // between them: whether more steps follow, and the number of the step.
  bool goes_on = false;
  uint32_t step = 0;
  TimeNs answers_at = 0;               // time of the answer to an invitation
  bool has_group = false;              // the last construct succeeded
  std::set<std::string> excused_sets;  // sets that may be missed
  bool stopped = false;
  bool connected = false;
  bool input_ended = false;
};

// A fault that is chosen for an operation: it is injected after `events` more
// events, if the operation is then in the cell's phase.
struct Aimed {
  Operations::Number operation = 0;
  Cell cell;
  uint64_t events = 0;
};

inline constexpr int kAbortStatus = 7;
// The operation of an actor that gets data of another job.
inline constexpr char kForeignGet[] = "foreign get";
// Number of steps of BeginName.
inline constexpr uint32_t kNameSteps = 11;
// The signal that a launcher sends to all ranks of a job.
inline constexpr int kSignal = 10;

// A process group, as its members see it.
struct PlayedGroup {
  std::set<ProcId> arrived;  // processes that have called the construct
  // The context id and the members in the answer of each process.
  std::map<ProcId, std::pair<uint64_t, std::set<ProcId>>> told;
  std::set<int> constructed;  // statuses of the answers
  std::set<int> ended;
};

// An invitation to a group, as the processes that take part see it.
struct PlayedInvitation {
  std::string name;
  ProcId leader;
  std::vector<ProcId> invited;
  bool tolerant = false;  // the leader accepts missing processes
  bool begun = false;
  std::set<ProcId> told;          // processes notified of the invitation
  std::map<ProcId, int> answers;  // replies of processes, as a status
  std::set<ProcId> heard;         // processes whose reply the leader has
  std::vector<ProcId> accepted;   // processes in `heard` that have accepted
  std::vector<ProcId> members;    // without the leader
  std::map<ProcId, int> outcome;  // by process: the first outcome in a notice
  // Receiver, status and source of all events about the invitation.
  std::set<std::tuple<ProcId, int, ProcId>> notices;
};

// Invitations and sets have fewer steps than this.
inline constexpr uint32_t kLastStep = 9;

class Soak {
 public:
  Soak(uint64_t seed, const SoakOptions& options);
  SoakResult Run();

 private:
  uint64_t Random(uint64_t n) { return n == 0 ? 0 : rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  static uint32_t NodesOf(uint64_t seed, const SoakOptions& options);
  static uint32_t RadixOf(uint64_t seed, const SoakOptions& options);

  void PlanJobs();
  void PlanInput(PlannedJob& job);
  void PlanSpawn(PlannedJob& job);
  void Launch(PlannedJob& job);
  void OfferInput(PlannedJob& job);

  void OnStart(const ProcId& proc);
  void OnAnswer(RequestId request);
  std::set<int> ExpectedOf(const Actor& actor) const;
  bool IsOver(const PlannedJob& job) const;
  void GoOnLater(const ProcId& proc);
  void OnInputEnd(const ProcId& proc);
  static bool AwaitsInput(const ProcId& proc, const Actor& actor);
  void Advance(const ProcId& proc);
  void Begin(const ProcId& proc, Actor& actor, const Op& op);
  RequestId BeginSpawn(const ProcId& proc);
  void OnStartOfSpawned(const ProcId& proc);
  RequestId BeginGet(const ProcId& proc, const ProcId& target,
                     const std::string& key, uint32_t timeout_ms);
  // Makes one step of kNames.
  void BeginName(const ProcId& proc, Actor& actor, const std::string& number);
  void NoteNameAnswer(Actor& actor, int status);
  std::string AwaitedName(const ProcId& proc, Rank ranks,
                          const std::string& number) const;
  void BeginAbort(const ProcId& proc, Actor& actor, const Op& op);
  void BeginGroup(const ProcId& proc, Actor& actor, const Op& op);
  // `played` distinguishes the group from other groups of the same name.
  void BeginConstruct(const ProcId& proc, Actor& actor, const std::string& name,
                      const std::string& played,
                      const std::vector<ProcId>& members,
                      const std::string& directive);
  void BeginDestruct(const ProcId& proc, Actor& actor, const std::string& name,
                     const std::string& played,
                     const std::vector<ProcId>& members);
  void BeginInvitation(const ProcId& proc, Actor& actor, const Op& op);
  // Return false if the process has finished.
  bool Lead(const ProcId& proc, Actor& actor, PlayedInvitation& one);
  bool Join(const ProcId& proc, Actor& actor, PlayedInvitation& one);
  void BeginMember(const ProcId& proc, Actor& actor,
                   const PlayedInvitation& one);
  void EndMember(const ProcId& proc, Actor& actor, const PlayedInvitation& one);
  void OnInvitationNotice(const ProcId& proc, int status, const ProcId& source,
                          const Bytes& info);
  bool EndInvitation(const ProcId& proc, Actor& actor);
  void BeginSet(const ProcId& proc, Actor& actor, const Op& op);
  void DefineSet(const ProcId& proc, Actor& actor, uint32_t number);
  bool AwaitsSets(const ProcId& proc, const Actor& actor,
                  uint32_t number) const;
  void AskForSet(const ProcId& proc, Actor& actor, uint32_t number);
  bool MayBeGone(const PlayedSet& set) const;
  static void NoteGroupAnswer(Actor& actor, int status);
  void NoteSetAnswer(Actor& actor, int status);
  void CheckSet(const ProcId& proc, Actor& actor, const Answer& answer);
  void OnSetNotice(const ProcId& proc, const ProcId& source, const Bytes& info);
  // Does for kInvite and kSet what WakeEventWaiters does for other operations.
  bool WakeGoingOn();
  bool Wake(const std::vector<ProcId>& waiting);
  bool EndSet(const ProcId& proc, Actor& actor) const;
  void BeginEvent(const ProcId& proc, Actor& actor, const Op& op);
  void BeginControl(const ProcId& proc, Actor& actor, const Op& op);
  void BeginQuery(const ProcId& proc, Actor& actor, const Op& op);
  void Register(const ProcId& proc, Actor& actor);
  // Called when a call of the process was answered.
  void NoteAnswer(const ProcId& proc, Actor& actor, int status);
  void OnNotice(const ProcId& proc, int status, const ProcId& source,
                const Bytes& info);
  bool OfOneUser(const ProcId& a, const ProcId& b) const;
  bool MaySee(const ProcId& proc, const PlannedEvent& event) const;
  // Returns whether the process has to wait for events.
  bool AwaitsEvents(const ProcId& proc, Actor& actor) const;
  // Continues processes that wait for events, if they need not wait or the
  // events may be missed. Returns false if no process waits.
  bool WakeEventWaiters();
  std::set<int> StatusesOfControl(const Actor& actor) const;
  std::set<int> StatusesOfAbort(const Actor& actor) const;
  std::set<int> StatusesOfForeignGet(const Actor& actor) const;
  void EndClosed();
  // Returns whether a fault has hit the job or a job for which it waits.
  static bool IsHarmed(const PlannedJob& job);

  // The following functions aim faults at a phase of an operation
  // (soak_aims.cc).
  bool Aims(Engine engine) const;
  bool Plays(Engine engine) const { return Aims(engine) || newer_ == engine; }
  void Watch();
  void Hit(const Operation& operation, Fault fault);
  void HitNode(NodeId node, Fault fault, Fault of_root);
  void HitProc(const ProcId& proc);
  Fate OnSend(const core::PeerMessage& message, Fate fate);
  void TakeAim();
  bool IsIn(const Operation& operation, const Cell& cell) const;
  bool Strike(const Cell& cell, const Operation& operation);
  bool StrikeNode(Fault fault, const Operation& operation);
  bool StrikeProc(const Operation& operation);
  bool LieAbout(const Operation& operation);
  void TellLie(const Operation& operation, const ProcId& liar);

  void Note(const std::string& fault);
  void RandomFault();
  bool FaultOfAgent(uint64_t kind, NodeId node);
  void FaultOfProcess(uint64_t kind, const ProcId& proc);
  void Restart();
  NodeId RandomNode(bool alive);
  std::optional<ProcId> RandomProc();
  uint32_t NumAlive() const;
  void HarmNode(NodeId node);
  void CutOff();
  void LoseNode(NodeId node);
  // Returns the node of a spawned process.
  NodeId RandomPlace();
  // Adds a member to the overlay. Returns false if enough members were added,
  // or if the overlay is parted.
  bool AddNode();

  // The following functions change the members (soak_members.cc).
  uint64_t RandomMember(uint64_t n) { return member_rng_() % n; }
  std::set<NodeId> ReservedNodes();
  void PlaceAgain(PlannedJob& job);
  std::string FreeName();
  bool MayRemove(NodeId node) const;
  void RemoveNode(NodeId node);
  void OnLeave(NodeId node);
  bool Forwards(NodeId node, const Operation& operation) const;
  void HitLeave(NodeId node);
  std::vector<NodeId> LeaversOf(Fault fault, const Operation* operation) const;
  // Return false if the fault is not possible now.
  bool StrikeLeave(Fault fault, const Operation* operation);
  void RandomMemberFault();
  void Drain();

  void Crash(const ProcId& proc);
  void JoinAgain(NodeId node);
  void Restart(NodeId node);
  void Abort(const ProcId& proc);
  void Signal(PlannedJob& job);

  void RunToQuiet();
  void KillStopped();
  void CheckQuiet();
  void CheckWhy(const PlannedJob& job);
  void CheckAnswer(const ProcId& proc, Actor& actor, RequestId request);
  void CheckNames(const PlannedJob& job);
  void CheckConstruct(const ProcId& proc, const Actor& actor,
                      const Answer& answer);
  // Returns whether the job's controller is lost, so that each agent ends its
  // part of the job.
  bool IsDropped(const PlannedJob& job);
  void CheckSameGroup(const ProcId& proc, const std::string& played,
                      const std::set<ProcId>& members, const InfoList& results);
  void CheckOneDecision(const std::string& group,
                        const std::set<int>& statuses);
  void CheckControl(const ProcId& proc, const Actor& actor, int status);
  void CheckControls();
  void CheckTable(const Actor& actor, const Answer& answer);
  std::vector<ProcId> EachOf(const std::vector<ProcId>& targets) const;
  void CheckEnd();
  void CheckSignals();
  void PrintWaiting();
  void Error(const std::string& text) { result_.errors.push_back(text); }

  const SoakOptions options_;
  // Cells that this run should contain and does not contain yet.
  std::vector<Cell> aims_;
  // True if jobs have standard input.
  const bool with_input_;
  // True if jobs spawn other jobs.
  const bool with_spawns_;
  // True if processes publish and look up.
  const bool with_names_;
  // A further engine that processes use in a run without aims.
  const std::optional<Engine> newer_;
  // True if processes invite each other to groups.
  const bool with_invitations_;
  // True if processes define process sets.
  const bool with_sets_;
  // True if members are drained and removed.
  const bool with_members_;
  std::mt19937_64 member_rng_;
  SoakResult result_;
  std::mt19937_64 rng_;
  Cluster cluster_;
  Operations operations_;
  std::optional<Aimed> aimed_;
  std::vector<std::unique_ptr<PlannedJob>> jobs_;
  std::map<ProcId, Actor> actors_;
  std::map<RequestId, ProcId> waiting_;
  std::set<std::string> unread_;  // keys that need not have been read
  std::vector<ProcId> ready_;
  std::map<int, PlannedEvent> events_;         // by status
  std::map<std::string, PlayedGroup> groups_;  // by operation
  std::map<uint64_t, std::string> contexts_;
  std::map<std::string, PlayedInvitation> invitations_;  // by name
  std::map<std::string, PlayedSet> sets_;                // by name
  int next_signal_ = 0;
  std::map<int, std::set<ProcId>> signalled_;  // targets, by signal
  size_t closed_seen_ = 0;
  uint32_t faults_left_ = 0;
  bool any_fault_ = false;
  uint32_t num_added_ = 0;  // members that were added
  uint32_t num_removed_ = 0;
  bool cut_off_ = false;  // agents have declared living agents lost
  bool split_ = false;
  TimeNs settled_ = 0;  // from then on, no restart is in progress
  bool duplicates_ = false;
  uint32_t lines_ = 0;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SOAK_RUN_H_
