#include "server/openpmix/connection_log_state.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "common/describe_procs.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

// The content of a kSeries record: identifies the series of a collective.
struct StoredSeries {
  ConnectionLogState::Collective series;
};

template <typename V>
void Describe(V& v, wire::Is<StoredSeries> auto& m) {
  v.Choice(1, m.series.op, core::CollectiveOp::kGroupDestruct);
  v.Field(2, m.series.participants);
  v.Field(3, m.series.name);
}

// The limit for the payload of a request. The endpoint ends the connection of a
// client that sends a longer one.
constexpr uint32_t kMaxPayload = uint32_t{256} << 20;

// Adds the complete messages in `bytes` to the requests. Returns the rest, or
// no value if a header is invalid.
std::optional<std::string_view> TakeMessages(
    std::string_view bytes, ConnectionLogState::Connection* c) {
  while (bytes.size() >= kHeaderSize) {
    const MessageHeader header = ParseHeader(bytes);
    if (header.length > kMaxPayload) return std::nullopt;
    if (bytes.size() - kHeaderSize < header.length) break;
    if (header.tag >= kFirstRequestTag) {
      c->requests.Add({header.tag, bytes.substr(kHeaderSize, header.length)});
    }
    bytes.remove_prefix(kHeaderSize + header.length);
  }
  return bytes;
}

bool IsWhole(std::string_view bytes) {
  return bytes.size() >= kHeaderSize &&
         bytes.size() - kHeaderSize >= ParseHeader(bytes).length;
}

void ApplyInput(std::string_view bytes, ConnectionLogState::Connection* c,
                std::deque<std::string>* assembled) {
  if (c->broken) return;
  if (!c->input.empty()) {
    c->input.append(bytes);
    const bool whole = IsWhole(c->input);
    if (!whole && c->input.size() < kMaxPayload) return;
    bytes = assembled->emplace_back(std::move(c->input));
  }
  const std::optional<std::string_view> rest = TakeMessages(bytes, c);
  c->broken = !rest;
  c->input = std::string(rest.value_or(""));
}

bool ApplyAnswer(const Record& record, std::string_view bytes,
                 ConnectionLogState::Connection* c) {
  ConnectionLogState::Answer answer;
  answer.tag = record.a;
  answer.one_series = record.b;
  answer.begin = c->queued;
  answer.size = record.number;
  answer.bytes = bytes;
  if (!bytes.empty() && bytes.size() != record.number) return false;
  if (record.a >= kFirstRequestTag) {
    const auto request = c->requests.Take(record.a);
    if (!request) return false;
    if (bytes.empty()) answer.payload = request->payload;
  } else if (bytes.empty()) {
    return false;
  }
  if (record.number == 0) return true;
  c->queued += answer.size;
  c->answers.push_back(answer);
  return true;
}

bool ApplyCodes(std::string_view bytes, ConnectionLogState::Connection* c) {
  if (bytes.size() % sizeof(int) != 0) return false;
  c->codes.clear();
  for (; !bytes.empty(); bytes.remove_prefix(sizeof(int))) {
    int code = 0;
    std::memcpy(&code, bytes.data(), sizeof code);
    c->codes.insert(code);
  }
  return true;
}

bool ApplyNotified(uint64_t number, std::string_view bytes,
                   ConnectionLogState::Connection* c) {
  ProcId raiser;
  if (!wire::Decode(bytes, &raiser)) return false;
  c->notified.Note({std::move(raiser), number});
  return true;
}

}  // namespace

std::string EncodeOpening(const Opening& opening) {
  return wire::Encode(opening);
}

std::string EncodeSeries(const ConnectionLogState::Collective& collective) {
  return wire::Encode(StoredSeries{collective});
}

std::string EncodeCodes(const std::set<int>& codes) {
  std::string out;
  for (const int code : codes) {
    out.append(reinterpret_cast<const char*>(&code), sizeof code);
  }
  return out;
}

std::string EncodeRaiser(const ProcId& raiser) { return wire::Encode(raiser); }

