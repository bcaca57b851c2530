// Write side of a job's segment (layout.h): the agent makes one per job.
#ifndef CANOPY_COMMON_SHM_SEGMENT_WRITER_H_
#define CANOPY_COMMON_SHM_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "common/shm/arena.h"
#include "common/shm/layout.h"
#include "common/shm/table_writer.h"
#include "common/status.h"

namespace canopy::shm {

// Keys of one level, each with its VALUE in codec form.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// One rank. Texts are VALUEs in codec form; empty: the rank has none.
struct ProcContents {
  uint32_t node = 0;
  uint32_t app = 0;
  uint32_t app_rank = 0;
  uint32_t global_rank = 0;
  uint16_t local_rank = 0;
  uint16_t node_rank = 0;
  uint16_t package_rank = kNoNumber;
  uint32_t reincarnation = 0;
  std::string cpuset;
  std::string cpuset_bitmap;
  std::string locality;
  std::string procdir;
};

struct NodeContents {
  std::string name;
  std::vector<std::string> aliases;
  std::string hostname;  // VALUE
  KeyValues keys;
  uint32_t id = 0;  // PMIX_NODEID: its number in the session
};

// Everything that is known when the job is registered.
struct SegmentContents {
  std::string nspace;
  std::string proc_id_prefix;  // VALUE of a PROC without its rank
  uint32_t self_node = kNoNode;
  KeyValues session;
  KeyValues job;
  std::vector<KeyValues> apps;
  std::vector<NodeContents> nodes;
  std::vector<ProcContents> procs;  // index = rank
};

struct SegmentLimits {
  // Address space for committed data; taken smaller when the process may not
  // map as much. Costs no memory by itself.
  uint64_t arena_bytes = uint64_t{64} << 30;
  // Memory that the segment may use, all included. Going over it fails the
  // one that asked; going over a cgroup's limit would kill the agent.
  uint64_t memory_budget = uint64_t{2} << 30;
};

// Owned by one thread. Readers see each Publish as a whole or not at all, and
// keep what they have when the writer dies.
class SegmentWriter {
 public:
  // kErrOutOfResource: over the budget, or the system has no room.
  static Result<std::unique_ptr<SegmentWriter>> Create(
      const SegmentContents& contents, const SegmentLimits& limits);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // Hand this to readers. Sealed: it can not be resized, and nobody else can
  // map it for writing.
  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }
  uint32_t num_ranks() const { return num_ranks_; }

  // Replaces what a rank has committed. Keys must differ from each other;
  // values are VALUEs in codec form. kErrOutOfResource: the earlier data stays
  // and readers that miss a key of this rank are told why.
  Status Publish(Rank rank, const std::vector<TableItem>& items);
  // Adds to what a rank has committed, or replaces keys of it; the same rules.
  // Costs what is put, on the whole: the table is written anew when what was
  // replaced or added has filled it.
  Status Update(Rank rank, const std::vector<TableItem>& items);
  // The rank's process exists: PMIX_PROC_PID.
  void SetPid(Rank rank, uint32_t pid);
  // The rank was restarted: PMIX_REINCARNATION.
  void SetReincarnation(Rank rank, uint32_t number);

  // A commit may not fit: more than a quarter of the memory is used. Below
  // that there is room for each rank's table twice.
  bool IsScarce() const { return arena_.used() > arena_.budget() / 4; }
  // Memory used, in bytes.
  uint64_t used() const { return fixed_used_ + arena_.used(); }

 private:
  SegmentWriter(uint64_t arena_capacity, uint64_t arena_budget)
      : arena_(arena_capacity, arena_budget) {}
  uint64_t* DirectoryEntry(Rank rank);
  ProcRow* Row(Rank rank);
  void Store(Rank rank, uint64_t offset, bool incomplete);
  Status NoRoom(Rank rank);
  // Takes the place of the rank's table.
  void Replace(Rank rank, uint64_t block);
  // Into the rank's table as it is. False when there is no room in it.
  bool PutIntoTable(Rank rank, const std::vector<TableItem>& items);
  // What a rank has committed, but for these keys.
  std::vector<TableItem> Others(Rank rank, const std::vector<TableItem>& items);

  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t size_ = 0;
  uint64_t fixed_used_ = 0;
  uint64_t arena_begin_ = 0;
  uint64_t directory_ = 0;
  uint64_t proc_rows_ = 0;
  uint32_t num_ranks_ = 0;
  Arena arena_;
  std::unordered_map<Rank, GrowingTable> growing_;  // of those with room
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_SEGMENT_WRITER_H_
