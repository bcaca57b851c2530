// Sends the files that a job's nodes need before its launch.
#ifndef CANOPY_CLIENT_CLI_RUN_FILE_FEED_H_
#define CANOPY_CLIENT_CLI_RUN_FILE_FEED_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/preload/archive.h"
#include "common/preload/preload_list.h"
#include "common/status.h"

namespace canopy::cli {

// Reads at most one window beyond what the nodes have acknowledged. Used by one
// thread.
class FileFeed {
 public:
  explicit FileFeed(std::vector<preload::Item> items)
      : wanted_(!items.empty()), source_(std::move(items)) {}
  FileFeed(const FileFeed&) = delete;
  FileFeed& operator=(const FileFeed&) = delete;

  // Returns true if there are files to send.
  bool wanted() const { return wanted_; }
  // Returns the next bytes of the archive. Returns an empty string if the
  // window is full, and at the end of the archive.
  Result<std::string> Next();
  // Records that the nodes have consumed another `bytes` bytes.
  void Taken(uint64_t bytes) { taken_ += bytes; }

 private:
  const bool wanted_;
  preload::ArchiveSource source_;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_FILE_FEED_H_
