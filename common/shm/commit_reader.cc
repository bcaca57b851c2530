#include "common/shm/commit_reader.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>
#include <utility>

#include "common/shm/memory_file.h"

namespace canopy::shm {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

bool HasFixedSize(int fd, uint64_t size) {
  struct stat info;
  const int seals = fcntl(fd, F_GET_SEALS);
  return fstat(fd, &info) == 0 && static_cast<uint64_t>(info.st_size) == size &&
         seals >= 0 && (seals & kSizeSeals) == kSizeSeals;
}

}  // namespace

Result<std::unique_ptr<CommitReader>> CommitReader::Create(
    uint32_t num_mailboxes) {
  if (num_mailboxes == 0 || num_mailboxes > kMaxCommitMailboxes) {
    return Status(
        kErrBadParam,
        "a segment of mailboxes has no room for this number of ranks");
  }
  UniqueFd fd = CreateMemoryFile("canopy-commits");
  if (!fd ||
      ftruncate(fd.get(), static_cast<off_t>(CommitFileBytes(num_mailboxes))) !=
          0 ||
      fcntl(fd.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) {
    return Status(kErrOutOfResource, "cannot create a segment of mailboxes");
  }
  auto made = Map(std::move(fd), num_mailboxes);
  if (!made.ok()) return made;
  auto* header = new ((*made)->base_) CommitHeader;
  header->version = kCommitVersion;
  header->num_mailboxes = num_mailboxes;
  header->mailbox_bytes = kCommitMailboxBytes;
  header->magic = kCommitMagic;
  return made;
}

Result<std::unique_ptr<CommitReader>> CommitReader::Open(
    UniqueFd fd, uint32_t num_mailboxes) {
  if (num_mailboxes == 0 || num_mailboxes > kMaxCommitMailboxes ||
      !HasFixedSize(fd.get(), CommitFileBytes(num_mailboxes))) {
    return Status(kErrBadParam, "not the mailboxes of this job");
  }
  auto opened = Map(std::move(fd), num_mailboxes);
  if (!opened.ok()) return opened;
  CommitReader& reader = **opened;
  const CommitHeader& header = *reader.header();
  if (header.magic != kCommitMagic || header.version != kCommitVersion ||
      header.num_mailboxes != num_mailboxes ||
      header.mailbox_bytes != kCommitMailboxBytes) {
    return Status(kErrBadParam,
                  "the mailboxes are invalid or have another version");
  }
  for (uint32_t i = 0; i < num_mailboxes; ++i) {
    reader.taken_[i] = reader.mailbox(i).taken.load(std::memory_order_relaxed);
  }
  return opened;
}

Result<std::unique_ptr<CommitReader>> CommitReader::Map(
    UniqueFd fd, uint32_t num_mailboxes) {
  void* base = mmap(nullptr, CommitFileBytes(num_mailboxes),
                    PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) {
    return Status(kErrOutOfResource, "cannot map a segment of mailboxes");
  }
  return std::unique_ptr<CommitReader>(
      new CommitReader(std::move(fd), base, num_mailboxes));
}

CommitReader::CommitReader(UniqueFd fd, void* base, uint32_t num_mailboxes)
    : fd_(std::move(fd)),
      base_(base),
      num_mailboxes_(num_mailboxes),
      taken_(num_mailboxes),
      corrupted_(num_mailboxes),
      unreleased_(num_mailboxes) {}

CommitReader::~CommitReader() { munmap(base_, size()); }

CommitReader::Found CommitReader::Take(uint32_t index, std::string* bytes) {
  const uint64_t from = taken_[index];
  CommitMailbox& rank = mailbox(index);
  if (rank.written.load(std::memory_order_acquire) == from ||
      corrupted_[index]) {
    return Found::kNothing;
  }
  // A rank that reads this 0 has written its commit before the load in the next
  // line, which therefore sees the commit.
  rank.wanted.store(0, std::memory_order_seq_cst);
  const uint64_t to = rank.written.load(std::memory_order_seq_cst);
  const bool starts_over = GenerationOf(to) != GenerationOf(from);
  const uint32_t begin = starts_over ? 0 : BytesOf(from);
  const uint32_t end = BytesOf(to);
  // A rank starts over only after it has seen that everything was released. If
  // it started over earlier, it could make the agent read the same bytes any
  // number of times.
  if (end > kCommitMailboxBytes || begin > end ||
      (starts_over && unreleased_[index])) {
    MarkCorrupted(index);
    return Found::kCorrupted;
  }
  const char* data = static_cast<const char*>(base_) +
                     CommitMailboxOffset(num_mailboxes_, index);
  bytes->assign(data + begin, end - begin);
  taken_[index] = to;
  if (!unreleased_[index]) to_release_.push_back(index);
  unreleased_[index] = true;
  return Found::kCommits;
}

void CommitReader::Release() {
  for (const uint32_t index : to_release_) {
    mailbox(index).taken.store(taken_[index], std::memory_order_release);
    unreleased_[index] = false;
  }
  to_release_.clear();
}

void CommitReader::Ask(uint32_t index) {
  mailbox(index).wanted.store(1, std::memory_order_seq_cst);
}

void CommitReader::SetMessages(uint32_t index, uint32_t messages) {
  mailbox(index).messages.store(messages, std::memory_order_release);
}

}  // namespace canopy::shm
