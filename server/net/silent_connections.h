// Which of the connections that have said nothing end, and when: the policy
// that all listening sockets of an agent share.
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
  // How long a connection may say nothing.
  int64_t timeout_ns = int64_t{5} * 1000 * 1000 * 1000;
  // Silent connections of one source, of one that is trusted, and of all
  // together.
  size_t per_source = 4096;
  size_t per_trusted = 4096;
  size_t total = 8192;
  // A trusted source may have this number of connections that say nothing for
  // as long as they like.
  size_t patience = 64;
};

// A connection is silent from Add until Remove. What is silent costs its source
// alone: a source over its own limit loses its oldest silent connection, and
// when there are too many of all sources, the source with the most of them
// does. Pure state; times are nanoseconds of one monotonic clock.
class SilentConnections {
 public:
  using Id = uint64_t;
  // What becomes of a connection that is still silent as far as Remove knows.
  enum class State {
    kSilent,
    // The peer has sent something, which was read. It ends only where there is
    // no silent one to end in its place.
    kBegun,
    // The peer has sent what this side has not read yet. Counts as silent after
    // four times the time limit.
    kUnread,
    kGone,    // closed by somebody else
  };
  struct Parts {
    SilenceLimits limits;
    // A source that runs something here. Null: there is none.
    std::function<bool(const Source& source)> is_trusted;
    // Null: all are kSilent.
    std::function<State(Id id)> look;
  };

  explicit SilentConnections(Parts parts);

  // `id`: not one that is in here.
  void Add(Id id, const Source& source, int64_t now);
  // The connection has said what it is for, or is closed. No effect for one
  // that is not in here.
  void Remove(Id id);

  // The connection that has to end so that `source` may have one more, removed.
  // Nothing when there is room, or when the oldest connections in question are
  // not silent but unread. While descriptors are scarce, one ends that has been
  // silent for a fifth of the time limit; when they are exhausted, any one.
  std::optional<Id> TakeForNewcomer(const Source& source, Supply supply,
                                    int64_t now);
  // A connection that has been silent for too long, removed.
  std::optional<Id> TakeOverdue(int64_t now);
  // Removes all that are gone.
  void Sweep();
  // Whether no newcomer is taken at all: there is twice the total, which only
  // connections that are not read can reach.
  bool full() const { return all_.size() >= 2 * parts_.limits.total; }

  size_t size() const { return all_.size(); }
  size_t num_of(const Source& source) const;

 private:
  struct Entry {
    Id id;
    int64_t since;
  };
  // The oldest first.
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
  Groups groups_;  // by the source's name; none is empty
  std::unordered_map<Id, Place> all_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_SILENT_CONNECTIONS_H_
