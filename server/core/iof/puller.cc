#include "server/core/iof/puller.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/wire.h"

namespace canopy::core {
namespace {

uint64_t LimitOf(uint64_t asked) {
  return asked == 0 ? kDefaultCache : std::min(asked, kMaxCache);
}

}  // namespace

struct Puller::Cursor {
  uint64_t epoch = 0;
  uint64_t answers = 0;
  uint64_t dropped = 0;
  std::vector<uint64_t> nodes;

  std::string Encode() const {
    WireWriter out;
    out.Uint(epoch);
    out.Uint(answers);
    out.Uint(dropped);
    out.Uint(nodes.size());
    for (const uint64_t position : nodes) out.Uint(position);
    return out.Take();
  }

  static std::optional<Cursor> Decode(const std::string& bytes) {
    WireReader in(bytes);
    Cursor cursor;
    cursor.epoch = in.Uint();
    cursor.answers = in.Uint();
    cursor.dropped = in.Uint();
    cursor.nodes.resize(in.Count());
    for (uint64_t& position : cursor.nodes) position = in.Uint();
    if (!in.done()) return std::nullopt;
    return cursor;
  }
};

Puller::Puller(uint64_t epoch, uint32_t num_nodes, std::set<Rank> ranks,
               const OutputRead& read)
    : epoch_(epoch),
      ranks_(std::move(ranks)),
      channels_(read.channels),
      limit_(LimitOf(read.cache_size)),
      overflow_(read.overflow),
      redirects_(read.redirects),
      seen_(num_nodes),
      resumed_(num_nodes) {}

bool Puller::Wants(Rank rank, uint16_t channel) const {
  return (channels_ & channel) != 0 &&
         (ranks_.empty() || ranks_.contains(rank));
}

void Puller::Begin(const std::vector<uint64_t>& seen, uint64_t dropped) {
  seen_ = seen;
  dropped_ += dropped;
}

// ---------------------------------------------------------------- output ---

void Puller::Add(const JobOutput& output) {
  if (complete_ || output.node >= seen_.size()) return;
  Bytes data = output.data;
  if (!data.empty() && !SkipKnown(output, &data)) return;
  if (Wants(output.rank, output.channel)) Queue(output, std::move(data));
}

// A cursor of another agent may be behind or ahead of what comes here.
bool Puller::SkipKnown(const JobOutput& output, Bytes* data) {
  if (output.end == 0) return true;
  uint64_t& seen = seen_[output.node];
  const uint64_t begin = output.end - data->size();
  if (output.end <= seen) return false;
  if (begin < seen) *data = data->Slice(seen - begin, data->size());
  if (resumed_[output.node] && begin > seen) Drop(begin - seen);
  resumed_[output.node] = false;
  seen = output.end;
  return true;
}

void Puller::Queue(const JobOutput& output, Bytes data) {
  uint64_t end = output.end;
  if (!output.data.empty()) {
    if (overflow_ == Overflow::kDropOldest) DropOldestFor(&data);
    const uint64_t room = queue_.size() < max_pieces() ? limit_ - queued_ : 0;
    if (data.size() > room) {
      const uint64_t excess = data.size() - room;
      Drop(excess);
      data = data.Slice(0, room);
      if (end != 0) end -= excess;
    }
    if (data.empty()) return;
  }
  queued_ += data.size();
  queue_.push_back(
      {output.node, end, output.rank, output.channel, std::move(data)});
}

// Makes room for it, or for its end where it alone exceeds the cache. The
// closing of a channel is no output, and stays.
void Puller::DropOldestFor(Bytes* data) {
  if (data->size() > limit_) {
    Drop(data->size() - limit_);
    *data = data->Slice(data->size() - limit_, limit_);
  }
  const uint64_t most = limit_ - data->size();
  std::deque<JobOutput> closings;
  while (!queue_.empty() &&
         (queued_ > most || queue_.size() - closings.size() >= max_pieces())) {
    if (queue_.front().data.empty()) {
      closings.push_back(std::move(queue_.front()));
      queue_.pop_front();
    } else {
      DropFront(queued_ > most ? queued_ - most : UINT64_MAX);
    }
  }
  queue_.insert(queue_.begin(), std::make_move_iterator(closings.begin()),
                std::make_move_iterator(closings.end()));
}

void Puller::DropFront(uint64_t most) {
  JobOutput& oldest = queue_.front();
  const uint64_t part = std::min<uint64_t>(most, oldest.data.size());
  Drop(part);
  queued_ -= part;
  oldest.data = oldest.data.Slice(part, oldest.data.size());
  if (oldest.data.empty()) queue_.pop_front();
}

// --------------------------------------------------------------- reading ---

bool Puller::HasNews() const {
  return !sent_.empty() || !queue_.empty() || dropped_ != told_dropped_ ||
         (complete_ && !told_complete_);
}

OutputRun Puller::Welcome() {
  OutputRun run;
  run.dropped = told_dropped_ = dropped_;
  run.cursor = MakeCursor();
  return run;
}

OutputRun Puller::Next() {
  if (sent_.empty()) {
    size_t size = 0;
    while (!queue_.empty() && size < kMaxRun) {
      JobOutput& next = queue_.front();
      size += next.data.size();
      queued_ -= next.data.size();
      sent_.push_back(std::move(next));
      queue_.pop_front();
    }
    if (!sent_.empty()) ++answers_;
  }
  OutputRun run;
  for (const JobOutput& output : sent_) {
    run.pieces.push_back({output.rank, output.channel, output.data});
  }
  run.dropped = told_dropped_ = dropped_;
  // Alone, so that nothing has to be acknowledged any more.
  run.complete = told_complete_ = complete_ && queue_.empty() && sent_.empty();
  run.cursor = MakeCursor();
  return run;
}

// The position of a node is where its first output begins that is still here.
std::string Puller::MakeCursor() const {
  Cursor cursor{epoch_, answers_, dropped_, seen_};
  std::vector<bool> found(seen_.size());
  size_t left = seen_.size();
  for (auto next = queue_.begin(); next != queue_.end() && left > 0; ++next) {
    if (found[next->node] || next->data.empty() || next->end == 0) continue;
    found[next->node] = true;
    --left;
    cursor.nodes[next->node] = next->end - next->data.size();
  }
  return cursor.Encode();
}

bool Puller::Acknowledge(const std::string& bytes) {
  const std::optional<Cursor> cursor = Cursor::Decode(bytes);
  if (!cursor || cursor->epoch != epoch_) return false;
  if (cursor->answers == answers_) sent_.clear();
  return true;
}

bool Puller::Resume(const std::string& bytes) {
  const std::optional<Cursor> cursor = Cursor::Decode(bytes);
  if (!cursor || cursor->nodes.size() != seen_.size()) return false;
  seen_ = cursor->nodes;
  resumed_.assign(seen_.size(), true);
  dropped_ = told_dropped_ = cursor->dropped;
  return true;
}

}  // namespace canopy::core
