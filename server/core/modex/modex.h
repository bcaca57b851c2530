// Data committed by ranks: stored per rank, merged per key, with one view for
// this node and one for other nodes. Values are never decoded here; only keys
// are read.
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
#include "server/core/step/job_actions.h"

namespace canopy::core {

// What other nodes may see of a rank, or what has changed in it.
struct RankUpdate {
  ProcId proc;
  uint64_t base = 0;     // what changed since this version; 0: all there is
  uint64_t version = 0;  // after applying it, see ModexStore
  Bytes kvals;
};

// The data that one node brings to a collective (NodeContribution::data), as
// WireWriter writes it: for each rank a Proc, Uint base, Uint version and a
// String with its KVALs.
class ModexWriter {
 public:
  void Add(const RankUpdate& update);
  Bytes Take();

 private:
  std::string out_;
};

// Reads it. The pieces share the owner of the bytes.
class ModexReader {
 public:
  explicit ModexReader(Bytes bytes) : bytes_(std::move(bytes)) {}
  // False at the end and at the first malformed record.
  bool Next(RankUpdate* update);
  // Nothing malformed so far.
  bool ok() const { return ok_; }

 private:
  Bytes bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

// Keys of one rank that were put or put again.
struct DataChange {
  ProcId proc;
  Bytes visible;                     // KVALs that ranks of this node see
  std::vector<std::string> outside;  // keys that they do not see
};

// A key put with scope LOCAL is seen by ranks of this node, REMOTE by those of
// other nodes, GLOBAL by both; a later value of a key replaces the earlier one
// in the views that see it. Names of common/codec/stored_key.h are treated as
// keys, but never reported as being outside of a view. One thread.
//
// Data for other nodes is sent with a collective's release and in answers to
// direct modex, as deltas, so an older state may arrive after a newer one. Each
// commit therefore has a version that only grows, across incarnations of an
// agent too, as it is not less than the time.
class ModexStore {
 public:
  enum class Found : uint8_t {
    kYes,
    kOutside,  // the key exists, but its scope hides it from the asker
    kNo,
    kNothing,  // the rank has no data here at all
  };

  // A local rank commits. False, with nothing changed, when something is
  // malformed.
  bool Commit(TimeNs now, const ProcId& proc,
              const std::vector<ScopedData>& data);
  // Applies an update from another node. False when nothing changes: it is
  // malformed or not newer, or it is a delta to a base that never arrived here;
  // gets of the rank's data then go to its node. After recovery the
  // predecessor's state is the base: it is merged with what is here, and any
  // delta applies to it. Of two states of which one is a predecessor's, the one
  // with a part of the other's keys is the older one.
  bool StoreRemote(const RankUpdate& update);
  // Adds KVALs of a rank of another node that did not come from the agent of the
  // rank, as what the rank shares with a group. That agent stores them as well,
  // so the version stays as it is. Returns false, and changes nothing, if they
  // are malformed.
  bool AddRemote(const ProcId& proc, const Bytes& kvals);
  // Restores what a predecessor knew of a rank of another node, whatever its
  // version: the result of all collectives so far, so that the next delta
  // applies. False when it is malformed.
  bool RecoverRemote(const PublishRank& data);
  // A key of a rank of another node that exists but is hidden from here.
  void NoteOutside(const ProcId& proc, const std::string& key);

