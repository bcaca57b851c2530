#include "common/shm/commit_writer.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

namespace canopy::shm {
namespace {

void* MapPart(int fd, size_t offset, size_t size) {
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    static_cast<off_t>(offset));
  return base == MAP_FAILED ? nullptr : base;
}

// Returns the number of mailboxes, or 0 if the file is not of this layout.
uint32_t MailboxesIn(int fd, uint64_t size, uint32_t index) {
  struct stat info;
  if (fstat(fd, &info) != 0 || size != static_cast<uint64_t>(info.st_size) ||
      size < CommitFileBytes(1)) {
    return 0;
  }
  void* base = MapPart(fd, 0, sizeof(CommitHeader));
  if (base == nullptr) return 0;
  CommitHeader header;
  std::memcpy(static_cast<void*>(&header), base, sizeof header);
  munmap(base, sizeof(CommitHeader));
  const bool fits = header.magic == kCommitMagic &&
                    header.version == kCommitVersion &&
                    header.mailbox_bytes == kCommitMailboxBytes &&
                    header.num_mailboxes <= kMaxCommitMailboxes &&
                    index < header.num_mailboxes &&
                    size == CommitFileBytes(header.num_mailboxes);
  return fits ? header.num_mailboxes : 0;
}

}  // namespace

Result<std::unique_ptr<CommitWriter>> CommitWriter::Map(
    int fd, uint64_t size, uint32_t index, const std::atomic<uint32_t>* sent) {
  const uint32_t num_mailboxes = MailboxesIn(fd, size, index);
  if (num_mailboxes == 0) {
    return Status(kErrHandshakeFailed,
                  "the mailboxes are invalid or have another version");
  }
  const size_t control_bytes = CommitControlBytes(num_mailboxes);
  void* control = MapPart(fd, 0, control_bytes);
  if (control == nullptr) {
    return Status(kErrOutOfResource, "cannot map the segment of mailboxes");
  }
  void* data = MapPart(fd, CommitMailboxOffset(num_mailboxes, index),
                       kCommitMailboxBytes);
  if (data == nullptr) {
    munmap(control, control_bytes);
    return Status(kErrOutOfResource, "cannot map a mailbox");
  }
  return std::unique_ptr<CommitWriter>(
      new CommitWriter(control, control_bytes, data, index, sent));
}

CommitWriter::CommitWriter(void* control, size_t control_bytes, void* data,
                           uint32_t index, const std::atomic<uint32_t>* sent)
    : control_(control),
      control_bytes_(control_bytes),
      data_(static_cast<char*>(data)),
      mailbox_(reinterpret_cast<CommitMailbox*>(
          static_cast<CommitHeader*>(control) + 1)[index]),
      sent_(sent) {}

CommitWriter::~CommitWriter() {
  munmap(control_, control_bytes_);
  munmap(data_, kCommitMailboxBytes);
}

CommitWriter::Outcome CommitWriter::Write(std::string_view payload) {
  if (mailbox_.messages.load(std::memory_order_acquire) !=
      sent_->load(std::memory_order_relaxed)) {
    return Outcome::kMessage;
  }
  const uint64_t written = mailbox_.written.load(std::memory_order_relaxed);
  const bool empty = mailbox_.taken.load(std::memory_order_acquire) == written;
  const uint32_t generation = GenerationOf(written) + (empty ? 1 : 0);
  const uint32_t begin = empty ? 0 : BytesOf(written);
  const size_t room =
      begin < kCommitMailboxBytes ? kCommitMailboxBytes - begin : 0;
  if (room < sizeof(CommitLength) ||
      room - sizeof(CommitLength) < payload.size()) {
    return Outcome::kMessage;
  }
  const auto length = static_cast<CommitLength>(payload.size());
  std::memcpy(data_ + begin, &length, sizeof length);
  std::memcpy(data_ + begin + sizeof length, payload.data(), payload.size());
  const auto end = static_cast<uint32_t>(begin + sizeof length + length);
  // Either the agent sees the commit after it has requested a signal, or this
  // load sees the request.
  mailbox_.written.store(CommitPosition(generation, end),
                         std::memory_order_seq_cst);
  return mailbox_.wanted.load(std::memory_order_seq_cst) == 0
             ? Outcome::kWritten
             : Outcome::kNotify;
}

}  // namespace canopy::shm
