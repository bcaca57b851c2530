// What the agent after this one needs to go on with connections, and how it
// does.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/posix/unique_fd.h"
#include "server/stock/stock_endpoint.h"
#include "server/stock/stream_position.h"

namespace canopy::stock {
namespace {

constexpr std::string_view kPrefix = "stock.";
constexpr char kLedgerName[] = "stock.ledger";

// Longer answers are made again instead of being kept.
constexpr size_t kMaxKeptAnswer = 512;
constexpr size_t kMaxCodes = 1 << 16;
// Jobs of one user that may be the one that a connection is of.
constexpr size_t kMaxOffers = 8;

std::unique_ptr<LedgerReader> OpenLedger(UniqueFd file) {
  auto reader = LedgerReader::Open(std::move(file));
  return reader.ok() ? *std::move(reader) : nullptr;
}

std::string NameOf(core::ClientId id) {
  return std::string(kPrefix) + std::to_string(id);
}

core::ClientId IdIn(std::string_view name) {
  core::ClientId id = 0;
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), id);
  return end == name.data() + name.size() ? id : 0;
}

constexpr uint64_t NumberOf(core::ClientId id) {
  return id & ((uint64_t{1} << 56) - 1);
}

// The same set has one name.
LedgerState::Collective Canonical(LedgerState::Collective set,
                                  const std::string& own_nspace) {
  std::vector<ProcId>& procs = set.second;
  for (ProcId& proc : procs) {
    if (proc.nspace.empty()) proc.nspace = own_nspace;
  }
  if (procs.empty()) procs = {{own_nspace, kRankWildcard}};
  std::ranges::sort(procs);
  procs.erase(std::unique(procs.begin(), procs.end()), procs.end());
  return set;
}

using Counts = LedgerState::Counts;

// The answers that are there leave.
Counts CountsIn(const LedgerState& state, const std::string& nspace) {
  Counts counts;
  const auto add = [&](Rank rank, uint32_t number, uint64_t count) {
    const auto set = state.sets.find(number);
    if (set == state.sets.end()) return;
    counts[rank][Canonical(set->second, nspace)] += count;
  };
  for (const auto& [who, count] : state.ended) {
    add(who.first, who.second, count);
  }
  for (const auto& [id, c] : state.connections) {
    for (const auto& answer : c.answers) {
      if (answer.set != 0) add(c.rank, answer.set, 1);
    }
  }
  return counts;
}

// Answers of which nothing has left are made again unless they are known; one
// that has left in part must be known. False when it is not.
bool SortAnswers(LedgerState::Connection* c, uint64_t written) {
  std::vector<LedgerState::Answer> known;
  std::vector<LedgerState::Request> again;
  uint64_t at = written;
  for (LedgerState::Answer& answer : c->answers) {
    const uint64_t end = answer.begin + answer.size;
    if (answer.begin < written && answer.bytes.empty()) {
      if (c->unsent_at > written || c->unsent_at + c->unsent.size() < end) {
        return false;
      }
      answer.bytes = c->unsent.substr(written - c->unsent_at, end - written);
    } else if (answer.begin < written) {
      answer.bytes.remove_prefix(written - answer.begin);
    } else if (answer.bytes.empty()) {
      again.push_back({answer.tag, answer.payload});
      continue;
    }
    answer.payload = {};
    answer.begin = at;
    answer.size = answer.bytes.size();
    at += answer.size;
    known.push_back(answer);
  }
  c->answers = std::move(known);
  c->requests.insert(c->requests.begin(),
                     std::make_move_iterator(again.begin()),
                     std::make_move_iterator(again.end()));
  c->unsent = {};
  c->queued = at;
  return true;
}

// Nothing was read from it and nothing written.
bool IsUntouched(int fd) {
  const Result<StreamPosition> position = PositionOf(fd);
  return position.ok() && position->read == 0 && position->written == 0;
}

// Brings what is recorded to where the connection is. False when that is not
// known for sure.
bool BringUpToDate(int fd, core::ClientId id, LedgerReader* reader) {
  LedgerState& state = reader->state();
  LedgerState::Connection& c = state.connections.at(id);
  const Result<StreamPosition> position = PositionOf(fd);
  if (!position.ok() || position->read < c.received) return false;
  if (position->read > c.received &&
      !reader->AddUnrecorded(id, position->read - c.received)) {
    return false;
  }
  if (c.broken || position->written > c.queued) return false;
  state.Sent(&c, position->written);
  return SortAnswers(&c, position->written);
}

}  // namespace

