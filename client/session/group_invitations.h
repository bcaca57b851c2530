// The groups that this process is forming by invitation: those to which it has
// invited others, and those whose invitations it has accepted.
#ifndef CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_
#define CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/mutex.h"
#include "common/values/info_list.h"

namespace canopy::client {

// Ends a call about a group. There are results with PMIX_SUCCESS and
// PMIX_ERR_PARTIAL_SUCCESS only.
using GroupDone = std::function<void(int status, InfoList results)>;

// An invitation that this process has sent as the leader.
struct SentInvitation {
  InfoList directives;
  std::set<ProcId> awaited;  // have not answered
  std::set<ProcId> accepted;
  bool tolerant = false;           // continues without missing processes
  bool incomplete = false;         // processes are missing
  bool has_foreign = false;        // some use another library
  std::optional<ProcId> replaces;  // the leader that has ended
  uint64_t number = 0;             // distinguishes it from others of the name
  GroupDone done;
};

struct AcceptedInvitation {
  ProcId leader;
  bool leaderless = false;         // the leader ended, and no other is known
  std::optional<ProcId> replaced;  // the leader whose place `leader` has taken
  InfoList directives;
  uint64_t number = 0;
  GroupDone done;
};

// The end of an invitation that this process has not answered yet.
struct InvitationEnd {
  bool aborted = false;  // the leader has given up
  bool failed = false;   // the leader has ended
  bool leads = false;    // a handler offered to take its place
  std::vector<ProcId> invited;
  std::optional<ProcId> next;  // the process that has taken its place
};

// The numbers of ends and of inviters that are kept; the oldest are dropped.
inline constexpr size_t kMaxInvitationEnds = 256;

// Invitations by the group's name. Thread-safe.
class GroupInvitations {
 public:
  // Returns false if an invitation of that name exists. Sets its number.
  bool Add(const std::string& name, SentInvitation invitation,
           uint64_t* number) {
    const MutexLock lock(mu_);
    if (sent_.contains(name) || accepted_.contains(name)) return false;
    *number = invitation.number = ++last_number_;
    sent_.emplace(name, std::move(invitation));
    return true;
  }
  bool Add(const std::string& name, AcceptedInvitation invitation,
           uint64_t* number) {
    const MutexLock lock(mu_);
    if (sent_.contains(name) || accepted_.contains(name)) return false;
    *number = invitation.number = ++last_number_;
    accepted_.emplace(name, std::move(invitation));
    return true;
  }

  // Removes and returns the invitation if `is_meant`, which may change it,
  // returns true.
  template <typename F>
  std::optional<SentInvitation> TakeSentIf(const std::string& name,
                                           F is_meant) {
    return TakeIf(&sent_, name, is_meant);
  }
  template <typename F>
  std::optional<AcceptedInvitation> TakeAcceptedIf(const std::string& name,
                                                   F is_meant) {
    return TakeIf(&accepted_, name, is_meant);
  }

  // Updates the record of the invitation's end.
  template <typename F>
  void NoteEnd(const ProcId& leader, const std::string& name, F note) {
    const MutexLock lock(mu_);
    const auto known = std::ranges::find(
        ends_, std::pair(leader, name),
        [](const auto& item) -> const auto& { return item.first; });
    if (known != ends_.end()) return note(known->second);
    ends_.emplace_back(std::pair(leader, name), InvitationEnd());
    note(ends_.back().second);
    if (ends_.size() > kMaxInvitationEnds) ends_.pop_front();
  }
  // Removes the record, because the process was invited anew or has answered.
  std::optional<InvitationEnd> TakeEnd(const ProcId& leader,
                                       const std::string& name) {
    const MutexLock lock(mu_);
    std::optional<InvitationEnd> end;
    std::erase_if(ends_, [&](auto& item) {
      if (item.first != std::pair(leader, name)) return false;
      end = std::move(item.second);
      return true;
    });
    return end;
  }

  // Records that `leader` invites this process to the group `name`.
  void NoteInviter(const std::string& name, const ProcId& leader) {
    const MutexLock lock(mu_);
    std::erase_if(inviters_,
                  [&](const auto& one) { return one.first == name; });
    inviters_.emplace_back(name, leader);
    if (inviters_.size() > kMaxInvitationEnds) inviters_.pop_front();
  }
  // Returns the sender of the latest invitation to the group `name`.
  std::optional<ProcId> InviterOf(const std::string& name) {
    const MutexLock lock(mu_);
    const auto it = std::ranges::find(
        inviters_, name,
        [](const auto& one) -> const auto& { return one.first; });
    if (it == inviters_.end()) return std::nullopt;
    return it->second;
  }

  // Returns true for one caller only, which must subscribe to the events.
  bool BeginWatching() {
    const MutexLock lock(mu_);
    return !std::exchange(watches_, true);
  }

 private:
  template <typename Map, typename F>
  std::optional<typename Map::mapped_type> TakeIf(Map* map,
                                                  const std::string& name,
                                                  F is_meant) {
    const MutexLock lock(mu_);
    const auto it = map->find(name);
    if (it == map->end() || !is_meant(it->second)) return std::nullopt;
    std::optional<typename Map::mapped_type> taken(std::move(it->second));
    map->erase(it);
    return taken;
  }

  Mutex mu_;
  std::deque<std::pair<std::pair<ProcId, std::string>, InvitationEnd>> ends_
      CANOPY_GUARDED_BY(mu_);
  std::deque<std::pair<std::string, ProcId>> inviters_ CANOPY_GUARDED_BY(mu_);
  uint64_t last_number_ CANOPY_GUARDED_BY(mu_) = 0;
  bool watches_ CANOPY_GUARDED_BY(mu_) = false;
  std::map<std::string, SentInvitation> sent_ CANOPY_GUARDED_BY(mu_);
  std::map<std::string, AcceptedInvitation> accepted_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITATIONS_H_
