// Persistence of connections for a successor, and their recovery.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/posix/unique_fd.h"
#include "server/openpmix/openpmix_endpoint.h"
#include "server/openpmix/stream_position.h"

namespace canopy::openpmix {
namespace {

constexpr std::string_view kPrefix = "stock.";
constexpr char kConnectionLogName[] = "stock.ledger";

// Longer answers are regenerated instead of being logged.
constexpr size_t kMaxLoggedAnswer = 512;
constexpr size_t kMaxCodes = 1 << 16;
// Jobs of one user to which an unidentified connection may belong.
constexpr size_t kMaxOffers = 8;

std::unique_ptr<ConnectionLogReader> OpenConnectionLog(UniqueFd file) {
  auto reader = ConnectionLogReader::Open(std::move(file));
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

// The canonical form of a series.
ConnectionLogState::Collective Canonical(
    ConnectionLogState::Collective one_series, const std::string& own_nspace) {
  std::vector<ProcId>& procs = one_series.second;
  for (ProcId& proc : procs) {
    if (proc.nspace.empty()) proc.nspace = own_nspace;
  }
  if (procs.empty()) procs = {{own_nspace, kRankWildcard}};
  std::ranges::sort(procs);
  procs.erase(std::unique(procs.begin(), procs.end()), procs.end());
  return one_series;
}

using Counts = ConnectionLogState::Counts;

// Pending answers count, as they will be sent.
Counts CountsIn(const ConnectionLogState& state, const std::string& nspace) {
  Counts counts;
  const auto add = [&](Rank rank, uint32_t number, uint64_t count) {
    const auto one_series = state.series.find(number);
    if (one_series == state.series.end()) return;
    counts[rank][Canonical(one_series->second, nspace)] += count;
  };
  for (const auto& [who, count] : state.ended) {
    add(who.first, who.second, count);
  }
  for (const auto& [id, c] : state.connections) {
    for (const auto& answer : c.answers) {
      if (answer.one_series != 0) add(c.rank, answer.one_series, 1);
    }
  }
  return counts;
}

// Answers of which nothing was sent are regenerated unless their bytes are
// logged; those of one that was sent in part must be logged. False when they
// are not.
bool SortAnswers(ConnectionLogState::Connection* c, uint64_t written) {
  std::vector<ConnectionLogState::Answer> known;
  std::vector<ConnectionLogState::Request> again;
  uint64_t at = written;
  for (ConnectionLogState::Answer& answer : c->answers) {
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

// Nothing was read from it or written to it.
bool IsUntouched(int fd) {
  const Result<StreamPosition> position = PositionOf(fd);
  return position.ok() && position->read == 0 && position->written == 0;
}

// Advances the logged state to the position of the connection. False when that
// cannot be verified.
bool BringUpToDate(int fd, core::ClientId id, ConnectionLogReader* reader) {
  ConnectionLogState& state = reader->state();
  ConnectionLogState::Connection& c = state.connections.at(id);
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

bool OpenPmixEndpoint::IsPersistedName(std::string_view name) {
  return name.starts_with(kPrefix);
}

// ------------------------------------------------------------------ notes ---

std::shared_ptr<ConnectionLog> OpenPmixEndpoint::MakeConnectionLog(
    const std::string& nspace, const ConnectionLogState& state) {
  ConnectionLog::Hooks hooks;
  hooks.sent = [this](uint64_t id) {
    const Connection* c = Find(id);
    return c == nullptr ? 0 : c->queued - c->out.size();
  };
  hooks.moved = [this, nspace](int fd) {
    options_.persist(nspace, kConnectionLogName, DuplicateFd(fd));
  };
  Result<std::unique_ptr<ConnectionLog>> connection_log =
      ConnectionLog::Create(std::move(hooks), state);
  if (connection_log.ok()) return *std::move(connection_log);
  Log(core::LogLine::Level::kWarning,
      "OpenPMIx programs of " + nspace +
          " would not survive a restart of this agent: " +
          connection_log.status().message());
  return nullptr;
}

// Its job is not known yet, but the agent may die at any moment.
void OpenPmixEndpoint::OfferToShims(Connection& c) {
  if (!options_.persist) return;
  for (const auto& [nspace, job] : jobs_) {
    if (job.spec->uid != c.owner.uid || job.ranks.empty()) continue;
    if (c.held_by.size() == kMaxOffers) return;
    if (options_.persist_connection(nspace, NameOf(c.id),
                                    DuplicateFd(c.fd.get()))) {
      c.held_by.push_back(nspace);
    }
  }
}

// Connections of tools end with the agent.
void OpenPmixEndpoint::Release(Connection& c, const std::string& except) {
  std::erase_if(c.held_by, [&](const std::string& nspace) {
    if (nspace == except) return false;
    options_.release_connection(nspace, NameOf(c.id), c.is_tool);
    return true;
  });
}

// `unread`: what arrived together with its greeting.
void OpenPmixEndpoint::Persist(Connection& c, std::string_view unread) {
  if (c.held_by.empty()) return;
  Release(c, c.is_tool ? "" : c.proc.nspace);
  if (c.held_by.empty()) return;
  Job& job = *FindJob(c.proc.nspace);
  if (job.connection_log == nullptr)
    job.connection_log = MakeConnectionLog(c.proc.nspace, {});
  if (job.connection_log == nullptr) return Release(c, "");
  c.connection_log = job.connection_log;
  Append(c, RecordKind::kOpened, c.proc.rank, 0, c.received - unread.size(),
         EncodeOpening(c.opening));
  AppendAnswer(c, kEventTag, c.out.size(), c.out.Front(c.out.size()));
  if (!unread.empty()) {
    Append(c, RecordKind::kReceived, 0, 0, c.received - unread.size(), unread);
  }
}

void OpenPmixEndpoint::Append(Connection& c, RecordKind kind, uint32_t a,
                              uint32_t b, uint64_t number,
                              std::string_view bytes) {
  Record record;
  record.kind = kind;
  record.a = a;
  record.b = b;
  record.connection = c.id;
  record.number = number;
  c.connection_log->Add(record, bytes);
}

void OpenPmixEndpoint::AppendRequest(Connection& c, uint32_t tag,
                                     const core::Input& input,
                                     PendingRequest* pending) {
  if (const auto* arrived = std::get_if<core::CollectiveArrived>(&input)) {
    pending->one_series = SeriesNumber(c, *arrived);
  } else if (const auto* wanted = std::get_if<core::EventsWanted>(&input)) {
    c.all_events |= wanted->all;
    for (const int code : wanted->codes) {
      if (c.codes.size() < kMaxCodes) c.codes.insert(code);
    }
  } else if (const auto* unwanted = std::get_if<core::EventsUnwanted>(&input)) {
    if (unwanted->all) c.all_events = false;
    for (const int code : unwanted->codes) c.codes.erase(code);
  } else if (std::holds_alternative<core::FinalizeArrived>(input)) {
    Append(c, RecordKind::kFinalized, 0, 0, 0, "");
  }
  if (std::holds_alternative<core::EventsWanted>(input) ||
      std::holds_alternative<core::EventsUnwanted>(input)) {
    Append(c, RecordKind::kEvents, c.all_events ? 1 : 0, 0, 0,
           EncodeCodes(c.codes));
  }
  if (pending == nullptr) Append(c, RecordKind::kAnswered, tag, 0, 0, "");
}

uint32_t OpenPmixEndpoint::SeriesNumber(
    Connection& c, const core::CollectiveArrived& arrived) {
  Job& job = *FindJob(c.proc.nspace);
  const auto next = static_cast<uint32_t>(job.series.size() + 1);
  const auto [it, is_new] =
      job.series.try_emplace({arrived.op, arrived.participants}, next);
  if (is_new) {
    Append(c, RecordKind::kSeries, 0, it->second, 0, EncodeSeries(it->first));
  }
  return it->second;
}

void OpenPmixEndpoint::AppendAnswer(Connection& c, uint32_t tag, size_t size,
                                    std::string_view message) {
  // Events cannot be regenerated.
  if (message.size() > kMaxLoggedAnswer && tag >= kFirstRequestTag)
    message = {};
  Append(c, RecordKind::kAnswered, tag, std::exchange(c.ends_collective, 0),
         size, message);
  c.queued += size;
  c.ends.push_back(c.queued);
}

// A message that was sent in part cannot be regenerated.
void OpenPmixEndpoint::AppendUnsent(Connection& c) {
  const uint64_t sent = c.queued - c.out.size();
  while (!c.ends.empty() && c.ends.front() <= sent) c.ends.pop_front();
  if (c.out.empty() || c.logged >= c.ends.front()) return;
  c.logged = c.ends.front();
  Append(c, RecordKind::kUnsent, 0, 0, sent, c.out.Front(c.logged - sent));
}

// The shim holds the connection too, so close() alone does not end it.
void OpenPmixEndpoint::AppendEnd(Connection& c) {
  if (c.connection_log != nullptr) Append(c, RecordKind::kClosed, 0, 0, 0, "");
  if (c.held_by.empty()) return;
  shutdown(c.fd.get(), SHUT_RDWR);
  Release(c, "");
}

void OpenPmixEndpoint::PrepareHandover() {
  if (options_.persist) loop_->Rewatch(acceptor_.fd(), 0);
}

// --------------------------------------------------------------- going on ---

void OpenPmixEndpoint::Recover(const std::string& nspace,
                               std::vector<NamedFd> persisted) {
  UniqueFd file;
  Sockets sockets = TakeSockets(std::move(persisted), &file);
  Job* job = FindJob(nspace);
  const auto reader =
      job == nullptr ? nullptr : OpenConnectionLog(std::move(file));
  SeparateUnverified(nspace, reader.get(), &sockets);
  if (reader == nullptr) return;
  ConnectionLogState state = std::move(reader->state());
  std::erase_if(state.connections, [&](const auto& entry) {
    return !sockets.contains(entry.first);
  });
  for (const auto& [number, one_series] : state.series)
    job->series[one_series] = number;
  job->connection_log = MakeConnectionLog(nspace, state);
  if (job->connection_log == nullptr) return unverified_.merge(sockets);
  RecoverConnections(nspace, &state, std::move(sockets));
}

OpenPmixEndpoint::Sockets OpenPmixEndpoint::TakeSockets(
    std::vector<NamedFd> persisted, UniqueFd* connection_log) {
  Sockets sockets;
  for (NamedFd& one : persisted) {
    if (one.name == kConnectionLogName) *connection_log = std::move(one.fd);
    const core::ClientId id = IdIn(one.name);
    if (id == 0) continue;
    next_number_ = std::max(next_number_, NumberOf(id) + 1);
    sockets[id] = std::move(one.fd);
  }
  return sockets;
}

// Leaves the connections whose position could be verified.
void OpenPmixEndpoint::SeparateUnverified(const std::string& nspace,
                                          ConnectionLogReader* reader,
                                          Sockets* sockets) {
  for (auto& [id, fd] : *sockets) {
    const bool known =
        reader != nullptr && reader->state().connections.contains(id);
    if (known && !IsUntouched(fd.get())) {
      if (BringUpToDate(fd.get(), id, reader)) continue;
      Log(core::LogLine::Level::kWarning,
          "ending an OpenPMIx connection of " + nspace +
              ": it is not known how far the former agent got");
    }
    unverified_[id] = std::move(fd);
  }
  std::erase_if(*sockets, [](const auto& entry) { return !entry.second; });
}

// All connections are recovered before the first request is replayed, which may
// affect others.
void OpenPmixEndpoint::RecoverConnections(const std::string& nspace,
                                          ConnectionLogState* state,
                                          Sockets sockets) {
  const Counts counts = CountsIn(*state, nspace);
  std::vector<core::ClientId> taken;
  for (auto& [id, persisted] : state->connections) {
    if (RecoverConnection(nspace, id, std::move(sockets[id]), &persisted) !=
        nullptr) {
      taken.push_back(id);
    }
  }
  for (const core::ClientId id : taken) {
    Connection* c = Find(id);
    if (c == nullptr) continue;
    ReportReattached(*c, counts);
    ReplayRequests(*c, state->connections.at(id));
  }
}

void OpenPmixEndpoint::ReportReattached(const Connection& c,
                                        const Counts& counts) {
  core::ClientReattached reattached{c.id, {}};
  if (const auto own = counts.find(c.proc.rank); own != counts.end()) {
    for (const auto& [one_series, ended] : own->second) {
      reattached.counts.push_back({one_series.first, one_series.second, ended});
    }
  }
  sink_->OnInput(std::move(reattached));
  if (!c.all_events && c.codes.empty()) return;
  sink_->OnInput(core::EventsWanted{
      c.id, 0, c.all_events, {c.codes.begin(), c.codes.end()}});
}

void OpenPmixEndpoint::ReplayRequests(
    Connection& c, const ConnectionLogState::Connection& persisted) {
  putting_again_ = true;
  for (const auto& request : persisted.requests) {
    if (c.state != Connection::State::kServing) break;
    HandleRequest(c, request.tag, request.payload);
  }
  putting_again_ = false;
  if (persisted.finalized) sink_->OnInput(core::FinalizeArrived{c.id, 0});
}

// A connection may have been offered to several jobs. Of one that is in no log,
// data may have been read and lost.
void OpenPmixEndpoint::FinishRecovery() {
  for (auto& [id, fd] : std::exchange(unverified_, {})) {
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

// Null when the peer cannot be a process of this node.
Connection* OpenPmixEndpoint::RecoverConnection(
    const std::string& nspace, core::ClientId id, UniqueFd fd,
    ConnectionLogState::Connection* persisted) {
  const ProcId proc{nspace, persisted->rank};
  LocalRank* rank = FindRank(proc);
  const auto traits =
      TraitsOf(persisted->opening.version, persisted->opening.codec,
               persisted->opening.described);
  if (rank == nullptr || !traits || Find(id) != nullptr) {
    shutdown(fd.get(), SHUT_RDWR);
    return nullptr;
  }
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = id;
  c.fd = std::move(fd);
  c.state = Connection::State::kServing;
  c.kind = static_cast<PeerKind>(persisted->opening.kind);
  c.owner.uid = FindJob(nspace)->spec->uid;
  c.identified = true;
  c.proc = proc;
  c.traits = *traits;
  c.opening = persisted->opening;
  c.partial = std::move(persisted->input);
  c.received = persisted->received;
  c.queued = persisted->queued;
  for (ConnectionLogState::Answer& answer : persisted->answers) {
    c.ends.push_back(answer.begin + answer.size);
    c.out.Append(std::string(answer.bytes));
  }
  c.all_events = persisted->all_events;
  c.codes = std::move(persisted->codes);
  c.connection_log = FindJob(nspace)->connection_log;
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

}  // namespace canopy::openpmix
