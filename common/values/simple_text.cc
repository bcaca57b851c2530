#include "common/values/simple_text.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <span>

#include "client/include/pmix_tables.h"
#include "common/values/hwloc_access.h"
#include "common/values/memory.h"

namespace canopy {
namespace {

std::string TimeText(time_t time) {
  tm parts;
  char text[64];
  if (localtime_r(&time, &parts) == nullptr) {
    return Format("%jd", intmax_t{time});
  }
  return strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts) == 0
             ? ""
             : text;
}

struct Flag {
  uint64_t bit;
  const char* name;
};

constexpr Flag kLocalities[] = {
    {PMIX_LOCALITY_SHARE_HWTHREAD, "HWTHREAD"},
    {PMIX_LOCALITY_SHARE_CORE, "CORE"},
    {PMIX_LOCALITY_SHARE_L1CACHE, "L1"},
    {PMIX_LOCALITY_SHARE_L2CACHE, "L2"},
    {PMIX_LOCALITY_SHARE_L3CACHE, "L3"},
    {PMIX_LOCALITY_SHARE_PACKAGE, "PACKAGE"},
    {PMIX_LOCALITY_SHARE_NUMA, "NUMA"},
    {PMIX_LOCALITY_SHARE_NODE, "NODE"},
    {PMIX_LOCALITY_NONLOCAL, "NONLOCAL"},
};
constexpr Flag kMedia[] = {
    {PMIX_STORAGE_MEDIUM_UNKNOWN, "UNKNOWN"},
    {PMIX_STORAGE_MEDIUM_TAPE, "TAPE"},
    {PMIX_STORAGE_MEDIUM_HDD, "HDD"},
    {PMIX_STORAGE_MEDIUM_SSD, "SSD"},
    {PMIX_STORAGE_MEDIUM_NVME, "NVME"},
    {PMIX_STORAGE_MEDIUM_PMEM, "PMEM"},
    {PMIX_STORAGE_MEDIUM_RAM, "RAM"},
};
constexpr Flag kAccessibilities[] = {
    {PMIX_STORAGE_ACCESSIBILITY_NODE, "NODE"},
    {PMIX_STORAGE_ACCESSIBILITY_SESSION, "SESSION"},
    {PMIX_STORAGE_ACCESSIBILITY_JOB, "JOB"},
    {PMIX_STORAGE_ACCESSIBILITY_RACK, "RACK"},
    {PMIX_STORAGE_ACCESSIBILITY_CLUSTER, "CLUSTER"},
    {PMIX_STORAGE_ACCESSIBILITY_REMOTE, "REMOTE"},
};
constexpr Flag kStoragePersistences[] = {
    {PMIX_STORAGE_PERSISTENCE_TEMPORARY, "TEMPORARY"},
    {PMIX_STORAGE_PERSISTENCE_NODE, "NODE"},
    {PMIX_STORAGE_PERSISTENCE_SESSION, "SESSION"},
    {PMIX_STORAGE_PERSISTENCE_JOB, "JOB"},
    {PMIX_STORAGE_PERSISTENCE_SCRATCH, "SCRATCH"},
    {PMIX_STORAGE_PERSISTENCE_PROJECT, "PROJECT"},
    {PMIX_STORAGE_PERSISTENCE_ARCHIVE, "ARCHIVE"},
};
constexpr Flag kAccesses[] = {
    {PMIX_STORAGE_ACCESS_RD, "READ"},
    {PMIX_STORAGE_ACCESS_WR, "WRITE"},
};
constexpr Flag kChannels[] = {
    {PMIX_FWD_STDIN_CHANNEL, "STDIN"},
    {PMIX_FWD_STDOUT_CHANNEL, "STDOUT"},
    {PMIX_FWD_STDERR_CHANNEL, "STDERR"},
    {PMIX_FWD_STDDIAG_CHANNEL, "STDDIAG"},
};

std::string FlagsText(std::span<const Flag> flags, uint64_t bits, char between,
                      const char* none) {
  std::string text;
  for (const Flag& flag : flags) {
    if ((bits & flag.bit) == 0) continue;
    if (!text.empty()) text.push_back(between);
    text.append(flag.name);
  }
  return text.empty() ? none : text;
}

// Returns the text of a type that is one number with named meanings. Empty for
// plain numbers.
std::string NamedText(pmix_data_type_t type, const void* e) {
  const auto byte_name = [e](const char* enumeration) {
    return std::string(ConstantText(enumeration, As<uint8_t>(e), "UNKNOWN"));
  };
  switch (type) {
    case PMIX_BOOL:
      return As<bool>(e) ? "TRUE" : "FALSE";
    case PMIX_STATUS:
      return ConstantText("pmix_status_t", As<pmix_status_t>(e),
                          "ERROR STRING NOT FOUND");
    case PMIX_PROC_RANK:
      return RankText(As<pmix_rank_t>(e));
    case PMIX_SCOPE:
      return byte_name("pmix_scope_t");
    case PMIX_DATA_RANGE:
      return byte_name("pmix_data_range_t");
    case PMIX_PROC_STATE:
      return byte_name("pmix_proc_state_t");
    case PMIX_JOB_STATE:
      return byte_name("pmix_job_state_t");
    case PMIX_LINK_STATE:
      return byte_name("pmix_link_state_t");
    case PMIX_ALLOC_DIRECTIVE:
      return byte_name("pmix_alloc_directive_t");
    case PMIX_RESBLOCK_DIRECTIVE:
      return byte_name("pmix_resource_block_directive_t");
    case PMIX_ALLOC_INHERIT:
      return byte_name("pmix_alloc_inheritance_t");
    case PMIX_DATA_TYPE:
      return ConstantText("pmix_data_type_t", As<pmix_data_type_t>(e),
                          "UNKNOWN");
    case PMIX_DEVTYPE:
      return ConstantText("pmix_device_type_t",
                          static_cast<int64_t>(As<pmix_device_type_t>(e)),
                          "UNKNOWN");
    case PMIX_INFO_DIRECTIVES:
      return DirectivesText(As<pmix_info_directives_t>(e));
    case PMIX_IOF_CHANNEL:
      return FlagsText(kChannels, As<pmix_iof_channel_t>(e), ' ', "NONE");
    case PMIX_LOCTYPE:
      return FlagsText(kLocalities, As<pmix_locality_t>(e), ':', "UNKNOWN");
    case PMIX_STOR_MEDIUM:
      return FlagsText(kMedia, As<uint64_t>(e), ':', "NONE");
    case PMIX_STOR_ACCESS:
      return FlagsText(kAccessibilities, As<uint64_t>(e), ':', "NONE");
    case PMIX_STOR_PERSIST:
      return FlagsText(kStoragePersistences, As<uint64_t>(e), ':', "NONE");
    case PMIX_STOR_ACCESS_TYPE:
      return FlagsText(kAccesses, As<uint16_t>(e), ':', "NONE");
    default:
      return "";
  }
}

std::string PlainText(pmix_data_type_t type, const Field& field,
                      const void* e) {
  switch (field.shape) {
    case Shape::kByte:
      return Format(type == PMIX_BYTE ? "%02x" : "%u", As<uint8_t>(e));
    case Shape::kInt8:
      return Format("%d", As<int8_t>(e));
    case Shape::kInt16:
      return Format("%d", As<int16_t>(e));
    case Shape::kUint16:
      return Format("%u", As<uint16_t>(e));
    case Shape::kInt32:
    case Shape::kInt:
    case Shape::kPid:
      return Format("%d", As<int32_t>(e));
    case Shape::kUint32:
    case Shape::kUint:
      return Format("%u", As<uint32_t>(e));
    case Shape::kInt64:
      return Format("%" PRId64, As<int64_t>(e));
    case Shape::kUint64:
    case Shape::kSize:
      return Format("%" PRIu64, As<uint64_t>(e));
    case Shape::kFloat:
      return Format("%f", static_cast<double>(As<float>(e)));
    case Shape::kDouble:
      return Format("%f", As<double>(e));
    case Shape::kTimeval:
      return TimevalText(As<timeval>(e));
    case Shape::kTime:
      return TimeText(As<time_t>(e));
    case Shape::kString:
      return OrNull(As<const char*>(e));
    case Shape::kName:
      return std::string(LoadName(static_cast<const char*>(e), field.extent));
    case Shape::kRegex:
      return OrNull(As<pmix_byte_object_t>(e).bytes);
    case Shape::kCpuset:
      return CpusetText(As<pmix_cpuset_t>(e)).value_or("NULL");
    default:
      return "UNPRINTABLE";
  }
}

}  // namespace

