#include "client/cli/history/history_store.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "common/posix/private_dir.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxText = 4000;

// The version of a store that has the columns of kMakeTable. A store of a newer
// version is left alone, and one of an older version gets the missing columns.
constexpr int64_t kVersion = 3;
constexpr char kMakeTable[] =
    "CREATE TABLE IF NOT EXISTS jobs("
    "id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT, earlier TEXT, "
    "context TEXT, command TEXT, output TEXT, num_procs INTEGER, "
    "num_nodes INTEGER, nodes TEXT, requested_ms INTEGER, started_ms INTEGER, "
    "ended_ms INTEGER, exit_code INTEGER, reason TEXT, "
    "host TEXT, boot TEXT, pid INTEGER, pid_start INTEGER, "
    "name TEXT DEFAULT '', parent TEXT DEFAULT '')";
constexpr char kAddName[] = "ALTER TABLE jobs ADD COLUMN name TEXT DEFAULT ''";
constexpr char kAddParent[] =
    "ALTER TABLE jobs ADD COLUMN parent TEXT DEFAULT ''";
constexpr char kColumns[] =
    "job, earlier, context, command, output, num_procs, num_nodes, "
    "nodes, requested_ms, started_ms, ended_ms, exit_code, reason, "
    "host, boot, pid, pid_start, name, parent, id";

// Cuts a text of more than kMaxText bytes between characters of UTF-8, and adds
// "...".
std::string Shortened(const std::string& text) {
  if (text.size() <= kMaxText) return text;
  size_t size = kMaxText;
  while (size > 0 && (text[size] & 0xc0) == 0x80) --size;
  return text.substr(0, size) + "...";
}

std::vector<SqlValue> ValuesOf(const HistoryEntry& entry) {
  const ProcessMark& launcher = entry.launcher;
  std::vector<SqlValue> values = {entry.job,
                                  entry.earlier,
                                  entry.context,
                                  Shortened(entry.command),
                                  entry.output,
                                  entry.num_procs,
                                  entry.num_nodes,
                                  Shortened(entry.nodes),
                                  entry.requested_ms,
                                  entry.started_ms,
                                  entry.ended_ms,
                                  entry.exit_code,
                                  Shortened(entry.reason),
                                  launcher.host,
                                  launcher.boot,
                                  launcher.pid,
                                  launcher.start,
                                  Shortened(entry.name),
                                  entry.parent};
  return values;
}

HistoryEntry EntryOf(const SqlRow& row) {
  HistoryEntry out;
  int column = 0;
  for (std::string* text :
       {&out.job, &out.earlier, &out.context, &out.command, &out.output}) {
    *text = row.Text(column++);
  }
  out.num_procs = row.Number(column++);
  out.num_nodes = row.Number(column++);
  out.nodes = row.Text(column++);
  for (int64_t* number :
       {&out.requested_ms, &out.started_ms, &out.ended_ms, &out.exit_code}) {
    *number = row.Number(column++);
  }
  for (std::string* text :
       {&out.reason, &out.launcher.host, &out.launcher.boot}) {
    *text = row.Text(column++);
  }
  for (int64_t* number : {&out.launcher.pid, &out.launcher.start}) {
    *number = row.Number(column++);
  }
  out.name = row.Text(column++);
  out.parent = row.Text(column++);
  out.id = row.Number(column);
  return out;
}

std::string HomeDirectory() {
  const char* const home = getenv("HOME");
  if (home != nullptr && *home == '/') return home;
  const passwd* const user = getpwuid(geteuid());
  return user == nullptr ? "/" : user->pw_dir;
}

// A relative XDG_STATE_HOME is invalid by the XDG Base Directory Specification.
std::string StateDirectory() {
  const char* const given = getenv("XDG_STATE_HOME");
  if (given != nullptr && *given == '/') return given;
  return HomeDirectory() + "/.local/state";
}

Status CheckVersion(SqlDatabase* database, int64_t* version) {
  Status status =
      database->Run("PRAGMA user_version", {},
                    [version](const SqlRow& row) { *version = row.Number(0); });
  if (!status.ok() || *version <= kVersion) return status;
  return Status(kErrNotSupported, "a newer release of Canopy has written it");
}

// Makes the table, or adds the columns that a store of an older version lacks.
// Another process may do the same at the same time.
Status Update(SqlDatabase* database) {
  Status status = database->Run("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  int64_t version = 0;
  status = CheckVersion(database, &version);
  if (status.ok() && version == 0) status = database->Run(kMakeTable);
  if (status.ok() && version == 1) status = database->Run(kAddName);
  if (status.ok() && (version == 1 || version == 2)) {
    status = database->Run(kAddParent);
  }
  if (status.ok()) {
    status = database->Run("PRAGMA user_version=" + std::to_string(kVersion));
  }
  const Status end = database->Run(status.ok() ? "COMMIT" : "ROLLBACK");
  return status.ok() ? end : status;
}

// Leaves the database as this release uses it. Fails if a newer release has
// written it.
Status Prepare(SqlDatabase* database) {
  int64_t version = 0;
  const Status status = CheckVersion(database, &version);
  return status.ok() && version < kVersion ? Update(database) : status;
}

}  // namespace

