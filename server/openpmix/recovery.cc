#include "server/openpmix/recovery.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "server/openpmix/stream_position.h"

namespace canopy::openpmix {
namespace {

std::unique_ptr<ConnectionLogReader> OpenConnectionLog(UniqueFd file) {
  auto reader = ConnectionLogReader::Open(std::move(file));
  return reader.ok() ? *std::move(reader) : nullptr;
}

core::ClientId IdIn(std::string_view name) {
  core::ClientId id = 0;
  if (!name.starts_with(kPersistedPrefix)) return 0;
  name.remove_prefix(kPersistedPrefix.size());
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), id);
  return end == name.data() + name.size() ? id : 0;
}

constexpr uint64_t NumberOf(core::ClientId id) {
  return id & ((uint64_t{1} << 56) - 1);
}

// Returns the series with its participants sorted, without duplicates, and with
// their namespaces. Records of one series may differ in these respects.
ConnectionLogState::Collective Canonical(
    ConnectionLogState::Collective one_series, const std::string& own_nspace) {
  std::vector<ProcId>& procs = one_series.participants;
  for (ProcId& proc : procs) {
    if (proc.nspace.empty()) proc.nspace = own_nspace;
  }
  if (procs.empty()) procs = {{own_nspace, kRankWildcard}};
  std::ranges::sort(procs);
  procs.erase(std::unique(procs.begin(), procs.end()), procs.end());
  return one_series;
}

using Counts = ConnectionLogState::Counts;

// Returns the ended collectives of each rank. Pending answers count too,
// because they will be sent.
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

// Divides the answers into those with known bytes and those to be regenerated.
// An answer of which no byte was sent is regenerated unless its bytes are
// logged; an answer that was partly sent must be logged. Returns false if such
// an answer is not logged.
bool SortAnswers(ConnectionLogState::Connection* c, uint64_t written) {
  std::vector<ConnectionLogState::Answer> known;
  std::vector<RequestList::Request> again;
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
  c->requests.AddFirst(std::move(again));
  c->unsent = {};
  c->queued = at;
  return true;
}

// Returns true if nothing was read from the connection or written to it.
bool IsUntouched(int fd) {
  const Result<StreamPosition> position = PositionOf(fd);
  return position.ok() && position->read == 0 && position->written == 0;
}

// Advances the logged state to the position of the connection. Returns false if
// the position cannot be verified.
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

void Recovery::Recover(const std::string& nspace,
                       std::vector<NamedFd> persisted) {
  UniqueFd file;
  Sockets sockets = TakeSockets(std::move(persisted), &file);
  Jobs::Job* job = parts_.jobs->Find(nspace);
  const auto reader =
      job == nullptr ? nullptr : OpenConnectionLog(std::move(file));
  SeparateUnverified(nspace, reader.get(), &sockets);
  if (reader == nullptr) return;
  ConnectionLogState state = std::move(reader->state());
  std::erase_if(state.connections, [&](const auto& entry) {
    return !sockets.contains(entry.first);
  });
  for (const auto& [number, one_series] : state.series) {
    job->series[one_series] = job->last_series = number;
  }
  job->connection_log = parts_.persistence->MakeLog(nspace, state);
  if (job->connection_log == nullptr) return unverified_.merge(sockets);
  RecoverConnections(nspace, &state, std::move(sockets));
}

