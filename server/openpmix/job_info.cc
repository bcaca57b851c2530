#include "server/openpmix/job_info.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/openpmix/kvals.h"

namespace canopy::openpmix {
namespace {

// Keys of the session that clients since 4.2 look up only among the session's
// data.
constexpr std::array<std::string_view, 8> kSessionKeys = {
    PMIX_SESSION_ID, PMIX_UNIV_SIZE, PMIX_CLUSTER_ID,   PMIX_RM_NAME,
    PMIX_RM_VERSION, PMIX_TMPDIR,    PMIX_TDIR_RMCLEAN, PMIX_HOSTNAME_KEEP_FQDN,
};

// Keys that clients look up locally for any rank.
constexpr std::array<std::string_view, 2> kNeededKeys = {
    PMIX_HOSTNAME,
    PMIX_NODEID,
};

// Further keys of a rank, most of which follow from where the rank runs.
constexpr std::array<std::string_view, 9> kPlaceKeys = {
    PMIX_APPNUM,     PMIX_APP_RANK,        PMIX_GLOBAL_RANK,
    PMIX_LOCAL_RANK, PMIX_NODE_RANK,       PMIX_PACKAGE_RANK,
    PMIX_CPUSET,     PMIX_LOCALITY_STRING, PMIX_REINCARNATION,
};

// Keys that are included because some clients have no request for them.
constexpr std::array<std::string_view, 1> kUnaskedKeys = {PMIX_PROCDIR};

// Keys of the other ranks on the same node, which programs read without
// requesting data from another node.
constexpr std::array<std::string_view, 3> kNeighbourKeys = {
    PMIX_LOCAL_RANK,
    PMIX_CPUSET,
    PMIX_LOCALITY_STRING,
};

// If the job has more ranks, the job info contains only the necessary keys of
// other ranks, and clients request the rest when a program needs it. Every
// client reads the whole job info before its PMIx_Init returns; a complete rank
// costs 3 us more.
constexpr uint32_t kMaxCompleteRanks = 32;

bool Has(const auto& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// Builds a data array of infos from VALUEs in Canopy's form.
class InfoArray {
 public:
  explicit InfoArray(const PeerTraits& peer) : peer_(peer), infos_(peer.form) {}

  void Add(std::string_view key, std::string_view value) {
    const std::string theirs = ValueFor(peer_, value);
    if (theirs.empty()) return;
    infos_.PutString(key);
    infos_.PutUint32(0);
    infos_.PutRaw(theirs);
    ++count_;
  }

  // Returns the VALUE in the client's form.
  std::string Take() {
    Encoder array(peer_.form);
    array.PutUint16(PMIX_DATA_ARRAY);
    array.PutUint16(PMIX_INFO);
    array.PutSize(count_);
    array.PutRaw(infos_.Take());
    return array.Take();
  }

 private:
  const PeerTraits& peer_;
  Encoder infos_;
  size_t count_ = 0;
};

bool IsComplete(const shm::SegmentReader& job, const PeerTraits& peer) {
  return !peer.asks_for_places || job.num_ranks() <= kMaxCompleteRanks;
}

bool NamesRank(const pmix_value_t& value, Rank rank) {
  if (value.type == PMIX_PROC_RANK) {
    return value.data.rank == rank || value.data.rank == kRankWildcard;
  }
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr ||
      value.data.darray->type != PMIX_PROC) {
    return false;
  }
  const std::span<const pmix_proc_t> procs(
      static_cast<const pmix_proc_t*>(value.data.darray->array),
      value.data.darray->size);
  return std::ranges::any_of(
      procs, [rank](const pmix_proc_t& proc) { return proc.rank == rank; });
}

class Packer {
 public:
  Packer(const shm::SegmentReader& job, const PeerTraits& peer)
      : job_(job), peer_(peer), out_(peer.form) {}

  std::string Pack() {
    PackSession();
    PackJob();
    for (uint32_t node = 0; node < job_.num_nodes(); ++node) PackNode(node);
    for (uint32_t app = 0; app < job_.num_apps(); ++app) PackApp(app);
    const bool complete = IsComplete(job_, peer_);
    for (Rank rank = 0; rank < job_.num_ranks(); ++rank) {
      PackRank(rank, complete);
    }
    return out_.Take();
  }

  std::string PackOne(Rank rank) {
    PackRank(rank, true);
    return out_.Take();
  }

 private:
  // Peers expect the identifier first.
  void PackSession() {
    InfoArray session(peer_);
    if (const auto id = job_.FindSession(PMIX_SESSION_ID)) {
      session.Add(PMIX_SESSION_ID, *id);
    }
    job_.ForEachSessionKey([&](std::string_view key, std::string_view value) {
      if (key != PMIX_SESSION_ID) session.Add(key, value);
    });
    out_.PackKvalEncoded(PMIX_SESSION_INFO_ARRAY, session.Take());
  }

