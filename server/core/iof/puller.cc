#include "server/core/iof/puller.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/describe.h"

namespace canopy::core {
namespace {

uint64_t LimitOf(uint64_t asked) {
  return asked == 0 ? kDefaultCache : std::min(asked, kMaxCache);
}

// Upper limit for the number of ranks in a decoded cursor.
constexpr uint64_t kMaxRanks = uint64_t{1} << 24;

// The ranks whose channel is closed: the lengths of alternating runs of open
// and closed ranks, beginning with open ones.
struct ClosedRanks {
  uint16_t channel = 0;
  std::vector<uint64_t> runs;
};

template <typename V>
void Describe(V& v, wire::Is<ClosedRanks> auto& m) {
  v.Field(1, m.channel);
  v.Field(2, m.runs);
}

// The encoded form of a cursor.
struct EncodedCursor {
  uint64_t epoch = 0;
  uint64_t answers = 0;
  uint64_t dropped = 0;
  std::vector<uint64_t> nodes;
  std::vector<ClosedRanks> closed;
};

template <typename V>
void Describe(V& v, wire::Is<EncodedCursor> auto& m) {
  v.Field(1, m.epoch);
  v.Field(2, m.answers);
  v.Field(3, m.dropped);
  v.Field(4, m.nodes);
  v.Field(5, m.closed);
}

std::vector<uint64_t> RunsOf(const std::vector<bool>& flags) {
  std::vector<uint64_t> runs;
  bool current = false;
  uint64_t length = 0;
  for (const bool flag : flags) {
    if (flag != current) {
      runs.push_back(std::exchange(length, 0));
      current = flag;
    }
    ++length;
  }
  runs.push_back(length);
  return runs;
}

bool TakeRuns(const std::vector<uint64_t>& runs, std::vector<bool>* flags) {
  bool current = false;
  for (const uint64_t length : runs) {
    if (length > kMaxRanks - flags->size()) return false;
    flags->resize(flags->size() + length, std::exchange(current, !current));
  }
  return true;
}

}  // namespace

struct Puller::Cursor {
  uint64_t epoch = 0;
  uint64_t answers = 0;
  uint64_t dropped = 0;
  std::vector<uint64_t> nodes;
  std::map<uint16_t, std::vector<bool>> closed;

  std::string Encode() const {
    EncodedCursor encoded{epoch, answers, dropped, nodes, {}};
    for (const auto& [channel, ranks] : closed) {
      encoded.closed.push_back({channel, RunsOf(ranks)});
    }
    return wire::Encode(encoded);
  }

