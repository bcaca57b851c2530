#include "server/local/commit_mailboxes.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "server/local/frames.h"

namespace canopy::local {
namespace {

using Found = shm::CommitReader::Found;
using shm::CommitLength;

// Opens the predecessor's mailboxes if they match these ranks, and creates new
// ones otherwise.
Result<std::unique_ptr<shm::CommitReader>> OpenOrCreate(
    UniqueFd former, uint32_t num_mailboxes) {
  if (former) {
    auto opened = shm::CommitReader::Open(std::move(former), num_mailboxes);
    if (opened.ok()) return opened;
  }
  return shm::CommitReader::Create(num_mailboxes);
}

}  // namespace

bool NextCommit(std::string_view* bytes, std::vector<core::ScopedData>* data) {
  CommitLength length = 0;
  if (bytes->size() < sizeof length) return false;
  std::memcpy(&length, bytes->data(), sizeof length);
  bytes->remove_prefix(sizeof length);
  if (bytes->size() < length) return false;
  auto commit = ParseCommitted(bytes->substr(0, length));
  if (!commit.ok()) return false;
  bytes->remove_prefix(length);
  *data = std::move(commit).value();
  return true;
}

Result<std::unique_ptr<CommitMailboxes>> CommitMailboxes::Make(
    const std::string& nspace, std::vector<Rank> ranks, UniqueFd former,
    InputSink* sink, Defer defer, OnCorrupted on_corrupted) {
  auto reader =
      OpenOrCreate(std::move(former), static_cast<uint32_t>(ranks.size()));
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<CommitMailboxes>(
      new CommitMailboxes(std::move(reader).value(), nspace, std::move(ranks),
                          sink, std::move(defer), std::move(on_corrupted)));
}

CommitMailboxes::CommitMailboxes(std::shared_ptr<shm::CommitReader> reader,
                                 std::string nspace, std::vector<Rank> ranks,
                                 InputSink* sink, Defer defer,
                                 OnCorrupted on_corrupted)
    : reader_(std::move(reader)),
      nspace_(std::move(nspace)),
      ranks_(std::move(ranks)),
      sink_(sink),
      defer_(std::move(defer)),
      on_corrupted_(std::move(on_corrupted)),
      messages_(ranks_.size()) {}

// Publishes the number of the rank's commits that the agent has received as
// messages and read. A rank uses its mailbox only when this number is that of
// the commits that it has sent as messages. To close a mailbox, the agent
// publishes a number that no rank reaches.
void CommitMailboxes::PublishMessageCount(uint32_t index) {
  constexpr uint32_t kNever = 1u << 31;
  reader_->SetMessages(index, messages_[index] + (closed_ ? kNever : 0));
}

void CommitMailboxes::Close() {
  closed_ = true;
  for (uint32_t i = 0; i < ranks_.size(); ++i) PublishMessageCount(i);
}

void CommitMailboxes::Admit(uint32_t index) {
  messages_[index] = 0;
  PublishMessageCount(index);
}

void CommitMailboxes::OnMessage(uint32_t index) {
  ++messages_[index];
  PublishMessageCount(index);
}

uint32_t CommitMailboxes::IndexOf(Rank rank) const {
  const auto it = std::ranges::lower_bound(ranks_, rank);
  const bool here = it != ranks_.end() && *it == rank;
  return static_cast<uint32_t>((here ? it : ranks_.end()) - ranks_.begin());
}

void CommitMailboxes::TakeAt(uint32_t index) {
  std::string bytes;
  const Found found = reader_->Take(index, &bytes);
  if (found == Found::kNothing) return;
  const bool good = found == Found::kCommits && Deliver(ranks_[index], bytes);
  // The room is released only after the actions of the input have persisted the
  // commits.
  ReleaseLater();
  if (good) return;
  reader_->MarkCorrupted(index);
  on_corrupted_(ranks_[index]);
}

// Combines all commits into one input, because a mailbox can contain thousands
// of small commits, and later ones replace earlier ones anyway.
bool CommitMailboxes::Deliver(Rank rank, std::string_view bytes) {
  core::CommitTaken taken{{nspace_, rank}, {}};
  if (!NextCommit(&bytes, &taken.data)) return false;
  std::vector<core::ScopedData> next;
  while (!bytes.empty() && NextCommit(&bytes, &next)) {
    std::ranges::move(next, std::back_inserter(taken.data));
  }
  sink_->OnInput(std::move(taken));
  return bytes.empty();
}

void CommitMailboxes::Take(Rank rank) {
  const uint32_t index = IndexOf(rank);
  if (index < ranks_.size()) TakeAt(index);
}

void CommitMailboxes::TakeAll() {
  for (uint32_t i = 0; i < ranks_.size(); ++i) TakeAt(i);
}

void CommitMailboxes::AwaitAt(uint32_t index) {
  reader_->Ask(index);
  TakeAt(index);
}

void CommitMailboxes::Await(Rank rank) {
  if (rank == kRankUndef) {
    for (uint32_t i = 0; i < ranks_.size(); ++i) AwaitAt(i);
    return;
  }
  const uint32_t index = IndexOf(rank);
  if (index < ranks_.size()) AwaitAt(index);
}

// Releases the room of read commits at the end of the round, because the rank
// may overwrite commits only after the agent has persisted them.
void CommitMailboxes::ReleaseLater() {
  if (std::exchange(*release_scheduled_, true)) return;
  defer_([sink = sink_, reader = reader_, scheduled = release_scheduled_] {
    *scheduled = false;
    // Handles the inputs of the commits that other work of this round has read.
    sink->Drain();
    reader->Release();
  });
}

}  // namespace canopy::local
