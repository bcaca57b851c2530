#include "client/cli/history/sql_database.h"

#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

namespace canopy::cli {
namespace {

constexpr int kBusyMs = 5000;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
  }
};

int Bind(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return sqlite3_bind_int64(statement, index, *number);
  }
  const std::string& text = std::get<std::string>(value);
  return sqlite3_bind_text64(statement, index, text.data(), text.size(),
                             SQLITE_TRANSIENT, SQLITE_UTF8);
}

}  // namespace

int64_t SqlRow::Number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string SqlRow::Text(int column) const {
  const auto* const text = sqlite3_column_text(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (text == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(text),
                     static_cast<size_t>(size));
}

void SqlDatabase::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

Result<SqlDatabase> SqlDatabase::Open(const std::string& path, Mode mode) {
  if (mode == Mode::kExisting && access(path.c_str(), F_OK) != 0) {
    return Status(errno == ENOENT ? kErrNotFound : kErrJobSysOpFailed,
                  strerror(errno));
  }
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
                    SQLITE_OPEN_FULLMUTEX |
                    (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  if (opened == nullptr) return Status(kErrNomem, "out of memory");
  SqlDatabase database(opened);
  if (code != SQLITE_OK) return database.Failed(code);
  sqlite3_busy_timeout(opened, kBusyMs);
  const Status status = database.Run("PRAGMA synchronous=OFF");
  if (!status.ok()) return status;
  return database;
}

// Returns the error for a code of SQLite. If a file cannot be opened or read,
// the message is the system's, because SQLite's text lacks the reason.
Status SqlDatabase::Failed(int code) const {
  const int primary = code & 0xff;
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) {
    return Status(kErrTypeMismatch, sqlite3_errstr(code));
  }
  const int error = sqlite3_system_errno(database_.get());
  const bool of_system =
      error != 0 && (primary == SQLITE_CANTOPEN || primary == SQLITE_IOERR);
  return Status(kErrJobSysOpFailed,
                of_system ? strerror(error) : sqlite3_errmsg(database_.get()));
}

Status SqlDatabase::Run(const std::string& sql,
                        std::span<const SqlValue> values,
                        const std::function<void(const SqlRow&)>& on_row) {
  sqlite3_stmt* prepared = nullptr;
  int code =
      sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(prepared);
  for (size_t i = 0; code == SQLITE_OK && i < values.size(); ++i) {
    code = Bind(prepared, static_cast<int>(i) + 1, values[i]);
  }
  return code == SQLITE_OK ? Step(prepared, on_row) : Failed(code);
}

Status SqlDatabase::Step(sqlite3_stmt* statement,
                         const std::function<void(const SqlRow&)>& on_row) {
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    if (on_row) on_row(SqlRow(statement));
  }
  return code == SQLITE_DONE ? Status() : Failed(code);
}

bool SqlDatabase::HasMoved() const {
  int moved = 0;
  return sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED,
                              &moved) != SQLITE_OK ||
         moved != 0;
}

int64_t SqlDatabase::LastRow() const {
  return sqlite3_last_insert_rowid(database_.get());
}

}  // namespace canopy::cli
