// Transfers files as one stream of bytes from their source to the nodes of a
// job.
//
// The stream consists of kMagic; for each file its Head, its name and its
// content; finally a Head without a name. Numbers are little-endian.
#ifndef CANOPY_COMMON_PRELOAD_ARCHIVE_H_
#define CANOPY_COMMON_PRELOAD_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/preload/preload_list.h"
#include "common/status.h"

namespace canopy::preload {

inline constexpr std::string_view kMagic = "CNPYFIL1";

struct Head {
  uint32_t name_size = 0;  // 0: end of the stream
  uint32_t mode = 0;       // permissions of the owner
  uint64_t size = 0;       // bytes of content
};
inline constexpr size_t kHeadSize = 16;

// Returns the kHeadSize bytes of the head.
std::string EncodeHead(const Head& head);
// Decodes a head from `bytes`, which must have kHeadSize bytes.
Head DecodeHead(std::string_view bytes);

// Reads the files with the permissions of the calling process. Blocks for the
// file system. Used by one thread.
class ArchiveSource {
 public:
  explicit ArchiveSource(std::vector<Item> items);

  // Checks that all files can be read now and all programs executed. Errors for
  // programs: kErrJobExeNotFound, kErrJobAppNotExecutable; for other files:
  // kErrJobFailedToLaunch. Messages have one line.
  Status Check();
  // Returns the next bytes of the stream, at most `max` (which must be at least
  // a few hundred); empty at the end.
  Result<std::string> Next(size_t max);

 private:
  Status OpenNext();

  std::vector<Item> items_;
  size_t next_ = 0;
  std::string head_{kMagic};  // sent before the content
  UniqueFd file_;
  uint64_t left_ = 0;  // remaining bytes of the content
  bool ended_ = false;
};

// Writes the files below a directory with the permissions of the calling
// process. Never overwrites a file and never writes elsewhere. Blocks for the
// file system. Used by one thread.
class Unpacker {
 public:
  explicit Unpacker(std::string directory) : directory_(std::move(directory)) {}

  // Takes the next bytes of the stream. kErrUnpackFailure: the stream is
  // malformed; kErrJobFailedToLaunch: a file cannot be written. Errors are
  // final.
  Status Take(std::string_view data);
  // Returns true if the stream is complete.
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State { kMagic, kHead, kName, kContent, kDone };

  size_t Wanted() const;
  Status OnPart();
  Status Open();
  Status Write(std::string_view data);
  Status NextFile();

  const std::string directory_;
  State state_ = State::kMagic;
  std::string part_;  // the incomplete magic, head or name
  Head coming_;
  std::string name_;
  UniqueFd file_;
  uint64_t left_ = 0;
  size_t files_ = 0;
};

}  // namespace canopy::preload

#endif  // CANOPY_COMMON_PRELOAD_ARCHIVE_H_
