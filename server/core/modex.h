// What ranks have committed: kept per rank, merged per key, and seen from two
// sides. Values are never decoded here; only keys are read.
#ifndef CANOPY_SERVER_CORE_MODEX_H_
#define CANOPY_SERVER_CORE_MODEX_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/job_actions.h"

namespace canopy::core {

// What a rank shows to other nodes, or what of it has changed.
struct RankUpdate {
  ProcId proc;
  uint64_t base = 0;     // what changed since this version; 0: all there is
  uint64_t version = 0;  // that it leads to, see ModexStore
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

// A key put with scope LOCAL is seen by ranks of this node, REMOTE by those of
// other nodes, GLOBAL by both; a later value of a key replaces the earlier one
// on the sides that see it. One thread.
//
// What a rank shows to other nodes travels with a collective's release, in
// answers to direct modex and in pieces, so an older state of it may come after
// a newer one. Each commit therefore has a version, which only grows: also from
// one life of an agent to the next, as it is not less than the time.
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
  // What a rank of another node shows to other nodes. False when nothing
  // changes: it is malformed or not news, or it changes a state that never came
  // here; then whoever asks for the rank's data asks its node. What an agent
  // that was replaced knows, and passes on, adds to what is here, and any
  // change fits after it.
  bool StoreRemote(const RankUpdate& update);
  // What a former agent of this node knew of a rank of another node, whatever
  // its version was: it is what the collectives so far have brought, so that
  // the next one's changes fit. False when it is malformed.
  bool RestoreRemote(const PublishRank& data);
  // A key of a rank of another node that exists but is hidden from here.
  void NoteOutside(const ProcId& proc, const std::string& key);

  // For ranks of this node, and for those of other nodes. An empty key asks
  // for anything at all.
  Found FindHere(const ProcId& proc, std::string_view key) const;
  Found FindForOthers(const ProcId& proc, std::string_view key) const;
  // KVALs seen on this node, keys unique; empty when there is nothing.
  Bytes SeenHere(const ProcId& proc) const;
  // What others see now and did not see at version `base` (0: everything).
  RankUpdate UpdateSince(const ProcId& proc, uint64_t base) const;
  // The version up to which a rank of another node is known here; 0: nothing
  // is, or what there is has none.
  uint64_t KnownVersion(const ProcId& proc) const;
  // What is to be put into shared memory: everything, and what the last commit
  // or StoreRemote that gave true has changed, which can be had once.
  PublishRank Publication(const ProcId& proc) const;
  PublishRank TakeChange(const ProcId& proc);
  // The lowest rank of a namespace with that key visible on this node.
  std::optional<Rank> OwnerOf(const std::string& nspace,
                              std::string_view key) const;

  size_t num_jobs() const { return jobs_.size(); }
  void DropJob(const std::string& nspace);
  // Ranks whose data changed since the last call.
  std::vector<ProcId> TakeChanged();

 private:
  // The KVAL of a key on either side; empty: none.
  struct Sides {
    Bytes here;
    Bytes others;
    uint64_t version = 0;  // of `others`
  };
  using Keys = std::map<std::string, Sides, std::less<>>;
  using Touched = std::vector<const Keys::value_type*>;
  struct Change {
    uint64_t version;
    const Keys::value_type* key;
  };
  struct RankData {
    bool remote = false;
    uint64_t version = 0;
    // Of local ranks: all keys, and in the order of their versions those that
    // others see. A key that was put again is there again; the last counts.
    Keys keys;
    std::vector<Change> changes;
    // Made from `keys`, for remote ranks from `here` and `news`, when somebody
    // wants to see them.
    mutable bool stale = false;
    mutable Bytes here;
    mutable Bytes others;
    mutable std::vector<std::string> outside;  // sorted
    // Of remote ranks: what came after `here`, in order.
    mutable std::vector<Bytes> news;
    mutable size_t news_size = 0;
    PublishRank change;
  };

  const RankData* Find(const ProcId& proc) const;
  // Into the version that `data` has already.
  static void Merge(RankData* data, const ScopedData& scoped, Touched* touched);
  static void TrimChanges(RankData* data);
  static PublishRank ChangeOf(const ProcId& proc, Touched touched);
  // Brings what others want to see up to date.
  static const RankData& Fresh(const RankData& data);
  static void Rebuild(const RankData& data);
  static bool RemoteHas(const RankData& data, std::string_view key);

  std::map<std::string, std::map<Rank, RankData>> jobs_;
  std::vector<ProcId> changed_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_H_
