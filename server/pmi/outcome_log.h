// What a PMI-2 client's successor agent must know of the client's requests that
// have ended: in how many connections with other jobs it took part, and what
// the last answer said.
#ifndef CANOPY_SERVER_PMI_OUTCOME_LOG_H_
#define CANOPY_SERVER_PMI_OUTCOME_LOG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/pmi/request.h"

namespace canopy::pmi {

struct Outcome {
  Operation operation = Operation::kSpawn;  // or kConnect, kDisconnect
  uint64_t number = 0;                      // of the request
  int status = 0;
  std::string job;  // that was spawned, or connected with

  bool operator==(const Outcome&) const = default;
};

// A memory file to which outcomes are appended. One is durable across the death
// of this process once Add has returned. One thread.
class OutcomeLog {
 public:
  // kErrOutOfResource: no memory file.
  static Result<std::unique_ptr<OutcomeLog>> Create();
  // Of what another process has left; what it was about to append counts not.
  static std::unique_ptr<OutcomeLog> Open(UniqueFd fd);
  OutcomeLog(const OutcomeLog&) = delete;
  OutcomeLog& operator=(const OutcomeLog&) = delete;

  // For one more.
  bool has_room() const;
  // The name of its job has no line ends.
  void Add(const Outcome& outcome);
  // From the first to the last.
  const std::vector<Outcome>& all() const { return all_; }

  int fd() const { return fd_.get(); }

 private:
  explicit OutcomeLog(UniqueFd fd) : fd_(std::move(fd)) {}
  void Read();

  UniqueFd fd_;
  size_t size_ = 0;
  std::vector<Outcome> all_;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_OUTCOME_LOG_H_
