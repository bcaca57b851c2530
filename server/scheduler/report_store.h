// Where reports are kept for a successor of this agent.
#ifndef CANOPY_SERVER_SCHEDULER_REPORT_STORE_H_
#define CANOPY_SERVER_SCHEDULER_REPORT_STORE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/status.h"

namespace canopy::scheduler {

// What a predecessor has left.
struct StoredReports {
  uint64_t series = 0;    // as in v1::AgentHello::incarnation; 0: nothing is
  uint64_t reserved = 0;  // no number above it was given to a report
  uint64_t lost = 0;      // as in v1::Report::records_lost
  // Records that were not acknowledged, by their numbers, ascending.
  std::vector<std::pair<uint64_t, std::string>> records;
  // What is free again, and was not told; likewise.
  std::vector<std::pair<uint64_t, std::string>> releases;
  // What was noted of commands, in order; at least of the newest kCommands.
  std::vector<std::string> commands;
};

// Each change is durable against the death of this process when it returns; the
// status says why it is not. Loop thread only.
class ReportStore {
 public:
  // A command is noted twice at most.
  static constexpr size_t kCommands = 2048;

  virtual ~ReportStore() = default;

  // Before anything else.
  virtual StoredReports Load() = 0;
  virtual Status Begin(uint64_t series) = 0;
  virtual Status Reserve(uint64_t number) = 0;
  virtual Status Add(uint64_t number, std::string_view record) = 0;
  // Those up to this one are not needed any more.
  virtual Status Remove(uint64_t number) = 0;
  // Nor is this one, which nobody was told: `lost` are so in all.
  virtual Status Lose(uint64_t number, uint64_t lost) = 0;
  // Their numbers have nothing to do with those of records.
  virtual Status AddRelease(uint64_t number, std::string_view release) = 0;
  virtual Status RemoveRelease(uint64_t number) = 0;
  virtual Status AddCommand(std::string_view command) = 0;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_REPORT_STORE_H_
