// One connection to an SQLite database.
#ifndef CANOPY_CLIENT_CLI_HISTORY_SQL_DATABASE_H_
#define CANOPY_CLIENT_CLI_HISTORY_SQL_DATABASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "common/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace canopy::cli {

using SqlValue = std::variant<int64_t, std::string>;

// A row of a result, valid during the call that receives it. Columns are
// numbered from 0.
class SqlRow {
 public:
  explicit SqlRow(sqlite3_stmt* statement) : statement_(statement) {}
  // Return the value of the column. NULL gives 0 or an empty text.
  int64_t Number(int column) const;
  std::string Text(int column) const;

 private:
  sqlite3_stmt* const statement_;
};

// Used by one thread. Several processes may use the database at the same time.
// A statement waits up to five seconds for those of other processes. Errors are
// kErrJobSysOpFailed, or kErrTypeMismatch for a file that is not an intact
// database; their messages state the reason without the path.
class SqlDatabase {
 public:
  enum class Mode { kExisting, kCreate };

  // Opens a database. Changes are not forced to the disk, which would take as
  // long as a short job does. They survive the end of this process, but a
  // failure of the machine may damage the database.
  //
  // `path` must not contain a symbolic link. Returns kErrNotFound for kExisting
  // if there is no such file, kErrTypeMismatch if the file is no database, and
  // kErrJobSysOpFailed or kErrNomem for other failures.
  static Result<SqlDatabase> Open(const std::string& path, Mode mode);

  // Executes one statement, whose parameters ?1, ?2... get the values. Calls
  // `on_row` for each row of the result.
  Status Run(const std::string& sql, std::span<const SqlValue> values = {},
             const std::function<void(const SqlRow&)>& on_row = {});
  // Returns true if the database's path leads to another file by now, or to
  // none.
  bool HasMoved() const;
  // Returns the number of the row that was inserted last.
  int64_t LastRow() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit SqlDatabase(sqlite3* database) : database_(database) {}
  Status Failed(int code) const;
  Status Step(sqlite3_stmt* statement,
              const std::function<void(const SqlRow&)>& on_row);

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HISTORY_SQL_DATABASE_H_