bool StockEndpoint::IsKeptName(std::string_view name) {
  return name.starts_with(kPrefix);
}

// ------------------------------------------------------------------ notes ---

std::shared_ptr<Ledger> StockEndpoint::MakeLedger(const std::string& nspace,
                                                  const LedgerState& state) {
  Ledger::Hooks hooks;
  hooks.sent = [this](uint64_t id) {
    const Connection* c = Find(id);
    return c == nullptr ? 0 : c->queued - c->out.size();
  };
  hooks.moved = [this, nspace](int fd) {
    options_.keep(nspace, kLedgerName, DuplicateFd(fd));
  };
  Result<std::unique_ptr<Ledger>> ledger =
      Ledger::Create(std::move(hooks), state);
  if (ledger.ok()) return *std::move(ledger);
  Log(core::LogLine::Level::kWarning,
      "OpenPMIx programs of " + nspace +
          " would not survive a restart of this agent: " +
          ledger.status().message());
  return nullptr;
}

// Whose it is will be known later, but any moment may be the agent's last.
void StockEndpoint::Offer(Connection& c) {
  if (!options_.keep) return;
  for (const auto& [nspace, job] : jobs_) {
    if (job.spec->uid != c.owner.uid || job.ranks.empty()) continue;
    if (c.held_by.size() == kMaxOffers) return;
    if (options_.keep_connection(nspace, NameOf(c.id),
                                 DuplicateFd(c.fd.get()))) {
      c.held_by.push_back(nspace);
    }
  }
}

// Those of an agent's tools end with it.
void StockEndpoint::Release(Connection& c, const std::string& except) {
  std::erase_if(c.held_by, [&](const std::string& nspace) {
    if (nspace == except) return false;
    options_.release_connection(nspace, NameOf(c.id), c.is_tool);
    return true;
  });
}

// `unread`: what came with its greeting.
void StockEndpoint::Keep(Connection& c, std::string_view unread) {
  if (c.held_by.empty()) return;
  Release(c, c.is_tool ? "" : c.proc.nspace);
  if (c.held_by.empty()) return;
  Job& job = *FindJob(c.proc.nspace);
  if (job.ledger == nullptr) job.ledger = MakeLedger(c.proc.nspace, {});
  if (job.ledger == nullptr) return Release(c, "");
  c.ledger = job.ledger;
  Note(c, RecordKind::kOpened, c.proc.rank, 0, c.received - unread.size(),
       EncodeOpening(c.opening));
  NoteAnswer(c, kEventTag, c.out.size(), c.out.Front(c.out.size()));
  if (!unread.empty()) {
    Note(c, RecordKind::kReceived, 0, 0, c.received - unread.size(), unread);
  }
}

void StockEndpoint::Note(Connection& c, RecordKind kind, uint32_t a, uint32_t b,
                         uint64_t number, std::string_view bytes) {
  Record record;
  record.kind = kind;
  record.a = a;
  record.b = b;
  record.connection = c.id;
  record.number = number;
  c.ledger->Add(record, bytes);
}

void StockEndpoint::NoteRequest(Connection& c, uint32_t tag,
                                const core::Input& input,
                                PendingRequest* pending) {
  if (const auto* arrived = std::get_if<core::CollectiveArrived>(&input)) {
    pending->set = SetNumber(c, *arrived);
  } else if (const auto* wanted = std::get_if<core::EventsWanted>(&input)) {
    c.all_events |= wanted->all;
    for (const int code : wanted->codes) {
      if (c.codes.size() < kMaxCodes) c.codes.insert(code);
    }
  } else if (const auto* unwanted = std::get_if<core::EventsUnwanted>(&input)) {
    if (unwanted->all) c.all_events = false;
    for (const int code : unwanted->codes) c.codes.erase(code);
  } else if (std::holds_alternative<core::FinalizeArrived>(input)) {
    Note(c, RecordKind::kFinalized, 0, 0, 0, "");
  }
  if (std::holds_alternative<core::EventsWanted>(input) ||
      std::holds_alternative<core::EventsUnwanted>(input)) {
    Note(c, RecordKind::kEvents, c.all_events ? 1 : 0, 0, 0,
         EncodeCodes(c.codes));
  }
  if (pending == nullptr) Note(c, RecordKind::kAnswered, tag, 0, 0, "");
}