  void PackJob() {
    job_.ForEachJobKey([&](std::string_view key, std::string_view value) {
      if (key == PMIX_DEBUG_STOP_IN_INIT) return;  // PackStop sends it
      if (peer_.finds_session_keys() && Has(kSessionKeys, key)) return;
      PackKval(peer_, key, value, &out_);
    });
  }

  void PackNode(uint32_t node) {
    InfoArray infos(peer_);
    const bool ours = node == job_.self_node();
    job_.ForEachNodeKey(node,
                        [&](std::string_view key, std::string_view value) {
                          if (ours || key != PMIX_LOCAL_PROCS) {
                            infos.Add(key, value);
                          }
                        });
    out_.PackKvalEncoded(PMIX_NODE_INFO_ARRAY, infos.Take());
  }

  void PackApp(uint32_t app) {
    InfoArray infos(peer_);
    job_.ForEachAppKey(app, [&](std::string_view key, std::string_view value) {
      infos.Add(key, value);
    });
    out_.PackKvalEncoded(PMIX_APP_INFO_ARRAY, infos.Take());
  }

  void PackRank(Rank rank, bool complete) {
    const bool neighbour = job_.NodeOf(rank) == job_.self_node();
    Encoder blob(peer_.form);
    blob.PackRank(rank);
    PackKeys(rank, kNeededKeys, &blob);
    if (complete) {
      PackKeys(rank, kPlaceKeys, &blob);
    } else if (neighbour) {
      PackKeys(rank, kNeighbourKeys, &blob);
    }
    if (!peer_.asks_for_places) PackKeys(rank, kUnaskedKeys, &blob);
    Encoder value(peer_.form);
    value.PutUint16(PMIX_BYTE_OBJECT);
    value.PutBytes(blob.Take());
    out_.PackKvalEncoded(PMIX_PROC_BLOB, value.Take());
  }

  void PackKeys(Rank rank, const auto& keys, Encoder* blob) {
    for (const std::string_view key : keys) {
      const shm::Lookup lookup = job_.FindProc(rank, key);
      if (lookup.found()) PackKval(peer_, key, lookup.value(), blob);
    }
  }

  const shm::SegmentReader& job_;
  const PeerTraits& peer_;
  Encoder out_;
};

}  // namespace

std::string PackJobInfo(const shm::SegmentReader& job, const PeerTraits& peer) {
  return Packer(job, peer).Pack();
}

std::string PackOwnInfo(const shm::SegmentReader& job, const PeerTraits& peer,
                        Rank rank) {
  if (rank >= job.num_ranks() || IsComplete(job, peer)) return "";
  return Packer(job, peer).PackOne(rank);
}

// The value names only this rank, although others may have to stop too, because
// clients understand only one rank or all ranks. They look for the key in the
// job's data.
std::string PackStop(const shm::SegmentReader& job, const PeerTraits& peer,
                     Rank rank) {
  const auto encoded = job.FindJob(PMIX_DEBUG_STOP_IN_INIT);
  if (!encoded) return "";
  const Result<Value> value = DecodeValue(*encoded);
  if (!value.ok() || !NamesRank(value->raw(), rank)) return "";
  Encoder out(peer.form);
  out.PackKval(PMIX_DEBUG_STOP_IN_INIT, Value::Rank(rank).raw());
  return out.Take();
}

std::string PackToolInfo(const std::string& nspace, const std::string& host,
                         const PeerTraits& peer) {
  Encoder out(peer.form);
  const auto add = [&out](std::string_view key, const Value& value) {
    out.PackKval(key, value.raw());
  };
  add(PMIX_JOBID, Value::String(nspace));
  add(PMIX_JOB_SIZE, Value::Uint32(1));
  add(PMIX_MAX_PROCS, Value::Uint32(1));
  add(PMIX_NUM_NODES, Value::Uint32(1));
  add(PMIX_NODE_LIST, Value::String(host));
  Encoder blob(peer.form);
  blob.PackRank(0);
  blob.PackKval(PMIX_HOSTNAME, Value::String(host).raw());
  blob.PackKval(PMIX_NODEID, Value::Uint32(0).raw());
  blob.PackKval(PMIX_LOCAL_RANK, Value::Uint16(0).raw());
  out.PackKval(PMIX_PROC_BLOB, Value::ByteObject(blob.Take()).raw());
  return out.Take();
}

}  // namespace canopy::openpmix
