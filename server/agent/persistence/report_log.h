// The reports to a scheduler, and the scheduler's commands, that a successor
// must know, in a file of the agent's directory.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_REPORT_LOG_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_REPORT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/scheduler/report_store.h"

namespace canopy::agent {

// A log of entries, which is rewritten when its size has doubled. Nothing is
// synchronised with the disk, because agents do not survive their machine. Used
// by one thread.
class ReportLog : public scheduler::ReportStore {
 public:
  // A log that has grown by less than this number of bytes is not rewritten.
  static constexpr uint64_t kSlack = 1u << 20;

  explicit ReportLog(const std::string& directory);

  // Reads another process's file, if only this user has access to it. Removes
  // an entry that was cut short when the process that wrote it died.
  scheduler::StoredReports Load() override;
  Status Begin(uint64_t series) override;
  Status Reserve(uint64_t number) override;
  Status Add(uint64_t number, std::string_view record) override;
  Status Remove(uint64_t number) override;
  Status Lose(uint64_t number, uint64_t lost) override;
  Status AddRelease(uint64_t number, std::string_view release) override;
  Status RemoveRelease(uint64_t number) override;
  Status AddCommand(std::string_view command) override;

  // Removes the file. Called if there will be no successor.
  void Delete();

  // Parses the entries in the content of a file. Returns the length of the
  // complete entries.
  static size_t Parse(std::string_view content,
                      scheduler::StoredReports* stored);

 private:
  Status Append(const std::string& entry);
  Status Compact();

  const std::string path_;
  UniqueFd fd_;        // open after Begin
  uint64_t size_ = 0;  // size of the file
  uint64_t base_ = 0;  // size after the last rewrite
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_REPORT_LOG_H_
