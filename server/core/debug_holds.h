// For how long debuggers have held processes of jobs, and what that does to the
// limits that were set for what processes wait for: these stand still
// meanwhile.
#ifndef CANOPY_SERVER_CORE_DEBUG_HOLDS_H_
#define CANOPY_SERVER_CORE_DEBUG_HOLDS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/step/clock.h"

namespace canopy::core {

// Jobs that are noted at a time; limits of others run on.
inline constexpr size_t kMaxHeldJobs = 1024;

// What the agent of a node has said of one job.
struct HoldWord {
  NodeId node = kNoNode;
  uint64_t number = 0;  // those of one node ascend
  bool holds = false;   // processes of that node
  TimeNs since = 0;     // this agent's time
};

// An agent knows by events what each other one holds (local_holds.h); it asks
// this when a limit is due, so that nothing has to be done for the limits of
// jobs that nobody holds. Not synchronised.
class DebugHolds {
 public:
  struct Change {
    std::string nspace;
    bool held = false;
  };

  // Older words than the last of that node are dropped.
  void Note(TimeNs now, const std::string& nspace, const HoldWord& word);
  // What it holds it can not tell any more.
  void OnNodeLost(TimeNs now, NodeId node);
  void OnJobRemoved(const std::string& nspace);

  bool Holds(std::string_view nspace) const;
  // No job was ever held: nothing stands still.
  bool empty() const { return jobs_.empty(); }

  // When a limit for something of these jobs ends: `when`, which was right at
  // `since`, and later by as long as any of them was held since. While one of
  // them is, a second from now at the earliest. Whoever gets a later time than
  // `now` asks then once more, with `now` as `since`.
  TimeNs DueAt(TimeNs now, TimeNs since, TimeNs when,
               std::span<const std::string> nspaces) const;
  TimeNs DueAt(TimeNs now, TimeNs since, TimeNs when,
               const std::string& nspace) const {
    return DueAt(now, since, when, std::span(&nspace, 1));
  }

  // Jobs of which holding has begun or has ended, since the last call.
  std::vector<Change> TakeChanges() { return std::exchange(changes_, {}); }
  bool has_changes() const { return !changes_.empty(); }

 private:
  using Span = std::pair<TimeNs, TimeNs>;
  struct Of {
    std::map<NodeId, HoldWord> words;
    std::deque<Span> past;  // ascending, without overlaps
    TimeNs since = kNever;  // kNever: it is not held
  };

  bool HasRoom();
  void Update(TimeNs now, const std::string& nspace, Of* job);
  static void End(TimeNs now, Of* job);

  std::map<std::string, Of, std::less<>> jobs_;
  std::vector<Change> changes_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_DEBUG_HOLDS_H_
