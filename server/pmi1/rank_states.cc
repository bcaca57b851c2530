#include "server/pmi1/rank_states.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace canopy::pmi1 {
namespace {

using Word = std::atomic<uint64_t>;
static_assert(Word::is_always_lock_free);

constexpr uint64_t kInitialized = 1;
constexpr uint64_t kFinalized = 2;
constexpr uint64_t kAnswering = 4;
constexpr unsigned kStatusShift = 8;
constexpr unsigned kBarriersShift = 24;

size_t BytesFor(size_t ranks) {
  return std::max<size_t>(ranks, 1) * sizeof(Word);
}

Status Problem(const char* what) {
  return Status(kErrOutOfResource,
                std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<RankStates>> RankStates::Create(size_t ranks) {
  UniqueFd fd(memfd_create("canopy-pmi1", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(BytesFor(ranks))) != 0) {
    return Problem("no memory file");
  }
  return Open(std::move(fd), ranks);
}

Result<std::unique_ptr<RankStates>> RankStates::Open(UniqueFd fd,
                                                     size_t ranks) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0 ||
      info.st_size != static_cast<off_t>(BytesFor(ranks))) {
    return Status(kErrBadParam, "a memory file of another job");
  }
  std::unique_ptr<RankStates> states(new RankStates);
  Status status = states->Map(std::move(fd), ranks);
  if (!status.ok()) return status;
  return states;
}

Status RankStates::Map(UniqueFd fd, size_t ranks) {
  void* const base = mmap(nullptr, BytesFor(ranks), PROT_READ | PROT_WRITE,
                          MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return Problem("cannot map a memory file");
  words_ = static_cast<Word*>(base);
  ranks_ = ranks;
  fd_ = std::move(fd);
  return Status();
}

RankStates::~RankStates() {
  if (words_ != nullptr) munmap(words_, BytesFor(ranks_));
}

RankState RankStates::Get(size_t index) const {
  const uint64_t word = words_[index].load(std::memory_order_relaxed);
  RankState state;
  state.initialized = (word & kInitialized) != 0;
  state.finalized = (word & kFinalized) != 0;
  state.answering = (word & kAnswering) != 0;
  state.status = static_cast<int16_t>(word >> kStatusShift);
  state.barriers = word >> kBarriersShift;
  return state;
}

void RankStates::Set(size_t index, const RankState& state) {
  uint64_t word = state.barriers << kBarriersShift |
                  uint64_t{static_cast<uint16_t>(state.status)} << kStatusShift;
  if (state.initialized) word |= kInitialized;
  if (state.finalized) word |= kFinalized;
  if (state.answering) word |= kAnswering;
  words_[index].store(word, std::memory_order_relaxed);
}

}  // namespace canopy::pmi1
