// The write side of a job's segment (layout.h): the agent makes one for each
// job.
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

// The keys of one level, each with its VALUE in codec form.
using KeyValues = std::vector<std::pair<std::string, std::string>>;

// One rank. The strings are VALUEs in codec form; empty: the rank has no value.
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
  uint32_t id = 0;  // PMIX_NODEID: the node's number in the session
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
  std::vector<ProcContents> procs;  // indexed by rank
};

struct SegmentLimits {
  // Address space for committed data in bytes; reduced if the process may not
  // map as much. Costs no memory by itself.
  uint64_t arena_bytes = uint64_t{64} << 30;
  // Limit for the memory of the segment in bytes, in total. A commit that
  // exceeds it fails, whereas exceeding a cgroup's limit would kill the agent.
  uint64_t memory_budget = uint64_t{2} << 30;
};

// Used by one thread. Readers see each Publish completely or not at all, and
// keep their mapping if the writer dies.
class SegmentWriter {
 public:
  // Makes the segment of a job. Returns kErrOutOfResource if the data exceeds
  // the budget or the system has no room, kErrSysLimitsFiles if no descriptor
  // is left, and kErrBadParam if a rank has no node or application in
  // `contents`.
  static Result<std::unique_ptr<SegmentWriter>> Create(
      const SegmentContents& contents, const SegmentLimits& limits);
  ~SegmentWriter();
  SegmentWriter(const SegmentWriter&) = delete;
  SegmentWriter& operator=(const SegmentWriter&) = delete;

  // Returns the descriptor for readers. It is sealed: the file cannot be
  // resized, and other processes cannot map it for writing.
  int fd() const { return fd_.get(); }
  uint64_t size() const { return size_; }
  uint32_t num_ranks() const { return num_ranks_; }

  // Replaces a rank's committed data. The keys must be distinct; values are
  // VALUEs in codec form. Returns kErrBadParam for an unknown rank, and
  // kErrOutOfResource if there is no room: the earlier data stays, and readers
  // that miss a key of this rank get LookupState::kNoRoom.
  Status Publish(Rank rank, const std::vector<TableItem>& items);
  // Adds items to a rank's committed data or replaces the values of its keys,
  // with the conditions and errors of Publish. The amortised cost depends on
  // the new items alone: the table is rewritten only when additions and
  // replacements have filled it.
  Status Update(Rank rank, const std::vector<TableItem>& items);
  // Sets the version of a rank's committed data for the agent's successor.
  // Called after Publish or Update: if the agent dies between the two calls,
  // the successor takes the data for older than they are, which does no harm.
  void SetVersion(Rank rank, uint64_t version);
  // Called when the rank's process was started: sets PMIX_PROC_PID.
  void SetPid(Rank rank, uint32_t pid);
  // Called when the rank was restarted: sets PMIX_REINCARNATION.
  void SetReincarnation(Rank rank, uint32_t number);

  // Returns true if a commit may not fit, because more than a quarter of the
  // memory is used. With less in use, there is room for twice the table of each
  // rank.
  bool IsScarce() const { return arena_.used() > arena_.budget() / 4; }
  // Returns the memory used, in bytes.
  uint64_t used() const { return fixed_used_ + arena_.used(); }

 private:
  SegmentWriter(uint64_t arena_capacity, uint64_t arena_budget)
      : arena_(arena_capacity, arena_budget) {}
  uint64_t* DirectoryEntry(Rank rank);
  ProcRow* Row(Rank rank);
  void Store(Rank rank, uint64_t offset, bool incomplete);
  Status NoRoom(Rank rank);
  // Makes this block the rank's table and frees the earlier one.
  void Replace(Rank rank, uint64_t block);
  // Adds items to the rank's present table. Returns false if it has no room.
  bool PutIntoTable(Rank rank, const std::vector<TableItem>& items);
  // Returns the rank's committed items without the items that have the keys of
  // `items`.
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
  std::unordered_map<Rank, GrowingTable> growing_;  // tables with free room
};

}  // namespace canopy::shm

#endif  // CANOPY_COMMON_SHM_SEGMENT_WRITER_H_
