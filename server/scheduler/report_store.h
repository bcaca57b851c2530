// Stores reports for a successor of this agent.
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

// The data that a predecessor has stored.
struct StoredReports {
  // The value of v1::AgentHello::incarnation; 0: nothing is stored.
  uint64_t series = 0;
  uint64_t reserved = 0;  // no report has a higher number
  uint64_t lost = 0;      // v1::Report::records_lost
  // Unacknowledged records with their numbers, ascending.
  std::vector<std::pair<uint64_t, std::string>> records;
  // Releases that were not sent, with their numbers, ascending.
  std::vector<std::pair<uint64_t, std::string>> releases;
  // Entries about commands, in order: at least those of the newest kCommands.
  std::vector<std::string> commands;
};

// Each change survives the death of this process once its function has
// returned. The status describes a failure. Loop thread only.
class ReportStore {
 public:
  // Twice CommandHistory::kMaxCommands, because there are at most two entries
  // for a command.
  static constexpr size_t kCommands = 2048;

  virtual ~ReportStore() = default;

  // Returns the stored data. Called before any other function.
  virtual StoredReports Load() = 0;
  // Begins a series. Called if no series is stored.
  virtual Status Begin(uint64_t series) = 0;
  // Reserves the numbers up to this one for records.
  virtual Status Reserve(uint64_t number) = 0;
  // Adds a record. Its number was reserved.
  virtual Status Add(uint64_t number, std::string_view record) = 0;
  // Removes the records up to this number.
  virtual Status Remove(uint64_t number) = 0;
  // Removes a record that was never sent. `lost` is the number of all such
  // records so far.
  virtual Status Lose(uint64_t number, uint64_t lost) = 0;
  // The numbers of releases are independent of those of records.
  virtual Status AddRelease(uint64_t number, std::string_view release) = 0;
  virtual Status RemoveRelease(uint64_t number) = 0;
  virtual Status AddCommand(std::string_view command) = 0;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_REPORT_STORE_H_