Recovery::Sockets Recovery::TakeSockets(std::vector<NamedFd> persisted,
                                        UniqueFd* connection_log) {
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

// Moves the connections whose position cannot be verified out of `sockets`.
void Recovery::SeparateUnverified(const std::string& nspace,
                                  ConnectionLogReader* reader,
                                  Sockets* sockets) {
  for (auto& [id, fd] : *sockets) {
    const bool known =
        reader != nullptr && reader->state().connections.contains(id);
    if (known && !IsUntouched(fd.get())) {
      if (BringUpToDate(fd.get(), id, reader)) continue;
      if (parts_.options->log) {
        parts_.options->log(
            {core::LogLine::Level::kWarning,
             "ending an OpenPMIx connection of " + nspace +
                 ": it is not known how far the former agent got"});
      }
    }
    unverified_[id] = std::move(fd);
  }
  std::erase_if(*sockets, [](const auto& entry) { return !entry.second; });
}

// Recovers all connections before it replays the first request, because a
// request may affect other connections.
void Recovery::RecoverConnections(const std::string& nspace,
                                  ConnectionLogState* state, Sockets sockets) {
  const Counts counts = CountsIn(*state, nspace);
  std::vector<core::ClientId> taken;
  for (auto& [id, persisted] : state->connections) {
    if (RecoverConnection(nspace, id, std::move(sockets[id]), &persisted) !=
        nullptr) {
      taken.push_back(id);
    }
  }
  for (const core::ClientId id : taken) {
    Connection* c = parts_.connections->Find(id);
    if (c == nullptr) continue;
    ReportReattached(*c, counts);
    ReplayRequests(*c, state->connections.at(id));
  }
}

void Recovery::ReportReattached(const Connection& c, const Counts& counts) {
  core::ClientReattached reattached{c.id, {}};
  if (const auto own = counts.find(c.proc.rank); own != counts.end()) {
    for (const auto& [one_series, ended] : own->second) {
      reattached.counts.push_back(
          {one_series.op, one_series.participants, ended, one_series.name});
    }
  }
  parts_.sink->OnInput(std::move(reattached));
  if (!c.all_events && c.codes.empty()) return;
  parts_.sink->OnInput(core::EventsWanted{
      c.id, 0, c.all_events, {c.codes.begin(), c.codes.end()}});
}

void Recovery::ReplayRequests(Connection& c,
                              const ConnectionLogState::Connection& persisted) {
  parts_.text_logger->set_replaying(true);
  for (const auto& request : persisted.requests.InOrder()) {
    if (!c.serving()) break;
    parts_.requests->Handle(c, request.tag, request.payload);
    parts_.sink->Drain();
  }
  parts_.text_logger->set_replaying(false);
  if (persisted.finalized) parts_.sink->OnInput(core::FinalizeArrived{c.id, 0});
}

// A connection may have been offered to several jobs. If no log contains it,
// data may have been read and lost.
Recovery::Sockets Recovery::Finish() {
  Sockets untouched;
  for (auto& [id, fd] : std::exchange(unverified_, {})) {
    if (!fd || parts_.connections->Find(id) != nullptr) continue;
    if (IsUntouched(fd.get())) {
      untouched[id] = std::move(fd);
    } else {
      Close(id, fd);
    }
  }
  return untouched;
}

void Recovery::Close(core::ClientId id, const UniqueFd& fd) {
  shutdown(fd.get(), SHUT_RDWR);
  for (const auto& [nspace, job] : parts_.jobs->jobs()) {
    parts_.options->fd_store->ReleaseConnection(nspace, PersistedName(id),
                                                FdStorePort::Release::kBatched);
  }
}

// Returns null if the client cannot be a process of this node.
Connection* Recovery::RecoverConnection(
    const std::string& nspace, core::ClientId id, UniqueFd fd,
    ConnectionLogState::Connection* persisted) {
  const ProcId proc{nspace, persisted->rank};
  Jobs::Process* rank = parts_.jobs->FindRank(proc);
  const auto traits =
      TraitsOf(persisted->opening.version, persisted->opening.codec,
               persisted->opening.described);
  if (rank == nullptr || !traits || parts_.connections->Find(id) != nullptr) {
    shutdown(fd.get(), SHUT_RDWR);
    return nullptr;
  }
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = id;
  c.fd = std::move(fd);
  c.state = Connection::State::kServing;
  c.kind = static_cast<PeerKind>(persisted->opening.kind);
  c.owner.uid = parts_.jobs->Find(nspace)->spec->uid;
  c.identified = true;
  c.proc = proc;
  c.holder = {proc.nspace, ToString(proc)};
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
  c.notified = std::move(persisted->notified);
  c.connection_log = parts_.jobs->Find(nspace)->connection_log;
  c.held_by = {nspace};
  ++rank->connections;
  parts_.connections->Add(std::move(connection));
  parts_.connections->MarkDirty(c);
  parts_.sink->OnInput(core::ClientConnected{id, c.proc, false});
  return &c;
}

}  // namespace canopy::openpmix
