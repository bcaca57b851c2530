#include "server/openpmix/connection_persistence.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/posix/unique_fd.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

// Longer answers are regenerated instead of being logged.
constexpr size_t kMaxLoggedAnswer = 512;
constexpr size_t kMaxCodes = 1 << 16;
// An unidentified connection is offered to at most this many jobs of its user.
constexpr size_t kMaxOffers = 8;

}  // namespace

std::string PersistedName(core::ClientId id) {
  return std::string(kPersistedPrefix) + std::to_string(id);
}

ConnectionPersistence::ConnectionPersistence(
    const OpenPmixOptions* options, Jobs* jobs,
    std::function<Connection*(core::ClientId)> find)
    : options_(options), jobs_(jobs), find_(std::move(find)) {}

std::shared_ptr<ConnectionLog> ConnectionPersistence::MakeLog(
    const std::string& nspace, const ConnectionLogState& state) {
  ConnectionLog::Hooks hooks;
  hooks.sent = [this](uint64_t id) {
    const Connection* c = find_(id);
    return c == nullptr ? 0 : c->queued - c->out.size();
  };
  hooks.moved = [this, nspace](int fd) {
    options_->fd_store->HoldFile(nspace, {kConnectionLogName, DuplicateFd(fd)});
  };
  Result<std::unique_ptr<ConnectionLog>> connection_log =
      ConnectionLog::Create(std::move(hooks), state);
  if (connection_log.ok()) return *std::move(connection_log);
  if (options_->log) {
    options_->log({core::LogLine::Level::kWarning,
                   "OpenPMIx programs of " + nspace +
                       " would not survive a restart of this agent: " +
                       connection_log.status().message()});
  }
  return nullptr;
}

void ConnectionPersistence::Offer(Connection& c) {
  if (options_->fd_store == nullptr) return;
  for (const auto& [nspace, job] : jobs_->jobs()) {
    if (job.spec->uid != c.owner.uid || job.ranks.empty()) continue;
    if (c.held_by.size() == kMaxOffers) return;
    if (options_->fd_store->HoldConnection(
            nspace, {PersistedName(c.id), DuplicateFd(c.fd.get())})) {
      c.held_by.push_back(nspace);
    }
  }
}

// Connections of tools end with the agent, so they are released at once.
void ConnectionPersistence::Release(Connection& c, const std::string& except) {
  const auto when = c.is_tool ? FdStorePort::Release::kAtOnce
                              : FdStorePort::Release::kBatched;
  std::erase_if(c.held_by, [&](const std::string& nspace) {
    if (nspace == except) return false;
    options_->fd_store->ReleaseConnection(nspace, PersistedName(c.id), when);
    return true;
  });
}

void ConnectionPersistence::Begin(Connection& c, std::string_view unread) {
  if (c.held_by.empty()) return;
  Release(c, c.is_tool ? "" : c.proc.nspace);
  if (c.held_by.empty()) return;
  Jobs::Job& job = *jobs_->Find(c.proc.nspace);
  if (job.connection_log == nullptr)
    job.connection_log = MakeLog(c.proc.nspace, {});
  if (job.connection_log == nullptr) return Release(c, "");
  c.connection_log = job.connection_log;
  Add(c, RecordKind::kOpened, c.proc.rank, 0, c.received - unread.size(),
      EncodeOpening(c.opening));
  AddAnswer(c, kEventTag, c.out.size(), c.out.Front(c.out.size()));
  if (!unread.empty()) {
    Add(c, RecordKind::kReceived, 0, 0, c.received - unread.size(), unread);
  }
}

