// A memory file of numbers that outlive this process.
#ifndef CANOPY_SERVER_PMI_WORD_FILE_H_
#define CANOPY_SERVER_PMI_WORD_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::pmi {

// A number survives the death of this process when Set has returned. Used by
// one thread.
class WordFile {
 public:
  // Creates a file of `count` zeros, which is visible to users under the name
  // `name`. kErrOutOfResource: no memory file can be created.
  static Result<std::unique_ptr<WordFile>> Create(const char* name,
                                                  size_t count);
  // Opens a file that another process created. Returns kErrBadParam if it does
  // not have `count` numbers, and kErrOutOfResource if it cannot be mapped.
  static Result<std::unique_ptr<WordFile>> Open(UniqueFd fd, size_t count);
  ~WordFile();
  WordFile(const WordFile&) = delete;
  WordFile& operator=(const WordFile&) = delete;

  // Return and replace a number. `index` must be below the count.
  uint64_t Get(size_t index) const {
    return words_[index].load(std::memory_order_relaxed);
  }
  void Set(size_t index, uint64_t word) {
    words_[index].store(word, std::memory_order_relaxed);
  }

  int fd() const { return fd_.get(); }

 private:
  WordFile() = default;
  Status Map(UniqueFd fd, size_t count);

  UniqueFd fd_;
  std::atomic<uint64_t>* words_ = nullptr;
  size_t count_ = 0;
};

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_WORD_FILE_H_