bool ConnectionLogState::Apply(const Record& record, std::string_view bytes) {
  if (record.kind == RecordKind::kSeries) {
    StoredSeries stored;
    if (!wire::Decode(bytes, &stored)) return false;
    series[record.b] = std::move(stored.series);
    return true;
  }
  if (record.kind == RecordKind::kEnded) {
    ended[{record.a, record.b}] = record.number;
    return true;
  }
  if (record.kind == RecordKind::kOpened) {
    Connection c;
    if (!wire::Decode(bytes, &c.opening)) return false;
    c.rank = record.a;
    c.received = record.number;
    return connections.emplace(record.connection, std::move(c)).second;
  }
  const auto it = connections.find(record.connection);
  if (it == connections.end()) return false;
  Connection& c = it->second;
  switch (record.kind) {
    case RecordKind::kClosed:
      Sent(&c, c.queued);
      connections.erase(it);
      return true;
    case RecordKind::kReceived:
      if (record.number != c.received) return false;
      c.received += bytes.size();
      ApplyInput(bytes, &c, &assembled);
      return true;
    case RecordKind::kAnswered:
      return ApplyAnswer(record, bytes, &c);
    case RecordKind::kUnsent:
      c.unsent_at = record.number;
      c.unsent = bytes;
      return record.number + bytes.size() <= c.queued;
    case RecordKind::kEvents:
      c.all_events = record.a != 0;
      return ApplyCodes(bytes, &c);
    case RecordKind::kNotified:
      return ApplyNotified(record.number, bytes, &c);
    case RecordKind::kFinalized:
      c.finalized = true;
      return true;
    case RecordKind::kBroken:
      c.broken = true;
      return true;
    case RecordKind::kQueued:
      c.queued = record.number;
      return c.answers.empty();
    default:
      return false;
  }
}

void ConnectionLogState::Sent(Connection* c, uint64_t position) {
  auto it = c->answers.begin();
  for (; it != c->answers.end() && it->begin + it->size <= position; ++it) {
    if (it->one_series != 0) ++ended[{c->rank, it->one_series}];
  }
  c->answers.erase(c->answers.begin(), it);
  if (c->unsent_at + c->unsent.size() <= position) c->unsent = {};
}

void ConnectionLogState::WriteRecords(const Write& write) const {
  for (const auto& [number, one_series] : series) {
    write({0, RecordKind::kSeries, 0, 0, number, 0, 0},
          EncodeSeries(one_series));
  }
  for (const auto& [who, count] : ended) {
    write({0, RecordKind::kEnded, 0, who.first, who.second, 0, count}, "");
  }
  for (const auto& [id, c] : connections) {
    const auto append = [&, id = id](RecordKind kind, uint32_t a, uint32_t b,
                                     uint64_t number, std::string_view bytes) {
      write({0, kind, 0, a, b, id, number}, bytes);
    };
    // Writes the requests and the input as if they had just been read, and then
    // the answers.
    std::string input;
    const auto add = [&](uint32_t tag, std::string_view payload) {
      input += MakeHeader(tag, static_cast<uint32_t>(payload.size()));
      input += payload;
    };
    for (const Answer& answer : c.answers) {
      if (answer.tag >= kFirstRequestTag) add(answer.tag, answer.payload);
    }
    for (const RequestList::Request& request : c.requests.InOrder()) {
      add(request.tag, request.payload);
    }
    input += c.input;
    append(RecordKind::kOpened, c.rank, 0, c.received - input.size(),
           EncodeOpening(c.opening));
    const uint64_t first = c.answers.empty() ? c.queued : c.answers[0].begin;
    append(RecordKind::kQueued, 0, 0, first, "");
    if (!input.empty()) {
      append(RecordKind::kReceived, 0, 0, c.received - input.size(), input);
    }
    for (const Answer& answer : c.answers) {
      append(RecordKind::kAnswered, answer.tag, answer.one_series, answer.size,
             answer.bytes);
    }
    if (!c.unsent.empty()) {
      append(RecordKind::kUnsent, 0, 0, c.unsent_at, c.unsent);
    }
    if (c.broken) append(RecordKind::kBroken, 0, 0, 0, "");
    if (c.finalized) append(RecordKind::kFinalized, 0, 0, 0, "");
    if (c.all_events || !c.codes.empty()) {
      append(RecordKind::kEvents, c.all_events ? 1 : 0, 0, 0,
             EncodeCodes(c.codes));
    }
    c.notified.ForEach([&](const EventId& event) {
      append(RecordKind::kNotified, 0, 0, event.number,
             EncodeRaiser(event.raiser));
    });
  }
}

}  // namespace canopy::openpmix