std::string Format(const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(length < 0 ? 0 : static_cast<size_t>(length), '\0');
  vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string TimevalText(const timeval& time) {
  return Format("%jd.%06jd", intmax_t{time.tv_sec}, intmax_t{time.tv_usec});
}

std::string RankText(pmix_rank_t rank) {
  switch (rank) {
    case PMIX_RANK_UNDEF:
      return "PMIX_RANK_UNDEF";
    case PMIX_RANK_WILDCARD:
      return "PMIX_RANK_WILDCARD";
    case PMIX_RANK_LOCAL_NODE:
      return "PMIX_RANK_LOCAL_NODE";
    default:
      return std::to_string(rank);
  }
}

std::string ProcText(const pmix_proc_t& proc) {
  return std::string(LoadName(proc.nspace, sizeof(proc.nspace))) + ":" +
         RankText(proc.rank);
}

std::string DirectivesText(pmix_info_directives_t directives) {
  if ((directives & PMIX_INFO_QUALIFIER) != 0) return "QUALIFIER";
  std::string text =
      (directives & PMIX_INFO_REQD) != 0 ? "REQUIRED" : "OPTIONAL";
  if ((directives & PMIX_INFO_REQD_PROCESSED) != 0) text += ":PROCESSED";
  if ((directives & PMIX_INFO_ARRAY_END) != 0) text += ":END";
  return text;
}

std::string SimpleText(pmix_data_type_t type, const void* element) {
  std::string named = NamedText(type, element);
  if (!named.empty()) return named;
  return PlainText(type, *FindType(type)->fields, element);
}

}  // namespace canopy
