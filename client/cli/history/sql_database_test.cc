#include "client/cli/history/sql_database.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace canopy::cli {
namespace {

std::string NewPath() {
  std::string directory = testing::TempDir() + "/sql-XXXXXX";
  EXPECT_NE(mkdtemp(directory.data()), nullptr);
  return directory + "/test.db";
}

TEST(SqlDatabaseTest, ValuesAreReadAsTheyWereWritten) {
  auto database = SqlDatabase::Open(NewPath(), SqlDatabase::Mode::kCreate);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE(database->Run("CREATE TABLE t(a, b)").ok());
  const std::vector<SqlValue> values = {int64_t{1} << 40,
                                        std::string("it's '); DROP TABLE t")};
  ASSERT_TRUE(database->Run("INSERT INTO t VALUES(?1, ?2)", values).ok());
  EXPECT_EQ(database->LastRow(), 1);
  int rows = 0;
  ASSERT_TRUE(database
                  ->Run("SELECT a, b FROM t", {},
                        [&](const SqlRow& row) {
                          ++rows;
                          EXPECT_EQ(row.Number(0), int64_t{1} << 40);
                          EXPECT_EQ(row.Text(1), "it's '); DROP TABLE t");
                        })
                  .ok());
  EXPECT_EQ(rows, 1);
}

TEST(SqlDatabaseTest, OpenRefusesAFileThatIsNotADatabase) {
  const std::string path = NewPath();
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_EQ(SqlDatabase::Open(path, SqlDatabase::Mode::kExisting).code(),
            kErrTypeMismatch);
}

TEST(SqlDatabaseTest, OpenReportsTheReasonOfTheSystem) {
  EXPECT_EQ(SqlDatabase::Open(NewPath(), SqlDatabase::Mode::kExisting).code(),
            kErrNotFound);
  auto missing =
      SqlDatabase::Open(NewPath() + "/x.db", SqlDatabase::Mode::kCreate);
  EXPECT_EQ(missing.status().message(), "No such file or directory");
}

TEST(SqlDatabaseTest, ALinkIsNotFollowed) {
  const std::string path = NewPath();
  ASSERT_TRUE(SqlDatabase::Open(path, SqlDatabase::Mode::kCreate)
                  ->Run("CREATE TABLE t(a)")
                  .ok());
  const std::string link = NewPath();
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  EXPECT_FALSE(SqlDatabase::Open(link, SqlDatabase::Mode::kExisting).ok());
}

}  // namespace
}  // namespace canopy::cli