uint32_t StockEndpoint::SetNumber(Connection& c,
                                  const core::CollectiveArrived& arrived) {
  Job& job = *FindJob(c.proc.nspace);
  const auto next = static_cast<uint32_t>(job.sets.size() + 1);
  const auto [it, is_new] =
      job.sets.try_emplace({arrived.op, arrived.participants}, next);
  if (is_new) {
    Note(c, RecordKind::kSet, 0, it->second, 0, EncodeSet(it->first));
  }
  return it->second;
}

void StockEndpoint::NoteAnswer(Connection& c, uint32_t tag, size_t size,
                               std::string_view message) {
  // Nobody asks for an event again.
  if (message.size() > kMaxKeptAnswer && tag >= kFirstRequestTag) message = {};
  Note(c, RecordKind::kAnswered, tag, std::exchange(c.ends_collective, 0), size,
       message);
  c.queued += size;
  c.ends.push_back(c.queued);
}

// A message that has left in part can not be made again.
void StockEndpoint::NoteUnsent(Connection& c) {
  const uint64_t sent = c.queued - c.out.size();
  while (!c.ends.empty() && c.ends.front() <= sent) c.ends.pop_front();
  if (c.out.empty() || c.noted >= c.ends.front()) return;
  c.noted = c.ends.front();
  Note(c, RecordKind::kUnsent, 0, 0, sent, c.out.Front(c.noted - sent));
}

// Somebody else has the connection open, so closing alone does not end it.
void StockEndpoint::NoteEnd(Connection& c) {
  if (c.ledger != nullptr) Note(c, RecordKind::kClosed, 0, 0, 0, "");
  if (c.held_by.empty()) return;
  shutdown(c.fd.get(), SHUT_RDWR);
  Release(c, "");
}

void StockEndpoint::AwaitSuccessor() {
  if (options_.keep) loop_->Rewatch(acceptor_.fd(), 0);
}

// --------------------------------------------------------------- going on ---

void StockEndpoint::Resume(const std::string& nspace,
                           std::vector<NamedFd> kept) {
  UniqueFd file;
  Sockets sockets = TakeSockets(std::move(kept), &file);
  Job* job = FindJob(nspace);
  const auto reader = job == nullptr ? nullptr : OpenLedger(std::move(file));
  SetApartUnproved(nspace, reader.get(), &sockets);
  if (reader == nullptr) return;
  LedgerState state = std::move(reader->state());
  std::erase_if(state.connections, [&](const auto& entry) {
    return !sockets.contains(entry.first);
  });
  for (const auto& [number, set] : state.sets) job->sets[set] = number;
  job->ledger = MakeLedger(nspace, state);
  if (job->ledger == nullptr) return unproved_.merge(sockets);
  GoOn(nspace, &state, std::move(sockets));
}

StockEndpoint::Sockets StockEndpoint::TakeSockets(std::vector<NamedFd> kept,
                                                  UniqueFd* ledger) {
  Sockets sockets;
  for (NamedFd& one : kept) {
    if (one.name == kLedgerName) *ledger = std::move(one.fd);
    const core::ClientId id = IdIn(one.name);
    if (id == 0) continue;
    next_number_ = std::max(next_number_, NumberOf(id) + 1);
    sockets[id] = std::move(one.fd);
  }
  return sockets;
}

// Leaves the connections of which it is known how far the former agent got.
void StockEndpoint::SetApartUnproved(const std::string& nspace,
                                     LedgerReader* reader, Sockets* sockets) {
  for (auto& [id, fd] : *sockets) {
    const bool known =
        reader != nullptr && reader->state().connections.contains(id);
    if (known && !IsUntouched(fd.get())) {
      if (BringUpToDate(fd.get(), id, reader)) continue;
      Log(core::LogLine::Level::kWarning,
          "ending an OpenPMIx connection of " + nspace +
              ": it is not known how far the former agent got");
    }
    unproved_[id] = std::move(fd);
  }
  std::erase_if(*sockets, [](const auto& entry) { return !entry.second; });
}

