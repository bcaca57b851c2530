// Decides which silent connections end, and when: the policy of all listening
// sockets of an agent.
#ifndef CANOPY_SERVER_NET_SILENT_CONNECTIONS_H_
#define CANOPY_SERVER_NET_SILENT_CONNECTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "server/net/descriptors.h"
#include "server/net/source.h"

namespace canopy::net {

struct SilenceLimits {
  // The time for which a connection may be silent.
  int64_t timeout_ns = int64_t{5} * 1000 * 1000 * 1000;
  // The maximum number of silent connections of one source, of one trusted
  // source, and of all sources together.
  size_t per_source = 4096;
  size_t per_trusted = 4096;
  size_t total = 8192;
  // The number of connections of a trusted source that may be silent for an
  // unlimited time.
  size_t patience = 64;
};

// A connection is silent from Add until Remove. Silent connections harm only
// their own source: a source over its limit loses its oldest silent connection,
// and if there are too many in total, the source with the most loses one. Pure
// state; times are nanoseconds of one monotonic clock.
class SilentConnections {
 public:
  using Id = uint64_t;
  // The state of a connection that was not removed.
  enum class State {
    kSilent,
    // The peer has sent data, which was read. Such a connection ends only if no
    // silent connection can end instead.
    kBegun,
    // The peer has sent data that was not read yet. The connection counts as
    // silent after four times the time limit.
    kUnread,
    kGone,  // closed by its owner
  };
  struct Parts {
    SilenceLimits limits;
    // Returns true for a source that runs processes on this node. Null: no
    // source is trusted.
    std::function<bool(const Source& source)> is_trusted;
    // Returns the state of a connection. Null: all connections are kSilent.
    std::function<State(Id id)> look;
  };

  explicit SilentConnections(Parts parts);

  // Adds a silent connection. `id` must not have been added before.
  void Add(Id id, const Source& source, int64_t now);
  // Removes a connection that has identified itself or is closed. No effect if
  // it was not added.
  void Remove(Id id);

  // Removes and returns the connection that must end so that `source` may have
  // another one. Returns no value if there is room, or if the oldest candidates
  // have unread data. While descriptors are scarce, a candidate must have been
  // silent for a fifth of the time limit; when they are exhausted, every silent
  // connection is a candidate.
  std::optional<Id> TakeForNewcomer(const Source& source, Supply supply,
                                    int64_t now);
  // Removes and returns a connection that has been silent for too long; no
  // value if there is none.
  std::optional<Id> TakeOverdue(int64_t now);
  // Removes all connections that are gone.
  void Sweep();
  // Returns true if no new connection is accepted at all, because there are
  // twice as many as `total`. Only connections with unread data can reach this
  // number.
  bool full() const { return all_.size() >= 2 * parts_.limits.total; }

  size_t size() const { return all_.size(); }
  size_t num_of(const Source& source) const;

 private:
  struct Entry {
    Id id;
    int64_t since;
  };
  // Entries are ordered from oldest to newest.
  struct Group {
    Source source;
    std::list<Entry> entries;
  };
  using Groups = std::map<std::string, Group>;
  struct Place {
    Groups::iterator group;
    std::list<Entry>::iterator entry;
  };

  Groups::iterator Largest();
  std::optional<Id> TakeOldest(Groups::iterator group, size_t more_than,
                               int64_t age, int64_t now);
  State Look(const Entry& entry, int64_t now) const;
  bool IsTrusted(const Source& source) const;

  const Parts parts_;
  Groups groups_;  // by the source's name; no group is empty
  std::unordered_map<Id, Place> all_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SILENT_CONNECTIONS_H_