  static std::optional<Cursor> Decode(const std::string& bytes) {
    EncodedCursor encoded;
    if (bytes.empty() || !wire::Decode(bytes, &encoded)) return std::nullopt;
    Cursor cursor{encoded.epoch,
                  encoded.answers,
                  encoded.dropped,
                  std::move(encoded.nodes),
                  {}};
    for (const auto& [channel, runs] : encoded.closed) {
      if (!TakeRuns(runs, &cursor.closed[channel])) return std::nullopt;
    }
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
      resumed_(num_nodes),
      refused_(num_nodes) {}

bool Puller::Wants(Rank rank, uint16_t channel) const {
  return (channels_ & channel) != 0 &&
         (ranks_.empty() || ranks_.contains(rank));
}

// Sets the positions. If no output of a node has arrived at this agent, the
// first output of the node may follow a gap, because earlier output may have
// gone to another controller.
void Puller::Begin(const std::vector<uint64_t>& seen, uint64_t dropped,
                   bool from_now) {
  seen_ = seen;
  dropped_ += dropped;
  for (size_t node = 0; node < seen.size(); ++node) {
    resumed_[node] = seen[node] == 0 && !from_now;
  }
}

// ---------------------------------------------------------------- output ---

void Puller::Add(const JobOutput& output) {
  if (complete_ || output.node >= seen_.size()) return;
  Bytes data = output.data;
  if (data.empty()) {
    // The end position of a close shows how much output preceded the close.
    // Another agent may have received that output, and none may follow at this
    // agent.
    if (output.end > seen_[output.node]) SkipKnown(output, &data);
  } else if (!SkipKnown(output, &data)) {
    return;
  }
  if (!Wants(output.rank, output.channel)) return;
  const bool again =
      output.data.empty() && IsToldClosed(output.rank, output.channel);
  if (!again) Queue(output, std::move(data));
}

bool Puller::IsToldClosed(Rank rank, uint16_t channel) const {
  const auto ranks = closed_.find(channel);
  return ranks != closed_.end() && rank < ranks->second.size() &&
         ranks->second[rank];
}

void Puller::TellClosed(Rank rank, uint16_t channel) {
  std::vector<bool>& ranks = closed_[channel];
  if (ranks.size() <= rank) ranks.resize(size_t{rank} + 1);
  ranks[rank] = true;
}

// Removes the part of `data` that is known already. A cursor from another
// controller may be behind or ahead of the output that arrives at this agent.
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
  const uint64_t refused = refused_[output.node];
  if (!output.data.empty()) {
    if (overflow_ == Overflow::kDropOldest) DropOldestFor(&data);
    const uint64_t room = queue_.size() < max_pieces() ? limit_ - queued_ : 0;
    if (data.size() > room) {
      const uint64_t excess = data.size() - room;
      Drop(excess);
      refused_[output.node] += excess;
      data = data.Slice(0, room);
      if (end != 0) end -= excess;
    }
    if (data.empty()) return;
  }
  queued_ += data.size();
  queue_.push_back(
      {{output.node, end, output.rank, output.channel, std::move(data)},
       refused});
}

// Makes room for `data`; keeps only its end if it exceeds the cache by itself.
// Entries that close a channel are not output and stay.
void Puller::DropOldestFor(Bytes* data) {
  if (data->size() > limit_) {
    Drop(data->size() - limit_);
    *data = data->Slice(data->size() - limit_, limit_);
  }
  const uint64_t most = limit_ - data->size();
  std::deque<Queued> closings;
  while (!queue_.empty() &&
         (queued_ > most || queue_.size() - closings.size() >= max_pieces())) {
    if (queue_.front().output.data.empty()) {
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
  JobOutput& oldest = queue_.front().output;
  const uint64_t part = std::min<uint64_t>(most, oldest.data.size());
  Drop(part);
  queued_ -= part;
  oldest.data = oldest.data.Slice(part, oldest.data.size());
  if (oldest.data.empty()) queue_.pop_front();
}

// --------------------------------------------------------------- reading ---

bool Puller::HasNews() const {
  return !sent_.empty() || !queue_.empty() || dropped_ != told_dropped_ ||
         complete_;
}

OutputRun Puller::Welcome() {
  OutputRun run;
  Tell(&run);
  return run;
}

// Reports the dropped bytes that the cursor counts. Output that is missing
// after the cursor's position is reported with a later cursor.
void Puller::Tell(OutputRun* run) {
  const Cursor cursor = MakeCursor();
  run->dropped = told_dropped_ = cursor.dropped;
  run->cursor = cursor.Encode();
}

OutputRun Puller::Next() {
  if (sent_.empty()) {
    size_t size = 0;
    while (!queue_.empty() && size < kMaxRun) {
      JobOutput& next = queue_.front().output;
      size += next.data.size();
      queued_ -= next.data.size();
      if (next.data.empty()) TellClosed(next.rank, next.channel);
      sent_.push_back(std::move(next));
      queue_.pop_front();
    }
    if (!sent_.empty()) ++answers_;
  }
  OutputRun run;
  for (const JobOutput& output : sent_) {
    run.pieces.push_back({output.rank, output.channel, output.data});
  }
  // The end is sent alone, so that the answer with the end has no output that
  // needs an acknowledgement.
  run.complete = complete_ && queue_.empty() && sent_.empty();
  Tell(&run);
  return run;
}

// A node's position is the beginning of its first output that is still queued.
// The cursor does not count output dropped after this position, because another
// controller may send it.
Puller::Cursor Puller::MakeCursor() const {
  Cursor cursor{epoch_, answers_, dropped_, seen_, closed_};
  std::vector<bool> found(seen_.size());
  size_t left = seen_.size();
  for (auto next = queue_.begin(); next != queue_.end() && left > 0; ++next) {
    const JobOutput& output = next->output;
    if (found[output.node] || output.data.empty() || output.end == 0) continue;
    found[output.node] = true;
    --left;
    cursor.nodes[output.node] = output.end - output.data.size();
    cursor.dropped -= refused_[output.node] - next->refused;
  }
  return cursor;
}

bool Puller::Acknowledge(const std::string& bytes) {
  const std::optional<Cursor> cursor = Cursor::Decode(bytes);
  if (!cursor || cursor->epoch != epoch_) return false;
  if (cursor->answers == answers_) sent_.clear();
  return true;
}

uint64_t Puller::DroppedIn(const std::string& cursor) {
  const std::optional<Cursor> read = Cursor::Decode(cursor);
  return read ? read->dropped : 0;
}

bool Puller::Resume(const std::string& bytes) {
  const std::optional<Cursor> cursor = Cursor::Decode(bytes);
  if (!cursor || cursor->nodes.size() != seen_.size()) return false;
  seen_ = cursor->nodes;
  closed_ = cursor->closed;
  resumed_.assign(seen_.size(), true);
  dropped_ = told_dropped_ = cursor->dropped;
  return true;
}

}  // namespace canopy::core