// Everybody is there before the first request is put again, which may be of
// concern to others.
void StockEndpoint::GoOn(const std::string& nspace, LedgerState* state,
                         Sockets sockets) {
  const Counts counts = CountsIn(*state, nspace);
  std::vector<core::ClientId> taken;
  for (auto& [id, kept] : state->connections) {
    if (TakeUp(nspace, id, std::move(sockets[id]), &kept) != nullptr) {
      taken.push_back(id);
    }
  }
  for (const core::ClientId id : taken) {
    Connection* c = Find(id);
    if (c == nullptr) continue;
    TellOfResumed(*c, counts);
    PutAgain(*c, state->connections.at(id));
  }
}

void StockEndpoint::TellOfResumed(const Connection& c, const Counts& counts) {
  core::ClientResumed resumed{c.id, {}};
  if (const auto own = counts.find(c.proc.rank); own != counts.end()) {
    for (const auto& [set, ended] : own->second) {
      resumed.counts.push_back({set.first, set.second, ended});
    }
  }
  sink_->OnInput(std::move(resumed));
  if (!c.all_events && c.codes.empty()) return;
  sink_->OnInput(core::EventsWanted{
      c.id, 0, c.all_events, {c.codes.begin(), c.codes.end()}});
}

void StockEndpoint::PutAgain(Connection& c,
                             const LedgerState::Connection& kept) {
  putting_again_ = true;
  for (const auto& request : kept.requests) {
    if (c.state != Connection::State::kServing) break;
    HandleRequest(c, request.tag, request.payload);
  }
  putting_again_ = false;
  if (kept.finalized) sink_->OnInput(core::FinalizeArrived{c.id, 0});
}

// The same one may have been offered to several jobs. Of those that are
// nobody's something may have been read, and who has it is not known.
void StockEndpoint::FinishResume() {
  for (auto& [id, fd] : std::exchange(unproved_, {})) {
    if (!fd || Find(id) != nullptr) continue;
    if (IsUntouched(fd.get())) {
      AddConnection(std::move(fd), id);
      continue;
    }
    shutdown(fd.get(), SHUT_RDWR);
    for (const auto& [nspace, job] : jobs_) {
      options_.release_connection(nspace, NameOf(id), false);
    }
  }
}

// Null when it is not somebody who could be here.
Connection* StockEndpoint::TakeUp(const std::string& nspace, core::ClientId id,
                                  UniqueFd fd, LedgerState::Connection* kept) {
  const ProcId proc{nspace, kept->rank};
  LocalRank* rank = FindRank(proc);
  const auto traits = TraitsOf(kept->opening.version, kept->opening.codec,
                               kept->opening.described);
  if (rank == nullptr || !traits || Find(id) != nullptr) {
    shutdown(fd.get(), SHUT_RDWR);
    return nullptr;
  }
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = id;
  c.fd = std::move(fd);
  c.state = Connection::State::kServing;
  c.kind = static_cast<PeerKind>(kept->opening.kind);
  c.owner.uid = FindJob(nspace)->spec->uid;
  c.identified = true;
  c.proc = proc;
  c.traits = *traits;
  c.opening = kept->opening;
  c.partial = std::move(kept->input);
  c.received = kept->received;
  c.queued = kept->queued;
  for (LedgerState::Answer& answer : kept->answers) {
    c.ends.push_back(answer.begin + answer.size);
    c.out.Append(std::string(answer.bytes));
  }
  c.all_events = kept->all_events;
  c.codes = std::move(kept->codes);
  c.ledger = FindJob(nspace)->ledger;
  c.held_by = {nspace};
  c.watched = EPOLLIN;
  ++rank->connections;
  connections_.emplace(id, std::move(connection));
  loop_->Watch(c.fd.get(), EPOLLIN,
               [this, id](uint32_t events) { OnEvents(id, events); });
  MarkDirty(c);
  sink_->OnInput(core::ClientConnected{id, c.proc, false});
  return &c;
}

}  // namespace canopy::stock
