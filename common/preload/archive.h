// Files as one stream of bytes, from whoever has them to the nodes of a job.
//
// The stream: kMagic; for each file its Head, its name and its content; a Head
// without a name. Numbers are little-endian.
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
  uint32_t name_size = 0;  // 0: the end
  uint32_t mode = 0;       // permissions of the owner
  uint64_t size = 0;       // of the content
};
inline constexpr size_t kHeadSize = 16;

std::string EncodeHead(const Head& head);
// `bytes`: kHeadSize of them.
Head DecodeHead(std::string_view bytes);

// Reads the files, with the permissions of the calling process. Blocks for the
// file system.
class ArchiveSource {
 public:
  explicit ArchiveSource(std::vector<Item> items);

  // Whether all files can be read now, and programs be executed.
  // kErrJobExeNotFound, kErrJobAppNotExecutable: of programs; others of files:
  // kErrJobFailedToLaunch. Messages are one line.
  Status Check();
  // The next bytes, `max` (at least a few hundred) at most; none at the end.
  Result<std::string> Next(size_t max);

 private:
  Status OpenNext();

  std::vector<Item> items_;
  size_t next_ = 0;
  std::string head_{kMagic};  // to be sent before the content
  UniqueFd file_;
  uint64_t left_ = 0;  // of the content
  bool ended_ = false;
};

// Writes the files below a directory, with the permissions of the calling
// process; never over a file, nor anywhere else. Blocks for the file system.
class Unpacker {
 public:
  explicit Unpacker(std::string directory) : directory_(std::move(directory)) {}

  // `data` is what comes next. kErrUnpackFailure: no such stream;
  // kErrJobFailedToLaunch: a file can not be written. Final.
  Status Take(std::string_view data);
  // All has come.
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
  std::string part_;  // of what has no content
  Head coming_;
  std::string name_;
  UniqueFd file_;
  uint64_t left_ = 0;
  size_t files_ = 0;
};

}  // namespace canopy::preload

#endif  // CANOPY_COMMON_PRELOAD_ARCHIVE_H_
