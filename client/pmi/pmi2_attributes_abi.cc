// PMI-2: attributes of the node and of the job, and the ring.
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/pmi/abi_support.h"
#include "client/pmi/names.h"
#include "client/pmi/process.h"
#include "pmi2.h"
#include "pmix.h"

namespace canopy::pmi {

namespace {

// kNodePrefix begins the keys that processes of a node set for each other, and
// kRingPrefix the keys of values for neighbours in a ring. No key of the job's
// space begins with one of them.
constexpr std::string_view kNodePrefix = "|node|";
constexpr std::string_view kRingPrefix = "|ring";

std::optional<std::string> JobAttribute(const Process& process,
                                        std::string_view name) {
  const pmix_proc_t job = WholeJob(process);
  if (name == kProcessMapping) return TextOf(job, PMIX_ANL_MAP);
  if (name == "universeSize") {
    const auto size = NumberOf(job, PMIX_UNIV_SIZE);
    return size ? std::optional(std::to_string(*size)) : std::nullopt;
  }
  if (name == "hasNameServ") return HasNameService() ? "TRUE" : "FALSE";
  return std::nullopt;
}

std::optional<std::string> NodeAttribute(const Process& process,
                                         std::string_view name, bool wait) {
  const std::string key = std::string(kNodePrefix) + std::string(name);
  return TextOf(MemberOf(process, PMIX_RANK_UNDEF), key.c_str(),
                wait ? Missing::kIsAwaited : Missing::kFails);
}

std::optional<std::vector<uint32_t>> NodeNumbers(const Process& process,
                                                 std::string_view name) {
  const std::vector<uint32_t> ranks = LocalRanks(process);
  if (name == "localRanks") return ranks;
  if (name == "localRanksCount") {
    return std::vector{static_cast<uint32_t>(ranks.size())};
  }
  return std::nullopt;
}

int ReturnText(const std::optional<std::string>& text, char* value, int room,
               int* found) {
  *found = text ? 1 : 0;
  return text ? CopyText(*text, value, room, PMI2_ERR_INVALID_VAL_LENGTH)
              : PMI2_SUCCESS;
}

int ReturnNumbers(const std::optional<std::vector<uint32_t>>& numbers,
                  int* array, int room, int* count, int* found) {
  *found = numbers ? 1 : 0;
  *count = numbers ? static_cast<int>(numbers->size()) : 0;
  for (int i = 0; i < *count && i < room; ++i) {
    array[i] = static_cast<int>((*numbers)[static_cast<size_t>(i)]);
  }
  return PMI2_SUCCESS;
}

// Returns the key of a rank in a ring. A ring ends only after all ranks have
// begun it, so two alternating keys suffice. Must equal the key in
// server/pmi/key_values.cc.
std::string RingKey(uint32_t call, uint32_t rank) {
  return std::string(kRingPrefix) + std::to_string(call % 2) + "-" +
         std::to_string(rank);
}

std::string TextOfNeighbour(const Process& process, uint32_t call,
                            uint32_t rank) {
  const std::string key = RingKey(call, rank);
  return TextOf(MemberOf(process, rank), key.c_str()).value_or("");
}

}  // namespace

extern "C" {

PMIX_EXPORT int PMI2_Info_GetNodeAttr(const char name[], char value[],
                                      int valuelen, int* found, int waitfor) {
  if (name == nullptr || value == nullptr || found == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process& process) {
    return ReturnText(NodeAttribute(process, name, waitfor != 0), value,
                      valuelen, found);
  });
}

PMIX_EXPORT int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[],
                                              int arraylen, int* outlen,
                                              int* found) {
  if (name == nullptr || array == nullptr || outlen == nullptr ||
      found == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process& process) {
    return ReturnNumbers(NodeNumbers(process, name), array, arraylen, outlen,
                         found);
  });
}

PMIX_EXPORT int PMI2_Info_PutNodeAttr(const char name[], const char value[]) {
  if (name == nullptr || *name == '\0') return PMI2_ERR_INVALID_KEY;
  if (value == nullptr) return PMI2_ERR_INVALID_VAL;
  if (strlen(name) >= PMI2_MAX_KEYLEN) return PMI2_ERR_INVALID_KEY_LENGTH;
  if (strlen(value) >= PMI2_MAX_ATTRVALUE) return PMI2_ERR_INVALID_VAL_LENGTH;
  return WithProcess([&](const Process&) {
    const pmix_status_t status =
        PutText(PMIX_LOCAL, std::string(kNodePrefix) + name, value);
    return CodeOf(status == PMIX_SUCCESS ? PMIx_Commit() : status);
  });
}

PMIX_EXPORT int PMI2_Info_GetJobAttr(const char name[], char value[],
                                     int valuelen, int* found) {
  if (name == nullptr || value == nullptr || found == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process& process) {
    return ReturnText(JobAttribute(process, name), value, valuelen, found);
  });
}

// No array attribute exists.
PMIX_EXPORT int PMI2_Info_GetJobAttrIntArray(const char name[], int array[],
                                             int arraylen, int* outlen,
                                             int* found) {
  if (name == nullptr || array == nullptr || outlen == nullptr ||
      found == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process&) {
    return ReturnNumbers(std::nullopt, array, arraylen, outlen, found);
  });
}

PMIX_EXPORT int PMIX_Ring(const char value[], int* rank, int* ranks,
                          char left[], char right[], int maxvalue) {
  if (rank == nullptr || ranks == nullptr || left == nullptr ||
      right == nullptr || maxvalue < 1) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process& process) {
    // Counts the rings. The processes agree on the number, because all of them
    // take part in each ring.
    static std::atomic<uint32_t> calls = 0;
    const uint32_t call = calls++;
    pmix_status_t status =
        PutText(PMIX_GLOBAL, RingKey(call, process.self.rank),
                value == nullptr ? "" : value);
    if (status == PMIX_SUCCESS) status = PMIx_Commit();
    if (status == PMIX_SUCCESS) status = Barrier();
    if (status != PMIX_SUCCESS) return CodeOf(status);
    const uint32_t size = process.size;
    const uint32_t self = process.self.rank;
    *rank = static_cast<int>(self);
    *ranks = static_cast<int>(size);
    const int code =
        CopyText(TextOfNeighbour(process, call, (self + size - 1) % size), left,
                 maxvalue, PMI2_ERR_INVALID_VAL_LENGTH);
    if (code != PMI2_SUCCESS) return code;
    return CopyText(TextOfNeighbour(process, call, (self + 1) % size), right,
                    maxvalue, PMI2_ERR_INVALID_VAL_LENGTH);
  });
}

}  // extern "C"

}  // namespace canopy::pmi