  // What ranks of this node, or those of other nodes, see of a key. An empty key
  // stands for any key, and the name of a qualified value for each value that
  // satisfies it (common/codec/stored_key.h).
  Found FindHere(const ProcId& proc, std::string_view key) const;
  Found FindForOthers(const ProcId& proc, std::string_view key) const;
  // The KVAL that a local rank has put for a key, for either side; empty: none.
  // `split`: at least once for one side alone, so that the sides may differ.
  struct Sides {
    Bytes here;
    Bytes others;
    bool split = false;
  };
  // Null for a key that it has not put. Good until the job is dropped.
  const Sides* SidesOf(const ProcId& proc, std::string_view key) const;
  // KVALs seen on this node, keys unique; empty when there is nothing.
  Bytes SeenHere(const ProcId& proc) const;
  // What other nodes see now and did not at version `base` (0: everything).
  RankUpdate UpdateSince(const ProcId& proc, uint64_t base) const;
  // The version up to which a rank of another node is known here; 0: nothing
  // is, or its version is unknown.
  uint64_t KnownVersion(const ProcId& proc) const;
  // What to publish in shared memory: everything, or the change of the last
  // successful Commit or StoreRemote, which is returned once.
  PublishRank Publication(const ProcId& proc) const;
  PublishRank TakeChange(const ProcId& proc);
  // The lowest rank of a namespace with that key visible on this node. The
  // first call for a namespace makes its index.
  std::optional<Rank> OwnerOf(const std::string& nspace,
                              std::string_view key) const;

  size_t num_jobs() const { return jobs_.size(); }
  // Keys in the indices of all jobs: what OwnerOf costs in memory.
  size_t num_indexed() const;
  void DropJob(const std::string& nspace);
  // What changed since the last call, in order.
  std::vector<DataChange> TakeChanged();
  bool has_changed() const { return !changed_.empty(); }

 private:
  struct Put {
    Sides sides;
    uint64_t version = 0;  // of sides.others
  };
  using Keys = std::map<std::string, Put, std::less<>>;
  using Touched = std::vector<const Keys::value_type*>;
  struct Change {
    uint64_t version;
    const Keys::value_type* key;
  };
  struct RankData {
    bool remote = false;
    bool added = false;  // by AddRemote
    uint64_t version = 0;
    // Of local ranks: all keys, and in the order of their versions those that
    // others see. A key that was put again appears again; its last entry is the
    // valid one.
    Keys keys;
    std::vector<Change> changes;
    // Built on demand from `keys`, for remote ranks from `here` and `news`.
    mutable bool stale = false;
    mutable Bytes here;
    mutable Bytes others;
    mutable std::vector<std::string> outside;  // sorted
    // Of remote ranks: updates after `here`, in order.
    mutable std::vector<Bytes> news;
    mutable size_t news_size = 0;
    // Of remote ranks with much data, once a key was looked for: all keys.
    mutable std::unique_ptr<KeyOwners> key_set;
    PublishRank change;
  };
  struct JobData {
    std::map<Rank, RankData> ranks;
    // Made by the first OwnerOf and kept up to date from then on, so that jobs
    // without gets of rank UNDEF pay nothing for it.
    mutable std::unique_ptr<KeyOwners> owners;
  };

  const RankData* Find(const ProcId& proc) const;
  static bool IsOlder(const RankUpdate& update, const RankData& old);
  // Into the version that `data` has already.
  static void Merge(RankData* data, const ScopedData& scoped, Touched* touched);
  // Adds an update to the data of a remote rank.
  static void Append(const Bytes& kvals, RankData* data);
  static void TrimChanges(RankData* data);
  static PublishRank ChangeOf(const ProcId& proc, Touched touched);
  // Rebuilds the views when they are stale.
  static const RankData& Fresh(const RankData& data);
  static void Rebuild(const RankData& data);
  static bool RemoteHas(const RankData& data, std::string_view key);
  static bool RemoteAnswers(const RankData& data, std::string_view key);
  // Looks for a key that a local rank has put, on one side.
  static Found FindPut(const RankData& data, std::string_view key,
                       Bytes Sides::*side);
  static void IndexAll(Rank rank, const RankData& data, KeyOwners* owners);
  // Brings the indices up to date with an update of a remote rank, before it is
  // stored.
  static void Index(const RankUpdate& update, bool replaces, JobData* job,
                    RankData* data);
  void NoteChange(const PublishRank& change);

  std::map<std::string, JobData> jobs_;
  std::vector<DataChange> changed_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_MODEX_H_
