#include "server/facts/node_usage.h"

#include <time.h>

#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "common/codec/infos.h"
#include "common/string_util.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"

namespace canopy::facts {
namespace {

constexpr size_t kMaxFile = size_t{256} << 10;

bool Wants(uint64_t fields, std::span<const std::string_view> table,
           std::string_view key) {
  return (fields & core::UsageBit(table, key)) != 0;
}

Value Now() { return Value::Time(time(nullptr)); }

// ----------------------------------------------------------------- node ---

struct MemoryRow {
  std::string_view key;
  std::string_view name;  // in /proc/meminfo
};
constexpr MemoryRow kMemory[] = {
    {PMIX_NODE_MEM_TOTAL, "MemTotal"},
    {PMIX_NODE_MEM_FREE, "MemFree"},
    {PMIX_NODE_MEM_BUFFERS, "Buffers"},
    {PMIX_NODE_MEM_CACHED, "Cached"},
    {PMIX_NODE_MEM_SWAP_CACHED, "SwapCached"},
    {PMIX_NODE_MEM_SWAP_TOTAL, "SwapTotal"},
    {PMIX_NODE_MEM_SWAP_FREE, "SwapFree"},
    {PMIX_NODE_MEM_MAPPED, "Mapped"},
};

void AddLoad(uint64_t fields, const std::string& proc, InfoList* infos) {
  const std::string text = ReadProcFile(proc + "/loadavg", kMaxFile);
  const auto words = WordsOf(text);
  constexpr std::string_view kLoads[] = {
      PMIX_NODE_LOAD_AVG, PMIX_NODE_LOAD_AVG5, PMIX_NODE_LOAD_AVG15};
  for (size_t i = 0; i < std::size(kLoads) && i < words.size(); ++i) {
    if (!Wants(fields, core::kNodeUsage, kLoads[i])) continue;
    infos->Add(kLoads[i],
               Value::Float(strtof(std::string(words[i]).c_str(), nullptr)));
  }
}

void AddNode(uint64_t fields, const std::string& proc, InfoList* infos) {
  if (fields == 0) return;
  AddLoad(fields, proc, infos);
  const std::string text = ReadProcFile(proc + "/meminfo", kMaxFile);
  for (const MemoryRow& row : kMemory) {
    const auto kilobytes = NumberOf(text, row.name);
    if (!kilobytes || !Wants(fields, core::kNodeUsage, row.key)) continue;
    infos->Add(row.key, Value::Float(static_cast<float>(*kilobytes) /
                                     kKilobytesPerMegabyte));
  }
  infos->Add(PMIX_NODE_SAMPLE_TIME, Now());
}

// -------------------------------------------------------------- devices ---

// A statistic and the position of its number in the line of a device.
struct Column {
  std::string_view key;
  size_t word;
};

constexpr Column kDiskColumns[] = {
    {PMIX_DISK_READ_COMPLETED, 3},  {PMIX_DISK_READ_MERGED, 4},
    {PMIX_DISK_READ_SECTORS, 5},    {PMIX_DISK_READ_MILLISEC, 6},
    {PMIX_DISK_WRITE_COMPLETED, 7}, {PMIX_DISK_WRITE_MERGED, 8},
    {PMIX_DISK_WRITE_SECTORS, 9},   {PMIX_DISK_WRITE_MILLISEC, 10},
    {PMIX_DISK_IO_IN_PROGRESS, 11}, {PMIX_DISK_IO_MILLISEC, 12},
    {PMIX_DISK_IO_WEIGHTED, 13},
};

constexpr Column kNetColumns[] = {
    {PMIX_NET_RECVD_BYTES, 0}, {PMIX_NET_RECVD_PCKTS, 1},
    {PMIX_NET_RECVD_ERRS, 2},  {PMIX_NET_SENT_BYTES, 8},
    {PMIX_NET_SENT_PCKTS, 9},  {PMIX_NET_SENT_ERRS, 10},
};

void AddColumns(uint64_t fields, std::span<const std::string_view> table,
                std::span<const Column> columns,
                const std::vector<std::string_view>& words, InfoList* device) {
  for (const Column& column : columns) {
    if (!Wants(fields, table, column.key) || column.word >= words.size()) {
      continue;
    }
    device->Add(column.key, Value::Uint64(NumberIn(words[column.word])));
  }
}

void AddDisks(uint64_t fields, const std::string& proc, InfoList* infos) {
  if (fields == 0) return;
  const std::string text = ReadProcFile(proc + "/diskstats", kMaxFile);
  size_t count = 0;
  for (const std::string_view line : LinesOf(text)) {
    const auto words = WordsOf(line);
    if (words.size() < 14 || words[2].starts_with("loop") ||
        words[2].starts_with("ram")) {
      continue;
    }
    if (++count > kMaxDevices) return;
    InfoList disk{{PMIX_DISK_ID, Value::String(words[2])}};
    AddColumns(fields, core::kDiskUsage, kDiskColumns, words, &disk);
    disk.Add(PMIX_DISK_SAMPLE_TIME, Now());
    infos->Add(PMIX_DISK_RESOURCE_USAGE, Value::InfoArray(disk));
  }
}

// Adds the network interfaces. Their lines are "NAME: NUMBERS"; the lines of
// the heading have no colon.
void AddNets(uint64_t fields, const std::string& proc, InfoList* infos) {
  if (fields == 0) return;
  const std::string text = ReadProcFile(proc + "/net/dev", kMaxFile);
  size_t count = 0;
  for (const std::string_view line : LinesOf(text)) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const auto name = WordsOf(line.substr(0, colon));
    if (name.size() != 1) continue;
    if (++count > kMaxDevices) return;
    InfoList net{{PMIX_NETWORK_ID, Value::String(name[0])}};
    AddColumns(fields, core::kNetUsage, kNetColumns,
               WordsOf(line.substr(colon + 1)), &net);
    net.Add(PMIX_NET_SAMPLE_TIME, Now());
    infos->Add(PMIX_NETWORK_RESOURCE_USAGE, Value::InfoArray(net));
  }
}

}  // namespace

std::string NodeUsage(const core::UsageFields& fields,
                      const std::string& proc) {
  InfoList infos;
  AddNode(fields.node, proc, &infos);
  AddDisks(fields.disk, proc, &infos);
  AddNets(fields.net, proc, &infos);
  std::string encoded;
  const bool ok = !infos.empty() && EncodeInfos(infos.data(), infos.size(),
                                                &encoded) == PMIX_SUCCESS;
  return ok ? encoded : std::string();
}

}  // namespace canopy::facts
