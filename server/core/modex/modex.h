// Data committed by ranks: stored by rank and key, with one view for this node
// and one for other nodes. Only keys are read here; values are never decoded.
#ifndef CANOPY_SERVER_CORE_MODEX_MODEX_H_
#define CANOPY_SERVER_CORE_MODEX_MODEX_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/modex/key_owners.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"
#include "server/core/step/job_actions.h"

namespace canopy::core {

// The data of a rank that is visible on other nodes: its state, or a change of
// it.
struct RankUpdate {
  ProcId proc;
  uint64_t base = 0;     // version before the change; 0: complete state
  uint64_t version = 0;  // version after the change, see ModexStore
  Bytes kvals;
};

// Encodes the data that a node contributes to a collective
// (NodeContribution::data): for each rank its process, base, version and KVALs.
class ModexWriter {
 public:
  void Add(const RankUpdate& update);
  // Removes and returns the data that was encoded since the last call.
  Bytes Take();

 private:
  std::string out_;
};

// Decodes the data of a node. The results share the memory of `bytes`.
class ModexReader {
 public:
  explicit ModexReader(Bytes bytes) : bytes_(std::move(bytes)) {}
  // Reads the next update. Returns false at the end and at the first malformed
  // record.
  bool Next(RankUpdate* update);
  // Returns true if no malformed record was read so far.
  bool ok() const { return ok_; }

 private:
  Bytes bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

// A key put with scope LOCAL is seen by ranks of this node, REMOTE by those of
// other nodes, GLOBAL by both. A later value of a key replaces the earlier one
// in the views that see it. A key that the rank has deleted keeps an empty
// value. This value is stored and sent as any other, so that the deletion
// reaches all copies, but it never makes a rank the owner of the key. Names of
// common/codec/stored_key.h are treated as keys, but never reported as outside
// of a view. Used by one thread.
//
// Data for other nodes travels as deltas, with a collective's release and in
// answers to direct modex, so an older state may arrive after a newer one. Each
// commit therefore has a version that only grows, even across incarnations of
// an agent, because it is at least the time in nanoseconds.
class ModexStore {
 public:
  enum class Found : uint8_t {
    kYes,
    kOutside,  // the key exists, but its scope hides it from this side
    kNo,
    // This agent has no data of the rank at all.
    kNothing,
  };

  // Posts a DataChange to `events` for each change. `events` outlives the
  // store; if it is null, nothing is posted.
  explicit ModexStore(CoreEvents* events = nullptr) : events_(events) {}

  // Stores a local rank's commit. Returns false and changes nothing if the
  // commit is malformed.
  bool Commit(TimeNs now, const ProcId& proc,
              const std::vector<ScopedData>& data);
  // Applies an update from another node. Returns false and changes nothing if
  // the update is malformed, not newer, or a delta to a version that never
  // arrived at this agent; in the last case, gets of the rank's data are sent
  // to its node. The version of a state that was recovered may be unknown. Then
  // any delta applies to it, and of two complete states the one with fewer keys
  // is the older (see IsOlder).
  bool StoreRemote(const RankUpdate& update);
  // Adds KVALs of a remote rank that did not come from the rank's agent, such
  // as those that the rank shares with a group. The rank's agent stores them as
  // well, so the version does not change. Returns false and changes nothing if
  // the KVALs are empty or malformed.
  bool AddRemote(const ProcId& proc, const Bytes& kvals);
  // Restores a predecessor's data of a remote rank: the result of all
  // collectives so far, to which the next delta applies. The version is unknown
  // if an agent of an earlier release has published the data. Returns false if
  // the data is malformed.
  bool RecoverRemote(const PublishRank& data);
  // Records that a remote rank's key exists but is hidden from this node.
  void NoteOutside(const ProcId& proc, const std::string& key);

