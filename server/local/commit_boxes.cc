#include "server/local/commit_boxes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/local/frames.h"

namespace canopy::local {
namespace {

using Found = shm::CommitReader::Found;
using shm::CommitLength;

// A former agent's, where they are those of these ranks; else new ones.
Result<std::unique_ptr<shm::CommitReader>> OpenOrCreate(UniqueFd former,
                                                        uint32_t num_boxes) {
  if (former) {
    auto opened = shm::CommitReader::Open(std::move(former), num_boxes);
    if (opened.ok()) return opened;
  }
  return shm::CommitReader::Create(num_boxes);
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

Result<std::unique_ptr<CommitBoxes>> CommitBoxes::Make(
    const std::string& nspace, std::vector<Rank> ranks, UniqueFd former,
    InputSink* sink, Defer defer, OnSpoiled on_spoiled) {
  auto reader =
      OpenOrCreate(std::move(former), static_cast<uint32_t>(ranks.size()));
  if (!reader.ok()) return reader.status();
  return std::unique_ptr<CommitBoxes>(
      new CommitBoxes(std::move(reader).value(), nspace, std::move(ranks), sink,
                      std::move(defer), std::move(on_spoiled)));
}

CommitBoxes::CommitBoxes(std::shared_ptr<shm::CommitReader> reader,
                         std::string nspace, std::vector<Rank> ranks,
                         InputSink* sink, Defer defer, OnSpoiled on_spoiled)
    : reader_(std::move(reader)),
      nspace_(std::move(nspace)),
      ranks_(std::move(ranks)),
      sink_(sink),
      defer_(std::move(defer)),
      on_spoiled_(std::move(on_spoiled)),
      messages_(ranks_.size()) {}

// A rank uses its box when all is read that it has sent. It can not have sent
// so many more.
void CommitBoxes::TellMessages(uint32_t index) {
  constexpr uint32_t kNever = 1u << 31;
  reader_->SetMessages(index, messages_[index] + (closed_ ? kNever : 0));
}

void CommitBoxes::Close() {
  closed_ = true;
  for (uint32_t i = 0; i < ranks_.size(); ++i) TellMessages(i);
}

void CommitBoxes::Admit(uint32_t index) {
  messages_[index] = 0;
  TellMessages(index);
}

void CommitBoxes::OnMessage(uint32_t index) {
  ++messages_[index];
  TellMessages(index);
}

uint32_t CommitBoxes::IndexOf(Rank rank) const {
  const auto it = std::ranges::lower_bound(ranks_, rank);
  const bool here = it != ranks_.end() && *it == rank;
  return static_cast<uint32_t>((here ? it : ranks_.end()) - ranks_.begin());
}

// What comes of one commit may be that somebody waits for the next: it must not
// overtake those that were taken with the first.
void CommitBoxes::TakeAt(uint32_t index) {
  to_take_.push_back(index);
  if (to_take_.size() > 1) return;
  for (size_t i = 0; i < to_take_.size(); ++i) TakeNow(to_take_[i]);
  to_take_.clear();
}

void CommitBoxes::TakeNow(uint32_t index) {
  std::string bytes;
  const Found found = reader_->Take(index, &bytes);
  if (found == Found::kNothing) return;
  ReleaseLater();
  if (found == Found::kSpoiled || !HandOver(ranks_[index], bytes)) {
    reader_->Spoil(index);
    on_spoiled_(ranks_[index]);
  }
}

bool CommitBoxes::HandOver(Rank rank, std::string_view bytes) {
  while (!bytes.empty()) {
    core::CommitTaken taken{{nspace_, rank}, {}};
    if (!NextCommit(&bytes, &taken.data)) return false;
    sink_->OnInput(std::move(taken));
  }
  return true;
}

void CommitBoxes::Take(Rank rank) {
  const uint32_t index = IndexOf(rank);
  if (index < ranks_.size()) TakeAt(index);
}

void CommitBoxes::TakeAll() {
  for (uint32_t i = 0; i < ranks_.size(); ++i) TakeAt(i);
}

void CommitBoxes::AwaitAt(uint32_t index) {
  reader_->Ask(index);
  TakeAt(index);
}

void CommitBoxes::Await(Rank rank) {
  if (rank == kRankUndef) {
    for (uint32_t i = 0; i < ranks_.size(); ++i) AwaitAt(i);
    return;
  }
  const uint32_t index = IndexOf(rank);
  if (index < ranks_.size()) AwaitAt(index);
}

// Only what the core has kept may be overwritten.
void CommitBoxes::ReleaseLater() {
  if (std::exchange(*release_scheduled_, true)) return;
  defer_([reader = reader_, scheduled = release_scheduled_] {
    *scheduled = false;
    reader->Release();
  });
}

}  // namespace canopy::local
