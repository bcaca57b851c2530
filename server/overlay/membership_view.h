// This agent's view of the overlay: which members are up, the tree that follows
// from it, and the members' addresses.
#ifndef CANOPY_SERVER_OVERLAY_MEMBERSHIP_VIEW_H_
#define CANOPY_SERVER_OVERLAY_MEMBERSHIP_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/tree.h"
#include "server/overlay/config.h"
#include "server/overlay/frame.h"
#include "server/overlay/handshake.h"
#include "server/overlay/member_table.h"
#include "server/overlay/stream.h"

namespace canopy::overlay {

// The reason recorded for a member that has left in order.
inline constexpr char kLeftOverlay[] = "left the overlay";

// Pure state; loop thread only. The caller applies changes to links and
// packets.
class MembershipView {
 public:
  // All members count as alive in the tree until one is known to be down.
  explicit MembershipView(const OverlayConfig& config);

  const Identity& identity() const { return identity_; }
  const MemberTable& table() const { return table_; }
  const core::Tree& tree() const { return tree_; }
  NodeId self() const { return identity_.self; }
  const std::string& name(NodeId node) const { return names_[node]; }
  // Returns an empty text while the address is unknown.
  const std::string& address(NodeId node) const { return addresses_[node]; }
  // Returns true if all members that were not removed are up.
  bool complete() const { return table_.up_count() >= table_.num_kept(); }

  // The address that this agent announces to its neighbours.
  void SetOwnAddress(const std::string& address);
  // The description of this agent's node, which all members get.
  void SetOwnDescription(const std::string& description);
  // Sets the address at which a member is dialled.
  void SetAddress(NodeId node, std::string address);

  // Returns kNoNode if this agent acts as root.
  NodeId parent() const { return tree_.parent(self()); }
  // Returns true if `node` is alive and the tree has an edge between it and
  // this agent.
  bool IsNeighbor(NodeId node) const;
  // On the path from `node` up to this agent, returns the first member whose
  // parent waits for it or which this agent has never seen. Returns kNoNode if
  // messages reach the node.
  NodeId GapTowards(NodeId node) const;
  // Returns the next state of a member: absent if it was present, and present
  // if it was absent.
  MemberState WithAbsence(NodeId node) const;
  // Returns true if the member was in this overlay before, as far as this agent
  // knows.
  bool WasSeen(NodeId node) const { return rejoined_ || table_.Known(node); }

  enum class Change {
    kNone,       // not newer than the known state, or not a member
    kLost,       // the member was lost
    kLostAgain,  // it was lost, has returned unseen, and was lost again
    kReturned,   // the member is up and was not before
    kReplaced,   // up as another incarnation; its processes are lost
    kRestarted,  // up as another incarnation, which recovered its processes
    // Its parent has lost the link to it, or has it again, or it was described.
    kAbsence,
    kSelfLost,        // others have declared this agent lost
    kSelfDuplicated,  // another agent runs as this member
  };
  // Applies a member's state that a neighbour has sent.
  Change Merge(const MemberState& state);
  enum class RecordChange {
    kNone,     // not newer than the known record
    kChanged,  // the root has decided about a known member
    kAdded,    // a new member, which counts as lost until its agent is up
  };
  // Applies a record.
  RecordChange MergeRecord(const MemberRecord& record);
  // Declares this agent down. Returns false if it was down already.
  bool MergeOwnDeparture();

  // Becomes a new incarnation that knows the state of no other member; all
  // members that were not removed are in the tree again.
  void StartOver();
  // Records that a parent has sent the states of all members.
  void MarkSynced() { synced_ = true; }

  // Return true if the loss (ReportDown) or the return (ReportUp) has not been
  // reported to the core yet, and record that it has been.
  bool ReportDown(NodeId node);
  bool ReportUp(NodeId node);

  // Returns why the sender of a well-formed Hello may not become a child, or
  // kEndOk.
  StreamEnd Admit(const Hello& hello) const;

 private:
  // Returns true if the state ends an incarnation that this agent has not seen.
  bool LivedUnseen(const MemberState& state) const;

  Identity identity_;
  std::vector<std::string> names_;
  std::vector<std::string> addresses_;
  MemberTable table_;
  core::Tree tree_;
  std::vector<bool> reported_down_;
  // `rejoined_`: this agent has rejoined. `synced_` is false from then on until
  // a parent has sent the membership; until then this agent accepts no
  // children, because it would give them an obsolete view.
  bool rejoined_ = false;
  bool synced_ = true;
  std::string description_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_MEMBERSHIP_VIEW_H_