  // Search a key's data as ranks of this node (FindHere) or of other nodes
  // (FindForOthers) see it. An empty key stands for any key, and the name of a
  // qualified value for each value that satisfies it
  // (common/codec/stored_key.h).
  Found FindHere(const ProcId& proc, std::string_view key) const;
  Found FindForOthers(const ProcId& proc, std::string_view key) const;
  // The KVALs that a local rank has put for a key, for this node and for
  // others; empty if there is none. `split` is true after the key was put for
  // one side only, so that the sides may differ.
  struct Sides {
    Bytes here;
    Bytes others;
    bool split = false;
  };
  // Returns the KVALs of the key; null if the rank has not put the key. The
  // pointer is valid until the job is dropped.
  const Sides* SidesOf(const ProcId& proc, std::string_view key) const;
  // Returns the KVALs seen on this node, each key once; empty if there are
  // none.
  Bytes SeenHere(const ProcId& proc) const;
  // Returns the data that other nodes see now and did not see at version
  // `base`; all data for base 0.
  RankUpdate UpdateSince(const ProcId& proc, uint64_t base) const;
  // Returns the version of a remote rank's data that this agent has; 0 if there
  // is no data or its version is unknown.
  uint64_t KnownVersion(const ProcId& proc) const;
  // Return data to publish in shared memory: Publication returns all data;
  // TakeChange returns the change of the last successful Commit or StoreRemote,
  // once.
  PublishRank Publication(const ProcId& proc) const;
  PublishRank TakeChange(const ProcId& proc);
  // Returns the lowest rank of a namespace that has this key, visible on this
  // node; no value if there is none. The first call for a namespace builds its
  // index.
  std::optional<Rank> OwnerOf(const std::string& nspace,
                              std::string_view key) const;

  size_t num_jobs() const { return jobs_.size(); }
  // Returns the number of keys in the indices of all jobs, a measure of the
  // memory that OwnerOf needs.
  size_t num_indexed() const;
  void DropJob(const std::string& nspace);

 private:
  struct Put {
    Sides sides;
    uint64_t version = 0;  // version of sides.others
  };
  using Keys = std::map<std::string, Put, std::less<>>;
  using Touched = std::vector<const Keys::value_type*>;
  struct Change {
    uint64_t version;
    const Keys::value_type* key;
  };
  struct RankData {
    bool remote = false;
    bool added = false;  // has data from AddRemote
    uint64_t version = 0;
    // Local ranks only: all keys, and, in the order of versions, the changes
    // that others see. A key that was put again appears again; its last entry
    // is the valid one.
    Keys keys;
    std::vector<Change> changes;
    // Built on demand from `keys`; for remote ranks from `here` and `news`.
    mutable bool stale = false;
    mutable Bytes here;
    mutable Bytes others;
    mutable std::vector<std::string> outside;  // sorted
    // Remote ranks only: the updates after `here`, in order.
    mutable std::vector<Bytes> news;
    mutable size_t news_size = 0;
    // Only for remote ranks with much data: the index of all keys, which the
    // first search for a key builds.
    mutable std::unique_ptr<KeyOwners> key_set;
    PublishRank change;
  };
  struct JobData {
    std::map<Rank, RankData> ranks;
    // Built by the first OwnerOf and maintained from then on. So jobs without
    // gets of rank UNDEF need no memory for it.
    mutable std::unique_ptr<KeyOwners> owners;
  };

  const RankData* Find(const ProcId& proc) const;
  static bool IsOlder(const RankUpdate& update, const RankData& old);
  // Merges a commit whose version is already in `data`.
  static void Merge(RankData* data, const ScopedData& scoped, Touched* touched);
  // Adds an update to the data of a remote rank.
  static void Append(const Bytes& kvals, RankData* data);
  static void TrimChanges(RankData* data);
  static PublishRank ChangeOf(const ProcId& proc, Touched touched);
  // Rebuilds the views if they are stale.
  static const RankData& Fresh(const RankData& data);
  static void Rebuild(const RankData& data);
  static bool RemoteHas(const RankData& data, std::string_view key);
  static bool RemoteAnswers(const RankData& data, std::string_view key);
  // Finds a key that a local rank has put, for one side.
  static Found FindPut(const RankData& data, std::string_view key,
                       Bytes Sides::*side);
  // Adds the keys that ranks of this node see, without deleted ones.
  static void IndexPut(Rank rank, const RankData& data, KeyOwners* owners);
  // Updates the indices with an update of a remote rank, before it is stored.
  // `replaces` is true if the update is no delta but replaces all data of the
  // rank.
  static void Index(const RankUpdate& update, bool replaces, JobData* job,
                    RankData* data);
  void NoteChange(const PublishRank& change);

  std::map<std::string, JobData> jobs_;
  CoreEvents* const events_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_MODEX_H_
