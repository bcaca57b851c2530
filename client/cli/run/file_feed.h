// The files that a job's nodes are to have before it is launched, on their way
// from here.
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

// Reads no more ahead than a window of what the nodes have taken. One thread.
class FileFeed {
 public:
  explicit FileFeed(std::vector<preload::Item> items)
      : wanted_(!items.empty()), source_(std::move(items)) {}
  FileFeed(const FileFeed&) = delete;
  FileFeed& operator=(const FileFeed&) = delete;

  // There are files.
  bool wanted() const { return wanted_; }
  // The next of their archive; nothing when the window is full, and at the end.
  Result<std::string> Next();
  // So many more bytes have been taken.
  void Taken(uint64_t bytes) { taken_ += bytes; }

 private:
  const bool wanted_;
  preload::ArchiveSource source_;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_FILE_FEED_H_
