#include "server/core/job/input_log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace canopy::core {
namespace {

using Shown = std::vector<std::pair<std::string, uint64_t>>;

Shown Show(const std::vector<InputLog::Piece>& pieces) {
  Shown out;
  for (const auto& piece : pieces) {
    out.emplace_back(piece.data.view(), piece.end);
  }
  return out;
}

Bytes Data(const std::string& text) { return Bytes(text); }

TEST(InputLog, NewInputIsSentOnce) {
  InputLog log;
  log.Add(std::nullopt, Data("one"));
  log.Add(3, Data("two"));
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"one", 3}, {"two", 6}}));
  EXPECT_TRUE(log.TakeNew().empty());
  log.Add(6, {});
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"", 6}}));
}

TEST(InputLog, InputThatWasOfferedBeforeIsDropped) {
  InputLog log;
  log.Add(0, Data("abcd"));
  log.Add(0, Data("abc"));
  log.Add(2, Data("cdef"));
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"abcd", 4}, {"ef", 6}}));
}

TEST(InputLog, InputThatLeavesAGapIsDropped) {
  InputLog log;
  log.Add(0, Data("ab"));
  log.Add(3, Data("d"));
  log.Add(4, {});
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"ab", 2}}));
  log.Add(2, Data("cd"));
  log.Add(4, {});
  log.Add(4, Data("after the end"));
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"cd", 4}, {"", 4}}));
}

TEST(InputLog, SentInputIsResentFromAPosition) {
  InputLog log;
  log.Add(0, Data("ab"));
  log.Add(2, Data("cd"));
  EXPECT_TRUE(log.From(0).empty()) << "before it was sent";
  log.TakeNew();
  EXPECT_EQ(Show(log.From(0)), (Shown{{"ab", 2}, {"cd", 4}}));
  EXPECT_EQ(Show(log.From(3)), (Shown{{"cd", 4}}));
  log.Release(2);
  EXPECT_EQ(Show(log.From(0)), (Shown{{"cd", 4}}));
  log.Add(4, {});
  log.TakeNew();
  log.Release(4);
  EXPECT_EQ(Show(log.From(4)), (Shown{{"", 4}}));
}

TEST(InputLog, TheLogContinuesAtThePositionOfAPredecessor) {
  InputLog log;
  log.Forget();
  EXPECT_TRUE(log.BeginAt(7));
  EXPECT_FALSE(log.BeginAt(9));
  log.Add(9, Data("too far"));
  log.Add(7, Data("ab"));
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"ab", 9}}));
}

TEST(InputLog, InputWithoutPositionsIsNotKept) {
  InputLog log;
  log.Forget();
  log.Add(std::nullopt, Data("ab"));
  log.Add(std::nullopt, {});
  EXPECT_FALSE(log.positioned());
  EXPECT_EQ(Show(log.TakeNew()), (Shown{{"ab", 0}, {"", 0}}));
  EXPECT_TRUE(log.From(0).empty());
}

}  // namespace
}  // namespace canopy::core