HistoryStore::HistoryStore() : HistoryStore(StateDirectory() + "/canopy") {}

HistoryStore::HistoryStore(std::string directory, int64_t limit)
    : directory_(std::move(directory)), limit_(limit) {}

Status HistoryStore::Failed(const Status& status) const {
  if (status.code() == kErrTypeMismatch) {
    return Status(status.code(), "the history of jobs, " + path() +
                                     ", is damaged (" + status.message() +
                                     "); remove it, and a new one is made");
  }
  return Status(status.code(), "cannot use the history of jobs, " + path() +
                                   ": " + status.message());
}

Status HistoryStore::MakeDirectory() const {
  const std::filesystem::path parent =
      std::filesystem::path(directory_).parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return Status(kErrNoPermissions, error.message());
  if (Status s = MakePrivateDir(directory_); !s.ok()) return s;
  if (IsOwnDirectory(directory_)) return Status();
  return Status(kErrNoPermissions, "another user controls that directory");
}

Result<SqlDatabase> HistoryStore::Open(SqlDatabase::Mode mode) const {
  char real[PATH_MAX];
  if (realpath(directory_.c_str(), real) == nullptr) {
    return Status(kErrNotFound, "there is no such directory");
  }
  Result<SqlDatabase> database =
      SqlDatabase::Open(std::string(real) + "/history.db", mode);
  if (!database.ok()) return database.status();
  if (Status status = Prepare(&*database); !status.ok()) return status;
  return database;
}

// Opens the database, unless *database is it and still in its place.
Status HistoryStore::OpenToWrite(std::optional<SqlDatabase>* database) const {
  if (*database && !(*database)->HasMoved()) return Prepare(&**database);
  database->reset();
  if (Status s = MakeDirectory(); !s.ok()) return s;
  Result<SqlDatabase> opened = Open(SqlDatabase::Mode::kCreate);
  if (!opened.ok()) return opened.status();
  *database = *std::move(opened);
  return Status();
}

Status HistoryStore::Put(HistoryEntry* entry) const {
  std::optional<SqlDatabase> database;
  return Put(entry, &database);
}

Status HistoryStore::Put(HistoryEntry* entry,
                         std::optional<SqlDatabase>* kept) const {
  Status status = OpenToWrite(kept);
  if (status.ok()) status = Store(&**kept, entry);
  if (status.ok()) return status;
  kept->reset();
  return Failed(status);
}

Status HistoryStore::Store(SqlDatabase* database, HistoryEntry* entry) const {
  const bool is_new = entry->id == 0;
  std::vector<SqlValue> values = ValuesOf(*entry);
  if (!is_new) values.emplace_back(entry->id);
  const std::string id = is_new ? "NULL" : "?20";
  if (Status s = database->Run(
          std::string("INSERT OR REPLACE INTO jobs(") + kColumns +
              ") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
              "?13, ?14, ?15, ?16, ?17, ?18, ?19, " +
              id + ")",
          values);
      !s.ok() || !is_new) {
    return s;
  }
  entry->id = database->LastRow();
  if (entry->id <= limit_) return Status();
  return database->Run("DELETE FROM jobs WHERE id <= ?1",
                       std::vector<SqlValue>{entry->id - limit_});
}

// If the database does not exist yet, the result is empty.
Result<std::vector<HistoryEntry>> HistoryStore::Select(
    const std::string& condition, const std::string& value) const {
  std::vector<HistoryEntry> entries;
  Result<SqlDatabase> database = Open(SqlDatabase::Mode::kExisting);
  if (database.code() == kErrNotFound) return entries;
  if (!database.ok()) return Failed(database.status());
  const Status status = database->Run(
      std::string("SELECT ") + kColumns + " FROM jobs WHERE " + condition,
      std::vector<SqlValue>{value},
      [&entries](const SqlRow& row) { entries.push_back(EntryOf(row)); });
  if (!status.ok()) return Failed(status);
  return entries;
}

Result<HistoryEntry> HistoryStore::FindOne(const std::string& condition,
                                           const std::string& word) const {
  Result<std::vector<HistoryEntry>> found =
      Select(condition + " ORDER BY id DESC LIMIT 1", word);
  if (!found.ok()) return found.status();
  if (!found->empty()) return std::move(found->front());
  return Status(kErrNotFound, "the history has no job '" + word + "'");
}

Result<HistoryEntry> HistoryStore::Find(const std::string& word) const {
  return FindOne(
      "?1 != '' AND (job = ?1 OR "
      "instr(' ' || earlier || ' ', ' ' || ?1 || ' '))",
      word);
}

Result<HistoryEntry> HistoryStore::FindByGivenName(
    const std::string& word) const {
  return FindOne("?1 != '' AND name = ?1", word);
}

Result<HistoryEntry> HistoryStore::FindByPart(const std::string& word) const {
  return FindOne("?1 != '' AND substr(job, -length(?1) - 1) = '-' || ?1", word);
}

Result<std::vector<HistoryEntry>> HistoryStore::List(
    const std::string& context) const {
  return Select("?1 = '' OR context = ?1 ORDER BY id", context);
}

}  // namespace canopy::cli
