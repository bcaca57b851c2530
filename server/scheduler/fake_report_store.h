// A report store that outlives the agents of a test.
#ifndef CANOPY_SERVER_SCHEDULER_FAKE_REPORT_STORE_H_
#define CANOPY_SERVER_SCHEDULER_FAKE_REPORT_STORE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "server/scheduler/report_store.h"

namespace canopy::scheduler {

class FakeReportStore : public ReportStore {
 public:
  StoredReports Load() override {
    StoredReports out{series, reserved, lost, {}, {}, commands};
    for (const auto& record : records) out.records.push_back(record);
    for (const auto& release : releases) out.releases.push_back(release);
    return out;
  }
  Status Begin(uint64_t number) override {
    series = number;
    return status;
  }
  Status Reserve(uint64_t number) override {
    reserved = number;
    ++reservations;
    return status;
  }
  Status Add(uint64_t number, std::string_view record) override {
    EXPECT_LE(number, reserved);
    EXPECT_FALSE(records.contains(number));
    records[number] = record;
    return status;
  }
  Status Remove(uint64_t number) override {
    records.erase(records.begin(), records.upper_bound(number));
    return status;
  }
  Status Lose(uint64_t number, uint64_t all) override {
    records.erase(number);
    lost = all;
    return status;
  }
  Status AddRelease(uint64_t number, std::string_view release) override {
    EXPECT_FALSE(releases.contains(number));
    releases[number] = release;
    return status;
  }
  Status RemoveRelease(uint64_t number) override {
    EXPECT_EQ(releases.erase(number), 1u);
    return status;
  }
  Status AddCommand(std::string_view command) override {
    commands.emplace_back(command);
    return status;
  }

  uint64_t series = 0;
  uint64_t reserved = 0;
  uint64_t lost = 0;
  std::map<uint64_t, std::string> records;
  std::map<uint64_t, std::string> releases;
  std::vector<std::string> commands;
  size_t reservations = 0;
  Status status;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_FAKE_REPORT_STORE_H_
