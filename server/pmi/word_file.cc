#include "server/pmi/word_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace canopy::pmi {
namespace {

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free);

size_t BytesFor(size_t count) {
  return std::max<size_t>(count, 1) * sizeof(Word);
}

Status Problem(const char* what) {
  return Status(kErrOutOfResource,
                std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<WordFile>> WordFile::Create(const char* name,
                                                   size_t count) {
  UniqueFd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(BytesFor(count))) != 0) {
    return Problem("no memory file");
  }
  return Open(std::move(fd), count);
}

Result<std::unique_ptr<WordFile>> WordFile::Open(UniqueFd fd, size_t count) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0 ||
      info.st_size != static_cast<off_t>(BytesFor(count))) {
    return Status(kErrBadParam,
                  "the memory file has another size than this job needs");
  }
  std::unique_ptr<WordFile> file(new WordFile);
  Status status = file->Map(std::move(fd), count);
  if (!status.ok()) return status;
  return file;
}

Status WordFile::Map(UniqueFd fd, size_t count) {
  void* const base = mmap(nullptr, BytesFor(count), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return Problem("cannot map a memory file");
  words_ = static_cast<Word*>(base);
  count_ = count;
  fd_ = std::move(fd);
  return Status();
}

WordFile::~WordFile() {
  if (words_ != nullptr) munmap(words_, BytesFor(count_));
}

}  // namespace canopy::pmi