void ConnectionPersistence::Add(Connection& c, RecordKind kind, uint32_t a,
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

void ConnectionPersistence::AddRequest(Connection& c, uint32_t tag,
                                       const core::Input& input,
                                       PendingRequest* pending) {
  if (c.connection_log == nullptr) return;
  if (const auto* arrived = std::get_if<core::CollectiveArrived>(&input)) {
    pending->one_series = SeriesNumber(c, *arrived);
  } else if (std::holds_alternative<core::EventsWanted>(input) ||
             std::holds_alternative<core::EventsUnwanted>(input)) {
    AddEvents(c, input);
  } else if (std::holds_alternative<core::FinalizeArrived>(input)) {
    Add(c, RecordKind::kFinalized, 0, 0, 0, "");
  }
  if (pending == nullptr) Add(c, RecordKind::kAnswered, tag, 0, 0, "");
}

// Logs the event codes for which the connection is registered now.
void ConnectionPersistence::AddEvents(Connection& c, const core::Input& input) {
  if (const auto* wanted = std::get_if<core::EventsWanted>(&input)) {
    c.all_events |= wanted->all;
    for (const int code : wanted->codes) {
      if (c.codes.size() < kMaxCodes) c.codes.insert(code);
    }
  } else if (const auto* unwanted = std::get_if<core::EventsUnwanted>(&input)) {
    if (unwanted->all) c.all_events = false;
    for (const int code : unwanted->codes) c.codes.erase(code);
  }
  Add(c, RecordKind::kEvents, c.all_events ? 1 : 0, 0, 0, EncodeCodes(c.codes));
}

void ConnectionPersistence::AddNotified(Connection& c, const EventId& event) {
  if (c.connection_log == nullptr) return;
  Add(c, RecordKind::kNotified, 0, 0, event.number, EncodeRaiser(event.raiser));
}

// Called for a construct of the group `made`. Returns true if a group of the
// same name was constructed with other members since the last such construct.
// In this case `made` needs a higher number, so that a successor recognises it
// as the last construction.
bool ConnectionPersistence::MakesAgain(
    const Jobs::Job& job, const ConnectionLogState::Collective& made,
    uint32_t number) {
  return made.op == core::CollectiveOp::kGroupConstruct &&
         std::ranges::any_of(job.series, [&](const auto& other) {
           return other.first.op == made.op && other.first.name == made.name &&
                  other.second > number;
         });
}

uint32_t ConnectionPersistence::SeriesNumber(
    Connection& c, const core::CollectiveArrived& arrived) {
  Jobs::Job& job = *jobs_->Find(c.proc.nspace);
  const auto [it, is_new] = job.series.try_emplace(
      {arrived.op, arrived.participants, 0, arrived.name}, 0);
  if (is_new || MakesAgain(job, it->first, it->second)) {
    it->second = ++job.last_series;
    Add(c, RecordKind::kSeries, 0, it->second, 0, EncodeSeries(it->first));
  }
  return it->second;
}

void ConnectionPersistence::AddAnswer(Connection& c, uint32_t tag, size_t size,
                                      std::string_view message) {
  if (c.connection_log == nullptr) return;
  // Long answers are regenerated instead of being logged. Events, which have
  // lower tags, cannot be regenerated.
  if (message.size() > kMaxLoggedAnswer && tag >= kFirstRequestTag)
    message = {};
  Add(c, RecordKind::kAnswered, tag, std::exchange(c.ends_collective, 0), size,
      message);
  c.queued += size;
  c.ends.push_back(c.queued);
}

void ConnectionPersistence::AddUnsent(Connection& c) {
  if (c.connection_log == nullptr) return;
  const uint64_t sent = c.queued - c.out.size();
  while (!c.ends.empty() && c.ends.front() <= sent) c.ends.pop_front();
  if (c.out.empty() || c.logged >= c.ends.front()) return;
  c.logged = c.ends.front();
  Add(c, RecordKind::kUnsent, 0, 0, sent, c.out.Front(c.logged - sent));
}

// The shim holds the connection too, so close() would not end it.
void ConnectionPersistence::End(Connection& c) {
  if (c.connection_log != nullptr) Add(c, RecordKind::kClosed, 0, 0, 0, "");
  if (c.held_by.empty()) return;
  shutdown(c.fd.get(), SHUT_RDWR);
  Release(c, "");
}

}  // namespace canopy::openpmix
